#include "ui/panels/nw-inspector.h"

#include <glib/gi18n.h>

#include "ui/widgets/nw-attr-row.h"
#include "ui/widgets/nw-text.h"

struct _NwInspector {
  GtkWidget parent;
  NwProject *project;
  guint32 block;
  guint chosen;
  GtkWidget *box, *stack, *name, *kind, *shapes, *list, *frozen_row, *frozen, *figures, *doc, *empty;
  GtkWidget *parameters, *macs, *memory, *state;
  GPtrArray *rows; /* NwAttrRow, borrowed */
  gboolean refreshing;
  gulong handlers[2];
};

G_DEFINE_FINAL_TYPE(NwInspector, nw_inspector, GTK_TYPE_WIDGET)

static const NwBlock *block_of(NwInspector *self)
{
  return self->block != 0 ? nw_network_find(nw_project_network(self->project), self->block) : NULL;
}

/* ---- editing ---- */

static NwStatus on_set(const char *key, const char *text, NwError *error, gpointer data)
{
  NwInspector *self = data;
  return nw_project_set_attr_text(self->project, self->block, key, text, error);
}

static void on_name(GtkEntry *entry, NwInspector *self)
{
  const NwBlock *block = block_of(self);
  NwError error = {0};
  if (block == NULL || self->refreshing ||
      g_strcmp0(block->name, gtk_editable_get_text(GTK_EDITABLE(entry))) == 0)
    return;
  NwStatus status =
      nw_project_rename_block(self->project, self->block, gtk_editable_get_text(GTK_EDITABLE(entry)), &error);
  if (status != NW_OK)
    gtk_widget_add_css_class(self->name, "error");
  else
    gtk_widget_remove_css_class(self->name, "error");
  gtk_widget_set_tooltip_text(self->name, status == NW_OK ? NULL : error.text);
}

static void on_name_focus(GtkEventControllerFocus *controller, NwInspector *self)
{
  on_name(GTK_ENTRY(self->name), self);
}

static void on_frozen(GtkSwitch *control, GParamSpec *spec, NwInspector *self)
{
  if (!self->refreshing && self->block != 0)
    nw_project_set_frozen(self->project, self->block, gtk_switch_get_active(control), NULL);
}

/* ---- filling ---- */

static void fill_shapes(NwInspector *self, const NwBlockReport *report)
{
  char in[96] = "–", out[96] = "–";
  if (report != NULL && report->reached) {
    nw_spec_shape_text(&report->in, true, in, sizeof in);
    if (report->status == NW_OK)
      nw_spec_shape_text(&report->out, true, out, sizeof out);
  }
  /* Left to right in every language. */
  g_autofree char *text = g_strdup_printf("\u2066%s → %s\u2069", in, out);
  gtk_label_set_text(GTK_LABEL(self->shapes), text);
}

static void fill_figures(NwInspector *self, const NwBlockReport *report)
{
  if (report == NULL) {
    gtk_label_set_text(GTK_LABEL(self->figures), "");
    return;
  }
  g_autofree char *parameters = nw_text_count(report->parameters), *macs = nw_text_scaled(report->macs);
  g_autofree char *bytes = nw_text_bytes((double)report->bytes_out);
  g_autofree char *text =
      g_strdup_printf(_("%s parameters\n%s multiply-adds a picture\n%s of output at batch %d"), parameters,
                      macs, bytes, (int)nw_project_config(self->project)->batch_size);
  gtk_label_set_text(GTK_LABEL(self->figures), text);
}

static gboolean has_parameters(const NwOp *op)
{
  for (int i = 0; i < op->n_inputs; i++)
    if (op->inputs[i].role == NW_PORT_PARAM)
      return TRUE;
  return FALSE;
}

static void build_rows(NwInspector *self, const NwBlock *block)
{
  GtkWidget *child;
  g_ptr_array_set_size(self->rows, 0);
  while ((child = gtk_widget_get_first_child(self->list)) != NULL)
    gtk_list_box_remove(GTK_LIST_BOX(self->list), child);
  for (int i = 0; i < block->op->n_attrs; i++) {
    const NwAttr *attr = &block->op->attrs[i];
    if (attr->flags & NW_ATTR_HIDDEN)
      continue;
    GtkWidget *row = nw_attr_row_new(attr, block->attrs, NULL, on_set, self);
    gtk_list_box_append(GTK_LIST_BOX(self->list), row);
    g_ptr_array_add(self->rows, row);
  }
  gtk_widget_set_visible(self->list, self->rows->len > 0);
}

static void refresh_rows(NwInspector *self, const NwBlock *block, const NwBlockReport *report)
{
  for (guint i = 0; i < self->rows->len; i++) {
    NwAttrRow *row = g_ptr_array_index(self->rows, i);
    const NwAttr *attr = nw_attr_find(block->op, nw_attr_row_key(row));
    gboolean bad = report != NULL && report->status != NW_OK &&
                   g_strcmp0(report->error.property, nw_attr_row_key(row)) == 0;
    nw_attr_row_refresh(row, block->attrs);
    nw_attr_row_set_problem(row, bad ? report->error.text : NULL);
    gtk_widget_set_visible(GTK_WIDGET(row), attr != NULL && nw_attr_visible(block->op, attr, block->attrs));
  }
}

