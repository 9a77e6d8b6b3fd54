/* screenshots OUTDIR LANGUAGE: every page of the workbench as a PNG, light and dark, large and small, from a
 * real training on the sample: OUTDIR/<page>-<language>-<width>-<style>.png. The language itself comes from
 * $LANGUAGE; screenshots.sh calls this for each. */
#include <string.h>

#include "tests/ui/nw-ui-test.h"
#include "ui/pages/nw-design-page.h"

static const char *folder, *language;

static const struct {
  int width, height;
  AdwColorScheme scheme;
  const char *style;
} looks[] = {
    {1440, 900, ADW_COLOR_SCHEME_FORCE_DARK, "dark"},
    {1024, 700, ADW_COLOR_SCHEME_FORCE_DARK, "dark"},
    {1024, 700, ADW_COLOR_SCHEME_FORCE_LIGHT, "light"},
    {1440, 900, ADW_COLOR_SCHEME_FORCE_LIGHT, "light"}}; /* the last one stays: the pages are driven in it */

static void put_look(GtkWindow *window, guint k)
{
  adw_style_manager_set_color_scheme(adw_style_manager_get_default(), looks[k].scheme);
  GtkWidget *widget = GTK_WIDGET(window);
  int width, height;
  /* without a window manager the default size counts the border that the pointer resizes by */
  gtk_window_get_default_size(window, &width, &height);
  int border_x = width - gtk_widget_get_width(widget), border_y = height - gtk_widget_get_height(widget);
  /* twice: the pages' wide form has to give way to the narrow one before the window can become that small */
  for (int turn = 0; turn < 2; turn++) {
    gtk_window_set_default_size(window, looks[k].width + border_x + turn, looks[k].height + border_y);
    nwt_spin(150);
    gtk_window_set_default_size(window, looks[k].width + border_x, looks[k].height + border_y);
    nwt_spin(150);
  }
  nwt_wait(gtk_widget_get_width(widget) == looks[k].width &&
           gtk_widget_get_height(widget) == looks[k].height);
}

/* What is shown by `window`, which is the main one or a dialog over it, in every look. */
static void shot(NwWindow *main_window, GtkWindow *window, const char *name)
{
  for (guint k = 0; k < G_N_ELEMENTS(looks); k++) {
    g_autofree char *path =
        g_strdup_printf("%s/%s-%s-%d-%s.png", folder, name, language, looks[k].width, looks[k].style);
    put_look(GTK_WINDOW(main_window), k);
    nwt_screenshot(window, path);
  }
}

static void page_shot(NwWindow *window, const char *name)
{
  shot(window, GTK_WINDOW(window), name);
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
    set_config(window, "epochs", i == 0 ? "2" : "5");
    set_config(window, "lr", rates[i]);
    train(window, names[i]);
    if (i == 1) {
      nw_window_show_page(window, "train");
      const NwSessionProgress *p = nw_session_progress(nw_window_session(window));
      nwt_wait_for(p->epoch >= 2 && p->batch > 10, 300);
      page_shot(window, "train");
    }
    nwt_wait_for(idle(window), 600);
  }
  page_shot(window, "train-finished");
  GtkWidget *charts = nw_window_page(window, "train");
  nwt_move(charts, gtk_widget_get_width(charts) * 0.25, gtk_widget_get_height(charts) * 0.4);
  nwt_spin(250);
  g_autofree char *path = g_strdup_printf("%s/train-hover-%s-1440-light.png", folder, language);
  nwt_screenshot(GTK_WINDOW(window), path);
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
  page_shot(window, "history-one");
  GtkWidget *first = nwt_find_label(page, "first try");
  nwt_click_at(first, 10, 8, GDK_CONTROL_MASK);
  page_shot(window, "history");
  nwt_click(nwt_find_label(page, "first try"));
  gtk_widget_activate_action(page, "history.export", NULL);
  nwt_spin(300);
  GtkWindow *dialog = dialog_of(window);
  if (dialog == NULL)
    return;
  shot(window, dialog, "export");
  gtk_window_close(dialog);
}

int main(int argc, char **argv)
{
  if (!nwt_ui_init(&argc, &argv) || argc < 3)
    return 77;
  folder = argv[1];
  /* Text at its exact width: hinted advances swallow spaces. */
  g_object_set(gtk_settings_get_default(), "gtk-xft-hinting", 0, "gtk-xft-hintstyle", "hintnone", NULL);
  language = argv[2];
  g_autofree char *sample = g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "share/sample/clothes.zip", NULL);
  NwError error = {0};
  NwWindow *window = nwt_window_open(1440, 900);
  page_shot(window, "welcome");
  gtk_widget_activate_action(GTK_WIDGET(window), "win.new", "s", "simplecnn");
  nw_window_show_page(window, "data");
  page_shot(window, "data-empty");
  if (nw_project_set_dataset(nw_window_project(window), sample, &error) != NW_OK)
    g_error("%s", error.text);
  nwt_spin(1500);
  page_shot(window, "data");
  nw_window_show_page(window, "design");
  nw_canvas_select(nw_design_page_canvas(NW_DESIGN_PAGE(nw_window_page(window, "design"))),
                   nw_network_at(nw_project_network(nw_window_project(window)), 1)->id, FALSE);
  page_shot(window, "design");
  nw_window_show_page(window, "train");
  page_shot(window, "train-ready");
  train_some(window);
  history(window);
  gtk_widget_activate_action(GTK_WIDGET(window), "win.new", "s", "resnet-small");
  nw_window_show_page(window, "design");
  page_shot(window, "design-resnet");
  nwt_window_close(window);
  return nwt_run();
}
