/* The chart's colours, read from the style sheet by name (nw_train, nw_val, nw_run_1 …), once per theme
 * change. */
#pragma once

#include <gtk/gtk.h>

#include "ui/chart/nw-chart-paint.h"

void nw_chart_style_read(GtkWidget *widget, NwChartStyle *style);
/* A named colour of the style sheet; grey when it is not there. */
NwChartColor nw_chart_color(GtkWidget *widget, const char *name);
