/* The History page: every run, sorted and filtered; chosen ones are compared below. */
#pragma once

#include <gtk/gtk.h>

#include "app/session.h"

#define NW_TYPE_HISTORY_PAGE (nw_history_page_get_type())
G_DECLARE_FINAL_TYPE(NwHistoryPage, nw_history_page, NW, HISTORY_PAGE, GtkWidget)

GtkWidget *nw_history_page_new(NwProject *project, NwSession *session, NwHistory *history);
/* Reads the history anew; cheap when nothing changed. */
void nw_history_page_refresh(NwHistoryPage *page);
/* Chooses one run, by id. */
void nw_history_page_select(NwHistoryPage *page, const char *run);
void nw_history_page_set_narrow(NwHistoryPage *page, gboolean narrow);
