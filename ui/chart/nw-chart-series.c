#include "ui/chart/nw-chart-series.h"

#include <math.h>

NwChartSeries *nw_chart_series_new(const char *name, NwChartColor color)
{
  NwChartSeries *series = g_new0(NwChartSeries, 1);
  series->name = g_strdup(name);
  series->color = color;
  series->points = g_array_new(FALSE, FALSE, sizeof(NwChartPoint));
  series->smooth = g_array_new(FALSE, FALSE, sizeof(double));
  return series;
}

void nw_chart_series_free(NwChartSeries *series)
{
  if (series == NULL)
    return;
  g_free(series->name);
  g_array_unref(series->points);
  g_array_unref(series->smooth);
  g_free(series);
}

void nw_chart_series_clear(NwChartSeries *series)
{
  g_array_set_size(series->points, 0);
  g_array_set_size(series->smooth, 0);
  series->ema = series->weight = 0;
}

static void smooth_one(NwChartSeries *series, double y)
{
  double value = y;
  if (series->smoothing > 0 && isfinite(y)) {
    series->ema = series->smoothing * series->ema + (1 - series->smoothing) * y;
    series->weight = series->smoothing * series->weight + (1 - series->smoothing);
    value = series->ema / series->weight;
  }
  g_array_append_val(series->smooth, value);
}

void nw_chart_series_add(NwChartSeries *series, double x, double y)
{
  NwChartPoint point = {x, y};
  g_array_append_val(series->points, point);
  smooth_one(series, y);
}

void nw_chart_series_set_smoothing(NwChartSeries *series, double smoothing)
{
  if (series->smoothing == smoothing)
    return;
  series->smoothing = smoothing;
  series->ema = series->weight = 0;
  g_array_set_size(series->smooth, 0);
  for (guint i = 0; i < series->points->len; i++)
    smooth_one(series, g_array_index(series->points, NwChartPoint, i).y);
}

guint nw_chart_series_find(const NwChartSeries *series, double x)
{
  guint low = 0, high = series->points->len;
  while (low < high) {
    guint middle = low + (high - low) / 2;
    if (g_array_index(series->points, NwChartPoint, middle).x < x)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

double nw_chart_series_value(const NwChartSeries *series, double x)
{
  guint n = series->points->len, i = nw_chart_series_find(series, x);
  if (n == 0 || i == n)
    return NAN;
  NwChartPoint b = g_array_index(series->points, NwChartPoint, i);
  double yb = g_array_index(series->smooth, double, i);
  if (b.x == x)
    return yb;
  if (i == 0)
    return NAN;
  NwChartPoint a = g_array_index(series->points, NwChartPoint, i - 1);
  double ya = g_array_index(series->smooth, double, i - 1);
  return isfinite(ya) && isfinite(yb) ? ya + (yb - ya) * (x - a.x) / (b.x - a.x) : NAN;
}

double nw_chart_series_last(const NwChartSeries *series)
{
  return series->smooth->len > 0 ? g_array_index(series->smooth, double, series->smooth->len - 1) : NAN;
}
