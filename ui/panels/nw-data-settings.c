#include "ui/panels/nw-data-settings.h"

#include <adwaita.h>
#include <glib/gi18n.h>

struct _NwDataSettings {
  GtkWidget parent;
  NwProject *project;
  GtkWidget *box, *problems, *problems_count, *share, *seed, *split_list, *own_split, *measure;
  GtkWidget *height, *width, *gray, *normal;
  GtkWidget *steps[4]; /* switches of the augmentations */
  gboolean refreshing;
  gulong handler;
};

G_DEFINE_FINAL_TYPE(NwDataSettings, nw_data_settings, GTK_TYPE_WIDGET)

/* The augmentations offered as switches, in the order in which they are applied. */
static const struct {
  NwTransformKind kind;
  const char *name, *doc;
} steps[] = {
    {NW_RANDOM_RESIZED_CROP, "RandomResizedCrop", N_("A random part of the picture, brought to size")},
    {NW_RANDOM_CROP, "RandomCrop", N_("Shifted by up to 4 pixels over a black border")},
    {NW_RANDOM_HORIZONTAL_FLIP, "RandomHorizontalFlip", N_("Every second picture mirrored")},
    {NW_COLOR_JITTER, "ColorJitter", N_("Brightness, contrast and saturation vary")},
};

/* ---- preprocessing from the switches ---- */

static gboolean has_step(const NwPreprocessing *p, NwTransformKind kind)
{
  for (guint i = 0; i < p->train->len; i++)
    if (g_array_index(p->train, NwTransform, i).kind == kind)
      return TRUE;
  return FALSE;
}

static NwTransform step_of(NwTransformKind kind, guint height, guint width)
{
  NwTransform step = nw_transform_default(kind, (int)height, (int)width);
  if (kind == NW_RANDOM_CROP)
    step.padding = 4;
  if (kind == NW_COLOR_JITTER)
    step.brightness = step.contrast = step.saturation = 0.2;
  return step;
}

/* A crop that brings to size stands in the place of Resize; everything else follows it. */
static NwPreprocessing *gather(NwDataSettings *self)
{
  guint height = (guint)gtk_spin_button_get_value_as_int(GTK_SPIN_BUTTON(self->height));
  guint width = (guint)gtk_spin_button_get_value_as_int(GTK_SPIN_BUTTON(self->width));
  guint channels = gtk_switch_get_active(GTK_SWITCH(self->gray)) ? 1 : 3;
  const NwPreprocessing *now = nw_project_preprocessing(self->project);
  NwPreprocessing *p = nw_preprocessing_new(channels, height, width);
  for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
    if (!gtk_switch_get_active(GTK_SWITCH(self->steps[i])))
      continue;
    NwTransform step = step_of(steps[i].kind, height, width);
    if (steps[i].kind == NW_RANDOM_RESIZED_CROP)
      g_array_set_size(p->train, 0);
    g_array_append_val(p->train, step);
  }
  for (guint c = 0; c < 4; c++) {
    guint from = MIN(c, now->channels - 1);
    p->mean[c] = now->mean[from];
    p->deviation[c] = now->deviation[from];
  }
  return p;
}

static void apply(NwDataSettings *self)
{
  NwError error = {0};
  if (self->refreshing)
    return;
  NwPreprocessing *p = gather(self);
  nw_project_set_preprocessing(self->project, p, &error);
  nw_preprocessing_free(p);
}

static void on_spin(GtkSpinButton *spin, NwDataSettings *self)
{
  apply(self);
}

static void on_switch(GtkSwitch *control, GParamSpec *spec, NwDataSettings *self)
{
  apply(self);
}

static void on_split(GtkSpinButton *spin, NwDataSettings *self)
{
  if (!self->refreshing)
    nw_project_set_split(self->project, (guint64)gtk_spin_button_get_value(GTK_SPIN_BUTTON(self->seed)),
                         gtk_spin_button_get_value(GTK_SPIN_BUTTON(self->share)) / 100, NULL);
}

