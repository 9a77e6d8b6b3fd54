#include "tests/ui/nw-ui-test.h"

#include <X11/extensions/XTest.h>
#include <X11/keysym.h>
#include <gdk/x11/gdkx.h>
#include <glib/gstdio.h>
#include <string.h>

#include "app/i18n.h"

static Display *x_display;
static gboolean has_display;
static char *home;
static NwApplication *application;

/* ---- start and end ---- */

static void remove_tree(const char *path)
{
  GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
  const char *name;
  while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
    g_autofree char *below = g_build_filename(path, name, NULL);
    remove_tree(below);
  }
  if (dir != NULL)
    g_dir_close(dir);
  g_remove(path);
}

static void set_folder(const char *variable, const char *name)
{
  g_autofree char *path = g_build_filename(home, name, NULL);
  g_mkdir_with_parents(path, 0755);
  g_setenv(variable, path, TRUE);
}

/* The built catalogue: tests lie one folder deeper than the programs. */
static void bind_catalogue(void)
{
  g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *folder = program != NULL ? g_path_get_dirname(program) : NULL;
  g_autofree char *po = folder != NULL ? g_build_filename(folder, "..", "..", "po", NULL) : NULL;
  if (po != NULL && g_file_test(po, G_FILE_TEST_IS_DIR))
    bindtextdomain("netwright", po);
}

gboolean nwt_ui_init(int *argc, char ***argv)
{
  g_test_init(argc, argv, NULL);
  home = g_dir_make_tmp("netwright-ui-XXXXXX", NULL);
  g_assert_nonnull(home);
  set_folder("HOME", "home");
  set_folder("XDG_DATA_HOME", "data");
  set_folder("XDG_CONFIG_HOME", "config");
  set_folder("XDG_STATE_HOME", "state");
  set_folder("NETWRIGHT_HISTORY", "history");
  g_setenv("GDK_BACKEND", "x11", TRUE);
  g_setenv("GSETTINGS_BACKEND", "memory", TRUE);
  g_setenv("GSK_RENDERER", "cairo", TRUE);
  g_setenv("GTK_A11Y", "test", FALSE);
  nw_i18n_init();
  bind_catalogue();
  has_display = gtk_init_check();
  if (!has_display)
    return FALSE;
  adw_init();
  g_object_set(gtk_settings_get_default(), "gtk-enable-animations", FALSE, NULL);
  x_display = XOpenDisplay(NULL);
  g_assert_nonnull(x_display);
  return TRUE;
}

static void run_test(gconstpointer test)
{
  if (has_display)
    ((void (*)(void))test)();
  else
    g_test_skip("there is no X display; xvfb-run gives one");
}

void nwt_add(const char *path, void (*test)(void))
{
  g_test_add_data_func(path, (gconstpointer)test, run_test);
}

int nwt_run(void)
{
  int failed = g_test_run();
  /* Shut down, but kept: an application that never ran may not be finalized. */
  if (application != NULL)
    g_signal_emit_by_name(application, "shutdown");
  if (x_display != NULL)
    XCloseDisplay(x_display);
  remove_tree(home);
  g_clear_pointer(&home, g_free);
  return failed;
}

const char *nwt_home(void)
{
  return home;
}

NwWindow *nwt_window_open(int width, int height)
{
  GError *error = NULL;
  if (application == NULL) {
    application = nw_application_new();
    g_assert_true(g_application_register(G_APPLICATION(application), NULL, &error));
    g_assert_no_error(error);
  }
  g_application_activate(G_APPLICATION(application));
  NwWindow *window = NW_WINDOW(gtk_application_get_windows(GTK_APPLICATION(application))->data);
  gtk_window_set_default_size(GTK_WINDOW(window), width, height);
  nwt_wait(gtk_widget_get_mapped(GTK_WIDGET(window)) && gtk_widget_get_width(GTK_WIDGET(window)) > 200);
  nwt_spin(100);
  return window;
}

void nwt_window_close(NwWindow *window)
{
  gpointer held = window;
  g_object_add_weak_pointer(G_OBJECT(window), &held);
  gtk_window_close(GTK_WINDOW(window));
  nwt_wait(held == NULL);
}

/* ---- waiting ---- */

void nwt_spin(guint ms)
{
  gint64 end = g_get_monotonic_time() + (gint64)ms * 1000;
  while (g_get_monotonic_time() < end)
    if (!g_main_context_iteration(NULL, FALSE))
      g_usleep(500);
}

/* ---- pointer and keys ---- */

