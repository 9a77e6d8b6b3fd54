/* Curves: smoothing, lookup, axes, painting (no display needed) and the table of values. */
#include <math.h>
#include <string.h>

#include "tests/ui/nw-ui-test.h"
#include "ui/chart/nw-chart.h"

static const NwChartColor black = {0, 0, 0, 1}, red = {1, 0, 0, 1};

static NwChartStyle style(void)
{
  NwChartStyle s = {.fg = black,
                    .dim = {0.4, 0.4, 0.4, 1},
                    .card = {1, 1, 1, 1},
                    .grid = {0, 0, 0, 0.07},
                    .err = red,
                    .text_scale = 1,
                    .font = "Cantarell"};
  return s;
}

static NwChartView view_of(NwChartSeries *series, double x0, double x1)
{
  NwChartView view = {.series = g_ptr_array_new_with_free_func((GDestroyNotify)nw_chart_series_free),
                      .x0 = x0,
                      .x1 = x1,
                      .y0 = 0,
                      .y1 = 1,
                      .cursor = NAN,
                      .best_x = NAN,
                      .best_y = NAN,
                      .zoom_from = NAN,
                      .zoom_to = NAN};
  g_ptr_array_add(view.series, series);
  return view;
}

/* How many pixels of the picture are about the colour. */
static guint count(cairo_surface_t *image, guint8 r, guint8 g, guint8 b)
{
  guint n = 0;
  cairo_surface_flush(image);
  const guint8 *data = cairo_image_surface_get_data(image);
  int stride = cairo_image_surface_get_stride(image);
  for (int y = 0; y < cairo_image_surface_get_height(image); y++)
    for (int x = 0; x < cairo_image_surface_get_width(image); x++) {
      const guint8 *p = data + y * stride + x * 4;
      n += abs(p[0] - b) < 40 && abs(p[1] - g) < 40 && abs(p[2] - r) < 40;
    }
  return n;
}

static cairo_surface_t *paint(const NwChartView *view)
{
  NwChartStyle s = style();
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, 600, 300);
  cairo_t *cr = cairo_create(image);
  cairo_set_source_rgb(cr, 1, 1, 1);
  cairo_paint(cr);
  nw_chart_paint(cr, view, &s, 600, 300);
  g_assert_cmpint(cairo_status(cr), ==, CAIRO_STATUS_SUCCESS);
  cairo_destroy(cr);
  return image;
}

static void test_smoothing(void)
{
  NwChartSeries *s = nw_chart_series_new("loss", black);
  nw_chart_series_set_smoothing(s, 0.9);
  nw_chart_series_add(s, 0, 4);
  /* The first point is itself: the bias of the start is taken off. */
  g_assert_cmpfloat_with_epsilon(nw_chart_series_last(s), 4, 1e-12);
  nw_chart_series_add(s, 1, 2);
  g_assert_cmpfloat_with_epsilon(nw_chart_series_last(s), (0.9 * 0.1 * 4 + 0.1 * 2) / 0.19, 1e-12);
  nw_chart_series_add(s, 2, NAN);
  g_assert_true(isnan(nw_chart_series_last(s)));
  nw_chart_series_add(s, 3, 2);
  g_assert_true(isfinite(nw_chart_series_last(s)));
  nw_chart_series_set_smoothing(s, 0);
  g_assert_cmpfloat_with_epsilon(nw_chart_series_last(s), 2, 1e-12);
  g_assert_cmpfloat_with_epsilon(nw_chart_series_value(s, 0.5), 3, 1e-12);
  g_assert_true(isnan(nw_chart_series_value(s, 2.5)));
  g_assert_true(isnan(nw_chart_series_value(s, -1)));
  g_assert_cmpuint(nw_chart_series_find(s, 1.5), ==, 2);
  nw_chart_series_free(s);
}

static void test_axes(void)
{
  char words[32];
  g_assert_cmpfloat_with_epsilon(nw_chart_step(1, 5), 0.2, 1e-12);
  g_assert_cmpfloat_with_epsilon(nw_chart_step(7, 5), 2, 1e-12);
  g_assert_cmpfloat_with_epsilon(nw_chart_step(0.03, 4), 0.01, 1e-12);
  nw_chart_format(NW_CHART_PERCENT, 0.912, words, sizeof words);
  g_assert_cmpstr(words, ==, "91.2 %");
  nw_chart_format(NW_CHART_NUMBER, NAN, words, sizeof words);
  g_assert_cmpstr(words, ==, "NaN");
  NwChartSeries *s = nw_chart_series_new("loss", black);
  for (int i = 1; i <= 100; i++)
    nw_chart_series_add(s, i, pow(10, -i / 25.0));
  NwChartView view = view_of(s, 1, 100);
  nw_chart_fit_y(&view);
  g_assert_cmpfloat(view.y0, ==, 0);
  view.log_y = TRUE;
  nw_chart_fit_y(&view);
  g_assert_cmpfloat(view.y0, >, 0);
  g_assert_cmpfloat(view.y0, <=, 1e-4);
  NwChartPlot plot = {0, 0, 100, 100};
  /* Decades lie equally far apart. */
  double a = nw_chart_y(&view, &plot, 1e-1), b = nw_chart_y(&view, &plot, 1e-2),
         c = nw_chart_y(&view, &plot, 1e-3);
  g_assert_cmpfloat_with_epsilon(b - a, c - b, 1e-9);
  g_assert_cmpfloat_with_epsilon(nw_chart_x_at(&view, &plot, nw_chart_x(&view, &plot, 42)), 42, 1e-9);
  g_ptr_array_unref(view.series);
}

