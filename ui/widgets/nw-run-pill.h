/* What the training does, on every page: a ring with its share, "Epoch 7/20", the best so far. A press goes
 * to the Train page. */
#pragma once

#include <gtk/gtk.h>

#include "app/session.h"

GtkWidget *nw_run_pill_new(NwSession *session);
void nw_run_pill_set_narrow(GtkWidget *pill, gboolean narrow);
