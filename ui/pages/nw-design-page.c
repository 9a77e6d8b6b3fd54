#include "ui/pages/nw-design-page.h"

#include <adwaita.h>
#include <glib/gi18n.h>
#include <math.h>

#include "ui/canvas/nw-minimap.h"
#include "ui/panels/nw-inspector.h"

struct _NwDesignPage {
  GtkWidget parent;
  NwProject *project;
  GtkWidget *box, *palette, *canvas, *inspector, *toasts, *problems, *zoom, *undo, *redo, *empty, *map,
      *minimap;
  gulong handlers[2];
};

G_DEFINE_FINAL_TYPE(NwDesignPage, nw_design_page, GTK_TYPE_WIDGET)

/* ---- listening ---- */

static void on_selection(NwCanvas *canvas, NwDesignPage *self)
{
  g_autoptr(GArray) blocks = nw_canvas_selection(canvas);
  nw_inspector_show(NW_INSPECTOR(self->inspector), nw_canvas_selected(canvas), blocks->len);
}

static void on_view(NwCanvas *canvas, NwDesignPage *self)
{
  g_autofree char *text = g_strdup_printf("%d %%", (int)lround(nw_canvas_zoom(canvas) * 100));
  gtk_button_set_label(GTK_BUTTON(self->zoom), text);
}

static void on_refused(NwCanvas *canvas, const char *sentence, NwDesignPage *self)
{
  adw_toast_overlay_add_toast(ADW_TOAST_OVERLAY(self->toasts), adw_toast_new(sentence));
}

static void on_chosen(NwPalette *palette, gpointer op, NwDesignPage *self)
{
  guint32 block = 0;
  NwError error = {0};
  NwStatus status =
      nw_project_insert_block(self->project, op, nw_canvas_selected(NW_CANVAS(self->canvas)), &block, &error);
  if (status != NW_OK) {
    on_refused(NULL, error.text, self);
    return;
  }
  nw_canvas_select(NW_CANVAS(self->canvas), block, FALSE);
  nw_canvas_reveal(NW_CANVAS(self->canvas), block);
}

static void on_network(NwProject *project, NwDesignPage *self)
{
  const NwNetworkReport *report = nw_project_report(project);
  gboolean empty = nw_network_count(nw_project_network(project)) == 0;
  gtk_widget_set_visible(self->empty, empty);
  gtk_widget_set_visible(self->map, !empty);
  gtk_widget_set_visible(self->problems, !empty && report->status != NW_OK);
  g_autofree char *text =
      g_strdup_printf(g_dngettext(NULL, "%d problem", "%d problems", (gulong)MAX(report->n_errors, 1)),
                      MAX(report->n_errors, 1));
  adw_button_content_set_label(ADW_BUTTON_CONTENT(gtk_button_get_child(GTK_BUTTON(self->problems))), text);
  gtk_widget_set_tooltip_text(self->problems, report->error.text);
}

static void on_history(NwProject *project, NwDesignPage *self)
{
  const char *undo = nw_project_undo_label(project), *redo = nw_project_redo_label(project);
  g_autofree char *undo_tip = g_strdup_printf(_("Undo %s (Ctrl+Z)"), undo != NULL ? undo : "");
  g_autofree char *redo_tip = g_strdup_printf(_("Redo %s (Ctrl+Shift+Z)"), redo != NULL ? redo : "");
  gtk_widget_set_tooltip_text(self->undo, undo_tip);
  gtk_widget_set_tooltip_text(self->redo, redo_tip);
}

static void on_problems(GtkButton *button, NwDesignPage *self)
{
  const NwNetworkReport *report = nw_project_report(self->project);
  if (report->error.block != 0) {
    nw_canvas_select(NW_CANVAS(self->canvas), report->error.block, FALSE);
    nw_canvas_reveal(NW_CANVAS(self->canvas), report->error.block);
  } else {
    on_refused(NULL, report->error.text, self);
  }
}

