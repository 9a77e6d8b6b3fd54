/* The window that lists every key. */
#pragma once

#include <gtk/gtk.h>

GtkShortcutsWindow *nw_shortcuts_window_new(void);