static void on_measured(NwProject *project, const NwError *error, gpointer data)
{
  NwDataSettings *self = data;
  if (self->project != NULL) {
    gtk_widget_set_sensitive(self->measure, TRUE);
    gtk_button_set_label(GTK_BUTTON(self->measure), _("Measure"));
    if (error != NULL)
      gtk_label_set_text(GTK_LABEL(self->normal), error->text);
  }
  g_object_unref(self);
}

static void on_measure(GtkButton *button, NwDataSettings *self)
{
  gtk_widget_set_sensitive(self->measure, FALSE);
  gtk_button_set_label(GTK_BUTTON(self->measure), _("Measuring…"));
  nw_project_measure_normalization_async(self->project, on_measured, g_object_ref(self));
}

/* ---- problems ---- */

static GtkWidget *problem_row(const NwProblem *problem)
{
  GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *icon = gtk_image_new_from_icon_name(problem->left_out ? "dialog-error-symbolic"
                                                                   : "dialog-information-symbolic");
  GtkWidget *text = gtk_label_new(problem->text);
  gtk_widget_add_css_class(icon, problem->left_out ? "err" : "dim");
  gtk_widget_set_valign(icon, GTK_ALIGN_START);
  gtk_widget_set_margin_top(icon, 2);
  gtk_label_set_wrap(GTK_LABEL(text), TRUE);
  gtk_label_set_wrap_mode(GTK_LABEL(text), PANGO_WRAP_WORD_CHAR);
  gtk_label_set_xalign(GTK_LABEL(text), 0);
  gtk_label_set_selectable(GTK_LABEL(text), TRUE);
  gtk_widget_set_hexpand(text, TRUE);
  gtk_widget_add_css_class(text, "caption-text");
  gtk_box_append(GTK_BOX(row), icon);
  gtk_box_append(GTK_BOX(row), text);
  gtk_widget_set_margin_top(row, 8);
  gtk_widget_set_margin_bottom(row, 8);
  gtk_widget_set_margin_start(row, 10);
  gtk_widget_set_margin_end(row, 10);
  GtkWidget *list_row = gtk_list_box_row_new();
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(list_row), FALSE);
  gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(list_row), row);
  return list_row;
}

enum { PROBLEMS_MAX = 200 };

static void fill_problems(NwDataSettings *self, const NwManifest *m)
{
  GtkWidget *child;
  while ((child = gtk_widget_get_first_child(self->problems)) != NULL)
    gtk_list_box_remove(GTK_LIST_BOX(self->problems), child);
  guint n = m != NULL ? m->problems->len : 0;
  for (guint i = 0; i < n && i < PROBLEMS_MAX; i++)
    gtk_list_box_append(GTK_LIST_BOX(self->problems), problem_row(g_ptr_array_index(m->problems, i)));
  if (n == 0) {
    NwProblem none = {.text =
                          m != NULL ? (char *)_("Nothing odd was found.") : (char *)_("No data set yet.")};
    gtk_list_box_append(GTK_LIST_BOX(self->problems), problem_row(&none));
  }
  g_autofree char *count = g_strdup_printf("%u", n);
  gtk_label_set_text(GTK_LABEL(self->problems_count), count);
  gtk_widget_set_visible(self->problems_count, n > 0);
}

