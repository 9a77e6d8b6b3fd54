/* Every gesture as an action with a key. */
#include <glib/gi18n.h>

#include "ui/canvas/nw-canvas-internal.h"

static void remove_chosen(NwCanvas *self, gboolean heal)
{
  g_autoptr(GArray) blocks = nw_canvas_selection(self);
  NwError error = {0};
  if (blocks->len > 0 && nw_project_remove_blocks(self->project, (guint32 *)(void *)blocks->data, blocks->len,
                                                  heal, &error) != NW_OK)
    nw_canvas_refused(self, &error);
}

static void on_delete(GtkWidget *widget, const char *name, GVariant *parameter)
{
  remove_chosen(NW_CANVAS(widget), FALSE);
}

static void on_delete_heal(GtkWidget *widget, const char *name, GVariant *parameter)
{
  remove_chosen(NW_CANVAS(widget), TRUE);
}

static void on_select_all(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwCanvas *self = NW_CANVAS(widget);
  const NwNetwork *network = nw_project_network(self->project);
  for (int i = 0; i < nw_network_count(network); i++)
    g_hash_table_add(self->selected, GUINT_TO_POINTER(nw_network_at(network, i)->id));
  nw_canvas_selection_changed(self);
}

static void on_copy(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwCanvas *self = NW_CANVAS(widget);
  g_autoptr(GArray) blocks = nw_canvas_selection(self);
  if (blocks->len == 0)
    return;
  g_autofree char *text = nw_project_copy_blocks(self->project, (guint32 *)(void *)blocks->data, blocks->len);
  gdk_clipboard_set_text(gtk_widget_get_clipboard(widget), text);
  if (g_str_has_suffix(name, "cut"))
    remove_chosen(self, FALSE);
}

static void paste(NwCanvas *self, const char *text, double x, double y)
{
  NwError error = {0};
  GArray *blocks = NULL;
  if (nw_project_paste_blocks(self->project, text, x, y, &blocks, &error) != NW_OK) {
    nw_canvas_refused(self, &error);
    return;
  }
  g_hash_table_remove_all(self->selected);
  for (guint i = 0; i < blocks->len; i++)
    g_hash_table_add(self->selected, GUINT_TO_POINTER(g_array_index(blocks, guint32, i)));
  g_array_unref(blocks);
  nw_canvas_selection_changed(self);
}

static void on_pasted(GObject *source, GAsyncResult *result, gpointer data)
{
  NwCanvas *self = data;
  g_autofree char *text = gdk_clipboard_read_text_finish(GDK_CLIPBOARD(source), result, NULL);
  if (text != NULL && self->project != NULL)
    paste(self, text, self->pointer_x, self->pointer_y);
  g_object_unref(self);
}

static void on_paste(GtkWidget *widget, const char *name, GVariant *parameter)
{
  gdk_clipboard_read_text_async(gtk_widget_get_clipboard(widget), NULL, on_pasted, g_object_ref(widget));
}

static void on_duplicate(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwCanvas *self = NW_CANVAS(widget);
  g_autoptr(GArray) blocks = nw_canvas_selection(self);
  if (blocks->len == 0)
    return;
  const NwBlock *first =
      nw_network_find(nw_project_network(self->project), g_array_index(blocks, guint32, 0));
  g_autofree char *text = nw_project_copy_blocks(self->project, (guint32 *)(void *)blocks->data, blocks->len);
  paste(self, text, first->x + 40, first->y + 40);
}

static void on_zoom(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwCanvas *self = NW_CANVAS(widget);
  nw_canvas_set_zoom(self, self->zoom * g_variant_get_double(parameter));
}

static void on_fit(GtkWidget *widget, const char *name, GVariant *parameter)
{
  nw_canvas_fit(NW_CANVAS(widget));
}

static void on_actual_size(GtkWidget *widget, const char *name, GVariant *parameter)
{
  nw_canvas_set_zoom(NW_CANVAS(widget), 1);
}

enum { UP, DOWN, LEFT, RIGHT };
static const int directions[][2] = {[UP] = {0, -1}, [DOWN] = {0, 1}, [LEFT] = {-1, 0}, [RIGHT] = {1, 0}};

/* To the next block in a direction. */
static void on_go(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwCanvas *self = NW_CANVAS(widget);
  const int *d = directions[CLAMP(g_variant_get_int32(parameter), UP, RIGHT)];
  const NwNetwork *network = nw_project_network(self->project);
  guint32 from = nw_canvas_selected(self);
  guint32 to = from != 0                       ? nw_network_neighbour(network, from, d[0], d[1])
               : nw_network_count(network) > 0 ? nw_network_at(network, 0)->id
                                               : 0;
  if (to == 0)
    return;
  nw_canvas_select(self, to, FALSE);
  nw_canvas_reveal(self, to);
  gtk_widget_grab_focus(g_hash_table_lookup(self->widgets, GUINT_TO_POINTER(to)));
}

static void on_nudge(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwCanvas *self = NW_CANVAS(widget);
  const int *d = directions[CLAMP(g_variant_get_int32(parameter), UP, RIGHT)];
  g_autoptr(GArray) blocks = nw_canvas_selection(self);
  NwError error = {0};
  if (blocks->len > 0 && nw_project_move_blocks(self->project, (guint32 *)(void *)blocks->data, blocks->len,
                                                d[0] * 12, d[1] * 12, &error) != NW_OK)
    nw_canvas_refused(self, &error);
}

