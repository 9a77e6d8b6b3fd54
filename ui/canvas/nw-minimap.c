#include "ui/canvas/nw-minimap.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/canvas/nw-geometry.h"
#include "ui/paint/nw-paint.h"

enum { SIZE = 132 };

typedef struct Map {
  NwProject *project;
  NwCanvas *canvas;
  GtkWidget *area;
} Map;

typedef struct Frame {
  double scale, x, y; /* map = network * scale + (x, y) */
} Frame;

static gboolean frame_of(Map *map, Frame *frame)
{
  double x0, y0, x1, y1;
  if (!nw_network_bounds(nw_project_network(map->project), &x0, &y0, &x1, &y1))
    return FALSE;
  frame->scale = MIN(SIZE / (x1 - x0 + 160), SIZE / (y1 - y0 + 160));
  frame->x = SIZE / 2.0 - (x0 + x1) / 2 * frame->scale;
  frame->y = SIZE / 2.0 - (y0 + y1) / 2 * frame->scale;
  return TRUE;
}

static void set_color(cairo_t *cr, GtkWidget *widget, const char *name, double alpha)
{
  GdkRGBA rgba = {0.5f, 0.5f, 0.5f, 1};
  gtk_style_context_lookup_color(gtk_widget_get_style_context(widget), name, &rgba);
  cairo_set_source_rgba(cr, rgba.red, rgba.green, rgba.blue, rgba.alpha * alpha);
}

static void draw(GtkDrawingArea *area, cairo_t *cr, int width, int height, gpointer data)
{
  Map *map = data;
  Frame f;
  double x, y, w, h;
  const NwNetwork *network = nw_project_network(map->project);
  if (!frame_of(map, &f))
    return;
  for (int i = 0; i < nw_network_count(network); i++) {
    const NwBlock *block = nw_network_at(network, i);
    const NwBlockReport *report = nw_project_block_report(map->project, block->id);
    g_autofree char *name = g_strdup_printf("nw_cat_%s", nw_group_key(block->op->group));
    set_color(cr, GTK_WIDGET(area), report != NULL && report->status != NW_OK ? "nw_err" : name, 0.9);
    cairo_rectangle(cr, block->x * f.scale + f.x, block->y * f.scale + f.y, NW_BLOCK_WIDTH * f.scale,
                    MAX(nw_block_height(block) * f.scale, 1.5));
    cairo_fill(cr);
  }
  nw_canvas_visible(map->canvas, &x, &y, &w, &h);
  cairo_rectangle(cr, x * f.scale + f.x, y * f.scale + f.y, w * f.scale, h * f.scale);
  set_color(cr, GTK_WIDGET(area), "accent_color", 0.12);
  cairo_fill_preserve(cr);
  set_color(cr, GTK_WIDGET(area), "accent_color", 0.9);
  cairo_set_line_width(cr, 1.5);
  cairo_stroke(cr);
}

static void go(Map *map, double x, double y)
{
  Frame f;
  if (frame_of(map, &f))
    nw_canvas_center(map->canvas, (x - f.x) / f.scale, (y - f.y) / f.scale);
}

static void on_drag_begin(GtkGestureDrag *gesture, double x, double y, Map *map)
{
  go(map, x, y);
}

static void on_drag_update(GtkGestureDrag *gesture, double dx, double dy, Map *map)
{
  double x, y;
  gtk_gesture_drag_get_start_point(gesture, &x, &y);
  go(map, x + dx, y + dy);
}

static void redraw(GObject *source, Map *map)
{
  gtk_widget_queue_draw(map->area);
}

static void map_free(gpointer data)
{
  Map *map = data;
  g_signal_handlers_disconnect_by_data(map->project, map);
  g_signal_handlers_disconnect_by_data(map->canvas, map);
  g_object_unref(map->project);
  g_object_unref(map->canvas);
  g_free(map);
}

GtkWidget *nw_minimap_new(NwProject *project, NwCanvas *canvas)
{
  Map *map = g_new0(Map, 1);
  map->project = g_object_ref(project);
  map->canvas = g_object_ref(canvas);
  map->area = gtk_drawing_area_new();
  gtk_drawing_area_set_content_width(GTK_DRAWING_AREA(map->area), SIZE);
  gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(map->area), SIZE);
  gtk_widget_set_overflow(map->area, GTK_OVERFLOW_HIDDEN);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(map->area), draw, map, map_free);
  gtk_accessible_update_property(GTK_ACCESSIBLE(map->area), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Overview of the network"), -1);
  GtkGesture *drag = gtk_gesture_drag_new();
  g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), map);
  g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), map);
  gtk_widget_add_controller(map->area, GTK_EVENT_CONTROLLER(drag));
  g_signal_connect(project, "network-changed", G_CALLBACK(redraw), map);
  g_signal_connect(canvas, "view-changed", G_CALLBACK(redraw), map);
  return map->area;
}