static void fill(NwDataSettings *self)
{
  const NwManifest *m = nw_project_manifest(self->project);
  const NwPreprocessing *p = nw_project_preprocessing(self->project);
  self->refreshing = TRUE;
  fill_problems(self, m);
  gtk_spin_button_set_value(GTK_SPIN_BUTTON(self->height), p->height);
  gtk_spin_button_set_value(GTK_SPIN_BUTTON(self->width), p->width);
  gtk_switch_set_active(GTK_SWITCH(self->gray), p->channels == 1);
  for (guint i = 0; i < G_N_ELEMENTS(steps); i++)
    gtk_switch_set_active(GTK_SWITCH(self->steps[i]), has_step(p, steps[i].kind));
  gtk_widget_set_sensitive(self->steps[3], p->channels == 3);
  GString *normal = g_string_new(NULL);
  for (guint c = 0; c < p->channels; c++)
    g_string_append_printf(normal, "%s%.4f ± %.4f", c > 0 ? "\n" : "", p->mean[c], p->deviation[c]);
  gtk_label_set_text(GTK_LABEL(self->normal), normal->str);
  g_string_free(normal, TRUE);
  gboolean own = m != NULL && m->own_split;
  gtk_widget_set_visible(gtk_widget_get_ancestor(self->share, GTK_TYPE_LIST_BOX_ROW), !own);
  gtk_widget_set_visible(gtk_widget_get_ancestor(self->seed, GTK_TYPE_LIST_BOX_ROW), !own);
  gtk_widget_set_visible(gtk_widget_get_ancestor(self->own_split, GTK_TYPE_LIST_BOX_ROW), own);
  if (m != NULL && !m->own_split) {
    gtk_spin_button_set_value(GTK_SPIN_BUTTON(self->share), m->val_share * 100);
    gtk_spin_button_set_value(GTK_SPIN_BUTTON(self->seed), (double)m->split_seed);
  }
  self->refreshing = FALSE;
}

static void on_dataset(NwProject *project, NwDataSettings *self)
{
  fill(self);
}

/* ---- building ---- */

static GtkWidget *section(NwDataSettings *self, const char *title, GtkWidget **extra)
{
  GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6), *label = gtk_label_new(title);
  gtk_widget_add_css_class(label, "section");
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_widget_set_hexpand(label, TRUE);
  gtk_box_append(GTK_BOX(line), label);
  if (extra != NULL) {
    *extra = gtk_label_new(NULL);
    gtk_widget_add_css_class(*extra, "chip");
    gtk_widget_add_css_class(*extra, "warn");
    gtk_widget_set_valign(*extra, GTK_ALIGN_END);
    gtk_widget_set_margin_bottom(*extra, 5);
    gtk_box_append(GTK_BOX(line), *extra);
  }
  GtkWidget *list = gtk_list_box_new();
  gtk_list_box_set_selection_mode(GTK_LIST_BOX(list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class(list, "boxed-list");
  gtk_accessible_update_property(GTK_ACCESSIBLE(list), GTK_ACCESSIBLE_PROPERTY_LABEL, title, -1);
  gtk_box_append(GTK_BOX(self->box), line);
  gtk_box_append(GTK_BOX(self->box), list);
  return list;
}

static GtkWidget *add_row(GtkWidget *list, const char *name, const char *tip, GtkWidget *control)
{
  GtkWidget *line = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6), *label = gtk_label_new(name),
            *row = gtk_list_box_row_new();
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_hexpand(label, TRUE);
  gtk_widget_set_valign(control, GTK_ALIGN_CENTER);
  gtk_box_append(GTK_BOX(line), label);
  gtk_box_append(GTK_BOX(line), control);
  gtk_list_box_row_set_child(GTK_LIST_BOX_ROW(row), line);
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), FALSE);
  gtk_widget_add_css_class(row, "prop");
  gtk_widget_set_tooltip_text(row, tip);
  gtk_accessible_update_property(GTK_ACCESSIBLE(control), GTK_ACCESSIBLE_PROPERTY_LABEL, name, -1);
  gtk_list_box_append(GTK_LIST_BOX(list), row);
  return control;
}

static GtkWidget *spin_new(double low, double high, double step)
{
  GtkWidget *spin = gtk_spin_button_new_with_range(low, high, step);
  gtk_editable_set_width_chars(GTK_EDITABLE(spin), 4);
  gtk_editable_set_max_width_chars(GTK_EDITABLE(spin), 7);
  gtk_editable_set_alignment(GTK_EDITABLE(spin), 1);
  gtk_widget_add_css_class(spin, "numeric");
  return spin;
}

