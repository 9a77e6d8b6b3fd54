/* One curve of a chart: raw points that only grow, and their smoothed form, kept up to date as points arrive.
 *
 * Smoothing is the exponential moving average with the start-up bias removed (as Adam's moments are), so that
 * the first points are not pulled towards zero. Pure data: no drawing, no toolkit. Main thread. */
#pragma once

#include <glib.h>

typedef struct NwChartPoint {
  double x, y; /* y may be NaN or infinite: drawn as a mark on the axis */
} NwChartPoint;

typedef struct NwChartColor {
  double r, g, b, a;
} NwChartColor;

typedef struct NwChartSeries {
  char *name; /* as the legend and the readout say it; translated */
  NwChartColor color;
  int dash;           /* 0 solid, 1 7-4, 2 2-4, 3 8-3-2-3 ...: never colour alone */
  gboolean rings;     /* a ring on every point (one an epoch) */
  gboolean raw;       /* the raw line, thin and pale, behind the smoothed one */
  gboolean dimmed;    /* another curve is under the pointer */
  double smoothing;   /* 0: none … 0.99 */
  GArray *points;     /* NwChartPoint, x not decreasing */
  GArray *smooth;     /* double, one a point */
  double ema, weight; /* state of the average after the last point */
} NwChartSeries;

NwChartSeries *nw_chart_series_new(const char *name, NwChartColor color);
void nw_chart_series_free(NwChartSeries *series);
void nw_chart_series_clear(NwChartSeries *series);
void nw_chart_series_add(NwChartSeries *series, double x, double y);
void nw_chart_series_set_smoothing(NwChartSeries *series, double smoothing);
/* The smoothed value at x, linear between points; NaN outside the curve or where it is not finite. */
double nw_chart_series_value(const NwChartSeries *series, double x);
double nw_chart_series_last(const NwChartSeries *series);
/* First index whose x is not below `x`. */
guint nw_chart_series_find(const NwChartSeries *series, double x);
