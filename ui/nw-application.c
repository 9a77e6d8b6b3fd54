#include "ui/nw-application.h"

#include <glib/gi18n.h>

#include "ui/nw-window.h"

struct _NwApplication {
  AdwApplication parent;
  NwHistory *history;
  NwSettings *settings;
  GtkCssProvider *light, *dark;
  char *project, *page;
};

G_DEFINE_FINAL_TYPE(NwApplication, nw_application, ADW_TYPE_APPLICATION)

NwHistory *nw_application_history(NwApplication *application)
{
  return application->history;
}

NwSettings *nw_application_settings(NwApplication *application)
{
  return application->settings;
}

void nw_application_set_start(NwApplication *application, const char *project, const char *page)
{
  application->project = g_strdup(project);
  application->page = g_strdup(page);
}

/* ---- style ---- */

static void on_dark(AdwStyleManager *manager, GParamSpec *spec, NwApplication *self)
{
  GdkDisplay *display = gdk_display_get_default();
  if (adw_style_manager_get_dark(manager))
    gtk_style_context_add_provider_for_display(display, GTK_STYLE_PROVIDER(self->dark),
                                               GTK_STYLE_PROVIDER_PRIORITY_APPLICATION + 1);
  else
    gtk_style_context_remove_provider_for_display(display, GTK_STYLE_PROVIDER(self->dark));
}

static gboolean has_font(const char *family)
{
  PangoFontMap *map = pango_cairo_font_map_get_default();
  return pango_font_map_get_family(map, family) != NULL;
}

/* A bare X server names no font; the desktop's own is then the better one, where it is installed. */
static void choose_font(void)
{
  g_autofree char *name = NULL;
  GtkSettings *settings = gtk_settings_get_default();
  g_object_get(settings, "gtk-font-name", &name, NULL);
  if (g_strcmp0(name, "Sans 10") == 0 && has_font("Cantarell"))
    g_object_set(settings, "gtk-font-name", "Cantarell 11", NULL);
}

