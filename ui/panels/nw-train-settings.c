#include "ui/panels/nw-train-settings.h"

#include <glib/gi18n.h>

#include "ui/widgets/nw-attr-row.h"

struct _NwTrainSettings {
  GtkWidget parent;
  NwProject *project;
  GtkWidget *box;
  const NwOp *optimizer, *loss; /* whose rows are shown */
  const NwSchedule *schedule;
  GPtrArray *rows;  /* NwAttrRow, borrowed */
  GPtrArray *bases; /* for each row: where its attributes lie: 0 config, 1 optimizer, 2 loss, 3 schedule */
  gulong handler;
};

G_DEFINE_FINAL_TYPE(NwTrainSettings, nw_train_settings, GTK_TYPE_WIDGET)

enum { OF_CONFIG, OF_OPTIMIZER, OF_LOSS, OF_SCHEDULE };

#define CONFIG(field) .offset = offsetof(NwTrainConfig, field)
static const NwAttr run_attrs[] = {
    {.key = "epochs",
     .label = N_("Epochs"),
     .doc = N_("How often every picture is seen."),
     .type = NW_ATTR_INT,
     CONFIG(epochs),
     .initial = 10,
     .min = 1,
     .max = 100000,
     .step = 1},
    {.key = "batch_size",
     .label = N_("Batch size"),
     .doc = N_("Pictures in one step."),
     .type = NW_ATTR_INT,
     CONFIG(batch_size),
     .initial = 64,
     .min = 1,
     .max = 65536,
     .step = 8},
};
static const NwAttr lr_attrs[] = {
    {.key = "lr",
     .label = N_("Learning rate"),
     .doc = N_("Size of the optimizer's steps."),
     .type = NW_ATTR_REAL,
     CONFIG(lr),
     .initial = 1e-3,
     .min = 0,
     .max = 100},
};
static const NwAttr warmup_attrs[] = {
    {.key = "warmup_epochs",
     .label = N_("Warm-up"),
     .doc = N_("Epochs in which the learning rate rises from almost nothing to its full value."),
     .type = NW_ATTR_REAL,
     CONFIG(warmup_epochs),
     .min = 0,
     .max = 1000},
};
static const NwAttr loss_attrs[] = {
    {.key = "class_weights",
     .label = N_("Class weights"),
     .doc = N_("Rare classes count more, by the inverse of their number of pictures."),
     .type = NW_ATTR_BOOL,
     CONFIG(class_weights)},
};

static const void *base_of(const NwTrainConfig *config, guint of)
{
  switch (of) {
  case OF_OPTIMIZER:
    return config->optimizer_attrs;
  case OF_LOSS:
    return config->loss_attrs;
  case OF_SCHEDULE:
    return config->schedule_attrs;
  default:
    return config;
  }
}

static NwStatus on_set(const char *key, const char *text, NwError *error, gpointer data)
{
  NwTrainSettings *self = data;
  return nw_project_set_config(self->project, key, text, error);
}

/* ---- building ---- */

