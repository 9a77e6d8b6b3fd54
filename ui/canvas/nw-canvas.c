/* The widget: children, drawing, selection, view. */
#include "ui/canvas/nw-canvas.h"

#include <glib/gi18n.h>
#include <math.h>

#include "ui/canvas/nw-block-widget.h"
#include "ui/canvas/nw-canvas-internal.h"
#include "ui/widgets/nw-text.h"

G_DEFINE_FINAL_TYPE(NwCanvas, nw_canvas, GTK_TYPE_WIDGET)

enum { SELECTION_CHANGED, VIEW_CHANGED, REFUSED, SIGNALS };
static guint signals[SIGNALS];

/* ---- coordinates ---- */

void nw_canvas_to_network(NwCanvas *self, double widget_x, double widget_y, double *x, double *y)
{
  *x = (widget_x - self->pan_x) / self->zoom;
  *y = (widget_y - self->pan_y) / self->zoom;
}

void nw_canvas_to_widget(NwCanvas *self, double x, double y, double *widget_x, double *widget_y)
{
  *widget_x = x * self->zoom + self->pan_x;
  *widget_y = y * self->zoom + self->pan_y;
}

/* Where a block stands now, a drag in progress included. */
static void place_of(NwCanvas *self, const NwBlock *block, double *x, double *y)
{
  gboolean dragged = self->tool == NW_TOOL_MOVE && nw_canvas_is_selected(self, block->id);
  *x = block->x + (dragged ? self->move_x : 0);
  *y = block->y + (dragged ? self->move_y : 0);
}

/* ---- faces ---- */

static NwColor color_of(GtkWidget *widget, const char *name)
{
  GdkRGBA rgba = {0.5f, 0.5f, 0.5f, 1};
  gtk_style_context_lookup_color(gtk_widget_get_style_context(widget), name, &rgba);
  return (NwColor){rgba.red, rgba.green, rgba.blue, rgba.alpha};
}

static void read_style(NwCanvas *self)
{
  static const char *const groups[NW_GROUPS] = {"nw_cat_reg",  "nw_cat_input", "nw_cat_conv",  "nw_cat_out",
                                                "nw_cat_pool", "nw_cat_norm",  "nw_cat_act",   "nw_cat_reg",
                                                "nw_cat_reg",  "nw_cat_merge", "nw_cat_merge", "nw_cat_out",
                                                "nw_cat_out"};
  GtkWidget *widget = GTK_WIDGET(self);
  NwPaintStyle *s = &self->style;
  s->fg = color_of(widget, "nw_fg");
  s->dim = color_of(widget, "nw_dim");
  s->faint = color_of(widget, "nw_faint");
  s->canvas = color_of(widget, "nw_canvas");
  s->dot = color_of(widget, "nw_dot");
  s->block = color_of(widget, "nw_block");
  s->border = color_of(widget, "nw_border");
  s->wire = color_of(widget, "nw_wire");
  s->accent = color_of(widget, "accent_color");
  s->err = color_of(widget, "nw_err");
  s->track = color_of(widget, "nw_track");
  for (int i = 0; i < NW_GROUPS; i++)
    s->groups[i] = color_of(widget, groups[i]);
  s->font = "Cantarell";
}

static double bar_value(NwCanvas *self, const NwBlockReport *report)
{
  return self->bars == NW_BARS_PARAMETERS ? (double)report->parameters
         : self->bars == NW_BARS_MACS     ? report->macs
                                          : (double)report->bytes_out;
}

/* "Conv2d 16 · 3×3 · stride 2": the class, then the attributes that tell most. The first one and sizes go
 * without their name; what is as it begins is not said. */
static char *kind_words(const NwBlock *block)
{
  GString *words = g_string_new(block->op->label);
  gboolean first = TRUE, sized = FALSE;
  for (int i = 0; i < block->op->n_attrs; i++) {
    const NwAttr *attr = &block->op->attrs[i];
    gboolean size = attr->type == NW_ATTR_DIMS && attr->count == 2 && !sized;
    char value[64];
    if (!(attr->flags & NW_ATTR_ON_BLOCK) || (!first && !size && nw_attr_is_initial(attr, block->attrs)))
      continue;
    nw_attr_print(attr, block->attrs, value, sizeof value);
    g_string_append(words, first ? " " : " · ");
    if (size && strchr(value, 'x') == NULL)
      g_string_append_printf(words, "%s×%s", value, value);
    else if (first || size)
      g_string_append(words, value);
    else
      g_string_append_printf(words, "%s %s", attr->key, value);
    first = FALSE;
    sized = sized || size;
  }
  return g_string_free(words, FALSE);
}