static void on_arrange(GtkButton *button, NwDesignPage *self)
{
  NwError error = {0};
  if (nw_project_arrange(self->project, &error) != NW_OK)
    on_refused(NULL, error.text, self);
  nw_canvas_fit(NW_CANVAS(self->canvas));
}

static void on_bars(GtkDropDown *choice, GParamSpec *spec, NwDesignPage *self)
{
  nw_canvas_set_bars(NW_CANVAS(self->canvas), (NwCanvasBars)gtk_drop_down_get_selected(choice));
}

static void on_zoom_in(GtkButton *button, NwDesignPage *self)
{
  nw_canvas_set_zoom(NW_CANVAS(self->canvas), nw_canvas_zoom(NW_CANVAS(self->canvas)) * 1.2);
}

static void on_zoom_out(GtkButton *button, NwDesignPage *self)
{
  nw_canvas_set_zoom(NW_CANVAS(self->canvas), nw_canvas_zoom(NW_CANVAS(self->canvas)) / 1.2);
}

static void on_actual(GtkButton *button, NwDesignPage *self)
{
  nw_canvas_set_zoom(NW_CANVAS(self->canvas), 1);
}

static void on_fit(GtkButton *button, NwDesignPage *self)
{
  nw_canvas_fit(NW_CANVAS(self->canvas));
}

/* ---- building ---- */

static GtkWidget *icon_button(const char *icon, const char *tip, GCallback clicked, NwDesignPage *self)
{
  GtkWidget *button = gtk_button_new_from_icon_name(icon);
  gtk_widget_add_css_class(button, "flat");
  gtk_widget_set_tooltip_text(button, tip);
  gtk_accessible_update_property(GTK_ACCESSIBLE(button), GTK_ACCESSIBLE_PROPERTY_LABEL, tip, -1);
  if (clicked != NULL)
    g_signal_connect(button, "clicked", clicked, self);
  return button;
}

static GtkWidget *place(GtkWidget *widget, GtkAlign horizontal, GtkAlign vertical)
{
  gtk_widget_add_css_class(widget, "float");
  gtk_widget_set_halign(widget, horizontal);
  gtk_widget_set_valign(widget, vertical);
  gtk_widget_set_margin_start(widget, 12);
  gtk_widget_set_margin_end(widget, 12);
  gtk_widget_set_margin_top(widget, 12);
  gtk_widget_set_margin_bottom(widget, 12);
  return widget;
}

static GtkWidget *build_tools(NwDesignPage *self)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 2);
  self->undo = icon_button("edit-undo-symbolic", _("Undo"), NULL, self);
  gtk_actionable_set_action_name(GTK_ACTIONABLE(self->undo), "win.undo");
  self->redo = icon_button("edit-redo-symbolic", _("Redo"), NULL, self);
  gtk_actionable_set_action_name(GTK_ACTIONABLE(self->redo), "win.redo");
  GtkWidget *arrange = gtk_button_new_with_label(_("Arrange"));
  gtk_widget_add_css_class(arrange, "flat");
  gtk_widget_set_tooltip_text(arrange, _("Lay the blocks out from top to bottom"));
  g_signal_connect(arrange, "clicked", G_CALLBACK(on_arrange), self);
  self->problems = gtk_button_new();
  GtkWidget *content = adw_button_content_new();
  adw_button_content_set_icon_name(ADW_BUTTON_CONTENT(content), "dialog-error-symbolic");
  gtk_button_set_child(GTK_BUTTON(self->problems), content);
  gtk_widget_add_css_class(self->problems, "flat");
  gtk_widget_add_css_class(self->problems, "err");
  g_signal_connect(self->problems, "clicked", G_CALLBACK(on_problems), self);
  GtkWidget *parts[] = {self->undo, self->redo, gtk_separator_new(GTK_ORIENTATION_VERTICAL), arrange,
                        self->problems};
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
    gtk_box_append(GTK_BOX(box), parts[i]);
  return place(box, GTK_ALIGN_START, GTK_ALIGN_START);
}