static int free_socket(const NwBlock *block)
{
  for (int k = 0; k < nw_block_sockets(block); k++)
    if (k >= block->n_from || block->from[k] == 0)
      return k;
  return 0;
}

/* Two chosen blocks: the upper one's output goes into the lower one. */
static void on_connect(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwCanvas *self = NW_CANVAS(widget);
  g_autoptr(GArray) blocks = nw_canvas_selection(self);
  NwError error = {0};
  if (blocks->len != 2) {
    nw_fail(&error, NW_BAD_STATE, "%s", _("Select two blocks to connect them"));
    nw_canvas_refused(self, &error);
    return;
  }
  const NwNetwork *network = nw_project_network(self->project);
  const NwBlock *a = nw_network_find(network, g_array_index(blocks, guint32, 0));
  const NwBlock *b = nw_network_find(network, g_array_index(blocks, guint32, 1));
  if (a->y > b->y) {
    const NwBlock *kept = a;
    a = b;
    b = kept;
  }
  if (nw_project_connect(self->project, a->id, b->id, free_socket(b), &error) != NW_OK)
    nw_canvas_refused(self, &error);
}

static void on_disconnect(GtkWidget *widget, const char *name, GVariant *parameter)
{
  NwCanvas *self = NW_CANVAS(widget);
  g_autoptr(GArray) blocks = nw_canvas_selection(self);
  nw_project_begin_group(self->project, _("Disconnect"));
  for (guint i = 0; i < blocks->len; i++) {
    guint32 id = g_array_index(blocks, guint32, i);
    for (int k = nw_network_find(nw_project_network(self->project), id)->n_from; k-- > 0;)
      nw_project_connect(self->project, 0, id, k, NULL);
  }
  nw_project_end_group(self->project);
}

static void on_escape(GtkWidget *widget, const char *name, GVariant *parameter)
{
  nw_canvas_select(NW_CANVAS(widget), 0, FALSE);
}

void nw_canvas_actions_install(GtkWidgetClass *klass)
{
  static const struct {
    const char *name, *type;
    GtkWidgetActionActivateFunc run;
  } actions[] = {{"canvas.delete", NULL, on_delete},
                 {"canvas.delete-heal", NULL, on_delete_heal},
                 {"canvas.select-all", NULL, on_select_all},
                 {"canvas.copy", NULL, on_copy},
                 {"canvas.cut", NULL, on_copy},
                 {"canvas.paste", NULL, on_paste},
                 {"canvas.duplicate", NULL, on_duplicate},
                 {"canvas.zoom", "d", on_zoom},
                 {"canvas.fit", NULL, on_fit},
                 {"canvas.actual-size", NULL, on_actual_size},
                 {"canvas.go", "i", on_go},
                 {"canvas.nudge", "i", on_nudge},
                 {"canvas.connect", NULL, on_connect},
                 {"canvas.disconnect", NULL, on_disconnect},
                 {"canvas.escape", NULL, on_escape}};
  static const struct {
    guint key;
    GdkModifierType mods;
    const char *action;
  } keys[] = {{GDK_KEY_Delete, 0, "canvas.delete-heal"},
              {GDK_KEY_Delete, GDK_SHIFT_MASK, "canvas.delete"},
              {GDK_KEY_BackSpace, 0, "canvas.delete-heal"},
              {GDK_KEY_a, GDK_CONTROL_MASK, "canvas.select-all"},
              {GDK_KEY_c, GDK_CONTROL_MASK, "canvas.copy"},
              {GDK_KEY_x, GDK_CONTROL_MASK, "canvas.cut"},
              {GDK_KEY_v, GDK_CONTROL_MASK, "canvas.paste"},
              {GDK_KEY_d, GDK_CONTROL_MASK, "canvas.duplicate"},
              {GDK_KEY_f, 0, "canvas.fit"},
              {GDK_KEY_0, GDK_CONTROL_MASK, "canvas.actual-size"},
              {GDK_KEY_c, 0, "canvas.connect"},
              {GDK_KEY_d, 0, "canvas.disconnect"},
              {GDK_KEY_Escape, 0, "canvas.escape"}};
  static const struct {
    guint key;
    int direction;
  } arrows[] = {{GDK_KEY_Up, UP}, {GDK_KEY_Down, DOWN}, {GDK_KEY_Left, LEFT}, {GDK_KEY_Right, RIGHT}};
  for (guint i = 0; i < G_N_ELEMENTS(actions); i++)
    gtk_widget_class_install_action(klass, actions[i].name, actions[i].type, actions[i].run);
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    gtk_widget_class_add_binding_action(klass, keys[i].key, keys[i].mods, keys[i].action, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(arrows); i++) {
    gtk_widget_class_add_binding_action(klass, arrows[i].key, 0, "canvas.go", "i", arrows[i].direction);
    gtk_widget_class_add_binding_action(klass, arrows[i].key, GDK_CONTROL_MASK, "canvas.nudge", "i",
                                        arrows[i].direction);
  }
  gtk_widget_class_add_binding_action(klass, GDK_KEY_plus, GDK_CONTROL_MASK, "canvas.zoom", "d", 1.2);
  gtk_widget_class_add_binding_action(klass, GDK_KEY_equal, GDK_CONTROL_MASK, "canvas.zoom", "d", 1.2);
  gtk_widget_class_add_binding_action(klass, GDK_KEY_minus, GDK_CONTROL_MASK, "canvas.zoom", "d", 1 / 1.2);
}