static void load_style(NwApplication *self)
{
  AdwStyleManager *manager = adw_style_manager_get_default();
  choose_font();
  self->light = gtk_css_provider_new();
  self->dark = gtk_css_provider_new();
  gtk_css_provider_load_from_resource(self->light, "/org/netwright/Netwright/style/style.css");
  gtk_css_provider_load_from_resource(self->dark, "/org/netwright/Netwright/style/style-dark.css");
  gtk_style_context_add_provider_for_display(gdk_display_get_default(), GTK_STYLE_PROVIDER(self->light),
                                             GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
  g_signal_connect(manager, "notify::dark", G_CALLBACK(on_dark), self);
  on_dark(manager, NULL, self);
}

static AdwColorScheme scheme_of(const char *word)
{
  return g_strcmp0(word, "light") == 0  ? ADW_COLOR_SCHEME_FORCE_LIGHT
         : g_strcmp0(word, "dark") == 0 ? ADW_COLOR_SCHEME_FORCE_DARK
                                        : ADW_COLOR_SCHEME_DEFAULT;
}

static void on_style(GSimpleAction *action, GVariant *value, gpointer data)
{
  NwApplication *self = data;
  const char *word = g_variant_get_string(value, NULL);
  adw_style_manager_set_color_scheme(adw_style_manager_get_default(), scheme_of(word));
  nw_settings_set(self->settings, "style", word);
  g_simple_action_set_state(action, value);
}

static void on_quit(GSimpleAction *action, GVariant *value, gpointer data)
{
  /* Each window asks when something is being trained. */
  for (GList *it = gtk_application_get_windows(data), *next; it != NULL; it = next) {
    next = it->next;
    gtk_window_close(it->data);
  }
}

static void on_about(GSimpleAction *action, GVariant *value, gpointer data)
{
  adw_show_about_window(gtk_application_get_active_window(data), "application-name", "Netwright", "version",
                        NW_VERSION, "application-icon", "applications-science", "license-type",
                        GTK_LICENSE_MIT_X11, "comments",
                        _("Build, train, compare and export image classifiers."), "developer-name",
                        _("The Netwright authors"), NULL);
}

static void install_actions(NwApplication *self)
{
  static const struct {
    const char *action, *keys[3];
  } keys[] = {{"app.quit", {"<Control>q"}},
              {"win.save", {"<Control>s"}},
              {"win.save-as", {"<Control><Shift>s"}},
              {"win.open", {"<Control>o"}},
              {"win.start", {"<Control>n"}},
              {"win.undo", {"<Control>z"}},
              {"win.redo", {"<Control><Shift>z", "<Control>y"}},
              {"win.train", {"F5", "<Control>Return"}},
              {"win.toggle-pause", {"F6"}},
              {"win.stop", {"F7"}},
              {"win.choose-folder", {"<Control><Shift>o"}},
              {"win.page::data", {"<Alt>1"}},
              {"win.page::design", {"<Alt>2"}},
              {"win.page::train", {"<Alt>3"}},
              {"win.page::history", {"<Alt>4"}},
              {"win.show-help-overlay", {"<Control>question"}},
              {"win.menu", {"F10"}},
              {"window.close", {"<Control>w"}}};
  g_autofree char *style = nw_settings_get(self->settings, "style", "system");
  GSimpleAction *choose =
      g_simple_action_new_stateful("style", G_VARIANT_TYPE_STRING, g_variant_new_string(style));
  g_signal_connect(choose, "activate", G_CALLBACK(on_style), self);
  g_action_map_add_action(G_ACTION_MAP(self), G_ACTION(choose));
  g_object_unref(choose);
  adw_style_manager_set_color_scheme(adw_style_manager_get_default(), scheme_of(style));
  const GActionEntry entries[] = {{.name = "quit", .activate = on_quit},
                                  {.name = "about", .activate = on_about}};
  g_action_map_add_action_entries(G_ACTION_MAP(self), entries, G_N_ELEMENTS(entries), self);
  for (guint i = 0; i < G_N_ELEMENTS(keys); i++)
    gtk_application_set_accels_for_action(GTK_APPLICATION(self), keys[i].action,
                                          (const char *const *)keys[i].keys);
}

/* ---- life ---- */

static void nw_application_startup(GApplication *application)
{
  NwApplication *self = NW_APPLICATION(application);
  G_APPLICATION_CLASS(nw_application_parent_class)->startup(application);
  self->settings = nw_settings_open(NULL);
  load_style(self);
  install_actions(self);
}

static void tell_failure(NwApplication *self, const NwError *error)
{
  GtkWidget *message = adw_message_dialog_new(NULL, _("The History Cannot Be Opened"), error->text);
  adw_message_dialog_add_response(ADW_MESSAGE_DIALOG(message), "close", _("_Close"));
  gtk_window_set_application(GTK_WINDOW(message), GTK_APPLICATION(self));
  gtk_window_present(GTK_WINDOW(message));
}

static void nw_application_activate(GApplication *application)
{
  NwApplication *self = NW_APPLICATION(application);
  GtkWindow *active = gtk_application_get_active_window(GTK_APPLICATION(self));
  NwError error = {0};
  if (active != NULL) {
    gtk_window_present(active);
    return;
  }
  if (self->history == NULL && nw_history_open(NULL, &self->history, &error) != NW_OK) {
    tell_failure(self, &error);
    return;
  }
  NwWindow *window = nw_window_new(self);
  gtk_window_present(GTK_WINDOW(window));
  if (self->project != NULL)
    nw_window_open(window, self->project);
  if (self->page != NULL)
    nw_window_show_page(window, self->page);
}

static void nw_application_shutdown(GApplication *application)
{
  NwApplication *self = NW_APPLICATION(application);
  G_APPLICATION_CLASS(nw_application_parent_class)->shutdown(application);
  g_clear_pointer(&self->history, nw_history_close);
  g_clear_pointer(&self->settings, nw_settings_close);
}

static void nw_application_finalize(GObject *object)
{
  NwApplication *self = NW_APPLICATION(object);
  g_clear_object(&self->light);
  g_clear_object(&self->dark);
  g_free(self->project);
  g_free(self->page);
  G_OBJECT_CLASS(nw_application_parent_class)->finalize(object);
}

static void nw_application_class_init(NwApplicationClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = nw_application_finalize;
  G_APPLICATION_CLASS(klass)->startup = nw_application_startup;
  G_APPLICATION_CLASS(klass)->activate = nw_application_activate;
  G_APPLICATION_CLASS(klass)->shutdown = nw_application_shutdown;
}

static void nw_application_init(NwApplication *self) {}

NwApplication *nw_application_new(void)
{
  /* Two workbenches may run side by side, each on its own project. */
  return g_object_new(NW_TYPE_APPLICATION, "application-id", "org.netwright.Netwright", "flags",
                      G_APPLICATION_NON_UNIQUE, NULL);
}