static void fill_block(NwInspector *self, const NwBlock *block)
{
  const NwBlockReport *report = nw_project_block_report(self->project, block->id);
  self->refreshing = TRUE;
  if (!gtk_widget_has_focus(gtk_widget_get_first_child(self->name)))
    gtk_editable_set_text(GTK_EDITABLE(self->name), block->name);
  g_autofree char *kind = g_strdup_printf("%s · %s", block->op->label, _(nw_group_label(block->op->group)));
  gtk_label_set_text(GTK_LABEL(self->kind), kind);
  gtk_label_set_text(GTK_LABEL(self->doc), _(block->op->doc));
  fill_shapes(self, report);
  refresh_rows(self, block, report);
  gtk_widget_set_visible(self->frozen_row, has_parameters(block->op));
  gtk_switch_set_active(GTK_SWITCH(self->frozen), block->frozen);
  fill_figures(self, report);
  self->refreshing = FALSE;
}

static void fill_network(NwInspector *self)
{
  const NwNetworkReport *report = nw_project_report(self->project);
  g_autofree char *parameters = nw_text_count(report->parameters), *macs = nw_text_scaled(report->macs);
  g_autofree char *memory = nw_text_bytes((double)report->training_bytes);
  gtk_label_set_text(GTK_LABEL(self->parameters), parameters);
  gtk_label_set_text(GTK_LABEL(self->macs), macs);
  gtk_label_set_text(GTK_LABEL(self->memory), memory);
  gtk_label_set_text(GTK_LABEL(self->state), report->status == NW_OK ? "" : _("up to the problem"));
}

static void fill(NwInspector *self)
{
  const NwBlock *block = block_of(self);
  fill_network(self);
  if (block == NULL) {
    g_autofree char *text =
        self->chosen > 1
            ? g_strdup_printf(g_dngettext(NULL, "%u block selected", "%u blocks selected", self->chosen),
                              self->chosen)
            : g_strdup(_("Select a block to see its properties.\n\nDrag layers from the left, or press Enter "
                         "on one."));
    gtk_label_set_text(GTK_LABEL(self->empty), text);
    gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "empty");
    return;
  }
  fill_block(self, block);
  gtk_stack_set_visible_child_name(GTK_STACK(self->stack), "block");
}

void nw_inspector_show(NwInspector *self, guint32 id, guint chosen)
{
  gboolean other = id != self->block;
  self->block = id;
  self->chosen = chosen;
  const NwBlock *block = block_of(self);
  if (other && block != NULL) {
    build_rows(self, block);
    gtk_widget_remove_css_class(self->name, "error");
  }
  fill(self);
}

static void on_project(NwProject *project, NwInspector *self)
{
  if (self->block != 0 && block_of(self) == NULL)
    self->block = 0;
  fill(self);
}

/* ---- building ---- */

static GtkWidget *label_new(const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new(text);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_label_set_wrap(GTK_LABEL(label), TRUE);
  gtk_widget_add_css_class(label, css);
  return label;
}

static GtkWidget *build_frozen(NwInspector *self)
{
  self->frozen_row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_set_margin_top(self->frozen_row, 10);
  gtk_widget_set_margin_start(self->frozen_row, 12);
  gtk_widget_set_margin_end(self->frozen_row, 8);
  GtkWidget *label = label_new(_("Freeze weights"), "caption-text");
  gtk_widget_set_hexpand(label, TRUE);
  self->frozen = gtk_switch_new();
  gtk_widget_set_valign(self->frozen, GTK_ALIGN_CENTER);
  gtk_widget_set_tooltip_text(self->frozen,
                              _("These weights keep their values while the others are trained"));
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->frozen), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Freeze weights"), -1);
  g_signal_connect(self->frozen, "notify::active", G_CALLBACK(on_frozen), self);
  gtk_box_append(GTK_BOX(self->frozen_row), label);
  gtk_box_append(GTK_BOX(self->frozen_row), self->frozen);
  return self->frozen_row;
}

static GtkWidget *build_block(NwInspector *self)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_add_css_class(box, "panel-body");
  self->name = gtk_entry_new();
  gtk_widget_set_margin_top(self->name, 12);
  gtk_widget_add_css_class(self->name, "heading");
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->name), GTK_ACCESSIBLE_PROPERTY_LABEL,
                                 _("Name of the block"), -1);
  g_signal_connect(self->name, "activate", G_CALLBACK(on_name), self);
  GtkEventController *focus = gtk_event_controller_focus_new();
  g_signal_connect(focus, "leave", G_CALLBACK(on_name_focus), self);
  gtk_widget_add_controller(self->name, focus);
  self->kind = label_new(NULL, "dim");
  gtk_widget_set_margin_top(self->kind, 4);
  self->doc = label_new(NULL, "caption-text");
  gtk_widget_set_margin_top(self->doc, 4);
  self->shapes = label_new(NULL, "chip");
  gtk_widget_add_css_class(self->shapes, "numeric");
  gtk_widget_set_halign(self->shapes, GTK_ALIGN_START);
  gtk_widget_set_margin_top(self->shapes, 8);
  self->list = gtk_list_box_new();
  gtk_list_box_set_selection_mode(GTK_LIST_BOX(self->list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class(self->list, "boxed-list");
  gtk_accessible_update_property(GTK_ACCESSIBLE(self->list), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Properties"),
                                 -1);
  self->figures = label_new(NULL, "dim");
  gtk_widget_add_css_class(self->figures, "numeric");
  GtkWidget *parts[] = {self->name,
                        self->kind,
                        self->doc,
                        self->shapes,
                        label_new(_("Properties"), "section"),
                        self->list,
                        build_frozen(self),
                        label_new(_("This block"), "section"),
                        self->figures};
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
    gtk_box_append(GTK_BOX(box), parts[i]);
  GtkWidget *scroll = gtk_scrolled_window_new();
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroll), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), box);
  return scroll;
}

