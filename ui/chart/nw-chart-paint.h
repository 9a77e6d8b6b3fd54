/* The chart as a picture: axes, curves, marks, crosshair. Pure cairo and pango, so that the command line and
 * tests can draw without a display. The plot is inset 46 left, 14 right, 10 top, 24 bottom, times the text
 * scale. */
#pragma once

#include <cairo.h>

#include "ui/chart/nw-chart-series.h"

typedef struct NwChartStyle {
  NwChartColor fg, dim, faint, border, grid, card, tip, ok, err, accent;
  gboolean dark;
  double text_scale;
  const char *font; /* family: "Cantarell" */
} NwChartStyle;

typedef enum NwChartUnit { NW_CHART_NUMBER, NW_CHART_PERCENT, NW_CHART_RATE } NwChartUnit;

typedef struct NwChartEvent {
  double x;
  char *text; /* "lr 0.1 → 0.05", "resumed" */
} NwChartEvent;

typedef struct NwChartView {
  GPtrArray *series; /* NwChartSeries */
  GArray *events;    /* NwChartEvent; may be NULL */
  double x0, x1;     /* shown range */
  double y0, y1;
  gboolean log_y;
  NwChartUnit unit;
  const char *x_label; /* at the left end of the axis: "epoch" */
  gboolean hide_x;     /* another panel below carries the figures */
  double cursor;       /* x of the crosshair; NaN: none */
  gboolean readout;    /* with the box of values */
  gboolean readout_low;
  const char *cursor_title;
  double best_x, best_y; /* NaN: none */
  const char *best_text;
  double zoom_from, zoom_to; /* x of a zoom being dragged; NaN: none */
} NwChartView;

typedef struct NwChartPlot {
  double left, top, width, height;
} NwChartPlot;

NwChartPlot nw_chart_plot(const NwChartView *view, const NwChartStyle *style, double width, double height);
double nw_chart_x(const NwChartView *view, const NwChartPlot *plot, double x);
double nw_chart_y(const NwChartView *view, const NwChartPlot *plot, double y);
double nw_chart_x_at(const NwChartView *view, const NwChartPlot *plot, double pixel);
void nw_chart_paint(cairo_t *cr, const NwChartView *view, const NwChartStyle *style, double width,
                    double height);

/* Chooses y0, y1 for what is shown: percent 0…1; numbers from 0, or from the data with log_y; finite points
 * only. */
void nw_chart_fit_y(NwChartView *view);
/* A round step (1, 2, 2.5 or 5 times a power of ten) that gives about `wanted` ticks over span. */
double nw_chart_step(double span, int wanted);
/* "0.343", "91.2 %", "3e-4" */
void nw_chart_format(NwChartUnit unit, double value, char *text, gsize n);