/* A hundred thousand points: the one that stands out must still be seen, and it must be quick. */
static void test_decimation(void)
{
  NwChartSeries *s = nw_chart_series_new("loss", black);
  for (int i = 0; i < 100000; i++)
    nw_chart_series_add(s, i, i == 50000 ? 10 : 1 + 0.1 * (i % 2));
  NwChartView view = view_of(s, 0, 100000);
  nw_chart_fit_y(&view);
  g_assert_cmpfloat(view.y1, >=, 10);
  gint64 from = g_get_monotonic_time();
  cairo_surface_t *image = paint(&view);
  g_test_message("100 000 points in %.1f ms", (double)(g_get_monotonic_time() - from) / 1000);
  NwChartStyle st = style();
  NwChartPlot plot = nw_chart_plot(&view, &st, 600, 300);
  int x = (int)nw_chart_x(&view, &plot, 50000), dark = 0;
  const guint8 *data = cairo_image_surface_get_data(image);
  for (int dx = -2; dx <= 2; dx++)
    for (int y = (int)nw_chart_y(&view, &plot, 9); y < (int)nw_chart_y(&view, &plot, 5); y++)
      dark += data[y * cairo_image_surface_get_stride(image) + (x + dx) * 4] < 160;
  g_assert_cmpint(dark, >, 40);
  cairo_surface_destroy(image);
  g_ptr_array_unref(view.series);
}

static void test_not_finite(void)
{
  NwChartSeries *s = nw_chart_series_new("loss", black);
  for (int i = 0; i < 50; i++)
    nw_chart_series_add(s, i, 1);
  NwChartView view = view_of(s, 0, 100);
  nw_chart_fit_y(&view);
  cairo_surface_t *image = paint(&view);
  g_assert_cmpuint(count(image, 255, 0, 0), ==, 0);
  cairo_surface_destroy(image);
  nw_chart_series_add(s, 60, NAN);
  nw_chart_series_add(s, 70, INFINITY);
  nw_chart_fit_y(&view);
  g_assert_true(isfinite(view.y0) && isfinite(view.y1));
  image = paint(&view);
  g_assert_cmpuint(count(image, 255, 0, 0), >, 10);
  cairo_surface_destroy(image);
  g_ptr_array_unref(view.series);
}

static void test_empty(void)
{
  NwChartSeries *s = nw_chart_series_new("loss", black);
  NwChartView view = view_of(s, 0, 1);
  nw_chart_fit_y(&view);
  cairo_surface_destroy(paint(&view));
  view.log_y = TRUE;
  nw_chart_fit_y(&view);
  cairo_surface_destroy(paint(&view));
  g_ptr_array_unref(view.series);
}

static void test_csv(void)
{
  NwChart *chart = NW_CHART(g_object_ref_sink(nw_chart_new(NW_CHART_NUMBER, "chart")));
  NwChartSeries *s = nw_chart_add_series(chart, "train, \"raw\"", black);
  nw_chart_series_add(s, 0.5, 2.25);
  nw_chart_series_add(s, 1, NAN);
  g_autofree char *text = nw_chart_csv(chart);
  g_assert_cmpstr(text, ==,
                  "series,x,value\n\"train, \"\"raw\"\"\",0.5,2.25\n\"train, \"\"raw\"\"\",1,nan\n");
  g_object_unref(chart);
}

/* The pointer over one chart moves the crosshair of the linked one. */
static void test_linked(void)
{
  GtkWidget *window = gtk_window_new(), *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *a = nw_chart_new(NW_CHART_NUMBER, "chart"), *b = nw_chart_new(NW_CHART_NUMBER, "chart");
  NwChartSeries *s = nw_chart_add_series(NW_CHART(a), "a", black),
                *t = nw_chart_add_series(NW_CHART(b), "b", black);
  for (int i = 0; i <= 10; i++) {
    nw_chart_series_add(s, i, i);
    nw_chart_series_add(t, i, i);
  }
  nw_chart_link(NW_CHART(a), NW_CHART(b));
  nw_chart_set_extent(NW_CHART(a), 0, 10);
  nw_chart_set_extent(NW_CHART(b), 0, 10);
  gtk_widget_set_vexpand(a, TRUE);
  gtk_widget_set_vexpand(b, TRUE);
  gtk_box_append(GTK_BOX(box), a);
  gtk_box_append(GTK_BOX(box), b);
  gtk_window_set_default_size(GTK_WINDOW(window), 600, 500);
  gtk_window_set_child(GTK_WINDOW(window), box);
  gtk_window_present(GTK_WINDOW(window));
  nwt_wait(gtk_widget_get_mapped(b));
  nwt_spin(150);
  nwt_move(a, 46 + (gtk_widget_get_width(a) - 60) * 0.5, gtk_widget_get_height(a) / 2.0);
  nwt_wait(isfinite(nw_chart_view(NW_CHART(a))->cursor));
  g_assert_cmpfloat_with_epsilon(nw_chart_view(NW_CHART(a))->cursor, 5, 0.6);
  g_assert_cmpfloat(nw_chart_view(NW_CHART(b))->cursor, ==, nw_chart_view(NW_CHART(a))->cursor);
  gtk_window_destroy(GTK_WINDOW(window));
}

int main(int argc, char **argv)
{
  nwt_ui_init(&argc, &argv);
  g_test_add_func("/ui/chart/smoothing", test_smoothing);
  g_test_add_func("/ui/chart/axes", test_axes);
  g_test_add_func("/ui/chart/decimation", test_decimation);
  g_test_add_func("/ui/chart/not-finite", test_not_finite);
  g_test_add_func("/ui/chart/empty", test_empty);
  nwt_add("/ui/chart/csv", test_csv);
  nwt_add("/ui/chart/linked", test_linked);
  return nwt_run();
}
