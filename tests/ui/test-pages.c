/* Every page builds, with and without a data set, wide and narrow, light and dark; GTK's warnings are fatal.
 */
#include "tests/ui/nw-ui-test.h"

static const char *const pages[] = {"data", "design", "train", "history"};

static void walk(NwWindow *window)
{
  for (guint i = 0; i < G_N_ELEMENTS(pages); i++) {
    nw_window_show_page(window, pages[i]);
    GtkWidget *page = nw_window_page(window, pages[i]);
    g_assert_nonnull(page);
    nwt_wait(gtk_widget_get_mapped(page) && gtk_widget_get_width(page) > 300);
    nwt_spin(60);
    g_assert_cmpint(gtk_widget_get_width(page), <=, gtk_widget_get_width(GTK_WIDGET(window)));
  }
}

static void use_pictures(NwWindow *window, const char *folder)
{
  NwError error = {0};
  if (nw_project_set_dataset(nw_window_project(window), folder, &error) != NW_OK)
    g_error("%s", error.text);
}

static void test_welcome(void)
{
  NwWindow *window = nwt_window_open(1440, 900);
  g_assert_null(nw_window_project(window));
  g_assert_true(nwt_shows(GTK_WIDGET(window), "SimpleCNN"));
  nwt_window_close(window);
}

static void test_empty(void)
{
  NwWindow *window = nwt_window_open(1440, 900);
  nw_window_set_project(window, nw_project_new());
  walk(window);
  g_assert_false(gtk_widget_get_sensitive(nwt_find_name(GTK_WIDGET(window), "train-button")));
  nwt_window_close(window);
}

static void test_full(void)
{
  g_autofree char *folder = nwt_pictures("full", 3, 8, 24);
  NwWindow *window = nwt_window_open(1440, 900);
  gtk_widget_activate_action(GTK_WIDGET(window), "win.new", "s", "simplecnn");
  use_pictures(window, folder);
  walk(window);
  nw_window_show_page(window, "data");
  nwt_wait(nwt_shows(nw_window_page(window, "data"), "bridge"));
  g_assert_true(gtk_widget_get_sensitive(nwt_find_name(GTK_WIDGET(window), "train-button")));
  g_object_set(adw_style_manager_get_default(), "color-scheme", ADW_COLOR_SCHEME_FORCE_DARK, NULL);
  walk(window);
  g_object_set(adw_style_manager_get_default(), "color-scheme", ADW_COLOR_SCHEME_FORCE_LIGHT, NULL);
  nwt_window_close(window);
}

static void test_narrow(void)
{
  g_autofree char *folder = nwt_pictures("narrow", 3, 8, 24);
  NwWindow *window = nwt_window_open(1024, 700);
  gtk_widget_activate_action(GTK_WIDGET(window), "win.new", "s", "resnet-small");
  use_pictures(window, folder);
  walk(window);
  /* Nothing on any page may ask for more than the window has. */
  g_assert_cmpint(gtk_widget_get_width(GTK_WIDGET(window)), <=, 1024);
  g_assert_cmpint(gtk_widget_get_height(GTK_WIDGET(window)), <=, 700);
  nwt_window_close(window);
}

int main(int argc, char **argv)
{
  nwt_ui_init(&argc, &argv);
  nwt_add("/ui/pages/welcome", test_welcome);
  nwt_add("/ui/pages/empty-project", test_empty);
  nwt_add("/ui/pages/with-pictures", test_full);
  nwt_add("/ui/pages/narrow", test_narrow);
  return nwt_run();
}
