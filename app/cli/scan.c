/* netwright scan FOLDER [--json] */
#include <stdio.h>
#include <unistd.h>

#include "app/cli/cli.h"

static gboolean on_progress(gpointer owner, guint files, guint problems)
{
  fputc('\r', stderr);
  fprintf(stderr, _("%u files, %u problems"), files, problems);
  return TRUE;
}

static void print_text(const NwManifest *m)
{
  static const char *const kinds[] = {N_("folder of pictures"), N_("archive of pictures"), N_("MNIST files"),
                                      N_("CIFAR-10 files")};
  printf("%s: %s\n", m->root, _(kinds[m->kind]));
  printf(_("%u classes, %u pictures to train, %u to validate%s\n"), m->classes->len,
         nw_manifest_count(m, NW_SPLIT_TRAIN, -1), nw_manifest_count(m, NW_SPLIT_VAL, -1),
         m->own_split ? "" : _(" (split here, the same for the same seed)"));
  if (m->min_width == m->max_width && m->min_height == m->max_height)
    printf(_("All pictures are %u×%u%s\n"), m->max_width, m->max_height, m->all_gray ? _(", grey") : "");
  else
    printf(_("Sizes from %u×%u to %u×%u%s\n"), m->min_width, m->min_height, m->max_width, m->max_height,
           m->all_gray ? _(", grey") : "");
  for (guint i = 0; i < m->classes->len; i++) {
    g_autofree char *name = nw_cli_fit(g_ptr_array_index(m->classes, i), 30, TRUE);
    printf("  %3u  %s %6u %6u\n", i, name, nw_manifest_count(m, NW_SPLIT_TRAIN, (int)i),
           nw_manifest_count(m, NW_SPLIT_VAL, (int)i));
  }
  if (m->ignored > 0)
    printf(g_dngettext(NULL, "%u file or folder that is no picture was ignored (.DS_Store and such)\n",
                       "%u files or folders that are no pictures were ignored (.DS_Store and such)\n",
                       m->ignored),
           m->ignored);
  nw_cli_print_problems(m, stdout, G_MAXUINT);
}

int nw_cli_scan(int argc, char **argv)
{
  gboolean json = FALSE, decode = FALSE;
  gint64 seed = 42;
  double share = 0.2;
  const GOptionEntry entries[] = {
      NW_CLI_JSON_OPTION(json),
      {"decode", 0, 0, G_OPTION_ARG_NONE, &decode, N_("Decode every picture, not only its header"), NULL},
      {"seed", 0, 0, G_OPTION_ARG_INT64, &seed, N_("Seed of the split"), N_("N")},
      {"val-share", 0, 0, G_OPTION_ARG_DOUBLE, &share,
       N_("Share of validation pictures where there is no split"), N_("X")},
      {NULL}};
  int code;
  if (!nw_cli_parse("scan", entries, &argc, &argv, 1, 1, &code))
    return code;
  if (!(share >= 0 && share <= 0.9))
    return nw_cli_usage("scan", _("--val-share must lie between 0 and 0.9, not at %g"), share);
  NwScanOptions options;
  NwManifest *manifest = NULL;
  NwError error = {0};
  nw_scan_options_init(&options);
  options.seed = (guint64)seed;
  options.val_share = share;
  options.decode_all = decode;
  gboolean talk = isatty(STDERR_FILENO) && !json;
  options.progress = talk ? on_progress : NULL;
  NwStatus status = nw_manifest_scan(argv[1], &options, &manifest, &error);
  if (talk)
    fputs("\r\033[K", stderr);
  if (status != NW_OK)
    return nw_cli_fail(status, &error);
  if (json)
    nw_cli_print_json(nw_manifest_to_json(manifest));
  else
    print_text(manifest);
  nw_manifest_free(manifest);
  return NW_EXIT_DONE;
}