static void set_face(NwCanvas *self, const NwBlock *block, const NwBlockReport *report, double largest)
{
  NwBlockWidget *widget = g_hash_table_lookup(self->widgets, GUINT_TO_POINTER(block->id));
  char shape[96] = "";
  g_autofree char *kind = kind_words(block), *cost = NULL;
  gboolean bad = report != NULL && report->status != NW_OK;
  double value = report != NULL ? bar_value(self, report) : 0;
  if (bad)
    g_strlcpy(shape, _("no output"), sizeof shape);
  else if (report != NULL && report->reached)
    nw_spec_shape_text(&report->out, true, shape, sizeof shape);
  cost = value <= 0                     ? g_strdup("")
         : self->bars == NW_BARS_MEMORY ? nw_text_bytes(value)
                                        : nw_text_scaled(value);
  NwBlockFace face = {.name = block->name,
                      .kind = kind,
                      .shape = shape,
                      .cost = cost,
                      .group = block->op->group,
                      .slim = (block->op->flags & NW_OP_KEEPS_SHAPE) != 0,
                      .selected = nw_canvas_is_selected(self, block->id),
                      .bad = bad,
                      .hover = self->hover == block->id,
                      .frozen = block->frozen,
                      .share = largest > 0 ? value / largest : 0};
  g_autofree char *spoken = bad ? g_strdup_printf("%s, %s: %s", block->name, kind, report->error.text)
                                : g_strdup_printf("%s, %s, %s", block->name, kind, shape);
  nw_block_widget_set_face(widget, &face, spoken);
}

static void pin_problem(NwCanvas *self)
{
  const NwNetworkReport *report = nw_project_report(self->project);
  const NwBlock *block = report->status != NW_OK && report->error.block != 0
                             ? nw_network_find(nw_project_network(self->project), report->error.block)
                             : NULL;
  gtk_widget_set_visible(self->problem, block != NULL && self->zoom >= 0.5);
  if (block == NULL)
    return;
  gtk_label_set_text(GTK_LABEL(self->problem_title),
                     report->error.property[0] != '\0' ? report->error.property : block->name);
  gtk_label_set_text(GTK_LABEL(self->problem_text), report->error.text);
}

void nw_canvas_faces(NwCanvas *self)
{
  const NwNetwork *network = nw_project_network(self->project);
  double largest = 0;
  int n = nw_network_count(network);
  for (int i = 0; i < n; i++) {
    const NwBlockReport *report = nw_project_block_report(self->project, nw_network_at(network, i)->id);
    if (report != NULL)
      largest = MAX(largest, bar_value(self, report));
  }
  for (int i = 0; i < n; i++) {
    const NwBlock *block = nw_network_at(network, i);
    set_face(self, block, nw_project_block_report(self->project, block->id), largest);
  }
  pin_problem(self);
}

static void describe(NwCanvas *self)
{
  int n = nw_network_count(nw_project_network(self->project));
  guint chosen = g_hash_table_size(self->selected);
  g_autofree char *words = g_strdup_printf(_("%d blocks, %u selected"), n, chosen);
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, words, -1);
}

