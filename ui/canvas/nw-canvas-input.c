/* Pointer: a gesture begins on a port, a block or the ground, and becomes a wire, a move or a band; plus
 * drops and the wheel. */
#include <glib/gi18n.h>
#include <math.h>
#include <string.h>

#include "ui/canvas/nw-canvas-internal.h"

static gboolean modified(GtkEventController *controller, GdkModifierType mask)
{
  return (gtk_event_controller_get_current_event_state(controller) & mask) != 0;
}

/* ---- beginning ---- */

static void press_on_block(NwCanvas *self, const NwHit *hit, gboolean add)
{
  self->press_block = hit->block;
  self->press_add = add;
  self->press_was_selected = nw_canvas_is_selected(self, hit->block);
  if (!self->press_was_selected)
    nw_canvas_select(self, hit->block, add);
  GtkWidget *widget = g_hash_table_lookup(self->widgets, GUINT_TO_POINTER(hit->block));
  if (widget != NULL)
    gtk_widget_grab_focus(widget);
  self->tool = NW_TOOL_MOVE;
  self->move_x = self->move_y = 0;
}

/* A wire taken at its lower end is lifted off; at a free socket a new one is pulled backwards. */
static void press_on_input(NwCanvas *self, const NwHit *hit)
{
  const NwBlock *block = nw_network_find(nw_project_network(self->project), hit->block);
  self->tool = NW_TOOL_WIRE;
  self->wire_from = *hit;
  if (block != NULL && hit->socket < block->n_from && block->from[hit->socket] != 0) {
    NwError error = {0};
    guint32 from = block->from[hit->socket];
    nw_project_begin_group(self->project, _("Move Wire"));
    nw_project_connect(self->project, 0, hit->block, hit->socket, &error);
    self->wire_from = (NwHit){NW_HIT_OUTPUT, from, 0};
    self->moved = TRUE; /* the group stays open until the wire lands */
  }
}

static void on_drag_begin(GtkGestureDrag *gesture, double x, double y, NwCanvas *self)
{
  gboolean add = modified(GTK_EVENT_CONTROLLER(gesture), GDK_SHIFT_MASK | GDK_CONTROL_MASK);
  nw_canvas_to_network(self, x, y, &self->start_x, &self->start_y);
  self->pointer_x = self->start_x;
  self->pointer_y = self->start_y;
  self->moved = FALSE;
  self->press_block = 0;
  NwHit hit = nw_network_hit(nw_project_network(self->project), self->start_x, self->start_y, 1 / self->zoom);
  switch (hit.kind) {
  case NW_HIT_OUTPUT:
    self->tool = NW_TOOL_WIRE;
    self->wire_from = hit;
    break;
  case NW_HIT_INPUT:
    press_on_input(self, &hit);
    break;
  case NW_HIT_BLOCK:
    press_on_block(self, &hit, add);
    break;
  case NW_HIT_NOTHING:
    self->tool = NW_TOOL_BAND;
    gtk_widget_grab_focus(GTK_WIDGET(self));
    if (!add)
      nw_canvas_select(self, 0, FALSE);
    break;
  }
}

/* ---- going on ---- */

static gboolean lands_on(NwHitKind from, NwHitKind to)
{
  return (from == NW_HIT_OUTPUT && to == NW_HIT_INPUT) || (from == NW_HIT_INPUT && to == NW_HIT_OUTPUT);
}

/* A port near the pointer, or the first free socket of a block the pointer is over. */
static NwHit landing(NwCanvas *self)
{
  const NwNetwork *network = nw_project_network(self->project);
  NwHit hit = nw_network_hit(network, self->pointer_x, self->pointer_y, 1.4 / self->zoom);
  if (lands_on(self->wire_from.kind, hit.kind) && hit.block != self->wire_from.block)
    return hit;
  const NwBlock *block = hit.kind != NW_HIT_NOTHING ? nw_network_find(network, hit.block) : NULL;
  if (block == NULL || hit.block == self->wire_from.block)
    return (NwHit){0};
  if (self->wire_from.kind == NW_HIT_INPUT)
    return (NwHit){NW_HIT_OUTPUT, block->id, 0};
  for (int k = 0; k < nw_block_sockets(block); k++)
    if (k >= block->n_from || block->from[k] == 0)
      return (NwHit){NW_HIT_INPUT, block->id, k};
  return nw_block_sockets(block) > 0 ? (NwHit){NW_HIT_INPUT, block->id, 0} : (NwHit){0};
}

