/* The version before: what the project was when it was opened, kept beside it as soon as something else is
 * saved over it. The window saves by itself, and undo ends with the program. */
#include <string.h>

#include "app/i18n.h"
#include "app/project-internal.h"
#include "engine/base/file.h"
#include "engine/base/memory.h"

enum { LIMIT = 64 << 20 };

static char *previous_path(NwProject *project)
{
  return project->folder != NULL ? g_build_filename(project->folder, "project.previous.json", NULL) : NULL;
}

void nw_project_remember_opened(NwProject *project)
{
  nw_free(project->opened);
  project->opened = nw_project_state_text(project);
}

NwStatus nw_project_keep_previous(NwProject *project, NwError *error)
{
  g_autofree char *path = previous_path(project);
  char *now = project->opened != NULL && path != NULL ? nw_project_state_text(project) : NULL;
  NwStatus status = NW_OK;
  if (now != NULL && strcmp(now, project->opened) != 0) {
    status = nw_file_write(path, project->opened, strlen(project->opened), error);
    if (status == NW_OK) {
      nw_free(project->opened);
      project->opened = NULL; /* once: later savings are of this sitting */
    }
  }
  nw_free(now);
  return status;
}

gboolean nw_project_has_previous(NwProject *project)
{
  g_autofree char *path = previous_path(project);
  return path != NULL && g_file_test(path, G_FILE_TEST_IS_REGULAR);
}

NwStatus nw_project_restore_previous(NwProject *project, NwError *error)
{
  g_autofree char *path = previous_path(project);
  char *text = NULL;
  size_t n;
  if (path == NULL)
    return nw_fail(error, NW_NOT_FOUND, _("The project has no folder yet, and so no version before"));
  NW_TRY(nw_file_read(path, LIMIT, &text, &n, error));
  NwEdit edit = nw_edit_begin(project);
  NwStatus status = NW_OK;
  if (edit.before == NULL)
    status = nw_fail(error, NW_NO_MEMORY, _("There is no memory to go back"));
  else if (!nw_project_restore_text(project, text))
    status = nw_fail(error, NW_BAD_FORMAT, _("%s is damaged; the project stays as it is"), path);
  nw_free(text);
  status = nw_edit_end(project, &edit, status, _("Previous Version"), NULL, NW_NETWORK_CHANGED);
  if (status == NW_OK)
    nw_project_emit(project, NW_SETTINGS_CHANGED);
  return status;
}
