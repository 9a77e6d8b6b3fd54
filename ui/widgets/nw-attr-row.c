#include "ui/widgets/nw-attr-row.h"

#include <glib/gi18n.h>
#include <math.h>

struct _NwAttrRow {
  GtkListBoxRow parent;
  const NwAttr *attr;
  char *key;
  NwAttrRowSet set;
  gpointer data;
  GtkWidget *control;
  GtkWidget *problem; /* sentence under the row's label */
  gboolean refreshing;
};

G_DEFINE_FINAL_TYPE(NwAttrRow, nw_attr_row, GTK_TYPE_LIST_BOX_ROW)

void nw_attr_row_set_problem(NwAttrRow *row, const char *sentence)
{
  gtk_label_set_text(GTK_LABEL(row->problem), sentence != NULL ? sentence : "");
  gtk_widget_set_visible(row->problem, sentence != NULL);
  if (sentence != NULL)
    gtk_widget_add_css_class(GTK_WIDGET(row), "bad");
  else
    gtk_widget_remove_css_class(GTK_WIDGET(row), "bad");
  gtk_accessible_update_state(GTK_ACCESSIBLE(row->control), GTK_ACCESSIBLE_STATE_INVALID,
                              sentence != NULL ? GTK_ACCESSIBLE_INVALID_TRUE : GTK_ACCESSIBLE_INVALID_FALSE,
                              -1);
}

static void commit(NwAttrRow *row, const char *text)
{
  NwError error = {0};
  if (row->refreshing || row->set == NULL)
    return;
  NwStatus status = row->set(row->key, text, &error, row->data);
  nw_attr_row_set_problem(row, status == NW_OK ? NULL : error.text);
}

/* ---- one control a type ---- */

static void on_spin(GtkSpinButton *spin, NwAttrRow *row)
{
  char text[32];
  g_snprintf(text, sizeof text, "%" G_GINT64_FORMAT, (gint64)llround(gtk_spin_button_get_value(spin)));
  commit(row, text);
}

static void on_entry(GtkEntry *entry, NwAttrRow *row)
{
  commit(row, gtk_editable_get_text(GTK_EDITABLE(entry)));
}

static void on_entry_focus(GtkWidget *entry, GParamSpec *spec, NwAttrRow *row)
{
  if (!gtk_widget_has_focus(entry))
    commit(row, gtk_editable_get_text(GTK_EDITABLE(entry)));
}

static void on_switch(GtkSwitch *control, GParamSpec *spec, NwAttrRow *row)
{
  commit(row, gtk_switch_get_active(control) ? "true" : "false");
}

static void on_choice(GtkDropDown *choice, GParamSpec *spec, NwAttrRow *row)
{
  guint i = gtk_drop_down_get_selected(choice);
  if (i < (guint)row->attr->n_items)
    commit(row, row->attr->items[i].key);
}

static GtkWidget *make_entry(NwAttrRow *row)
{
  GtkWidget *entry = gtk_entry_new();
  gtk_editable_set_width_chars(GTK_EDITABLE(entry), 8);
  gtk_editable_set_max_width_chars(GTK_EDITABLE(entry), 10);
  gtk_editable_set_alignment(GTK_EDITABLE(entry), 1);
  gtk_entry_set_has_frame(GTK_ENTRY(entry), FALSE);
  gtk_widget_add_css_class(entry, "numeric");
  g_signal_connect(entry, "activate", G_CALLBACK(on_entry), row);
  g_signal_connect(gtk_widget_get_first_child(entry), "notify::has-focus", G_CALLBACK(on_entry_focus), row);
  return entry;
}

static GtkWidget *make_spin(NwAttrRow *row)
{
  const NwAttr *attr = row->attr;
  /* The control offers what is usual; typing reaches all that is legal. */
  GtkWidget *spin = gtk_spin_button_new_with_range(attr->min, attr->max, attr->step > 0 ? attr->step : 1);
  gtk_editable_set_width_chars(GTK_EDITABLE(spin), 4);
  gtk_editable_set_max_width_chars(GTK_EDITABLE(spin), 6);
  gtk_editable_set_alignment(GTK_EDITABLE(spin), 1);
  gtk_widget_add_css_class(spin, "numeric");
  g_signal_connect(spin, "value-changed", G_CALLBACK(on_spin), row);
  return spin;
}

static GtkWidget *make_choice(NwAttrRow *row)
{
  GtkStringList *names = gtk_string_list_new(NULL);
  for (int i = 0; i < row->attr->n_items; i++)
    gtk_string_list_append(names, _(row->attr->items[i].label));
  GtkWidget *choice = gtk_drop_down_new(G_LIST_MODEL(names), NULL);
  g_signal_connect(choice, "notify::selected", G_CALLBACK(on_choice), row);
  return choice;
}