void nw_canvas_sync(NwCanvas *self)
{
  const NwNetwork *network = nw_project_network(self->project);
  GHashTableIter it;
  gpointer key, value;
  g_hash_table_iter_init(&it, self->widgets);
  while (g_hash_table_iter_next(&it, &key, &value))
    if (nw_network_find(network, GPOINTER_TO_UINT(key)) == NULL) {
      gtk_widget_unparent(value);
      g_hash_table_iter_remove(&it);
      g_hash_table_remove(self->selected, key);
    }
  for (int i = 0; i < nw_network_count(network); i++) {
    guint32 id = nw_network_at(network, i)->id;
    if (g_hash_table_contains(self->widgets, GUINT_TO_POINTER(id)))
      continue;
    GtkWidget *widget = nw_block_widget_new(id);
    nw_block_widget_set_zoom(NW_BLOCK_WIDGET(widget), self->zoom, &self->style);
    gtk_widget_insert_before(widget, GTK_WIDGET(self), self->problem);
    g_hash_table_insert(self->widgets, GUINT_TO_POINTER(id), widget);
  }
  nw_canvas_faces(self);
  describe(self);
  gtk_widget_queue_allocate(GTK_WIDGET(self));
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void on_network(NwProject *project, NwCanvas *self)
{
  gboolean was_empty = g_hash_table_size(self->widgets) == 0;
  nw_canvas_sync(self);
  if (was_empty && g_hash_table_size(self->widgets) > 1)
    nw_canvas_fit(self);
  g_signal_emit(self, signals[SELECTION_CHANGED], 0);
}

/* ---- drawing ---- */

static void draw_wires(NwCanvas *self, cairo_t *cr)
{
  const NwNetwork *network = nw_project_network(self->project);
  for (int i = 0; i < nw_network_count(network); i++) {
    const NwBlock *to = nw_network_at(network, i);
    for (int k = 0; k < to->n_from; k++) {
      const NwBlock *from = to->from[k] != 0 ? nw_network_find(network, to->from[k]) : NULL;
      double x0, y0, x1, y1, ax, ay, bx, by;
      if (from == NULL)
        continue;
      nw_block_output_at(from, &x0, &y0);
      nw_block_input_at(to, k, &x1, &y1);
      place_of(self, from, &ax, &ay);
      place_of(self, to, &bx, &by);
      nw_canvas_to_widget(self, x0 + ax - from->x, y0 + ay - from->y, &x0, &y0);
      nw_canvas_to_widget(self, x1 + bx - to->x, y1 + by - to->y, &x1, &y1);
      const NwBlockReport *report = nw_project_block_report(self->project, from->id);
      gboolean bad = report != NULL && (report->status != NW_OK || !report->reached);
      gboolean chosen = nw_canvas_is_selected(self, from->id) || nw_canvas_is_selected(self, to->id);
      nw_paint_wire(cr, x0, y0, x1, y1,
                    bad      ? self->style.err
                    : chosen ? self->style.accent
                             : self->style.wire,
                    chosen ? 2.5 : 2, bad, self->zoom);
    }
  }
}

static void draw_new_wire(NwCanvas *self, cairo_t *cr)
{
  const NwBlock *block = nw_network_find(nw_project_network(self->project), self->wire_from.block);
  double x0, y0, x1, y1;
  if (self->tool != NW_TOOL_WIRE || block == NULL)
    return;
  if (self->wire_from.kind == NW_HIT_OUTPUT)
    nw_block_output_at(block, &x0, &y0);
  else
    nw_block_input_at(block, self->wire_from.socket, &x0, &y0);
  nw_canvas_to_widget(self, x0, y0, &x0, &y0);
  nw_canvas_to_widget(self, self->pointer_x, self->pointer_y, &x1, &y1);
  if (self->wire_from.kind == NW_HIT_OUTPUT)
    nw_paint_wire(cr, x0, y0, x1, y1, self->style.accent, 2.5, FALSE, self->zoom);
  else
    nw_paint_wire(cr, x1, y1, x0, y0, self->style.accent, 2.5, FALSE, self->zoom);
}

static void draw_ports(NwCanvas *self, cairo_t *cr)
{
  const NwNetwork *network = nw_project_network(self->project);
  if (self->zoom < 0.45)
    return;
  for (int i = 0; i < nw_network_count(network); i++) {
    const NwBlock *block = nw_network_at(network, i);
    double px, py, bx, by;
    place_of(self, block, &bx, &by);
    const NwBlockReport *report = nw_project_block_report(self->project, block->id);
    NwColor ring = report != NULL && report->status != NW_OK ? self->style.err : self->style.wire;
    if (nw_canvas_is_selected(self, block->id))
      ring = self->style.accent;
    for (int k = 0; k < nw_block_sockets(block) + 1; k++) {
      gboolean output = k == nw_block_sockets(block);
      if (output && !nw_block_has_output(block))
        break;
      if (output)
        nw_block_output_at(block, &px, &py);
      else
        nw_block_input_at(block, k, &px, &py);
      gboolean lit = self->wire_to.block == block->id &&
                     (output ? self->wire_to.kind == NW_HIT_OUTPUT
                             : self->wire_to.kind == NW_HIT_INPUT && self->wire_to.socket == k);
      nw_canvas_to_widget(self, px + bx - block->x, py + by - block->y, &px, &py);
      if (lit || (output && self->hover == block->id)) {
        cairo_new_sub_path(cr);
        cairo_arc(cr, px, py, 8 * self->zoom, 0, 2 * G_PI);
        cairo_set_source_rgba(cr, self->style.accent.r, self->style.accent.g, self->style.accent.b, 0.25);
        cairo_fill(cr);
      }
      nw_paint_port(cr, px, py, lit ? self->style.accent : ring, self->style.canvas, self->zoom);
    }
  }
}

static void draw_band(NwCanvas *self, cairo_t *cr)
{
  double x0, y0, x1, y1;
  if (self->tool != NW_TOOL_BAND)
    return;
  nw_canvas_to_widget(self, self->start_x, self->start_y, &x0, &y0);
  nw_canvas_to_widget(self, self->pointer_x, self->pointer_y, &x1, &y1);
  cairo_rectangle(cr, floor(MIN(x0, x1)) + 0.5, floor(MIN(y0, y1)) + 0.5, fabs(x1 - x0), fabs(y1 - y0));
  cairo_set_source_rgba(cr, self->style.accent.r, self->style.accent.g, self->style.accent.b, 0.1);
  cairo_fill_preserve(cr);
  cairo_set_source_rgba(cr, self->style.accent.r, self->style.accent.g, self->style.accent.b, 0.7);
  cairo_set_line_width(cr, 1);
  cairo_stroke(cr);
}

static void draw_drop(NwCanvas *self, cairo_t *cr)
{
  static const double dashes[] = {5, 4};
  double x, y;
  if (!self->dropping)
    return;
  nw_canvas_to_widget(self, self->pointer_x, self->pointer_y, &x, &y);
  cairo_rectangle(cr, x - NW_BLOCK_WIDTH / 2.0 * self->zoom, y - 16 * self->zoom, NW_BLOCK_WIDTH * self->zoom,
                  NW_BLOCK_HEIGHT * self->zoom);
  cairo_set_source_rgba(cr, self->style.accent.r, self->style.accent.g, self->style.accent.b, 0.9);
  cairo_set_line_width(cr, 1.5);
  cairo_set_dash(cr, dashes, 2, 0);
  cairo_stroke(cr);
  cairo_set_dash(cr, NULL, 0, 0);
}

static void nw_canvas_snapshot(GtkWidget *widget, GtkSnapshot *snapshot)
{
  NwCanvas *self = NW_CANVAS(widget);
  int w = gtk_widget_get_width(widget), h = gtk_widget_get_height(widget);
  gtk_snapshot_push_clip(snapshot, &GRAPHENE_RECT_INIT(0, 0, w, h));
  cairo_t *cr = gtk_snapshot_append_cairo(snapshot, &GRAPHENE_RECT_INIT(0, 0, w, h));
  cairo_set_source_rgba(cr, self->style.canvas.r, self->style.canvas.g, self->style.canvas.b, 1);
  cairo_paint(cr);
  nw_paint_grid(cr, w, h, self->pan_x, self->pan_y, self->zoom, self->style.dot);
  draw_wires(self, cr);
  draw_drop(self, cr);
  cairo_destroy(cr);
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child != NULL;
       child = gtk_widget_get_next_sibling(child))
    if (child != self->problem)
      gtk_widget_snapshot_child(widget, child, snapshot);
  cr = gtk_snapshot_append_cairo(snapshot, &GRAPHENE_RECT_INIT(0, 0, w, h));
  draw_ports(self, cr);
  draw_new_wire(self, cr);
  draw_band(self, cr);
  cairo_destroy(cr);
  gtk_widget_snapshot_child(widget, self->problem, snapshot);
  gtk_snapshot_pop(snapshot);
}

