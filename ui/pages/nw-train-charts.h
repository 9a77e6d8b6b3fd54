/* The charts of one training: loss, accuracy, and the schedule of the learning rate; fed from a session as
 * points arrive. */
#pragma once

#include <gtk/gtk.h>

#include "app/session.h"

#define NW_TYPE_TRAIN_CHARTS (nw_train_charts_get_type())
G_DECLARE_FINAL_TYPE(NwTrainCharts, nw_train_charts, NW, TRAIN_CHARTS, GtkWidget)

GtkWidget *nw_train_charts_new(NwProject *project, NwSession *session);
void nw_train_charts_set_smoothing(NwTrainCharts *charts, double smoothing);
/* All points as comma-separated values; g_free. */
char *nw_train_charts_csv(NwTrainCharts *charts);
