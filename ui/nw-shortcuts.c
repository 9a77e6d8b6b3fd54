#include "ui/nw-shortcuts.h"

#include <glib/gi18n.h>

typedef struct Key {
  const char *keys, *words;
} Key;

static const Key general[] = {{"<Alt>1", N_("Data")},
                              {"<Alt>2", N_("Design")},
                              {"<Alt>3", N_("Train")},
                              {"<Alt>4", N_("History")},
                              {"<Control>n", N_("Start page")},
                              {"<Control>o", N_("Open a project")},
                              {"<Control>s", N_("Save")},
                              {"<Control><Shift>s", N_("Save under another name")},
                              {"<Control><Shift>o", N_("Choose a folder of pictures")},
                              {"<Control>z", N_("Undo")},
                              {"<Control><Shift>z", N_("Redo")},
                              {"F10", N_("Menu")},
                              {"<Control>question", N_("This list")},
                              {"<Control>q", N_("Quit")}};
static const Key training[] = {{"F5", N_("Train")}, {"F6", N_("Pause or continue")}, {"F7", N_("Stop")}};
static const Key design[] = {
    {"<Control>f", N_("Search layers")},
    {"Return", N_("Append the layer behind the selected block")},
    {"Up Down Left Right", N_("To the next block")},
    {"<Control>Up <Control>Down <Control>Left <Control>Right", N_("Move the selection")},
    {"Delete BackSpace", N_("Delete and join the neighbours")},
    {"<Shift>Delete", N_("Delete and leave a gap")},
    {"<Control>a", N_("Select everything")},
    {"<Control>c", N_("Copy")},
    {"<Control>x", N_("Cut")},
    {"<Control>v", N_("Paste")},
    {"<Control>d", N_("Duplicate")},
    {"c", N_("Connect the two selected blocks")},
    {"d", N_("Take the wires off")},
    {"f", N_("Show everything")},
    {"<Control>0", N_("Actual size")},
    {"<Control>plus", N_("Zoom in")},
    {"<Control>minus", N_("Zoom out")}};
static const Key charts[] = {{"Left Right", N_("Move the crosshair")},
                             {"plus", N_("Zoom in")},
                             {"minus", N_("Zoom out")},
                             {"0", N_("Show everything")},
                             {"l", N_("Logarithmic scale")}};
static const Key history[] = {{"<Control>f", N_("Filter")},
                              {"F2", N_("Rename")},
                              {"<Control>e", N_("Export")},
                              {"Delete", N_("Move to the trash")}};

/* GTK 4.8 adds to these only as its builder does; a plain append would go past their stacks and pages. */
static void add_child(GtkWidget *parent, GtkWidget *child)
{
  GTK_BUILDABLE_GET_IFACE(parent)->add_child(GTK_BUILDABLE(parent), NULL, G_OBJECT(child), NULL);
}

static void add_group(GtkWidget *section, const char *title, const Key *keys, guint n)
{
  GtkWidget *group = g_object_new(GTK_TYPE_SHORTCUTS_GROUP, "title", title, NULL);
  for (guint i = 0; i < n; i++) {
    GtkWidget *row = g_object_new(GTK_TYPE_SHORTCUTS_SHORTCUT, "accelerator", keys[i].keys, "title",
                                  _(keys[i].words), NULL);
    add_child(group, row);
  }
  add_child(section, group);
}

GtkShortcutsWindow *nw_shortcuts_window_new(void)
{
  GtkWidget *window = g_object_new(GTK_TYPE_SHORTCUTS_WINDOW, "modal", TRUE, NULL);
  GtkWidget *section =
      g_object_new(GTK_TYPE_SHORTCUTS_SECTION, "section-name", "keys", "max-height", 14, NULL);
  add_group(section, _("Everywhere"), general, G_N_ELEMENTS(general));
  add_group(section, _("Training"), training, G_N_ELEMENTS(training));
  add_group(section, _("Design"), design, G_N_ELEMENTS(design));
  add_group(section, _("Charts"), charts, G_N_ELEMENTS(charts));
  add_group(section, _("History"), history, G_N_ELEMENTS(history));
  gtk_widget_set_visible(section, TRUE);
  add_child(window, section);
  return GTK_SHORTCUTS_WINDOW(window);
}