static GtkWidget *build_bars(NwDesignPage *self)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 6), *words = gtk_label_new(_("Bars show"));
  gtk_widget_add_css_class(words, "dim");
  gtk_widget_set_margin_start(words, 8);
  GtkStringList *names = gtk_string_list_new(NULL);
  const char *const items[] = {_("Parameters"), _("Multiply-adds"), _("Memory")};
  for (guint i = 0; i < G_N_ELEMENTS(items); i++)
    gtk_string_list_append(names, items[i]);
  GtkWidget *choice = gtk_drop_down_new(G_LIST_MODEL(names), NULL);
  gtk_widget_add_css_class(choice, "flat");
  gtk_accessible_update_property(GTK_ACCESSIBLE(choice), GTK_ACCESSIBLE_PROPERTY_LABEL, _("Bars show"), -1);
  g_signal_connect(choice, "notify::selected", G_CALLBACK(on_bars), self);
  gtk_box_append(GTK_BOX(box), words);
  gtk_box_append(GTK_BOX(box), choice);
  return place(box, GTK_ALIGN_END, GTK_ALIGN_START);
}

static GtkWidget *build_map(NwDesignPage *self)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 2),
            *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
  self->zoom = gtk_button_new_with_label("100 %");
  gtk_widget_add_css_class(self->zoom, "flat");
  gtk_widget_add_css_class(self->zoom, "numeric");
  gtk_widget_set_hexpand(self->zoom, TRUE);
  gtk_widget_set_tooltip_text(self->zoom, _("Actual size (Ctrl+0)"));
  g_signal_connect(self->zoom, "clicked", G_CALLBACK(on_actual), self);
  GtkWidget *parts[] = {
      icon_button("list-remove-symbolic", _("Zoom out (Ctrl+−)"), G_CALLBACK(on_zoom_out), self), self->zoom,
      icon_button("list-add-symbolic", _("Zoom in (Ctrl++)"), G_CALLBACK(on_zoom_in), self),
      icon_button("zoom-fit-best-symbolic", _("Show everything (F)"), G_CALLBACK(on_fit), self)};
  for (guint i = 0; i < G_N_ELEMENTS(parts); i++)
    gtk_box_append(GTK_BOX(row), parts[i]);
  self->minimap = nw_minimap_new(self->project, NW_CANVAS(self->canvas));
  gtk_box_append(GTK_BOX(box), self->minimap);
  gtk_box_append(GTK_BOX(box), row);
  self->map = place(box, GTK_ALIGN_END, GTK_ALIGN_END);
  return self->map;
}

static GtkWidget *build_empty(void)
{
  GtkWidget *page = adw_status_page_new(), *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 8);
  adw_status_page_set_title(ADW_STATUS_PAGE(page), _("An Empty Network"));
  adw_status_page_set_description(ADW_STATUS_PAGE(page),
                                  _("Drag layers here from the left, or begin with a template."));
  gtk_widget_add_css_class(page, "compact");
  const NwTemplate *tmpl;
  for (size_t i = 0; (tmpl = nw_template_at(i)) != NULL && i < 5; i++) {
    GtkWidget *button = gtk_button_new_with_label(tmpl->label);
    gtk_widget_add_css_class(button, "pill");
    gtk_widget_set_tooltip_text(button, _(tmpl->doc));
    gtk_actionable_set_action_name(GTK_ACTIONABLE(button), "win.use-template");
    gtk_actionable_set_action_target(GTK_ACTIONABLE(button), "s", tmpl->id);
    gtk_box_append(GTK_BOX(row), button);
  }
  gtk_widget_set_halign(row, GTK_ALIGN_CENTER);
  adw_status_page_set_child(ADW_STATUS_PAGE(page), row);
  gtk_widget_set_can_target(page, TRUE);
  gtk_widget_set_valign(page, GTK_ALIGN_CENTER);
  gtk_widget_set_halign(page, GTK_ALIGN_CENTER);
  return page;
}

NwCanvas *nw_design_page_canvas(NwDesignPage *page)
{
  return NW_CANVAS(page->canvas);
}

NwPalette *nw_design_page_palette(NwDesignPage *page)
{
  return NW_PALETTE(page->palette);
}