static void on_drag_update(GtkGestureDrag *gesture, double dx, double dy, NwCanvas *self)
{
  self->pointer_x = self->start_x + dx / self->zoom;
  self->pointer_y = self->start_y + dy / self->zoom;
  if (self->tool == NW_TOOL_MOVE && (self->moved || hypot(dx, dy) > 4)) {
    self->moved = TRUE;
    self->move_x = dx / self->zoom;
    self->move_y = dy / self->zoom;
    gtk_widget_queue_allocate(GTK_WIDGET(self));
  } else if (self->tool == NW_TOOL_WIRE) {
    self->wire_to = landing(self);
  }
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* ---- onto a wire ---- */

enum { WIRE_REACH = 20, ROOM = 24 };

/* Pushes the block below its source, and what stands at or below its reader further down. */
static void make_room(NwCanvas *self, guint32 block, guint32 from, guint32 to)
{
  const NwNetwork *network = nw_project_network(self->project);
  const NwBlock *made = nw_network_find(network, block), *above = nw_network_find(network, from);
  double down = above->y + nw_block_height(above) + ROOM - made->y;
  if (down > 0)
    nw_project_move_blocks(self->project, &block, 1, 0, down, NULL);
  made = nw_network_find(network, block);
  double floor_y = nw_network_find(network, to)->y, need = made->y + nw_block_height(made) + ROOM - floor_y;
  g_autoptr(GArray) below = g_array_new(FALSE, FALSE, sizeof(guint32));
  for (int i = 0; i < nw_network_count(network); i++)
    if (nw_network_at(network, i)->id != block && nw_network_at(network, i)->y >= floor_y)
      g_array_append_val(below, nw_network_at(network, i)->id);
  if (need > 0)
    nw_project_move_blocks(self->project, (guint32 *)(void *)below->data, below->len, 0, need, NULL);
}

static gboolean can_splice(const NwBlock *block)
{
  return block != NULL && nw_block_sockets(block) > 0 && nw_block_has_output(block);
}

/* The wire that ends in `wire` goes through the block from now on. Part of the caller's undo step. */
static void splice(NwCanvas *self, guint32 block, NwHit wire)
{
  const NwNetwork *network = nw_project_network(self->project);
  guint32 from = nw_network_find(network, wire.block)->from[wire.socket];
  NwError error = {0};
  if (nw_project_connect(self->project, from, block, 0, &error) != NW_OK ||
      nw_project_connect(self->project, block, wire.block, wire.socket, &error) != NW_OK)
    nw_canvas_refused(self, &error);
  else
    make_room(self, block, from, wire.block);
}

/* ---- ending ---- */

/* A loose block that was laid on a wire belongs into it. */
static void splice_moved(NwCanvas *self, guint32 id)
{
  const NwNetwork *network = nw_project_network(self->project);
  const NwBlock *block = nw_network_find(network, id);
  if (!can_splice(block) || !nw_block_is_loose(network, block))
    return;
  NwHit wire = nw_network_wire_at(network, block->x + NW_BLOCK_WIDTH / 2.0,
                                  block->y + nw_block_height(block) / 2.0, WIRE_REACH);
  if (wire.kind == NW_HIT_INPUT)
    splice(self, id, wire);
}

static void end_move(NwCanvas *self)
{
  self->tool = NW_TOOL_IDLE;
  if (!self->moved) {
    if (self->press_was_selected && self->press_add) {
      g_hash_table_remove(self->selected, GUINT_TO_POINTER(self->press_block));
      nw_canvas_selection_changed(self);
    } else if (self->press_was_selected) {
      nw_canvas_select(self, self->press_block, FALSE);
    }
    return;
  }
  g_autoptr(GArray) blocks = nw_canvas_selection(self);
  NwError error = {0};
  nw_project_begin_group(self->project, _("Move"));
  if (nw_project_move_blocks(self->project, (guint32 *)(void *)blocks->data, blocks->len, round(self->move_x),
                             round(self->move_y), &error) != NW_OK)
    nw_canvas_refused(self, &error);
  else if (blocks->len == 1)
    splice_moved(self, g_array_index(blocks, guint32, 0));
  nw_project_end_group(self->project);
}

static void end_band(NwCanvas *self)
{
  const NwNetwork *network = nw_project_network(self->project);
  double x0 = MIN(self->start_x, self->pointer_x), x1 = MAX(self->start_x, self->pointer_x);
  double y0 = MIN(self->start_y, self->pointer_y), y1 = MAX(self->start_y, self->pointer_y);
  self->tool = NW_TOOL_IDLE;
  for (int i = 0; i < nw_network_count(network); i++) {
    const NwBlock *block = nw_network_at(network, i);
    if (block->x < x1 && block->x + NW_BLOCK_WIDTH > x0 && block->y < y1 &&
        block->y + nw_block_height(block) > y0)
      g_hash_table_add(self->selected, GUINT_TO_POINTER(block->id));
  }
  nw_canvas_selection_changed(self);
}

static void end_wire(NwCanvas *self)
{
  NwError error = {0};
  NwStatus status = NW_OK;
  gboolean lifted = self->moved;
  NwHit from = self->wire_from, to = landing(self);
  self->tool = NW_TOOL_IDLE;
  self->wire_to = (NwHit){0};
  if (to.kind == NW_HIT_INPUT)
    status = nw_project_connect(self->project, from.block, to.block, to.socket, &error);
  else if (to.kind == NW_HIT_OUTPUT)
    status = nw_project_connect(self->project, to.block, from.block, from.socket, &error);
  if (lifted)
    nw_project_end_group(self->project);
  if (status != NW_OK)
    nw_canvas_refused(self, &error);
}

static void on_drag_end(GtkGestureDrag *gesture, double dx, double dy, NwCanvas *self)
{
  if (dx != 0 || dy != 0)
    on_drag_update(gesture, dx, dy, self);
  if (self->tool == NW_TOOL_MOVE)
    end_move(self);
  else if (self->tool == NW_TOOL_BAND)
    end_band(self);
  else if (self->tool == NW_TOOL_WIRE)
    end_wire(self);
  gtk_widget_queue_allocate(GTK_WIDGET(self));
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

static void on_drag_cancel(GtkGesture *gesture, GdkEventSequence *sequence, NwCanvas *self)
{
  if (self->tool == NW_TOOL_WIRE && self->moved)
    nw_project_end_group(self->project);
  self->tool = NW_TOOL_IDLE;
  self->wire_to = (NwHit){0};
  gtk_widget_queue_allocate(GTK_WIDGET(self));
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* ---- pan, zoom, hover ---- */

static void on_pan_begin(GtkGestureDrag *gesture, double x, double y, NwCanvas *self)
{
  self->pan_from_x = self->pan_x;
  self->pan_from_y = self->pan_y;
}

static void on_pan_update(GtkGestureDrag *gesture, double dx, double dy, NwCanvas *self)
{
  self->pan_x = self->pan_from_x + dx;
  self->pan_y = self->pan_from_y + dy;
  nw_canvas_view_changed(self);
}

static gboolean on_scroll(GtkEventControllerScroll *controller, double dx, double dy, NwCanvas *self)
{
  if (modified(GTK_EVENT_CONTROLLER(controller), GDK_CONTROL_MASK)) {
    double x, y;
    nw_canvas_to_widget(self, self->pointer_x, self->pointer_y, &x, &y);
    nw_canvas_zoom_at(self, self->zoom * pow(1.15, -dy), x, y);
    return TRUE;
  }
  if (modified(GTK_EVENT_CONTROLLER(controller), GDK_SHIFT_MASK) && dx == 0) {
    dx = dy;
    dy = 0;
  }
  self->pan_x -= dx * 48;
  self->pan_y -= dy * 48;
  nw_canvas_view_changed(self);
  return TRUE;
}

static void on_motion(GtkEventControllerMotion *controller, double x, double y, NwCanvas *self)
{
  if (self->tool != NW_TOOL_IDLE)
    return;
  nw_canvas_to_network(self, x, y, &self->pointer_x, &self->pointer_y);
  NwHit hit =
      nw_network_hit(nw_project_network(self->project), self->pointer_x, self->pointer_y, 1 / self->zoom);
  gboolean port = hit.kind == NW_HIT_INPUT || hit.kind == NW_HIT_OUTPUT;
  gtk_widget_set_cursor_from_name(GTK_WIDGET(self), port ? "crosshair" : NULL);
  NwHit lit = port ? hit : (NwHit){0};
  if (hit.block != self->hover || lit.kind != self->wire_to.kind || lit.socket != self->wire_to.socket) {
    self->hover = hit.block;
    self->wire_to = lit;
    nw_canvas_faces(self);
    gtk_widget_queue_draw(GTK_WIDGET(self));
  }
}

static void on_leave(GtkEventControllerMotion *controller, NwCanvas *self)
{
  self->hover = 0;
  if (self->tool == NW_TOOL_IDLE)
    self->wire_to = (NwHit){0};
  nw_canvas_faces(self);
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* ---- drops ---- */

static GdkDragAction on_drop_motion(GtkDropTarget *target, double x, double y, NwCanvas *self)
{
  self->dropping = TRUE;
  nw_canvas_to_network(self, x, y, &self->pointer_x, &self->pointer_y);
  gtk_widget_queue_draw(GTK_WIDGET(self));
  return GDK_ACTION_COPY;
}

static void on_drop_leave(GtkDropTarget *target, NwCanvas *self)
{
  self->dropping = FALSE;
  gtk_widget_queue_draw(GTK_WIDGET(self));
}

/* The block above the landing place whose output nobody reads yet: the new one hangs itself on it. */
static guint32 free_output_above(NwCanvas *self, double x, double y)
{
  const NwNetwork *network = nw_project_network(self->project);
  guint32 best = 0;
  double nearest = 90; /* only what is meant: right above */
  for (int i = 0; i < nw_network_count(network); i++) {
    const NwBlock *block = nw_network_at(network, i);
    gboolean read = !nw_block_has_output(block);
    for (int k = 0; k < nw_network_count(network) && !read; k++)
      for (int p = 0; p < nw_network_at(network, k)->n_from; p++)
        read = read || nw_network_at(network, k)->from[p] == block->id;
    double px, py;
    nw_block_output_at(block, &px, &py);
    if (!read && y > py - 4 && hypot((x - px) * 0.6, y - py) < nearest) {
      nearest = hypot((x - px) * 0.6, y - py);
      best = block->id;
    }
  }
  return best;
}

static gboolean on_drop(GtkDropTarget *target, const GValue *value, double x, double y, NwCanvas *self)
{
  const char *text = g_value_get_string(value);
  const NwOp *op =
      g_str_has_prefix(text, NW_CANVAS_DROP_PREFIX) ? nw_op_find(text + strlen(NW_CANVAS_DROP_PREFIX)) : NULL;
  NwError error = {0};
  guint32 block = 0;
  self->dropping = FALSE;
  if (op == NULL)
    return FALSE;
  nw_canvas_to_network(self, x, y, &x, &y);
  NwHit wire = nw_network_wire_at(nw_project_network(self->project), x, y, WIRE_REACH);
  guint32 above = wire.kind == NW_HIT_INPUT ? 0 : free_output_above(self, x, y);
  g_autofree char *label = g_strdup_printf(_("Add %s"), op->label);
  nw_project_begin_group(self->project, label);
  NwStatus status =
      nw_project_add_block(self->project, op, round(x - NW_BLOCK_WIDTH / 2.0), round(y - 16), &block, &error);
  const NwBlock *made = status == NW_OK ? nw_network_find(nw_project_network(self->project), block) : NULL;
  if (made != NULL && above != 0 && nw_block_sockets(made) > 0)
    nw_project_connect(self->project, above, block, 0, NULL);
  if (wire.kind == NW_HIT_INPUT && can_splice(made))
    splice(self, block, wire);
  nw_project_end_group(self->project);
  if (status != NW_OK)
    nw_canvas_refused(self, &error);
  else
    nw_canvas_select(self, block, FALSE);
  gtk_widget_grab_focus(GTK_WIDGET(self));
  return status == NW_OK;
}

void nw_canvas_controllers_add(NwCanvas *self)
{
  GtkWidget *widget = GTK_WIDGET(self);
  GtkGesture *drag = gtk_gesture_drag_new();
  gtk_event_controller_set_propagation_phase(GTK_EVENT_CONTROLLER(drag), GTK_PHASE_CAPTURE);
  g_signal_connect(drag, "drag-begin", G_CALLBACK(on_drag_begin), self);
  g_signal_connect(drag, "drag-update", G_CALLBACK(on_drag_update), self);
  g_signal_connect(drag, "drag-end", G_CALLBACK(on_drag_end), self);
  g_signal_connect(drag, "cancel", G_CALLBACK(on_drag_cancel), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drag));
  GtkGesture *pan = gtk_gesture_drag_new();
  gtk_gesture_single_set_button(GTK_GESTURE_SINGLE(pan), GDK_BUTTON_MIDDLE);
  g_signal_connect(pan, "drag-begin", G_CALLBACK(on_pan_begin), self);
  g_signal_connect(pan, "drag-update", G_CALLBACK(on_pan_update), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(pan));
  GtkEventController *scroll = gtk_event_controller_scroll_new(GTK_EVENT_CONTROLLER_SCROLL_BOTH_AXES);
  g_signal_connect(scroll, "scroll", G_CALLBACK(on_scroll), self);
  gtk_widget_add_controller(widget, scroll);
  GtkEventController *motion = gtk_event_controller_motion_new();
  g_signal_connect(motion, "motion", G_CALLBACK(on_motion), self);
  g_signal_connect(motion, "leave", G_CALLBACK(on_leave), self);
  gtk_widget_add_controller(widget, motion);
  GtkDropTarget *drop = gtk_drop_target_new(G_TYPE_STRING, GDK_ACTION_COPY);
  g_signal_connect(drop, "motion", G_CALLBACK(on_drop_motion), self);
  g_signal_connect(drop, "leave", G_CALLBACK(on_drop_leave), self);
  g_signal_connect(drop, "drop", G_CALLBACK(on_drop), self);
  gtk_widget_add_controller(widget, GTK_EVENT_CONTROLLER(drop));
}
