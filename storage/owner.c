#include "storage/owner.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *boot_id(void)
{
  char *text = NULL;
  if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &text, NULL, NULL))
    return g_strdup("");
  return g_strstrip(text);
}

/* Field 22 of /proc/<pid>/stat: clock ticks after boot at which the process began; "" when it is gone. The
 * name in field 2 may hold spaces and brackets, so counting begins behind its last one. */
static char *start_time(long pid)
{
  g_autofree char *path = g_strdup_printf("/proc/%ld/stat", pid);
  g_autofree char *text = NULL;
  if (!g_file_get_contents(path, &text, NULL, NULL))
    return g_strdup("");
  const char *behind = strrchr(text, ')');
  if (behind == NULL)
    return g_strdup("");
  g_auto(GStrv) fields = g_strsplit(behind + 2, " ", 30);
  return g_strdup(g_strv_length(fields) > 19 ? fields[19] : "");
}

char *nw_owner_self(void)
{
  g_autofree char *start = start_time(getpid()), *boot = boot_id();
  return g_strdup_printf("%ld/%s/%s", (long)getpid(), start, boot);
}

gboolean nw_owner_alive(const char *owner)
{
  g_auto(GStrv) parts = owner != NULL ? g_strsplit(owner, "/", 3) : NULL;
  if (parts == NULL || g_strv_length(parts) != 3)
    return FALSE;
  g_autofree char *start = start_time(atol(parts[0])), *boot = boot_id();
  return *start != '\0' && g_str_equal(start, parts[1]) && g_str_equal(boot, parts[2]);
}