static void build(NwDataSettings *self)
{
  self->problems = section(self, _("Problems"), &self->problems_count);
  self->split_list = section(self, _("Split"), NULL);
  self->share = add_row(self->split_list, _("Validation share, %"), _("The same share of every class"),
                        spin_new(1, 90, 1));
  self->seed =
      add_row(self->split_list, _("Seed"), _("The same seed gives the same split"), spin_new(0, 1e9, 1));
  self->own_split = gtk_image_new_from_icon_name("object-select-symbolic");
  add_row(self->split_list, _("As the folder says"), _("It has sub-folders for training and validation"),
          self->own_split);
  GtkWidget *list = section(self, _("Preparation"), NULL);
  self->height = add_row(list, _("Height"), _("Pixels that the network sees"), spin_new(4, 1024, 1));
  self->width = add_row(list, _("Width"), _("Pixels that the network sees"), spin_new(4, 1024, 1));
  self->gray = add_row(list, _("Grey"), _("One channel instead of red, green and blue"), gtk_switch_new());
  self->normal = gtk_label_new(NULL);
  gtk_label_set_justify(GTK_LABEL(self->normal), GTK_JUSTIFY_RIGHT);
  gtk_widget_add_css_class(self->normal, "numeric");
  add_row(list, _("Normalize"), _("Mean ± deviation, taken off and divided by"), self->normal);
  self->measure = gtk_button_new_with_label(_("Measure"));
  gtk_widget_add_css_class(self->measure, "lean");
  g_signal_connect(self->measure, "clicked", G_CALLBACK(on_measure), self);
  add_row(list, _("Mean and deviation"), _("Mean and deviation anew, at this size"), self->measure);
  list = section(self, _("Augmentation, train only"), NULL);
  for (guint i = 0; i < G_N_ELEMENTS(steps); i++) {
    self->steps[i] = add_row(list, steps[i].name, _(steps[i].doc), gtk_switch_new());
    g_signal_connect(self->steps[i], "notify::active", G_CALLBACK(on_switch), self);
  }
  g_signal_connect(self->gray, "notify::active", G_CALLBACK(on_switch), self);
  g_signal_connect(self->height, "value-changed", G_CALLBACK(on_spin), self);
  g_signal_connect(self->width, "value-changed", G_CALLBACK(on_spin), self);
  g_signal_connect(self->share, "value-changed", G_CALLBACK(on_split), self);
  g_signal_connect(self->seed, "value-changed", G_CALLBACK(on_split), self);
}

static void nw_data_settings_dispose(GObject *object)
{
  NwDataSettings *self = NW_DATA_SETTINGS(object);
  g_clear_signal_handler(&self->handler, self->project);
  g_clear_pointer(&self->box, gtk_widget_unparent);
  g_clear_object(&self->project);
  G_OBJECT_CLASS(nw_data_settings_parent_class)->dispose(object);
}

static void nw_data_settings_class_init(NwDataSettingsClass *klass)
{
  G_OBJECT_CLASS(klass)->dispose = nw_data_settings_dispose;
  gtk_widget_class_set_layout_manager_type(GTK_WIDGET_CLASS(klass), GTK_TYPE_BIN_LAYOUT);
}

static void nw_data_settings_init(NwDataSettings *self)
{
  self->box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_parent(self->box, GTK_WIDGET(self));
}

GtkWidget *nw_data_settings_new(NwProject *project)
{
  NwDataSettings *self = g_object_new(NW_TYPE_DATA_SETTINGS, NULL);
  self->project = g_object_ref(project);
  self->refreshing = TRUE;
  build(self);
  self->refreshing = FALSE;
  fill(self);
  self->handler = g_signal_connect(project, "dataset-changed", G_CALLBACK(on_dataset), self);
  return GTK_WIDGET(self);
}
