/* netwright predict RUN|FILE PICTURE... [--top 5] [--json] */
#include <math.h>
#include <stdio.h>

#include "app/cli/load.h"
#include "data/transform.h"
#include "engine/train/predictor.h"

typedef struct Guess {
  guint index;
  double share;
} Guess;

static int by_share(gconstpointer a, gconstpointer b)
{
  const Guess *x = a, *y = b;
  return x->share < y->share ? 1 : x->share > y->share ? -1 : (int)x->index - (int)y->index;
}

/* Softmax of the logits, the likeliest first. */
static Guess *rank(const float *logits, guint classes)
{
  Guess *guesses = g_new(Guess, classes);
  double largest = -INFINITY, sum = 0;
  for (guint k = 0; k < classes; k++)
    largest = MAX(largest, logits[k]);
  for (guint k = 0; k < classes; k++) {
    guesses[k] = (Guess){k, exp(logits[k] - largest)};
    sum += guesses[k].share;
  }
  for (guint k = 0; k < classes; k++)
    guesses[k].share /= sum;
  qsort(guesses, classes, sizeof *guesses, by_share);
  return guesses;
}

static void print_guesses(const NwTrained *trained, const char *path, const Guess *guesses, guint top,
                          gboolean json)
{
  g_autofree char *shown = g_filename_display_name(path);
  if (!json) {
    g_autofree char *plain = nw_cli_plain(shown);
    printf("%s:", plain);
    for (guint k = 0; k < top; k++) {
      g_autofree char *name = nw_cli_plain(nw_trained_class(trained, guesses[k].index));
      printf("%s %s %.1f %%", k > 0 ? "," : "", name, guesses[k].share * 100);
    }
    puts("");
    return;
  }
  NwJson *out = nw_json_object(), *list = nw_json_array();
  nw_json_set_string(out, "picture", shown);
  for (guint k = 0; k < top; k++) {
    NwJson *one = nw_json_object();
    nw_json_set_string(one, "class", nw_trained_class(trained, guesses[k].index));
    nw_json_set_int(one, "index", guesses[k].index);
    nw_json_set_real(one, "probability", guesses[k].share);
    nw_json_append(list, one);
  }
  nw_json_set(out, "top", list);
  nw_cli_print_json(out);
}

static NwStatus predict_one(const NwTrained *trained, NwPredictor *predictor, const char *path, guint top,
                            gboolean json, NwError *error)
{
  NwPicture picture = {0};
  guint classes = (guint)nw_model_classes(trained->model);
  g_autofree float *logits = g_new0(float, classes);
  NW_TRY(nw_picture_read(path, trained->preprocessing->channels, &picture, error));
  NwStatus status = nw_transform_apply(trained->preprocessing->eval, &picture, (NwPhilox){0}, 0, 0, error);
  if (status == NW_OK)
    status = nw_predictor_run(predictor, picture.pixels, 1, logits, error);
  nw_picture_clear(&picture);
  NW_TRY(status);
  g_autofree Guess *guesses = rank(logits, classes);
  print_guesses(trained, path, guesses, MIN(top, classes), json);
  return NW_OK;
}

static int predict(const NwTrained *trained, char **paths, int n, guint top, gboolean json)
{
  NwPredictor *predictor = NULL;
  NwError error = {0};
  NwNormalization normalization = nw_trained_normalization(trained);
  NwStatus status = nw_predictor_new(trained->model, &normalization, 1, &predictor, &error);
  if (status != NW_OK)
    return nw_cli_fail(status, &error);
  /* A picture that cannot be read does not keep the others from an answer. */
  int code = NW_EXIT_DONE, failed = 0;
  for (int i = 0; i < n; i++)
    if ((status = predict_one(trained, predictor, paths[i], top, json, &error)) != NW_OK) {
      code = nw_cli_fail(status, &error);
      failed++;
    }
  nw_predictor_free(predictor);
  if (failed > 0 && failed < n)
    fprintf(stderr,
            g_dngettext(NULL, "%d of %d pictures could not be read.\n",
                        "%d of %d pictures could not be read.\n", (gulong)failed),
            failed, n);
  return failed == n ? (code == NW_EXIT_FAILED ? NW_EXIT_FAILED : NW_EXIT_BAD_INPUT) : NW_EXIT_DONE;
}

int nw_cli_predict(int argc, char **argv)
{
  g_autofree char *folder = NULL, *checkpoint = NULL;
  gboolean json = FALSE;
  gint top = 5;
  const GOptionEntry entries[] = {
      {"top", 'k', 0, G_OPTION_ARG_INT, &top, N_("How many guesses a picture (default: 5)"), N_("N")},
      {"checkpoint", 'c', 0, G_OPTION_ARG_STRING, &checkpoint, N_("best (default) or last"), N_("NAME")},
      NW_CLI_HISTORY_OPTION(folder),
      NW_CLI_JSON_OPTION(json),
      {NULL}};
  int code;
  NwTrained trained;
  if (!nw_cli_parse("predict", entries, &argc, &argv, 2, -1, &code))
    return code;
  if (top < 1)
    return nw_cli_usage("predict", _("--top must be at least 1"));
  if ((code = nw_cli_check_checkpoint("predict", checkpoint)) != NW_EXIT_DONE)
    return code;
  NwHistory *history = nw_cli_history(folder, &code);
  if (history == NULL)
    return code;
  code = nw_cli_load(history, argv[1], checkpoint != NULL ? checkpoint : "best", &trained);
  if (code == NW_EXIT_DONE) {
    code = predict(&trained, argv + 2, argc - 2, (guint)top, json);
    nw_trained_clear(&trained);
  }
  nw_history_close(history);
  return code;
}
