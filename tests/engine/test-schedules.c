/* Every schedule against the rates that PyTorch's scheduler gives over 200 steps
 * (tests/golden/make_schedules.py). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/train/trainer.h"
#include "tests/engine/nets.h"

enum { LINES = 4 };

static void configure(NwTrainConfig *config, const char *text, const char *length, double *steps)
{
  NwError error;
  g_auto(GStrv) words = g_strsplit(text, " ", -1), numbers = g_strsplit(length, " ", 2);
  nw_train_config_init(config);
  nwt_ok(nw_train_config_set(config, "lr", "0.1", &error));
  nwt_ok(nw_train_config_set(config, "epochs", numbers[0], &error));
  nwt_ok(nw_train_config_set(config, "schedule", words[0], &error));
  *steps = g_ascii_strtod(numbers[1], NULL);
  for (char **word = words + 1; *word != NULL; word++) {
    g_auto(GStrv) sides = g_strsplit(*word, "=", 2);
    g_autofree char *key = g_strconcat("schedule.", sides[0], NULL);
    nwt_ok(nw_train_config_set(config, key, sides[1], &error));
  }
}

static void test_schedule(gconstpointer data)
{
  const char *const *lines = data;
  NwTrainConfig config;
  double steps, worst = 0;
  configure(&config, lines[0], lines[1], &steps);
  g_auto(GStrv) rates = g_strsplit(lines[2], " ", -1), losses = g_strsplit(lines[3], " ", -1);
  NwPlateau plateau = NW_PLATEAU_NEW;
  guint n = g_strv_length(rates), falls = 0;
  g_assert_cmpuint(n, ==, 200);
  for (guint i = 0; i < n; i++) {
    double want = g_ascii_strtod(rates[i], NULL), before = plateau.factor;
    double got = plateau.factor * nw_train_config_lr_at(&config, i / steps, steps);
    worst = fmax(worst, fabs(got - want));
    if (config.schedule->watch == NULL)
      continue;
    NwEpochValues values = {g_ascii_strtod(losses[i], NULL), 0, NAN, NAN};
    config.schedule->watch(config.schedule_attrs, config.lr, &values, &plateau);
    falls += plateau.factor < before;
  }
  g_test_message("%s: off by at most %.2g", lines[0], worst);
  g_assert_cmpfloat(worst, <=, 1e-12);
  if (config.schedule->watch != NULL)
    g_assert_cmpuint(falls, >, 2);
  nw_train_config_clear(&config);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_autofree char *path =
      g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "tests", "golden", "schedules.txt", NULL);
  g_autofree char *text = NULL;
  g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
  g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
  guint n = g_strv_length(lines);
  g_assert_cmpuint(n % LINES, ==, 0);
  for (guint i = 0; i < n; i += LINES) {
    g_auto(GStrv) words = g_strsplit(lines[i], " ", 2);
    g_autofree char *name = g_strdup_printf("/schedules/%s-%u", words[0], i / LINES);
    g_test_add_data_func(name, lines + i, test_schedule);
  }
  return g_test_run();
}