void nw_design_page_set_narrow(NwDesignPage *page, gboolean narrow)
{
  gtk_widget_set_size_request(gtk_widget_get_first_child(page->palette), narrow ? 168 : 216, -1);
  nw_inspector_set_narrow(NW_INSPECTOR(page->inspector), narrow);
  /* It would cover the network it shows. */
  gtk_widget_set_visible(page->minimap, !narrow);
}

static void action_find(GtkWidget *widget, const char *name, GVariant *parameter)
{
  nw_palette_focus_search(NW_PALETTE(NW_DESIGN_PAGE(widget)->palette));
}

static void nw_design_page_dispose(GObject *object)
{
  NwDesignPage *self = NW_DESIGN_PAGE(object);
  for (guint i = 0; i < G_N_ELEMENTS(self->handlers); i++)
    g_clear_signal_handler(&self->handlers[i], self->project);
  if (self->canvas != NULL)
    g_signal_handlers_disconnect_by_data(self->canvas, self);
  self->canvas = NULL;
  g_clear_pointer(&self->box, gtk_widget_unparent);
  g_clear_object(&self->project);
  G_OBJECT_CLASS(nw_design_page_parent_class)->dispose(object);
}

static void nw_design_page_class_init(NwDesignPageClass *klass)
{
  GtkWidgetClass *widget = GTK_WIDGET_CLASS(klass);
  G_OBJECT_CLASS(klass)->dispose = nw_design_page_dispose;
  gtk_widget_class_set_layout_manager_type(widget, GTK_TYPE_BIN_LAYOUT);
  gtk_widget_class_install_action(widget, "design.find", NULL, action_find);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_f, GDK_CONTROL_MASK, "design.find", NULL);
  gtk_widget_class_add_binding_action(widget, GDK_KEY_slash, 0, "design.find", NULL);
}

static void nw_design_page_init(NwDesignPage *self)
{
  self->box = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 0);
  gtk_widget_set_parent(self->box, GTK_WIDGET(self));
}

GtkWidget *nw_design_page_new(NwProject *project)
{
  NwDesignPage *self = g_object_new(NW_TYPE_DESIGN_PAGE, NULL);
  self->project = g_object_ref(project);
  self->palette = nw_palette_new();
  self->canvas = nw_canvas_new(project);
  self->inspector = nw_inspector_new(project);
  self->empty = build_empty();
  GtkWidget *overlay = gtk_overlay_new();
  gtk_overlay_set_child(GTK_OVERLAY(overlay), self->canvas);
  gtk_overlay_add_overlay(GTK_OVERLAY(overlay), self->empty);
  gtk_overlay_add_overlay(GTK_OVERLAY(overlay), build_tools(self));
  gtk_overlay_add_overlay(GTK_OVERLAY(overlay), build_bars(self));
  gtk_overlay_add_overlay(GTK_OVERLAY(overlay), build_map(self));
  self->toasts = adw_toast_overlay_new();
  adw_toast_overlay_set_child(ADW_TOAST_OVERLAY(self->toasts), overlay);
  gtk_widget_set_hexpand(self->toasts, TRUE);
  gtk_box_append(GTK_BOX(self->box), self->palette);
  gtk_box_append(GTK_BOX(self->box), self->toasts);
  gtk_box_append(GTK_BOX(self->box), self->inspector);
  g_signal_connect(self->palette, "chosen", G_CALLBACK(on_chosen), self);
  g_signal_connect(self->canvas, "selection-changed", G_CALLBACK(on_selection), self);
  g_signal_connect(self->canvas, "view-changed", G_CALLBACK(on_view), self);
  g_signal_connect(self->canvas, "refused", G_CALLBACK(on_refused), self);
  self->handlers[0] = g_signal_connect(project, "network-changed", G_CALLBACK(on_network), self);
  self->handlers[1] = g_signal_connect(project, "history-changed", G_CALLBACK(on_history), self);
  on_network(project, self);
  on_history(project, self);
  return GTK_WIDGET(self);
}
