/* The columns of the history's table: what a cell shows and how the column sorts. */
#pragma once

#include <gtk/gtk.h>

/* Appends all columns; returns the one that sorts at first (started, newest first). */
GtkColumnViewColumn *nw_history_columns_add(GtkColumnView *view);
/* In a narrow window only what tells runs apart stays. */
void nw_history_columns_set_narrow(GtkColumnView *view, gboolean narrow);