/* ---- layout ---- */

static void allocate_block(NwCanvas *self, const NwBlock *block, GtkWidget *child, int width, int height)
{
  double x, y;
  int w, h;
  place_of(self, block, &x, &y);
  nw_canvas_to_widget(self, x - NW_BLOCK_MARGIN, y - NW_BLOCK_MARGIN, &x, &y);
  gtk_widget_measure(child, GTK_ORIENTATION_HORIZONTAL, -1, &w, NULL, NULL, NULL);
  gtk_widget_measure(child, GTK_ORIENTATION_VERTICAL, -1, &h, NULL, NULL, NULL);
  gtk_widget_set_child_visible(child, x + w > 0 && y + h > 0 && x < width && y < height);
  gtk_widget_allocate(child, w, h, -1,
                      gsk_transform_translate(NULL, &GRAPHENE_POINT_INIT((float)floor(x), (float)floor(y))));
}

static void allocate_problem(NwCanvas *self, int width, int height)
{
  const NwNetworkReport *report = nw_project_report(self->project);
  const NwBlock *block = nw_network_find(nw_project_network(self->project), report->error.block);
  double x = 0, y = 0;
  int h;
  if (!gtk_widget_get_visible(self->problem) || block == NULL)
    return;
  place_of(self, block, &x, &y);
  nw_canvas_to_widget(self, x + NW_BLOCK_WIDTH + 18, y - 8, &x, &y);
  gtk_widget_measure(self->problem, GTK_ORIENTATION_HORIZONTAL, -1, NULL, NULL, NULL, NULL);
  gtk_widget_measure(self->problem, GTK_ORIENTATION_VERTICAL, 250, &h, NULL, NULL, NULL);
  if (x + 250 > width) /* no room at the right */
    nw_canvas_to_widget(self, block->x - 18, block->y - 8, &x, &y), x -= 250;
  gtk_widget_allocate(self->problem, 250, h, -1,
                      gsk_transform_translate(NULL, &GRAPHENE_POINT_INIT((float)floor(x), (float)floor(y))));
}