static GtkWidget *section(NwTrainSettings *self, const char *title)
{
  GtkWidget *label = gtk_label_new(title);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_widget_add_css_class(label, "section");
  gtk_box_append(GTK_BOX(self->box), label);
  GtkWidget *list = gtk_list_box_new();
  gtk_list_box_set_selection_mode(GTK_LIST_BOX(list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class(list, "boxed-list");
  gtk_accessible_update_property(GTK_ACCESSIBLE(list), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_box_append(GTK_BOX(self->box), list);
  return list;
}

static void add_rows(NwTrainSettings *self, GtkWidget *list, const NwAttr *attrs, int n, guint of,
                     const char *prefix)
{
  const void *base = base_of(nw_project_config(self->project), of);
  for (int i = 0; i < n; i++) {
    if (attrs[i].flags & NW_ATTR_HIDDEN)
      continue;
    g_autofree char *key = g_strconcat(prefix, attrs[i].key, NULL);
    GtkWidget *row = nw_attr_row_new(&attrs[i], base, key, on_set, self);
    gtk_list_box_append(GTK_LIST_BOX(list), row);
    g_ptr_array_add(self->rows, row);
    g_ptr_array_add(self->bases, GUINT_TO_POINTER(of));
  }
}

static void on_choice(GtkDropDown *choice, GParamSpec *spec, NwTrainSettings *self)
{
  const char *const *ids = g_object_get_data(G_OBJECT(choice), "ids");
  const char *key = g_object_get_data(G_OBJECT(choice), "key");
  guint i = gtk_drop_down_get_selected(choice);
  NwError error = {0};
  if (i < g_strv_length((char **)ids) && nw_project_set_config(self->project, key, ids[i], &error) != NW_OK)
    gtk_widget_set_tooltip_text(GTK_WIDGET(choice), error.text);
}

/* A row that chooses between rows of a table: "optimizer", "loss", "schedule". */
static void add_choice(NwTrainSettings *self, GtkWidget *list, const char *key, const char *label,
                       GPtrArray *ids, GPtrArray *names, const char *now)
{
  GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *title = gtk_label_new(key);
  gtk_label_set_xalign(GTK_LABEL(title), 0);
  gtk_widget_set_hexpand(title, TRUE);
  GtkStringList *model = gtk_string_list_new(NULL);
  guint selected = 0;
  for (guint i = 0; i < ids->len; i++) {
    gtk_string_list_append(model, g_ptr_array_index(names, i));
    if (g_strcmp0(g_ptr_array_index(ids, i), now) == 0)
      selected = i;
  }
  g_ptr_array_add(ids, NULL);
  GtkWidget *choice = gtk_drop_down_new(G_LIST_MODEL(model), NULL);
  gtk_drop_down_set_selected(GTK_DROP_DOWN(choice), selected);
  gtk_widget_set_valign(choice, GTK_ALIGN_CENTER);
  gtk_accessible_update_property(GTK_ACCESSIBLE(choice), GTK_ACCESSIBLE_PROPERTY_LABEL, label, -1);
  g_object_set_data_full(G_OBJECT(choice), "ids", g_strdupv((char **)ids->pdata), (GDestroyNotify)g_strfreev);
  g_object_set_data_full(G_OBJECT(choice), "key", g_strdup(key), g_free);
  g_signal_connect(choice, "notify::selected", G_CALLBACK(on_choice), self);
  gtk_box_append(GTK_BOX(line), title);
  gtk_box_append(GTK_BOX(line), choice);
  GtkWidget *row = gtk_list_box_row_new();
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), FALSE);
  gtk_widget_add_css_class(row, "prop");
  gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), line);
  gtk_list_box_append(GTK_LIST_BOX(list), row);
}

static void add_op_choice(NwTrainSettings *self, GtkWidget *list, NwGroup group, const char *key,
                          const char *label, const NwOp *now)
{
  g_autoptr(GPtrArray) ids = g_ptr_array_new(), names = g_ptr_array_new();
  const NwOp *op;
  for (size_t i = 0; (op = nw_op_at(i)) != NULL; i++)
    if (op->group == group && op->label != NULL) {
      g_ptr_array_add(ids, (gpointer)op->id);
      g_ptr_array_add(names, (gpointer)op->label);
    }
  add_choice(self, list, key, label, ids, names, now->id);
}

static void add_schedule_choice(NwTrainSettings *self, GtkWidget *list, const NwSchedule *now)
{
  g_autoptr(GPtrArray) ids = g_ptr_array_new(), names = g_ptr_array_new();
  const NwSchedule *schedule;
  for (size_t i = 0; (schedule = nw_schedule_at(i)) != NULL; i++) {
    g_ptr_array_add(ids, (gpointer)schedule->row.id);
    g_ptr_array_add(names, (gpointer)schedule->row.label);
  }
  add_choice(self, list, "schedule", _("Learning-rate schedule"), ids, names, now->row.id);
}