static GtkWidget *total(GtkGrid *grid, int row, const char *name)
{
  GtkWidget *label = label_new(name, "dim"), *value = gtk_label_new(NULL);
  gtk_widget_set_hexpand(label, TRUE);
  gtk_widget_add_css_class(value, "legend-value");
  gtk_widget_add_css_class(value, "numeric");
  gtk_widget_set_halign(value, GTK_ALIGN_END);
  gtk_grid_attach(grid, label, 0, row, 1, 1);
  gtk_grid_attach(grid, value, 1, row, 1, 1);
  return value;
}

static GtkWidget *build_totals(NwInspector *self)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 6),
            *head = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  gtk_widget_add_css_class(box, "panel-head");
  GtkWidget *title = label_new(_("Network"), "card-title");
  gtk_widget_set_hexpand(title, TRUE);
  self->state = label_new(NULL, "caption");
  gtk_widget_add_css_class(self->state, "warn");
  gtk_box_append(GTK_BOX(head), title);
  gtk_box_append(GTK_BOX(head), self->state);
  GtkWidget *grid = gtk_grid_new();
  gtk_grid_set_row_spacing(GTK_GRID(grid), 3);
  self->parameters = total(GTK_GRID(grid), 0, _("Parameters"));
  self->macs = total(GTK_GRID(grid), 1, _("Multiply-adds a picture"));
  self->memory = total(GTK_GRID(grid), 2, _("Memory to train, about"));
  gtk_box_append(GTK_BOX(box), head);
  gtk_box_append(GTK_BOX(box), grid);
  return box;
}

void nw_inspector_set_narrow(NwInspector *self, gboolean narrow)
{
  gtk_widget_set_size_request(self->box, narrow ? 264 : 300, -1);
}

static void nw_inspector_dispose(GObject *object)
{
  NwInspector *self = NW_INSPECTOR(object);
  for (guint i = 0; i < G_N_ELEMENTS(self->handlers); i++)
    g_clear_signal_handler(&self->handlers[i], self->project);
  g_clear_pointer(&self->box, gtk_widget_unparent);
  g_clear_pointer(&self->rows, g_ptr_array_unref);
  g_clear_object(&self->project);
  G_OBJECT_CLASS(nw_inspector_parent_class)->dispose(object);
}

static void nw_inspector_class_init(NwInspectorClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_inspector_dispose;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
}

static void nw_inspector_init(NwInspector *self)
{
  self->rows = g_ptr_array_new();
  self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_add_css_class(self->box, "side-panel");
  gtk_widget_set_size_request(self->box, 300, -1);
  gtk_widget_set_parent(self->box, GTK_WIDGET(self));
  gtk_widget_set_hexpand(GTK_WIDGET(self), FALSE);
  self->stack = gtk_stack_new();
  gtk_stack_add_named(GTK_STACK(self->stack), build_block(self), "block");
  self->empty = label_new(NULL, "dim");
  gtk_label_set_justify(GTK_LABEL(self->empty), GTK_JUSTIFY_CENTER);
  gtk_label_set_xalign(GTK_LABEL(self->empty), 0.5f);
  gtk_label_set_max_width_chars(GTK_LABEL(self->empty), 30);
  gtk_widget_set_valign(self->empty, GTK_ALIGN_CENTER);
  gtk_widget_set_margin_start(self->empty, 24);
  gtk_widget_set_margin_end(self->empty, 24);
  gtk_stack_add_named(GTK_STACK(self->stack), self->empty, "empty");
  gtk_widget_set_vexpand(self->stack, TRUE);
  gtk_box_append(GTK_BOX(self->box), self->stack);
  gtk_box_append(GTK_BOX(self->box), gtk_separator_new(GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append(GTK_BOX(self->box), build_totals(self));
}

GtkWidget *nw_inspector_new(NwProject *project)
{
  NwInspector *self = g_object_new(NW_TYPE_INSPECTOR, NULL);
  self->project = g_object_ref(project);
  self->handlers[0] = g_signal_connect(project, "network-changed", G_CALLBACK(on_project), self);
  self->handlers[1] = g_signal_connect(project, "settings-changed", G_CALLBACK(on_project), self);
  fill(self);
  return GTK_WIDGET(self);
}
