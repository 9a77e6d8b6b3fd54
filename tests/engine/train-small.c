/* train-small FOLDER: the small training that tests kill. Goes on from FOLDER/last.pth when that is there; at
 * the end writes FOLDER/weights.pth. Checkpoints are written all the time. */
#include <stdio.h>

#include "engine/base/threads.h"
#include "engine/io/pth.h"
#include "engine/train/trainer.h"
#include "tests/engine/nets.h"
#include "tests/engine/source.h"

enum { SIZE = 8, CLASSES = 4 };

int main(int argc, char **argv)
{
  static const char *const settings[] = {
      "epochs", "12",    "batch_size",         "16",   "schedule",      "cosine", "optimizer", "adamw",
      "lr",     "0.002", "checkpoint_seconds", "0.04", "warmup_epochs", "1"};
  NwError error;
  NwTrainConfig config;
  NwTrainer *trainer;
  if (argc != 2)
    return 2;
  nw_threads_set(1); /* many short runs on a busy machine: the end is what counts, not the speed */
  g_autofree char *last = g_build_filename(argv[1], "last.pth", NULL);
  g_autofree char *weights = g_build_filename(argv[1], "weights.pth", NULL);
  NwModel *model = nwt_model("simplecnn", 1, SIZE, CLASSES, 3);
  NwtSource *train = nwt_source_new(330, SIZE, CLASSES, 1, TRUE);
  NwtSource *validation = nwt_source_new(40, SIZE, CLASSES, 2, FALSE);
  nw_train_config_init(&config);
  for (gsize i = 0; i < G_N_ELEMENTS(settings); i += 2)
    nwt_ok(nw_train_config_set(&config, settings[i], settings[i + 1], &error));
  NwTrainerSetup setup = {.model = model,
                          .config = &config,
                          .normalization = {{0.4}, {0.25}},
                          .train = &train->source,
                          .validation = &validation->source,
                          .folder = argv[1]};
  nwt_ok(nw_trainer_new(&setup, &trainer, &error));
  if (g_file_test(last, G_FILE_TEST_EXISTS))
    nwt_ok(nw_trainer_resume(trainer, last, &error));
  nwt_ok(nw_trainer_run(trainer, &error));
  nwt_ok(nw_pth_write_weights(weights, model, &error));
  nw_trainer_free(trainer);
  nw_model_free(model);
  nw_train_config_clear(&config);
  nwt_source_free(train);
  nwt_source_free(validation);
  return 0;
}