static void nw_canvas_size_allocate(GtkWidget *widget, int width, int height, int baseline)
{
  NwCanvas *self = NW_CANVAS(widget);
  const NwNetwork *network = nw_project_network(self->project);
  if (!self->fitted && width > 50 && height > 50) {
    self->fitted = TRUE;
    nw_canvas_fit(self);
  } else if (width != self->width) { /* what stood in the middle stays there */
    self->pan_x += (width - self->width) / 2.0;
    g_signal_emit(self, signals[VIEW_CHANGED], 0);
  }
  self->width = width;
  for (int i = 0; i < nw_network_count(network); i++) {
    const NwBlock *block = nw_network_at(network, i);
    GtkWidget *child = g_hash_table_lookup(self->widgets, GUINT_TO_POINTER(block->id));
    if (child != NULL)
      allocate_block(self, block, child, width, height);
  }
  allocate_problem(self, width, height);
}

static void nw_canvas_measure(GtkWidget *widget, GtkOrientation orientation, int for_size, int *minimum,
                              int *natural, int *minimum_baseline, int *natural_baseline)
{
  *minimum = 200;
  *natural = 600;
}

/* ---- view ---- */

void nw_canvas_view_changed(NwCanvas *self)
{
  gtk_widget_queue_allocate(GTK_WIDGET(self));
  gtk_widget_queue_draw(GTK_WIDGET(self));
  g_signal_emit(self, signals[VIEW_CHANGED], 0);
}

static void apply_zoom(NwCanvas *self, double zoom)
{
  GHashTableIter it;
  gpointer widget;
  self->zoom = zoom;
  g_hash_table_iter_init(&it, self->widgets);
  while (g_hash_table_iter_next(&it, NULL, &widget))
    nw_block_widget_set_zoom(widget, zoom, &self->style);
  pin_problem(self);
}

void nw_canvas_zoom_at(NwCanvas *self, double zoom, double widget_x, double widget_y)
{
  double x, y;
  zoom = CLAMP(zoom, 0.1, 2.5);
  nw_canvas_to_network(self, widget_x, widget_y, &x, &y);
  apply_zoom(self, zoom);
  self->pan_x = widget_x - x * zoom;
  self->pan_y = widget_y - y * zoom;
  nw_canvas_view_changed(self);
}

void nw_canvas_set_zoom(NwCanvas *self, double zoom)
{
  nw_canvas_zoom_at(self, zoom, gtk_widget_get_width(GTK_WIDGET(self)) / 2.0,
                    gtk_widget_get_height(GTK_WIDGET(self)) / 2.0);
}

double nw_canvas_zoom(NwCanvas *self)
{
  return self->zoom;
}