static void to_root(GtkWidget *widget, double x, double y, int *root_x, int *root_y)
{
  GtkNative *native = gtk_widget_get_native(widget);
  double nx, ny, sx, sy;
  int ox, oy;
  Window child;
  g_assert_nonnull(native);
  g_assert_true(gtk_widget_translate_coordinates(widget, GTK_WIDGET(native), x, y, &nx, &ny));
  gtk_native_get_surface_transform(native, &sx, &sy);
  GdkSurface *surface = gtk_native_get_surface(native);
  Display *display = gdk_x11_display_get_xdisplay(gdk_surface_get_display(surface));
  XTranslateCoordinates(display, gdk_x11_surface_get_xid(surface), DefaultRootWindow(display), 0, 0, &ox, &oy,
                        &child);
  *root_x = ox + (int)(nx + sx);
  *root_y = oy + (int)(ny + sy);
}

static void point(int x, int y)
{
  XTestFakeMotionEvent(x_display, -1, x, y, CurrentTime);
  XFlush(x_display);
  nwt_spin(12);
}

static void press(gboolean down)
{
  XTestFakeButtonEvent(x_display, 1, down, CurrentTime);
  XFlush(x_display);
  nwt_spin(25);
}

static void fake_key(KeySym symbol, gboolean down)
{
  XTestFakeKeyEvent(x_display, XKeysymToKeycode(x_display, symbol), down, CurrentTime);
  XFlush(x_display);
  nwt_spin(10);
}

static void hold(guint modifiers, gboolean down)
{
  if (modifiers & GDK_CONTROL_MASK)
    fake_key(XK_Control_L, down);
  if (modifiers & GDK_SHIFT_MASK)
    fake_key(XK_Shift_L, down);
  if (modifiers & GDK_ALT_MASK)
    fake_key(XK_Alt_L, down);
}

void nwt_move(GtkWidget *widget, double x, double y)
{
  int rx, ry, now_x, now_y;
  to_root(widget, x, y, &now_x, &now_y);
  /* Until it stays where it is: a layout may be under way. */
  do {
    rx = now_x;
    ry = now_y;
    point(rx - 2, ry);
    point(rx, ry);
    nwt_spin(60);
    to_root(widget, x, y, &now_x, &now_y);
  } while (rx != now_x || ry != now_y);
}

void nwt_click_at(GtkWidget *widget, double x, double y, guint modifiers)
{
  nwt_move(widget, x, y);
  hold(modifiers, TRUE);
  press(TRUE);
  press(FALSE);
  hold(modifiers, FALSE);
  nwt_spin(30);
}

void nwt_click(GtkWidget *widget)
{
  g_assert_nonnull(widget);
  nwt_click_at(widget, gtk_widget_get_width(widget) / 2.0, gtk_widget_get_height(widget) / 2.0, 0);
}

void nwt_double_click(GtkWidget *widget)
{
  nwt_click(widget);
  press(TRUE);
  press(FALSE);
  nwt_spin(30);
}

void nwt_drag(GtkWidget *from, double x0, double y0, GtkWidget *to, double x1, double y1)
{
  enum { STEPS = 8 };
  int ax, ay, bx, by;
  to_root(from, x0, y0, &ax, &ay);
  to_root(to, x1, y1, &bx, &by);
  point(ax, ay);
  press(TRUE);
  for (int i = 1; i <= STEPS; i++)
    point(ax + (bx - ax) * i / STEPS, ay + (by - ay) * i / STEPS);
  nwt_spin(20);
  press(FALSE);
  nwt_spin(60);
}

void nwt_key(guint keyval, guint modifiers)
{
  hold(modifiers, TRUE);
  fake_key(keyval, TRUE);
  fake_key(keyval, FALSE);
  hold(modifiers, FALSE);
  nwt_spin(20);
}

void nwt_type(const char *ascii)
{
  for (; *ascii != '\0'; ascii++)
    nwt_key((guint)*ascii, 0);
}

/* ---- finding ---- */

GtkWidget *nwt_find(GtkWidget *root, gboolean (*match)(GtkWidget *widget, gpointer data), gpointer data)
{
  if (!gtk_widget_get_visible(root))
    return NULL;
  if (match(root, data))
    return root;
  for (GtkWidget *child = gtk_widget_get_first_child(root); child != NULL;
       child = gtk_widget_get_next_sibling(child)) {
    GtkWidget *found = gtk_widget_get_child_visible(child) ? nwt_find(child, match, data) : NULL;
    if (found != NULL)
      return found;
  }
  return NULL;
}

static gboolean is_type(GtkWidget *widget, gpointer type)
{
  return g_type_is_a(G_OBJECT_TYPE(widget), *(GType *)type);
}

static gboolean has_name(GtkWidget *widget, gpointer name)
{
  return strcmp(gtk_widget_get_name(widget), name) == 0;
}

static gboolean has_label(GtkWidget *widget, gpointer text)
{
  return GTK_IS_LABEL(widget) && strcmp(gtk_label_get_text(GTK_LABEL(widget)), text) == 0;
}

