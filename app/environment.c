#include "app/environment.h"

#include <glib.h>
#include <sys/utsname.h>

#include "engine/backend/onednn.h"
#include "engine/base/machine.h"
#include "engine/base/threads.h"

NwJson *nw_environment_json(void)
{
  NwJson *json = nw_json_object(), *libraries = nw_json_object();
  struct utsname host;
  nw_json_set_string(json, "netwright", NW_VERSION);
  nw_json_set_string(json, "cpu", nw_machine_cpu());
  nw_json_set_string(json, "isa", nw_isa_name(nw_isa()));
  nw_json_set_int(json, "threads", nw_threads());
  nw_json_set_int(json, "cores", nw_threads_available());
  nw_json_set_int(json, "memory", (gint64)nw_machine_memory());
  if (uname(&host) == 0) {
    g_autofree char *kernel = g_strdup_printf("%s %s %s", host.sysname, host.release, host.machine);
    nw_json_set_string(json, "system", kernel);
  }
  g_autofree char *glib =
      g_strdup_printf("%u.%u.%u", glib_major_version, glib_minor_version, glib_micro_version);
  nw_json_set_string(libraries, "glib", glib);
  nw_json_set_string(libraries, "onednn", nw_onednn_version());
  nw_json_set(json, "libraries", libraries);
  return json;
}