void nw_canvas_fit(NwCanvas *self)
{
  double x0, y0, x1, y1;
  int w = gtk_widget_get_width(GTK_WIDGET(self)), h = gtk_widget_get_height(GTK_WIDGET(self));
  if (w <= 0 || h <= 0) {
    self->fitted = FALSE;
    return;
  }
  if (!nw_network_bounds(nw_project_network(self->project), &x0, &y0, &x1, &y1))
    return;
  /* Room for the furniture above and below. A tall network is shown from its top at a size that can be read.
   */
  double zoom = MIN((w - 80) / (x1 - x0), (h - 130) / (y1 - y0));
  zoom = CLAMP(zoom, 0.75, 1);
  apply_zoom(self, zoom);
  self->pan_x = (w - (x1 - x0) * zoom) / 2 - x0 * zoom;
  gboolean whole = (y1 - y0) * zoom <= h - 130;
  self->pan_y = whole ? 70 + (h - 130 - (y1 - y0) * zoom) / 2 - y0 * zoom : 70 - y0 * zoom;
  nw_canvas_view_changed(self);
}

void nw_canvas_visible(NwCanvas *self, double *x, double *y, double *width, double *height)
{
  nw_canvas_to_network(self, 0, 0, x, y);
  *width = gtk_widget_get_width(GTK_WIDGET(self)) / self->zoom;
  *height = gtk_widget_get_height(GTK_WIDGET(self)) / self->zoom;
}

void nw_canvas_center(NwCanvas *self, double x, double y)
{
  self->pan_x = gtk_widget_get_width(GTK_WIDGET(self)) / 2.0 - x * self->zoom;
  self->pan_y = gtk_widget_get_height(GTK_WIDGET(self)) / 2.0 - y * self->zoom;
  nw_canvas_view_changed(self);
}

void nw_canvas_reveal(NwCanvas *self, guint32 id)
{
  const NwBlock *block = nw_network_find(nw_project_network(self->project), id);
  double x, y;
  if (block == NULL)
    return;
  nw_canvas_to_widget(self, block->x, block->y, &x, &y);
  if (x < 20 || y < 60 || x + NW_BLOCK_WIDTH * self->zoom > gtk_widget_get_width(GTK_WIDGET(self)) - 20 ||
      y + NW_BLOCK_HEIGHT * self->zoom > gtk_widget_get_height(GTK_WIDGET(self)) - 20)
    nw_canvas_center(self, block->x + NW_BLOCK_WIDTH / 2.0, block->y + NW_BLOCK_HEIGHT / 2.0);
}

void nw_canvas_set_bars(NwCanvas *self, NwCanvasBars bars)
{
  self->bars = bars;
  nw_canvas_faces(self);
}

/* ---- selection ---- */

gboolean nw_canvas_is_selected(NwCanvas *self, guint32 block)
{
  return g_hash_table_contains(self->selected, GUINT_TO_POINTER(block));
}

void nw_canvas_selection_changed(NwCanvas *self)
{
  nw_canvas_faces(self);
  describe(self);
  gtk_widget_queue_draw(GTK_WIDGET(self));
  g_signal_emit(self, signals[SELECTION_CHANGED], 0);
}

GArray *nw_canvas_selection(NwCanvas *self)
{
  GArray *blocks = g_array_new(FALSE, FALSE, sizeof(guint32));
  const NwNetwork *network = nw_project_network(self->project);
  for (int i = 0; i < nw_network_count(network); i++) {
    guint32 id = nw_network_at(network, i)->id;
    if (nw_canvas_is_selected(self, id))
      g_array_append_val(blocks, id);
  }
  return blocks;
}

guint32 nw_canvas_selected(NwCanvas *self)
{
  g_autoptr(GArray) blocks = nw_canvas_selection(self);
  return blocks->len == 1 ? g_array_index(blocks, guint32, 0) : 0;
}

void nw_canvas_select(NwCanvas *self, guint32 block, gboolean add)
{
  if (!add)
    g_hash_table_remove_all(self->selected);
  if (block != 0)
    g_hash_table_add(self->selected, GUINT_TO_POINTER(block));
  nw_canvas_selection_changed(self);
}

void nw_canvas_refused(NwCanvas *self, const NwError *error)
{
  g_signal_emit(self, signals[REFUSED], 0, error->text);
}

/* ---- object ---- */

