/* Takes a trained network away: format, checkpoint, place; and shows what was checked before it says "done".
 */
#pragma once

#include <gtk/gtk.h>

#include "app/export.h"

/* A modal window over parent for one run. */
void nw_export_dialog_present(GtkWindow *parent, NwHistory *history, const char *run);
/* Where to, as the file chooser would say it. */
void nw_export_dialog_set_path(GtkWindow *dialog, const char *path);