static void build(NwTrainSettings *self)
{
  const NwTrainConfig *config = nw_project_config(self->project);
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child(self->box)) != NULL)
    gtk_box_remove(GTK_BOX(self->box), child);
  g_ptr_array_set_size(self->rows, 0);
  g_ptr_array_set_size(self->bases, 0);
  self->optimizer = config->optimizer;
  self->loss = config->loss;
  self->schedule = config->schedule;

  GtkWidget *list = section(self, _("Run"));
  add_rows(self, list, run_attrs, G_N_ELEMENTS(run_attrs), OF_CONFIG, "");
  list = section(self, _("Optimizer"));
  add_op_choice(self, list, NW_GROUP_OPTIMIZER, "optimizer", _("Optimizer"), config->optimizer);
  add_rows(self, list, lr_attrs, G_N_ELEMENTS(lr_attrs), OF_CONFIG, "");
  add_rows(self, list, config->optimizer->attrs, config->optimizer->n_attrs, OF_OPTIMIZER, "optimizer.");
  list = section(self, _("Learning-rate schedule"));
  add_schedule_choice(self, list, config->schedule);
  add_rows(self, list, config->schedule->row.attrs, config->schedule->row.n_attrs, OF_SCHEDULE, "schedule.");
  add_rows(self, list, warmup_attrs, G_N_ELEMENTS(warmup_attrs), OF_CONFIG, "");
  list = section(self, _("Loss"));
  add_op_choice(self, list, NW_GROUP_LOSS, "loss", _("Loss"), config->loss);
  add_rows(self, list, config->loss->attrs, config->loss->n_attrs, OF_LOSS, "loss.");
  add_rows(self, list, loss_attrs, G_N_ELEMENTS(loss_attrs), OF_CONFIG, "");
}

static gboolean rebuild_later(gpointer data)
{
  NwTrainSettings *self = data;
  build(self);
  return G_SOURCE_REMOVE;
}

static void on_changed(NwProject *project, NwTrainSettings *self)
{
  const NwTrainConfig *config = nw_project_config(project);
  if (self->optimizer != config->optimizer || self->loss != config->loss ||
      self->schedule != config->schedule) {
    /* Not now: the signal may come from a row that would be destroyed under its own hands. */
    g_idle_add_full(G_PRIORITY_HIGH_IDLE, rebuild_later, g_object_ref(self), g_object_unref);
    return;
  }
  for (guint i = 0; i < self->rows->len; i++)
    nw_attr_row_refresh(g_ptr_array_index(self->rows, i),
                        base_of(config, GPOINTER_TO_UINT(g_ptr_array_index(self->bases, i))));
}

/* ---- object ---- */

void nw_train_settings_set_locked(NwTrainSettings *settings, gboolean locked)
{
  gtk_widget_set_sensitive(settings->box, !locked);
}

static void nw_train_settings_dispose(GObject *object)
{
  NwTrainSettings *self = NW_TRAIN_SETTINGS(object);
  g_clear_signal_handler(&self->handler, self->project);
  g_clear_pointer(&self->box, gtk_widget_unparent);
  g_clear_object(&self->project);
  g_clear_pointer(&self->rows, g_ptr_array_unref);
  g_clear_pointer(&self->bases, g_ptr_array_unref);
  G_OBJECT_CLASS(nw_train_settings_parent_class)->dispose(object);
}

static void nw_train_settings_class_init(NwTrainSettingsClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_train_settings_dispose;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
}

static void nw_train_settings_init(NwTrainSettings *self)
{
  self->rows = g_ptr_array_new();
  self->bases = g_ptr_array_new();
  self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_parent(self->box, GTK_WIDGET(self));
}

GtkWidget *nw_train_settings_new(NwProject *project)
{
  NwTrainSettings *self = g_object_new(NW_TYPE_TRAIN_SETTINGS, NULL);
  self->project = g_object_ref(project);
  build(self);
  self->handler = g_signal_connect(project, "settings-changed", G_CALLBACK(on_changed), self);
  return GTK_WIDGET(self);
}