static void nw_canvas_css_changed(GtkWidget *widget, GtkCssStyleChange *change)
{
  NwCanvas *self = NW_CANVAS(widget);
  GHashTableIter it;
  gpointer child;
  GTK_WIDGET_CLASS(nw_canvas_parent_class)->css_changed(widget, change);
  read_style(self);
  if (self->widgets == NULL)
    return;
  g_hash_table_iter_init(&it, self->widgets);
  while (g_hash_table_iter_next(&it, NULL, &child))
    nw_block_widget_restyle(child);
  gtk_widget_queue_draw(widget);
}

static void nw_canvas_dispose(GObject *object)
{
  NwCanvas *self = NW_CANVAS(object);
  GtkWidget *child;
  for (guint i = 0; i < G_N_ELEMENTS(self->handlers); i++)
    g_clear_signal_handler(&self->handlers[i], self->project);
  g_clear_pointer(&self->widgets, g_hash_table_unref);
  while ((child = gtk_widget_get_first_child(GTK_WIDGET(self))) != NULL)
    gtk_widget_unparent(child);
  g_clear_pointer(&self->selected, g_hash_table_unref);
  g_clear_object(&self->project);
  G_OBJECT_CLASS(nw_canvas_parent_class)->dispose(object);
}

static void nw_canvas_class_init(NwCanvasClass *klass)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  G_OBJECT_CLASS(klass)->dispose = nw_canvas_dispose;
  widget->snapshot = nw_canvas_snapshot;
  widget->size_allocate = nw_canvas_size_allocate;
  widget->measure = nw_canvas_measure;
  widget->css_changed = nw_canvas_css_changed;
  gtk_widget_class_set_css_name(widget, "nwcanvas");
  gtk_widget_class_set_accessible_role(widget, GTK_ACCESSIBLE_ROLE_LIST);
  nw_canvas_actions_install(widget);
  signals[SELECTION_CHANGED] = g_signal_new("selection-changed", NW_TYPE_CANVAS, G_SIGNAL_RUN_LAST, 0, NULL,
                                            NULL, NULL, G_TYPE_NONE, 0);
  signals[VIEW_CHANGED] =
      g_signal_new("view-changed", NW_TYPE_CANVAS, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
  signals[REFUSED] = g_signal_new("refused", NW_TYPE_CANVAS, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL,
                                  G_TYPE_NONE, 1, G_TYPE_STRING);
}

static GtkWidget *problem_label(const char *css)
{
  GtkWidget *label = gtk_label_new(NULL);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_label_set_wrap(GTK_LABEL(label), TRUE);
  gtk_label_set_max_width_chars(GTK_LABEL(label), 34);
  gtk_widget_add_css_class(label, css);
  return label;
}

static void nw_canvas_init(NwCanvas *self)
{
  self->widgets = g_hash_table_new(NULL, NULL);
  self->selected = g_hash_table_new(NULL, NULL);
  self->zoom = 1;
  gtk_widget_set_focusable(GTK_WIDGET(self), TRUE);
  gtk_widget_set_overflow(GTK_WIDGET(self), GTK_OVERFLOW_HIDDEN);
  gtk_widget_set_hexpand(GTK_WIDGET(self), TRUE);
  gtk_widget_set_vexpand(GTK_WIDGET(self), TRUE);
  self->problem = gtk_box_new(GTK_ORIENTATION_VERTICAL, 3);
  gtk_widget_add_css_class(self->problem, "problem-card");
  self->problem_title = problem_label("title");
  self->problem_text = problem_label("sentence");
  gtk_box_append(GTK_BOX(self->problem), self->problem_title);
  gtk_box_append(GTK_BOX(self->problem), self->problem_text);
  gtk_widget_set_visible(self->problem, FALSE);
  gtk_widget_set_parent(self->problem, GTK_WIDGET(self));
  gtk_accessible_update_property(GTK_ACCESSIBLE(self), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Network"), -1);
  nw_canvas_controllers_add(self);
}

GtkWidget *nw_canvas_new(NwProject *project)
{
  NwCanvas *self = g_object_new(NW_TYPE_CANVAS, NULL);
  self->project = g_object_ref(project);
  self->handlers[0] = g_signal_connect(project, "network-changed", G_CALLBACK(on_network), self);
  read_style(self);
  nw_canvas_sync(self);
  return GTK_WIDGET(self);
}
