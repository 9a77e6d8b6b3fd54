/* screenshots OUTDIR [WIDTH HEIGHT] [light|dark] [SUFFIX]: every page of the workbench as a PNG, from a real
 * training on the sample; the language comes from LANGUAGE. screenshots.sh calls it for all of them. */
#include <string.h>

#include "tests/ui/nw-ui-test.h"
#include "ui/pages/nw-design-page.h"

static const char *folder, *suffix;

static void shot(NwWindow *window, const char *name)
{
  g_autofree char *path = g_strdup_printf("%s/%s-%s.png", folder, name, suffix);
  nwt_spin(250);
  nwt_screenshot(GTK_WINDOW(window), path);
  g_print("%s\n", path);
}

static void set_config(NwWindow *window, const char *key, const char *value)
{
  NwError error = {0};
  if (nw_project_set_config(nw_window_project(window), key, value, &error) != NW_OK)
    g_error("%s", error.text);
}

static void train(NwWindow *window, const char *name)
{
  NwError error = {0};
  if (nw_session_start(nw_window_session(window), nw_window_project(window), name, &error) != NW_OK)
    g_error("%s", error.text);
}

static gboolean idle(NwWindow *window)
{
  return !nw_session_is_active(nw_window_session(window));
}

/* Runs to compare, with one setting that differs. */
static void train_some(NwWindow *window)
{
  static const char *const rates[] = {"0.001", "0.003"}, *const names[] = {"first try",
                                                                           "three times the rate"};
  set_config(window, "batch_size", "64");
  for (guint i = 0; i < G_N_ELEMENTS(rates); i++) {
    set_config(window, "epochs", i == 0 ? "3" : "4");
    set_config(window, "lr", rates[i]);
    train(window, names[i]);
    if (i == 1) {
      nw_window_show_page(window, "train");
      const NwSessionProgress *p = nw_session_progress(nw_window_session(window));
      nwt_wait_for(p->epoch >= 2 && p->batch > 10, 300);
      shot(window, "train");
      GtkWidget *charts = nw_window_page(window, "train");
      nwt_move(charts, gtk_widget_get_width(charts) * 0.25, gtk_widget_get_height(charts) * 0.4);
      shot(window, "train-hover");
    }
    nwt_wait_for(idle(window), 600);
  }
  shot(window, "train-finished");
}

static GtkWindow *dialog_of(NwWindow *window)
{
  GListModel *all = gtk_window_get_toplevels();
  for (guint i = 0; i < g_list_model_get_n_items(all); i++) {
    g_autoptr(GtkWindow) one = g_list_model_get_item(all, i);
    if (gtk_window_get_transient_for(one) == GTK_WINDOW(window) && gtk_widget_get_visible(GTK_WIDGET(one)))
      return one;
  }
  return NULL;
}

static void history(NwWindow *window)
{
  nw_window_show_page(window, "history");
  GtkWidget *page = nw_window_page(window, "history");
  nwt_spin(300);
  nwt_click(nwt_find_label(page, "three times the rate"));
  shot(window, "history-one");
  GtkWidget *first = nwt_find_label(page, "first try");
  nwt_click_at(first, 10, 8, GDK_CONTROL_MASK);
  shot(window, "history");
  nwt_click(nwt_find_label(page, "first try"));
  gtk_widget_activate_action(page, "history.export", NULL);
  nwt_spin(300);
  GtkWindow *dialog = dialog_of(window);
  if (dialog == NULL)
    return;
  g_autofree char *path = g_strdup_printf("%s/export-%s.png", folder, suffix);
  nwt_screenshot(dialog, path);
  g_print("%s\n", path);
  gtk_window_close(dialog);
}

int main(int argc, char **argv)
{
  if (!nwt_ui_init(&argc, &argv) || argc < 6)
    return 77;
  folder = argv[1];
  /* Text at its exact width: hinted advances swallow spaces. */
  g_object_set(gtk_settings_get_default(), "gtk-xft-hinting", 0, "gtk-xft-hintstyle", "hintnone", NULL);
  suffix = argv[5];
  g_autofree char *sample = g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "share/sample/clothes.zip", NULL);
  NwError error = {0};
  NwWindow *window = nwt_window_open(atoi(argv[2]), atoi(argv[3]));
  g_object_set(adw_style_manager_get_default(), "color-scheme",
               strcmp(argv[4], "dark") == 0 ? ADW_COLOR_SCHEME_FORCE_DARK : ADW_COLOR_SCHEME_FORCE_LIGHT,
               NULL);
  shot(window, "welcome");
  gtk_widget_activate_action(GTK_WIDGET(window), "win.new", "s", "simplecnn");
  nw_window_show_page(window, "data");
  shot(window, "data-empty");
  if (nw_project_set_dataset(nw_window_project(window), sample, &error) != NW_OK)
    g_error("%s", error.text);
  nwt_spin(1500);
  shot(window, "data");
  nw_window_show_page(window, "design");
  nw_canvas_select(nw_design_page_canvas(NW_DESIGN_PAGE(nw_window_page(window, "design"))),
                   nw_network_at(nw_project_network(nw_window_project(window)), 1)->id, FALSE);
  shot(window, "design");
  nw_window_show_page(window, "train");
  shot(window, "train-ready");
  train_some(window);
  history(window);
  gtk_widget_activate_action(GTK_WIDGET(window), "win.new", "s", "resnet-small");
  nw_window_show_page(window, "design");
  shot(window, "design-resnet");
  nwt_window_close(window);
  return nwt_run();
}
