/* The Train page: figures, live charts, settings, and the run's controls. Everything on it is derived from
 * the session's state, so that no button can be stuck. */
#pragma once

#include <gtk/gtk.h>

#include "app/session.h"

#define NW_TYPE_TRAIN_PAGE (nw_train_page_get_type())
G_DECLARE_FINAL_TYPE(NwTrainPage, nw_train_page, NW, TRAIN_PAGE, GtkWidget)

/* Actions the window must offer: win.train, win.pause, win.continue, win.stop. */
GtkWidget *nw_train_page_new(NwProject *project, NwSession *session, NwHistory *history);
/* Below 1180 px of window width. */
void nw_train_page_set_narrow(NwTrainPage *page, gboolean narrow);
