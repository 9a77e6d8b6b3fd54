/* A live chart: curves that grow, a crosshair shared between panels, zoom by dragging, log scale.
 *
 * Keys when focused: Left/Right move the crosshair, + and - zoom, 0 or Escape shows everything, L switches
 * the log scale. The accessible description says what is shown in words; nw_chart_csv gives the figures. */
#pragma once

#include <gtk/gtk.h>

#include "ui/chart/nw-chart-paint.h"

#define NW_TYPE_CHART (nw_chart_get_type())
G_DECLARE_FINAL_TYPE(NwChart, nw_chart, NW, CHART, GtkWidget)
/* Signals: "range-changed" (the zoom), "cursor-changed". Charts in one NwChartLink share both. */

GtkWidget *nw_chart_new(NwChartUnit unit, const char *label); /* label: accessible name, translated */
/* Charts of one link show the same x range and crosshair. */
void nw_chart_link(NwChart *chart, NwChart *other);
/* The series belongs to the chart; the pointer stays valid until nw_chart_clear. */
NwChartSeries *nw_chart_add_series(NwChart *chart, const char *name, NwChartColor color);
void nw_chart_clear(NwChart *chart);
/* After points were added to series: redraws once a frame. */
void nw_chart_updated(NwChart *chart);
void nw_chart_add_event(NwChart *chart, double x, const char *text);
void nw_chart_set_best(NwChart *chart, double x, double y, const char *text); /* NaN: none */
/* The whole extent of x: what is shown without zoom. */
void nw_chart_set_extent(NwChart *chart, double x0, double x1);
void nw_chart_set_range(NwChart *chart, double x0, double x1); /* zoom */
void nw_chart_reset_range(NwChart *chart);
void nw_chart_set_unit(NwChart *chart, NwChartUnit unit);
void nw_chart_set_log(NwChart *chart, gboolean on);
void nw_chart_set_smoothing(NwChart *chart, double smoothing); /* of series with raw set */
void nw_chart_set_x_label(NwChart *chart, const char *label);
void nw_chart_set_hide_x(NwChart *chart, gboolean hide);
void nw_chart_set_readout_low(NwChart *chart, gboolean low);
/* "epoch 3.40 · step 1 061" at x; g_free. NULL: "epoch %.2f". */
void nw_chart_set_title_func(NwChart *chart, char *(*title)(double x, gpointer data), gpointer data);
void nw_chart_set_style(NwChart *chart,
                        const NwChartStyle *style); /* copied; call again when the theme changes */
const NwChartView *nw_chart_view(NwChart *chart);
/* For the clipboard or a file: every point as comma-separated values; g_free. */
char *nw_chart_csv(NwChart *chart);
