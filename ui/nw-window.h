/* The workbench window: header bar, the four pages, the run pill; actions of everything that is not a page's
 * own. */
#pragma once

#include "ui/nw-application.h"

#define NW_TYPE_WINDOW (nw_window_get_type())
G_DECLARE_FINAL_TYPE(NwWindow, nw_window, NW, WINDOW, AdwApplicationWindow)

/* Without a project the start page is shown. */
NwWindow *nw_window_new(NwApplication *application);
/* Opens a project's folder; a failure is told in the window. */
void nw_window_open(NwWindow *window, const char *folder);
/* Takes project (a reference) in place of what is shown. */
void nw_window_set_project(NwWindow *window, NwProject *project);
NwProject *nw_window_project(NwWindow *window); /* NULL: the start page is shown */
NwSession *nw_window_session(NwWindow *window);
void nw_window_show_page(NwWindow *window, const char *page); /* "data", "design", "train", "history" */
GtkWidget *nw_window_page(NwWindow *window, const char *page);