static GtkWidget *make_control(NwAttrRow *row)
{
  switch (row->attr->type) {
  case NW_ATTR_INT:
    return make_spin(row);
  case NW_ATTR_BOOL: {
    GtkWidget *control = gtk_switch_new();
    g_signal_connect(control, "notify::active", G_CALLBACK(on_switch), row);
    return control;
  }
  case NW_ATTR_ENUM:
    return make_choice(row);
  case NW_ATTR_REAL:
  case NW_ATTR_DIMS:
    break;
  }
  return make_entry(row);
}

void nw_attr_row_refresh(NwAttrRow *row, const void *attrs)
{
  char text[64];
  NwValue value = nw_attr_get(row->attr, attrs);
  row->refreshing = TRUE;
  switch (row->attr->type) {
  case NW_ATTR_INT:
    gtk_spin_button_set_value(GTK_SPIN_BUTTON(row->control), (double)value.i);
    break;
  case NW_ATTR_BOOL:
    gtk_switch_set_active(GTK_SWITCH(row->control), value.b);
    break;
  case NW_ATTR_ENUM:
    for (int i = 0; i < row->attr->n_items; i++)
      if (row->attr->items[i].value == value.i)
        gtk_drop_down_set_selected(GTK_DROP_DOWN(row->control), (guint)i);
    break;
  case NW_ATTR_REAL:
  case NW_ATTR_DIMS:
    nw_attr_print(row->attr, attrs, text, sizeof text);
    if (g_strcmp0(text, gtk_editable_get_text(GTK_EDITABLE(row->control))) != 0)
      gtk_editable_set_text(GTK_EDITABLE(row->control), text);
    break;
  }
  row->refreshing = FALSE;
}

const char *nw_attr_row_key(NwAttrRow *row)
{
  return row->key;
}

static void nw_attr_row_finalize(GObject *object)
{
  g_free(NW_ATTR_ROW(object)->key);
  G_OBJECT_CLASS(nw_attr_row_parent_class)->finalize(object);
}

static void nw_attr_row_class_init(NwAttrRowClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = nw_attr_row_finalize;
}

static void nw_attr_row_init(NwAttrRow *row)
{
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), FALSE);
  gtk_widget_add_css_class(GTK_WIDGET(row), "prop");
}

/* "Size of the filter, in pixels. From 1 to 255." */
static char *tooltip(const NwAttr *attr)
{
  GString *text = g_string_new(attr->doc != NULL ? _(attr->doc) : "");
  if (attr->unit != NULL)
    g_string_append_printf(text, " (%s)", _(attr->unit));
  if (attr->type == NW_ATTR_INT || attr->type == NW_ATTR_REAL || attr->type == NW_ATTR_DIMS)
    g_string_append_printf(text, _(" From %g to %g."), attr->min, attr->max);
  return g_string_free(text, FALSE);
}

GtkWidget *nw_attr_row_new(const NwAttr *attr, const void *attrs, const char *key, NwAttrRowSet set,
                           gpointer data)
{
  NwAttrRow *row = g_object_new(NW_TYPE_ATTR_ROW, NULL);
  row->attr = attr;
  row->key = g_strdup(key != NULL ? key : attr->key);
  row->data = data;
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  /* Names stay torch's in every language: they are what papers, scripts and files say; the tooltip explains.
   */
  GtkWidget *label = gtk_label_new(attr->key);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand(label, TRUE);
  row->control = make_control(row);
  gtk_widget_set_valign(row->control, GTK_ALIGN_CENTER);
  g_autofree char *tip = tooltip(attr);
  gtk_widget_set_tooltip_text(GTK_WIDGET(row), tip);
  gtk_accessible_update_property(GTK_ACCESSIBLE(row->control), GTK_ACCESSIBLE_PROPERTY_LABEL, _(attr->label),
                                 GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, tip, -1);
  gtk_box_append(GTK_BOX(line), label);
  gtk_box_append(GTK_BOX(line), row->control);
  row->problem = gtk_label_new(NULL);
  gtk_label_set_wrap(GTK_LABEL(row->problem), TRUE);
  gtk_label_set_xalign(GTK_LABEL(row->problem), 0);
  gtk_widget_add_css_class(row->problem, "error");
  gtk_widget_add_css_class(row->problem, "caption");
  gtk_widget_set_visible(row->problem, FALSE);
  gtk_widget_set_valign(box, GTK_ALIGN_CENTER);
  gtk_box_append(GTK_BOX(box), line);
  gtk_box_append(GTK_BOX(box), row->problem);
  gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), box);
  nw_attr_row_refresh(row, attrs);
  /* Only from here on is a change the person's. */
  row->set = set;
  return GTK_WIDGET(row);
}
