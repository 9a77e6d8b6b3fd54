/* The whole way with a real pointer: blocks are dragged onto an empty canvas and wired, a folder is chosen,
 * the network trains while the chart fills, is stopped, found in the History, compared and exported. One
 * test, each step builds on the one before. */
#include <string.h>

#include "app/export.h"
#include "tests/ui/nw-ui-test.h"
#include "ui/canvas/nw-geometry.h"
#include "ui/chart/nw-chart.h"
#include "ui/dialogs/nw-export-dialog.h"
#include "ui/pages/nw-data-page.h"
#include "ui/pages/nw-design-page.h"
#include "ui/widgets/nw-picture-grid.h"

static NwWindow *window;
static char *pictures;

static const NwNetwork *network(void)
{
  return nw_project_network(nw_window_project(window));
}

static NwCanvas *canvas(void)
{
  return nw_design_page_canvas(NW_DESIGN_PAGE(nw_window_page(window, "design")));
}

static const NwBlock *block_of(const char *op)
{
  for (int i = 0; i < nw_network_count(network()); i++)
    if (strcmp(nw_network_at(network(), i)->op->id, op) == 0)
      return nw_network_at(network(), i);
  g_error("there is no %s on the canvas", op);
}

/* ---- building ---- */

/* In two columns, so that no block hangs itself below the one before: the wires are to be drawn by hand. */
static void drag_from_palette(const char *op, int column, int line)
{
  int before = nw_network_count(network());
  NwPalette *palette = nw_design_page_palette(NW_DESIGN_PAGE(nw_window_page(window, "design")));
  GtkWidget *row = nw_palette_row(palette, op);
  g_assert_nonnull(row);
  /* The list is longer than the window: searched for, as a person would. */
  g_autofree char *words = g_ascii_strdown(nw_op_find(op)->label, -1);
  nw_palette_focus_search(palette);
  nwt_spin(50);
  nwt_key('a', GDK_CONTROL_MASK);
  nwt_type(words);
  nwt_wait(gtk_widget_get_child_visible(row) &&
           !gtk_widget_get_child_visible(
               nw_palette_row(palette, strcmp(op, "dropout") == 0 ? "relu" : "dropout")));
  nwt_spin(100);
  nwt_drag(row, 60, gtk_widget_get_height(row) / 2.0, GTK_WIDGET(canvas()), 180 + 300 * column,
           120 + 200 * line);
  nwt_wait(nw_network_count(network()) == before + 1);
  g_assert_cmpstr(nw_network_at(network(), before)->op->id, ==, op);
}

static void wire(const char *from, const char *to)
{
  const NwBlock *a = block_of(from), *b = block_of(to);
  guint32 source = a->id, target = b->id;
  double x, y, ax, ay, bx, by;
  nw_block_output_at(a, &x, &y);
  nw_canvas_to_widget(canvas(), x, y, &ax, &ay);
  nw_block_input_at(b, 0, &x, &y);
  nw_canvas_to_widget(canvas(), x, y, &bx, &by);
  nwt_drag(GTK_WIDGET(canvas()), ax, ay, GTK_WIDGET(canvas()), bx, by);
  nwt_wait(nw_network_find(network(), target)->n_from > 0 &&
           nw_network_find(network(), target)->from[0] == source);
}

static void build(void)
{
  static const char *const ops[] = {"input", "conv2d", "relu", "max_pool2d", "flatten", "linear"};
  nwt_click(nwt_find_label(GTK_WIDGET(window), "Empty network"));
  nwt_wait(nw_window_project(window) != NULL);
  nwt_spin(200); /* until the switcher stands where it will stay */
  nwt_click(nwt_find_label(GTK_WIDGET(window), "Design"));
  nwt_wait(gtk_widget_get_mapped(GTK_WIDGET(canvas())));
  nw_canvas_set_zoom(canvas(), 1);
  nwt_spin(100);
  g_assert_cmpint(nw_network_count(network()), ==, 0);
  for (guint i = 0; i < G_N_ELEMENTS(ops); i++)
    drag_from_palette(ops[i], (int)i % 2, (int)i / 2);
  for (guint i = 1; i < G_N_ELEMENTS(ops); i++)
    wire(ops[i - 1], ops[i]);
}