static gboolean holds_text(GtkWidget *widget, gpointer text)
{
  return GTK_IS_LABEL(widget) && strstr(gtk_label_get_text(GTK_LABEL(widget)), text) != NULL;
}

static gboolean has_action(GtkWidget *widget, gpointer action)
{
  return GTK_IS_ACTIONABLE(widget) &&
         g_strcmp0(gtk_actionable_get_action_name(GTK_ACTIONABLE(widget)), action) == 0;
}

GtkWidget *nwt_find_type(GtkWidget *root, GType type)
{
  return nwt_find(root, is_type, &type);
}

GtkWidget *nwt_find_name(GtkWidget *root, const char *name)
{
  return nwt_find(root, has_name, (gpointer)name);
}

GtkWidget *nwt_find_label(GtkWidget *root, const char *text)
{
  return nwt_find(root, has_label, (gpointer)text);
}

GtkWidget *nwt_find_action(GtkWidget *root, const char *action)
{
  return nwt_find(root, has_action, (gpointer)action);
}

gboolean nwt_shows(GtkWidget *root, const char *part)
{
  return nwt_find(root, holds_text, (gpointer)part) != NULL;
}

/* ---- pictures ---- */

static GskRenderNode *node_of(GtkWidget *widget)
{
  g_autoptr(GdkPaintable) paintable = gtk_widget_paintable_new(widget);
  GtkSnapshot *snapshot = gtk_snapshot_new();
  gdk_paintable_snapshot(paintable, GDK_SNAPSHOT(snapshot), gtk_widget_get_width(widget),
                         gtk_widget_get_height(widget));
  return gtk_snapshot_free_to_node(snapshot);
}

void nwt_screenshot(GtkWindow *window, const char *path)
{
  GtkWidget *widget = GTK_WIDGET(window);
  GskRenderNode *node = NULL;
  /* There is none between a change and the next frame. */
  nwt_wait((node = node_of(widget)) != NULL);
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, gtk_widget_get_width(widget),
                                                      gtk_widget_get_height(widget));
  cairo_t *cr = cairo_create(image);
  gsk_render_node_draw(node, cr);
  gsk_render_node_unref(node);
  cairo_destroy(cr);
  g_assert_cmpint(cairo_surface_write_to_png(image, path), ==, CAIRO_STATUS_SUCCESS);
  cairo_surface_destroy(image);
}

void nwt_timed_out(const char *file, int line, const char *condition)
{
  const char *folder = g_getenv("NETWRIGHT_SHOTS");
  GListModel *all = gtk_window_get_toplevels();
  for (guint i = 0; folder != NULL && i < g_list_model_get_n_items(all); i++) {
    g_autoptr(GtkWindow) window = g_list_model_get_item(all, i);
    g_autofree char *path = g_strdup_printf("%s/failed-%u.png", folder, i);
    if (gtk_widget_get_mapped(GTK_WIDGET(window)))
      nwt_screenshot(window, path);
  }
  g_error("%s:%d: this did not come true: %s", file, line, condition);
}

static void put_picture(const char *path, guint class, guint classes, guint number, guint side)
{
  cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)side, (int)side);
  cairo_t *cr = cairo_create(image);
  double hue = (double)class / classes, place = (double)side * (class + 0.5) / classes;
  GdkRGBA color;
  gtk_hsv_to_rgb((float)hue, 0.6f, 0.95f, &color.red, &color.green, &color.blue);
  cairo_set_source_rgb(cr, 0.12 + 0.02 * (number % 5), 0.13, 0.16);
  cairo_paint(cr);
  cairo_set_source_rgb(cr, color.red, color.green, color.blue);
  cairo_rectangle(cr, 0, place - side / (2.0 * classes), side, (double)side / classes);
  cairo_fill(cr);
  cairo_arc(cr, side * (0.2 + 0.1 * (number % 7)), place, side / 8.0, 0, 2 * G_PI);
  cairo_set_source_rgb(cr, 1, 1, 1);
  cairo_fill(cr);
  cairo_destroy(cr);
  g_assert_cmpint(cairo_surface_write_to_png(image, path), ==, CAIRO_STATUS_SUCCESS);
  cairo_surface_destroy(image);
}

char *nwt_pictures(const char *name, guint classes, guint n, guint side)
{
  static const char *const names[] = {"anchor", "bridge", "castle", "dune", "engine", "ferry"};
  char *root = g_build_filename(home, name, NULL);
  g_assert_cmpuint(classes, <=, G_N_ELEMENTS(names));
  for (guint c = 0; c < classes; c++) {
    g_autofree char *folder = g_build_filename(root, names[c], NULL);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0755), ==, 0);
    for (guint i = 0; i < n; i++) {
      g_autofree char *file = g_strdup_printf("%s/%03u.png", folder, i);
      put_picture(file, c, classes, i, side);
    }
  }
  return root;
}
