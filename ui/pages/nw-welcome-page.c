#include "ui/pages/nw-welcome-page.h"

#include <adwaita.h>
#include <glib/gi18n.h>

#include "app/project.h"

static GtkWidget *label_new(const char *text, const char *css)
{
  GtkWidget *label = gtk_label_new(text);
  gtk_label_set_xalign(GTK_LABEL(label), 0);
  gtk_label_set_wrap(GTK_LABEL(label), TRUE);
  gtk_widget_add_css_class(label, css);
  return label;
}

static GtkWidget *template_row(const NwTemplate *tmpl)
{
  GtkWidget *row = adw_action_row_new();
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), tmpl->label);
  adw_action_row_set_subtitle(ADW_ACTION_ROW(row), _(tmpl->doc));
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), TRUE);
  gtk_actionable_set_action_name(GTK_ACTIONABLE(row), "win.new");
  gtk_actionable_set_action_target(GTK_ACTIONABLE(row), "s", tmpl->id);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), gtk_image_new_from_icon_name("go-next-symbolic"));
  return row;
}

static GtkWidget *recent_row(const char *folder)
{
  GtkWidget *row = adw_action_row_new();
  g_autofree char *base = g_filename_display_basename(folder), *path = g_filename_display_name(folder);
  adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), base);
  adw_action_row_set_subtitle(ADW_ACTION_ROW(row), path);
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), TRUE);
  gtk_actionable_set_action_name(GTK_ACTIONABLE(row), "win.open-folder");
  gtk_actionable_set_action_target(GTK_ACTIONABLE(row), "s", folder);
  adw_action_row_add_suffix(ADW_ACTION_ROW(row), gtk_image_new_from_icon_name("go-next-symbolic"));
  return row;
}

static GtkWidget *boxed_list(void)
{
  GtkWidget *list = gtk_list_box_new();
  gtk_list_box_set_selection_mode(GTK_LIST_BOX(list), GTK_SELECTION_NONE);
  gtk_widget_add_css_class(list, "boxed-list");
  return list;
}

static void add_recent(GtkWidget *box, NwSettings *settings)
{
  g_auto(GStrv) folders = nw_settings_recent(settings);
  GtkWidget *list = boxed_list();
  guint shown = 0;
  for (char **folder = folders; *folder != NULL && shown < 6; folder++) {
    g_autofree char *file = g_build_filename(*folder, "project.json", NULL);
    if (!g_file_test(file, G_FILE_TEST_EXISTS))
      continue; /* moved away: not forgotten, it may be on a drive that is not there now */
    gtk_list_box_append(GTK_LIST_BOX(list), recent_row(*folder));
    shown++;
  }
  if (shown == 0)
    return;
  gtk_box_append(GTK_BOX(box), label_new(_("Recent projects"), "section"));
  gtk_box_append(GTK_BOX(box), list);
}

GtkWidget *nw_welcome_page_new(NwSettings *settings)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 0);
  gtk_widget_set_margin_top(box, 36);
  gtk_widget_set_margin_bottom(box, 36);
  gtk_widget_set_margin_start(box, 18);
  gtk_widget_set_margin_end(box, 18);
  gtk_box_append(GTK_BOX(box), label_new("Netwright", "start-title"));
  GtkWidget *words =
      label_new(_("Build a network from layers, point at a folder of pictures, press Train."), "dim");
  gtk_widget_set_margin_bottom(words, 6);
  gtk_box_append(GTK_BOX(box), words);
  GtkWidget *open = gtk_button_new_with_label(_("Open a Project…"));
  gtk_widget_add_css_class(open, "pill");
  gtk_widget_set_halign(open, GTK_ALIGN_START);
  gtk_widget_set_margin_top(open, 12);
  gtk_actionable_set_action_name(GTK_ACTIONABLE(open), "win.open");
  gtk_box_append(GTK_BOX(box), open);
  add_recent(box, settings);
  gtk_box_append(GTK_BOX(box), label_new(_("New project"), "section"));
  /* The empty one first: the list of templates grows. */
  GtkWidget *list = boxed_list(), *empty = adw_action_row_new();
  adw_preferences_row_set_title(ADW_PREFERENCES_ROW(empty), _("Empty network"));
  adw_action_row_set_subtitle(ADW_ACTION_ROW(empty), _("Begin with nothing and drag layers onto the canvas"));
  gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(empty), TRUE);
  gtk_actionable_set_detailed_action_name(GTK_ACTIONABLE(empty), "win.new::");
  adw_action_row_add_suffix(ADW_ACTION_ROW(empty), gtk_image_new_from_icon_name("go-next-symbolic"));
  gtk_list_box_append(GTK_LIST_BOX(list), empty);
  const NwTemplate *tmpl;
  for (size_t i = 0; (tmpl = nw_template_at(i)) != NULL; i++)
    gtk_list_box_append(GTK_LIST_BOX(list), template_row(tmpl));
  gtk_box_append(GTK_BOX(box), list);
  GtkWidget *clamp = adw_clamp_new(), *scroll = gtk_scrolled_window_new();
  adw_clamp_set_maximum_size(ADW_CLAMP(clamp), 640);
  adw_clamp_set_child(ADW_CLAMP(clamp), box);
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroll), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroll), clamp);
  return scroll;
}