static void undo_and_redo(void)
{
  guint32 last = block_of("linear")->id;
  gtk_widget_grab_focus(GTK_WIDGET(canvas()));
  nwt_key('z', GDK_CONTROL_MASK);
  nwt_wait(nw_network_find(network(), last)->n_from == 0 || nw_network_find(network(), last)->from[0] == 0);
  nwt_key('z', GDK_CONTROL_MASK | GDK_SHIFT_MASK);
  nwt_wait(nw_network_find(network(), last)->n_from > 0 && nw_network_find(network(), last)->from[0] != 0);
  nwt_click(nwt_find_action(GTK_WIDGET(window), "win.undo"));
  nwt_wait(nw_network_find(network(), last)->n_from == 0 || nw_network_find(network(), last)->from[0] == 0);
  nwt_click(nwt_find_action(GTK_WIDGET(window), "win.redo"));
  nwt_wait(nw_network_find(network(), last)->n_from > 0 && nw_network_find(network(), last)->from[0] != 0);
}

/* ---- data ---- */

static void choose_folder(void)
{
  nwt_click(nwt_find_label(GTK_WIDGET(window), "Data"));
  GtkWidget *page = nw_window_page(window, "data");
  nwt_wait(gtk_widget_get_mapped(page));
  nw_data_page_open(NW_DATA_PAGE(page), pictures);
  nwt_wait(nw_project_manifest(nw_window_project(window)) != NULL);
  nwt_wait(nwt_shows(page, "anchor") && nwt_shows(page, "bridge") && nwt_shows(page, "castle"));
  GtkWidget *picture = nwt_find_type(nwt_find_type(page, NW_TYPE_PICTURE_GRID), GTK_TYPE_PICTURE);
  nwt_wait(picture != NULL && gtk_picture_get_paintable(GTK_PICTURE(picture)) != NULL);
  g_assert_null(nw_project_obstacle(nw_window_project(window), NULL));
}

/* ---- training ---- */

static NwTrainerState state(void)
{
  return nw_session_state(nw_window_session(window));
}

static guint chart_points(void)
{
  GtkWidget *chart = nwt_find_type(nw_window_page(window, "train"), NW_TYPE_CHART);
  const NwChartView *view = chart != NULL ? nw_chart_view(NW_CHART(chart)) : NULL;
  const NwChartSeries *series =
      view != NULL && view->series->len > 0 ? g_ptr_array_index(view->series, 0) : NULL;
  return series != NULL ? series->points->len : 0;
}

static void on_stopping(NwSession *session, gint64 *asked)
{
  NwTrainerState now = nw_session_state(session);
  /* A quick stop may be over before it is told. */
  if (*asked == 0 && (now == NW_TRAINER_STOPPING || now == NW_TRAINER_STOPPED))
    *asked = g_get_monotonic_time();
}

static void train_and_stop(const char *epochs)
{
  NwError error = {0};
  g_assert_cmpint(nw_project_set_config(nw_window_project(window), "epochs", epochs, &error), ==, NW_OK);
  nwt_wait(state() != NW_TRAINER_RUNNING);
  nwt_click_until(nwt_find_action(GTK_WIDGET(window), "win.train"), state() == NW_TRAINER_RUNNING);
  nwt_wait(state() == NW_TRAINER_RUNNING);
  GtkWidget *page = nw_window_page(window, "train");
  nwt_wait(gtk_widget_get_mapped(page));
  nwt_wait_for(chart_points() > 12, 60);
  g_assert_true(nwt_shows(GTK_WIDGET(window), "Epoch "));
  nwt_wait_for(nw_session_progress(nw_window_session(window))->epoch >= 1, 60);
  gint64 asked = 0, step = 0;
  g_signal_connect(nw_window_session(window), "state-changed", G_CALLBACK(on_stopping), &asked);
  nwt_click_until(nwt_find_action(page, "win.stop"), asked != 0);
  nwt_wait(asked != 0);
  step = nw_session_progress(nw_window_session(window))->step;
  nwt_wait(state() == NW_TRAINER_STOPPED);
  g_signal_handlers_disconnect_by_data(nw_window_session(window), &asked);
  step = nw_session_progress(nw_window_session(window))->step - step;
  double ms = (double)(g_get_monotonic_time() - asked) / 1000;
  g_test_message("stopped %.0f ms after the button, %d steps later", ms, (int)step);
  /* The batch under way, and one whose event had not been read yet. */
  g_assert_cmpint(step, <=, 2);
  nwt_wait(!nw_session_is_active(nw_window_session(window)));
}

/* ---- history ---- */

