/* netwright-workbench [PROJECT-DIR] [--page NAME] */
#include <stdio.h>

#include "app/i18n.h"
#include "ui/nw-application.h"

/* GTK 4.8 takes OpenGL also where only a processor draws, at a tenth of the speed of cairo. */
static void choose_renderer(void)
{
  g_autoptr(GDir) folder = g_dir_open("/dev/dri", 0, NULL);
  const char *name;
  gboolean found = FALSE;
  while (folder != NULL && !found && (name = g_dir_read_name(folder)) != NULL)
    found = g_str_has_prefix(name, "renderD");
  if (!found)
    g_setenv("GSK_RENDERER", "cairo", FALSE);
}

int main(int argc, char **argv)
{
  g_autofree char *page = NULL;
  g_autoptr(GError) error = NULL;
  const GOptionEntry entries[] = {{"page", 'p', 0, G_OPTION_ARG_STRING, &page,
                                   N_("Page to show: data, design, train, history"), N_("NAME")},
                                  {NULL}};
  nw_i18n_init();
  choose_renderer();
  g_autoptr(GOptionContext) context = g_option_context_new(_("[PROJECT-DIR]"));
  g_option_context_set_summary(
      context, _("The Netwright workbench: build, train, compare and export image classifiers."));
  g_option_context_add_main_entries(context, entries, "netwright");
  if (!g_option_context_parse(context, &argc, &argv, &error)) {
    fprintf(stderr, "netwright-workbench: %s\n", error->message);
    return 2;
  }
  if (!gtk_init_check()) {
    fprintf(stderr, "%s\n",
            _("netwright-workbench: there is no display; `netwright --help` shows the command line"));
    return 1;
  }
  g_autoptr(NwApplication) application = nw_application_new();
  nw_application_set_start(application, argc > 1 ? argv[1] : NULL, page);
  return g_application_run(G_APPLICATION(application), 1, argv);
}
