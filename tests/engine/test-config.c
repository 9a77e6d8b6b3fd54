/* Training settings: by text, through JSON, and the learning rates of torch's schedulers. */
#include <math.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/train/trainer.h"
#include "tests/engine/nets.h"

static void set(NwTrainConfig *config, const char *key, const char *value)
{
  NwError error;
  nwt_ok(nw_train_config_set(config, key, value, &error));
}

static void test_set(void)
{
  NwTrainConfig config;
  nw_train_config_init(&config);
  g_assert_cmpstr(config.optimizer->id, ==, "adamw");
  g_assert_cmpfloat(config.lr, ==, 1e-3);
  set(&config, "optimizer", "sgd");
  set(&config, "optimizer.momentum", "0.5");
  set(&config, "loss.label_smoothing", "0.1");
  set(&config, "schedule", "step");
  set(&config, "schedule.step_size", "4");
  set(&config, "epochs", "3");
  set(&config, "class_weights", "true");
  g_assert_cmpint(config.epochs, ==, 3);
  g_assert_true(config.class_weights);
  g_assert_cmpfloat(nw_attr_get(nw_attr_find(config.optimizer, "momentum"), config.optimizer_attrs).r, ==,
                    0.5);
  nw_train_config_clear(&config);
}

static void test_refused(void)
{
  /* key, value, what the sentence must name */
  static const char *const cases[][3] = {
      {"epochs", "0", "from 1"},
      {"epochs", "many", "epochs"},
      {"lr", "-1", "lr"},
      {"lr", "nan", "lr"},
      {"optimizer", "magic", "adamw"},
      {"optimizer", "relu", "adamw"},
      {"loss", "sgd", "cross_entropy"},
      {"schedule", "spiral", "cosine"},
      {"optimizer.beta1", "2", "beta1"},
      {"optimizer.none", "2", "none"},
      {"exact", "maybe", "true or false"},
      {"colour", "red", "batch_size"},
      {"warmup_factor", "1.5", "from 0"},
  };
  NwTrainConfig config;
  NwError error;
  nw_train_config_init(&config);
  NwJson *before = nw_train_config_to_json(&config);
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_assert_cmpint(nw_train_config_set(&config, cases[i][0], cases[i][1], &error), !=, NW_OK);
    g_test_message("%s", error.text);
    g_autofree char *text = g_ascii_strdown(error.text, -1), *word = g_ascii_strdown(cases[i][2], -1);
    g_assert_nonnull(strstr(text, word));
  }
  /* and nothing was changed */
  NwJson *after = nw_train_config_to_json(&config);
  g_assert_true(nw_json_equal(before, after));
  nw_json_free(before);
  nw_json_free(after);
  nw_train_config_clear(&config);
}

static void test_json(void)
{
  NwError error;
  NwTrainConfig config, copy;
  nw_train_config_init(&config);
  set(&config, "optimizer", "adam");
  set(&config, "optimizer.beta2", "0.98");
  set(&config, "schedule", "cosine");
  set(&config, "schedule.eta_min", "0.00001");
  set(&config, "lr", "0.1");
  set(&config, "seed", "-1");
  set(&config, "warmup_epochs", "0.3");
  NwJson *json = nw_train_config_to_json(&config);
  char *text = nw_json_print(json, false);
  nw_json_free(json);
  nwt_ok(nw_json_parse(text, strlen(text), "config", &json, &error));
  nwt_ok(nw_train_config_from_json(json, &copy, &error));
  NwJson *again = nw_train_config_to_json(&copy);
  g_assert_true(nw_json_equal(json, again));
  g_assert_cmpuint(copy.seed, ==, UINT64_MAX);
  nw_json_free(again);
  nw_train_config_clear(&copy);
  /* damaged ones */
  nw_json_set_string(json, "epochs", "three");
  g_assert_cmpint(nw_train_config_from_json(json, &copy, &error), ==, NW_BAD_FORMAT);
  nw_json_set_int(json, "epochs", 0);
  g_assert_cmpint(nw_train_config_from_json(json, &copy, &error), ==, NW_BAD_ARGUMENT);
  g_test_message("%s", error.text);
  nw_json_free(json);
  g_assert_cmpint(nw_train_config_from_json(NULL, &copy, &error), ==, NW_BAD_FORMAT);
  nwt_ok(nw_train_config_copy(&config, &copy, &error));
  nw_train_config_clear(&copy);
  nw_train_config_clear(&config);
  nw_free(text);
}

/* What torch 1.13 gives before each epoch: StepLR(2, 0.5), CosineAnnealingLR(6, eta_min=0.01), and
 * SequentialLR([LinearLR(0.2, total_iters=2), CosineAnnealingLR(4, eta_min=0.01)], [2]), all from 0.1. */
static void test_schedules(void)
{
  static const double step[] = {0.1, 0.1, 0.05, 0.05, 0.025, 0.025},
                      cosine[] = {0.1, 0.0939711431703, 0.0775, 0.055, 0.0325, 0.0160288568297},
                      warm[] = {0.02, 0.06, 0.1, 0.0868198051534, 0.055, 0.0231801948466};
  NwTrainConfig config;
  nw_train_config_init(&config);
  set(&config, "lr", "0.1");
  set(&config, "epochs", "6");
  set(&config, "schedule", "step");
  set(&config, "schedule.step_size", "2");
  set(&config, "schedule.gamma", "0.5");
  for (int e = 0; e < 6; e++)
    g_assert_cmpfloat_with_epsilon(nw_train_config_lr(&config, e), step[e], 1e-12);
  set(&config, "schedule", "cosine");
  set(&config, "schedule.eta_min", "0.01");
  for (int e = 0; e < 6; e++) {
    g_assert_cmpfloat_with_epsilon(nw_train_config_lr(&config, e), cosine[e], 1e-12);
    g_assert_cmpfloat(nw_train_config_lr(&config, e + 0.9), ==, nw_train_config_lr(&config, e));
  }
  set(&config, "warmup_epochs", "2");
  set(&config, "warmup_factor", "0.2");
  for (int e = 0; e < 6; e++)
    g_assert_cmpfloat_with_epsilon(nw_train_config_lr(&config, e), warm[e], 1e-12);
  g_assert_cmpfloat_with_epsilon(nw_train_config_lr(&config, 0.5), 0.04,
                                 1e-12); /* the warm-up moves with every step */
  set(&config, "warmup_epochs", "0");
  set(&config, "schedule.per_step", "true");
  g_assert_cmpfloat_with_epsilon(nw_train_config_lr(&config, 3), 0.055, 1e-12);
  g_assert_cmpfloat(nw_train_config_lr(&config, 3.5), <, 0.055);
  nw_train_config_clear(&config);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/config/set", test_set);
  g_test_add_func("/config/refused", test_refused);
  g_test_add_func("/config/json", test_json);
  g_test_add_func("/config/schedules", test_schedules);
  return g_test_run();
}