static GtkWindow *dialog_named(const char *name)
{
  GListModel *all = gtk_window_get_toplevels();
  for (guint i = 0; i < g_list_model_get_n_items(all); i++) {
    g_autoptr(GtkWindow) one = g_list_model_get_item(all, i);
    if (strcmp(gtk_widget_get_name(GTK_WIDGET(one)), name) == 0 && gtk_widget_get_mapped(GTK_WIDGET(one)))
      return one;
  }
  return NULL;
}

static GPtrArray *runs(void)
{
  GPtrArray *all = NULL;
  NwError error = {0};
  NwHistory *history = nw_application_history(NW_APPLICATION(gtk_window_get_application(GTK_WINDOW(window))));
  g_assert_cmpint(nw_history_list(history, FALSE, &all, &error), ==, NW_OK);
  return all;
}

static void find_and_compare(void)
{
  nwt_click(nwt_find_label(GTK_WIDGET(window), "History"));
  GtkWidget *page = nw_window_page(window, "history");
  nwt_wait(gtk_widget_get_mapped(page));
  g_autoptr(GPtrArray) all = runs();
  g_assert_cmpuint(all->len, ==, 2);
  for (guint i = 0; i < all->len; i++)
    g_assert_cmpint(((NwRunInfo *)g_ptr_array_index(all, i))->state, ==, NW_RUN_STOPPED);
  GtkWidget *first, *second;
  nwt_wait((first = nwt_find_label(page, "short")) != NULL &&
           (second = nwt_find_label(page, "long")) != NULL);
  nwt_click(first);
  nwt_wait(nwt_shows(page, "1 run"));
  nwt_click_at(nwt_find_label(page, "long"), 5, 8, GDK_CONTROL_MASK);
  nwt_wait(nwt_shows(page, "2 runs"));
  nwt_wait(nwt_shows(page, "epochs")); /* the setting that differs */
  nwt_click(nwt_find_label(page, "long"));
  nwt_wait(nwt_shows(page, "1 run"));
}

static void export_weights(void)
{
  g_autofree char *path = g_build_filename(nwt_home(), "taken away", "weights.pth", NULL);
  g_autofree char *folder = g_path_get_dirname(path);
  g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
  GtkWidget *page = nw_window_page(window, "history");
  nwt_click(nwt_find_name(page, "history-export"));
  nwt_wait(dialog_named("export-dialog") != NULL);
  GtkWindow *dialog = dialog_named("export-dialog");
  nw_export_dialog_set_path(dialog, path);
  nwt_click(nwt_find_name(GTK_WIDGET(dialog), "export-button"));
  nwt_wait(nwt_find_label(GTK_WIDGET(dialog), "Show in Folder") != NULL);
  g_autofree char *bytes = NULL;
  gsize size = 0;
  g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
  g_test_message("%s: %u bytes", path, (guint)size);
  g_assert_cmpuint(size, >, 1000);
  g_assert_cmpint(memcmp(bytes, "PK", 2), ==, 0);
  g_autofree char *command = g_strdup_printf("'%s' info '%s'", g_getenv("NETWRIGHT"), path);
  int status = -1;
  g_autofree char *out = NULL;
  g_assert_true(g_spawn_command_line_sync(command, &out, NULL, &status, NULL));
  g_test_message("%s", out);
  g_assert_cmpint(status, ==, 0);
  nwt_click(nwt_find_label(GTK_WIDGET(dialog), "Close"));
  nwt_wait(dialog_named("export-dialog") == NULL);
}

static void rename_last(const char *name)
{
  NwError error = {0};
  NwHistory *history = nw_application_history(NW_APPLICATION(gtk_window_get_application(GTK_WINDOW(window))));
  g_assert_cmpint(nw_history_rename(history, nw_session_run(nw_window_session(window)), name, &error), ==,
                  NW_OK);
}

static void test_drive(void)
{
  pictures = nwt_pictures("pictures", 3, 40, 24);
  window = nwt_window_open(1440, 900);
  build();
  undo_and_redo();
  choose_folder();
  train_and_stop("400");
  rename_last("short");
  train_and_stop("500");
  rename_last("long");
  find_and_compare();
  export_weights();
  nwt_window_close(window);
  g_free(pictures);
}

int main(int argc, char **argv)
{
  nwt_ui_init(&argc, &argv);
  nwt_add("/ui/drive/from-nothing-to-an-exported-network", test_drive);
  return nwt_run();
}
