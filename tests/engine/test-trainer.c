/* The trainer on a small set in memory: learning, events, commands, failures. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/train/checkpoint.h"
#include "engine/train/predictor.h"
#include "engine/train/trainer.h"
#include "tests/engine/nets.h"
#include "tests/engine/source.h"

enum { SIZE = 8, CLASSES = 4, TRAIN = 210, VALIDATION = 60 };

/* What the observer saw, as one letter an event, and orders it gives. */
typedef struct Log {
  NwTrainer *trainer;
  GString *letters; /* s step, e epoch, l/b checkpoint, r remark, digits: states */
  GString *remarks;
  GArray *losses;
  NwEpochEvent last;
  int64_t pause_at, stop_at; /* step numbers; 0: never */
  int64_t steps;
  double first_lr, last_lr;
  double seconds, epoch_seconds; /* of steps: all, of this epoch */
  int64_t epoch_pictures;
} Log;

static void on_state(void *owner, NwTrainerState state)
{
  g_string_append_printf(((Log *)owner)->letters, "%d", state);
}

static void on_step(void *owner, const NwStepEvent *event)
{
  Log *log = owner;
  g_string_append_c(log->letters, 's');
  g_array_append_val(log->losses, event->loss);
  log->steps++;
  log->first_lr = log->steps == 1 ? event->lr : log->first_lr;
  log->last_lr = event->lr;
  log->seconds += event->seconds;
  log->epoch_seconds += event->seconds;
  log->epoch_pictures += event->pictures;
  g_assert_cmpfloat(event->pictures_per_s, >, 0);
  g_assert_cmpint(event->batch, >=, 1);
  g_assert_cmpint(event->batch, <=, event->batches);
  g_assert_cmpfloat(event->accuracy, >=, 0);
  g_assert_cmpfloat(event->accuracy, <=, 1);
  if (event->step == log->stop_at)
    nw_trainer_stop(log->trainer);
  if (event->step == log->pause_at)
    nw_trainer_pause(log->trainer);
}

static void on_epoch(void *owner, const NwEpochEvent *event)
{
  Log *log = owner;
  g_string_append_c(log->letters, event->best ? 'E' : 'e');
  log->last = *event;
  /* the rate is what was learned from, over the time that it took */
  g_assert_cmpfloat_with_epsilon(event->pictures_per_s * log->epoch_seconds, (double)log->epoch_pictures,
                                 1e-6 * (double)log->epoch_pictures);
  g_assert_cmpfloat(event->seconds, >=, log->epoch_seconds * 0.999999);
  log->epoch_seconds = 0;
  log->epoch_pictures = 0;
}

static void on_checkpoint(void *owner, const char *kind, const char *path, int64_t epoch, int64_t step)
{
  g_string_append_c(((Log *)owner)->letters, kind[0]);
  g_assert_true(g_file_test(path, G_FILE_TEST_IS_REGULAR));
}

static void on_remark(void *owner, const char *text)
{
  g_string_append_c(((Log *)owner)->letters, 'r');
  g_string_append_printf(((Log *)owner)->remarks, "%s\n", text);
}

/* Everything one training needs. */
typedef struct Bench {
  NwModel *model;
  NwTrainConfig config;
  NwtSource *train, *validation;
  NwTrainer *trainer;
  Log log;
  char *folder;
} Bench;

static void bench_init(Bench *b, const char *net, const char *const *settings)
{
  NwError error;
  *b = (Bench){0};
  b->model = nwt_model(net, 1, SIZE, CLASSES, 21);
  nw_train_config_init(&b->config);
  nwt_ok(nw_train_config_set(&b->config, "batch_size", "20", &error));
  nwt_ok(nw_train_config_set(&b->config, "epochs", "4", &error));
  for (; settings != NULL && settings[0] != NULL; settings += 2)
    nwt_ok(nw_train_config_set(&b->config, settings[0], settings[1], &error));
  b->train = nwt_source_new(TRAIN, SIZE, CLASSES, 1, TRUE);
  b->validation = nwt_source_new(VALIDATION, SIZE, CLASSES, 2, FALSE);
  b->log.letters = g_string_new("");
  b->log.remarks = g_string_new("");
  b->log.losses = g_array_new(FALSE, FALSE, sizeof(double));
  b->folder = g_dir_make_tmp("netwright-XXXXXX", NULL);
  g_assert_nonnull(b->folder);
}

static NwTrainerSetup bench_setup(Bench *b)
{
  return (NwTrainerSetup){.model = b->model,
                          .config = &b->config,
                          .normalization = {{0.4}, {0.25}},
                          .train = &b->train->source,
                          .validation = &b->validation->source,
                          .observer = {&b->log, on_state, on_step, on_epoch, on_checkpoint, on_remark},
                          .folder = b->folder};
}

static void bench_start(Bench *b)
{
  NwError error;
  NwTrainerSetup setup = bench_setup(b);
  nwt_ok(nw_trainer_new(&setup, &b->trainer, &error));
  b->log.trainer = b->trainer;
}

static char *bench_path(const Bench *b, const char *name)
{
  return g_build_filename(b->folder, name, NULL);
}

static void bench_clear(Bench *b)
{
  g_autoptr(GDir) dir = g_dir_open(b->folder, 0, NULL);
  for (const char *name; dir != NULL && (name = g_dir_read_name(dir)) != NULL;) {
    g_assert_null(strstr(name, ".tmp-")); /* nothing half-written stays */
    g_autofree char *path = bench_path(b, name);
    g_unlink(path);
  }
  g_rmdir(b->folder);
  g_assert_cmpint(b->train->begins, ==, b->train->ends);
  g_assert_cmpint(b->train->open, ==, 0);
  nw_trainer_free(b->trainer);
  nw_model_free(b->model);
  nw_train_config_clear(&b->config);
  nwt_source_free(b->train);
  nwt_source_free(b->validation);
  g_string_free(b->log.letters, TRUE);
  g_string_free(b->log.remarks, TRUE);
  g_array_free(b->log.losses, TRUE);
  g_free(b->folder);
}

/* All numbers of a model in one piece. */
static GBytes *weights_of(NwModel *model)
{
  GByteArray *all = g_byte_array_new();
  for (int i = 0; i < nw_model_count(model); i++) {
    const NwParam *param = nw_model_at(model, i);
    g_byte_array_append(all, param->data, (guint)nw_spec_bytes(&param->spec));
  }
  return g_byte_array_free_to_bytes(all);
}

/* ---- a whole run ---- */

static void test_learns(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "simplecnn", (const char *[]){"lr", "0.005", NULL});
  bench_start(&b);
  nwt_ok(nw_trainer_run(b.trainer, &error));
  g_test_message("%s", b.log.letters->str);
  g_test_message("train %.3f %.3f, validation %.3f %.3f", b.log.last.train_loss, b.log.last.train_accuracy,
                 b.log.last.val_loss, b.log.last.val_accuracy);
  g_assert_cmpfloat(b.log.last.val_accuracy, >=, 0.95);
  g_assert_cmpint(b.log.last.epoch, ==, 4);
  /* first checkpoint before the first step; eleven steps an epoch, the last of them of ten pictures */
  g_assert_true(g_str_has_prefix(b.log.letters->str, "1lsssssssssssbEl"));
  g_assert_true(g_str_has_suffix(b.log.letters->str, "l5"));
  g_assert_cmpint(b.log.steps, ==, 44);
  g_assert_cmpint(nw_trainer_state(b.trainer), ==, NW_TRAINER_FINISHED);
  double first = g_array_index(b.log.losses, double, 0), loss, accuracy;
  g_assert_cmpfloat(fabs(first - log(CLASSES)), <, 0.5);
  /* the same numbers from nw_evaluate, and a confusion matrix that adds up */
  int64_t confusion[CLASSES * CLASSES], sum = 0, diagonal = 0;
  NwNormalization normalization = {{0.4}, {0.25}};
  nwt_ok(
      nw_evaluate(b.model, &normalization, &b.validation->source, 20, &loss, &accuracy, confusion, &error));
  g_assert_cmpfloat(loss, ==, b.log.last.val_loss);
  g_assert_cmpfloat(accuracy, ==, b.log.last.val_accuracy);
  for (int i = 0; i < CLASSES * CLASSES; i++) {
    sum += confusion[i];
    diagonal += i % (CLASSES + 1) == 0 ? confusion[i] : 0;
  }
  g_assert_cmpint(sum, ==, VALIDATION);
  g_assert_cmpfloat((double)diagonal / VALIDATION, ==, accuracy);
  bench_clear(&b);
}

static void test_checkpoint_is_a_model(void)
{
  NwError error;
  Bench b;
  NwModel *copy;
  NwJson *json;
  bench_init(&b, "residual", (const char *[]){"epochs", "1", NULL});
  NwTrainerSetup setup = bench_setup(&b);
  NwJson *extra = nw_json_object();
  nw_json_set_string(extra, "dataset", "squares");
  setup.extra = extra;
  nwt_ok(nw_trainer_new(&setup, &b.trainer, &error));
  nw_json_free(extra);
  nwt_ok(nw_trainer_run(b.trainer, &error));
  g_autofree char *last = bench_path(&b, "last.pth");
  nwt_ok(nw_checkpoint_read_model(last, &copy, &json, &error));
  g_assert_cmpstr(nw_json_get_string(nw_json_get(json, "extra"), "dataset", ""), ==, "squares");
  g_autoptr(GBytes) ours = weights_of(b.model), theirs = weights_of(copy);
  g_assert_true(g_bytes_equal(ours, theirs));
  /* and it predicts the same, one picture at a time and all at once */
  NwPredictor *predictor;
  float one[CLASSES], all[10 * CLASSES];
  nwt_ok(nw_predictor_new(copy, &setup.normalization, 10, &predictor, &error));
  nwt_ok(nw_predictor_run(predictor, b.validation->pixels, 10, all, &error));
  for (int i = 0; i < 10; i++) {
    nwt_ok(nw_predictor_run(predictor, b.validation->pixels + i * SIZE * SIZE, 1, one, &error));
    for (int c = 0; c < CLASSES; c++)
      g_assert_cmpfloat(fabsf(one[c] - all[i * CLASSES + c]), <, 1e-5);
  }
  g_assert_cmpint(nw_predictor_run(predictor, b.validation->pixels, 11, all, &error), ==, NW_BAD_ARGUMENT);
  nw_predictor_free(predictor);
  nw_json_free(json);
  nw_model_free(copy);
  bench_clear(&b);
}

static void test_frozen(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "simplecnn", NULL);
  /* freeze the first convolution in the document and make the model again */
  NwNetwork *network;
  NwSpec input = nw_model_input(b.model);
  nwt_ok(nw_network_copy(nw_model_network(b.model), &network, &error));
  nwt_ok(nw_network_set_frozen(network, nw_network_find_name(network, "features.0")->id, true, &error));
  nw_model_free(b.model);
  nwt_ok(nw_model_new(network, &input, CLASSES, 21, &b.model, &error));
  nw_network_free(network);
  float before = *(float *)nw_model_find(b.model, "features.0.weight")->data;
  float other = *(float *)nw_model_find(b.model, "features.3.weight")->data;
  bench_start(&b);
  nwt_ok(nw_trainer_run(b.trainer, &error));
  g_assert_cmpfloat(before, ==, *(float *)nw_model_find(b.model, "features.0.weight")->data);
  g_assert_cmpfloat(other, !=, *(float *)nw_model_find(b.model, "features.3.weight")->data);
  bench_clear(&b);
}

static gpointer bytes_of(NwModel *model, const char *name)
{
  const NwParam *param = nw_model_find(model, name);
  g_assert_nonnull(param);
  return g_memdup2(param->data, nw_spec_bytes(&param->spec));
}

/* A frozen norm normalises by what it has learnt, and learns no more; the one beside it does. */
static void test_frozen_norm(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "residual", (const char *[]){"epochs", "1", NULL});
  NwNetwork *network;
  NwSpec input = nw_model_input(b.model);
  nwt_ok(nw_network_copy(nw_model_network(b.model), &network, &error));
  const NwBlock *norms[2] = {NULL, NULL};
  for (int i = 0, n = 0; i < nw_network_count(network) && n < 2; i++)
    if (g_str_equal(nw_network_at(network, i)->op->id, "batch_norm2d"))
      norms[n++] = nw_network_at(network, i);
  g_assert_nonnull(norms[1]);
  g_autofree char *still = g_strdup_printf("%s.running_mean", norms[0]->name);
  g_autofree char *moving = g_strdup_printf("%s.running_mean", norms[1]->name);
  nwt_ok(nw_network_set_frozen(network, norms[0]->id, true, &error));
  nw_model_free(b.model);
  nwt_ok(nw_model_new(network, &input, CLASSES, 21, &b.model, &error));
  nw_network_free(network);
  g_autofree gpointer still_before = bytes_of(b.model, still), moving_before = bytes_of(b.model, moving);
  bench_start(&b);
  nwt_ok(nw_trainer_run(b.trainer, &error));
  g_autofree gpointer still_after = bytes_of(b.model, still), moving_after = bytes_of(b.model, moving);
  gsize n = nw_spec_bytes(&nw_model_find(b.model, still)->spec),
        m = nw_spec_bytes(&nw_model_find(b.model, moving)->spec);
  g_assert_cmpmem(still_before, n, still_after, n);
  g_assert_true(memcmp(moving_before, moving_after, m) != 0);
  bench_clear(&b);
}

static void test_class_weights(void)
{
  NwError error;
  Bench b;
  int64_t counts[CLASSES] = {100, 50, 30, 30};
  bench_init(&b, "simpleclassifier", (const char *[]){"class_weights", "true", "epochs", "1", NULL});
  NwTrainerSetup setup = bench_setup(&b);
  g_assert_cmpint(nw_trainer_new(&setup, &b.trainer, &error), ==, NW_BAD_ARGUMENT);
  setup.class_counts = counts;
  nwt_ok(nw_trainer_new(&setup, &b.trainer, &error));
  nwt_ok(nw_trainer_run(b.trainer, &error));
  bench_clear(&b);
}

/* One picture is left over at the end of each epoch. */
static void test_last_batch_of_one(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "residual", (const char *[]){"batch_size", "209", "epochs", "2", NULL});
  bench_start(&b);
  nwt_ok(nw_trainer_run(b.trainer, &error));
  g_assert_cmpint(b.log.steps, ==, 4);
  g_assert_true(isfinite(b.log.last.val_loss));
  bench_clear(&b);
}

/* ---- commands ---- */

static void test_stop(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "simpleclassifier", NULL);
  b.log.stop_at = 15;
  bench_start(&b);
  g_assert_cmpint(nw_trainer_run(b.trainer, &error), ==, NW_CANCELLED);
  g_assert_cmpint(b.log.steps, ==, 15); /* not one more */
  g_assert_true(g_str_has_suffix(b.log.letters->str, "s3l4"));
  g_assert_cmpint(nw_trainer_state(b.trainer), ==, NW_TRAINER_STOPPED);
  /* the same trainer can go on */
  b.log.stop_at = 0;
  b.log.epoch_seconds = b.log.epoch_pictures = 0; /* the rate counts from where it goes on */
  nwt_ok(nw_trainer_run(b.trainer, &error));
  g_assert_cmpint(b.log.steps, ==, 44);
  bench_clear(&b);
}

static gpointer run_thread(gpointer data)
{
  NwError error;
  Bench *b = data;
  return GINT_TO_POINTER(nw_trainer_run(b->trainer, &error));
}

static void wait_for(Bench *b, NwTrainerState state)
{
  for (int i = 0; nw_trainer_state(b->trainer) != state; i++) {
    g_assert_cmpint(i, <, 60000);
    g_usleep(1000);
  }
}

static void test_pause(void)
{
  Bench b;
  bench_init(&b, "simpleclassifier", NULL);
  b.log.pause_at = 7;
  gint64 begin = g_get_monotonic_time();
  bench_start(&b);
  GThread *thread = g_thread_new("trainer", run_thread, &b);
  wait_for(&b, NW_TRAINER_PAUSED);
  g_assert_cmpint(b.log.steps, ==, 7); /* it stands still, so this may be read */
  g_usleep(300000);
  g_assert_cmpint(b.log.steps, ==, 7);
  nw_trainer_set_lr(b.trainer, 0.0005);
  nw_trainer_continue(b.trainer);
  g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(thread)), ==, NW_OK);
  g_assert_cmpint(b.log.steps, ==, 44);
  /* the pause belongs to no step */
  g_assert_cmpfloat(b.log.seconds + 0.3, <=, (double)(g_get_monotonic_time() - begin) / 1e6);
  g_assert_cmpfloat(b.log.first_lr, ==, 0.001);
  g_assert_cmpfloat(b.log.last_lr, ==, 0.0005);
  g_assert_nonnull(strstr(b.log.letters->str, "sl21s"));
  bench_clear(&b);
}

static void test_stop_while_paused(void)
{
  Bench b;
  bench_init(&b, "simpleclassifier", NULL);
  b.log.pause_at = 3;
  bench_start(&b);
  GThread *thread = g_thread_new("trainer", run_thread, &b);
  wait_for(&b, NW_TRAINER_PAUSED);
  nw_trainer_stop(b.trainer);
  g_assert_cmpint(GPOINTER_TO_INT(g_thread_join(thread)), ==, NW_CANCELLED);
  g_assert_cmpint(b.log.steps, ==, 3);
  bench_clear(&b);
}

/* ---- failures ---- */

static void test_not_a_number(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "mlp",
             (const char *[]){"lr", "1000", "optimizer", "sgd", "optimizer.momentum", "0.9", NULL});
  bench_start(&b);
  NwStatus status = nw_trainer_run(b.trainer, &error);
  g_test_message("%s", error.text);
  g_assert_cmpint(status, ==, NW_BAD_DATA);
  g_assert_nonnull(strstr(error.text, "epoch"));
  g_assert_nonnull(strstr(error.text, "batch"));
  g_assert_cmpint(nw_trainer_state(b.trainer), ==, NW_TRAINER_FAILED);
  g_assert_nonnull(strstr(b.log.remarks->str, "The loss became"));
  /* what is on the disk is still good */
  g_autofree char *last = bench_path(&b, "last.pth");
  NwModel *model;
  nwt_ok(nw_checkpoint_read_model(last, &model, NULL, &error));
  for (int i = 0; i < nw_model_count(model); i++)
    for (int64_t k = 0; k < nw_spec_count(&nw_model_at(model, i)->spec); k++)
      g_assert_true(isfinite(((float *)nw_model_at(model, i)->data)[k]));
  nw_model_free(model);
  bench_clear(&b);
}

static void test_first_loss(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "mlp", (const char *[]){"epochs", "1", NULL});
  for (int i = 0; i < 512 * CLASSES; i++)
    ((float *)nw_model_find(b.model, "classifier.5.weight")->data)[i] *= 200;
  bench_start(&b);
  nwt_ok(nw_trainer_run(b.trainer, &error));
  g_test_message("%s", b.log.remarks->str);
  g_assert_nonnull(strstr(b.log.remarks->str, "The first loss is"));
  bench_clear(&b);
}

static void test_source_fails(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "simpleclassifier", NULL);
  b.train->fail_at = 16;
  bench_start(&b);
  g_assert_cmpint(nw_trainer_run(b.trainer, &error), ==, NW_IO);
  g_assert_nonnull(strstr(error.text, "disk"));
  /* fifteen steps were learnt, and they are saved */
  g_autofree char *last = bench_path(&b, "last.pth");
  NwJson *json;
  nwt_ok(nw_checkpoint_read_json(last, &json, &error));
  g_assert_cmpint(nw_json_get_int(nw_json_get(json, "position"), "step", 0), ==, 15);
  nw_json_free(json);
  bench_clear(&b);
}

static void test_no_folder(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "simpleclassifier", NULL);
  g_autofree char *file = bench_path(&b, "file");
  g_autofree char *below = g_build_filename(file, "run", NULL);
  g_assert_true(g_file_set_contents(file, "x", 1, NULL));
  NwTrainerSetup setup = bench_setup(&b);
  setup.folder = below; /* cannot be made: said before the first step */
  nwt_ok(nw_trainer_new(&setup, &b.trainer, &error));
  g_assert_cmpint(nw_trainer_run(b.trainer, &error), !=, NW_OK);
  g_test_message("%s", error.text);
  g_assert_cmpint(b.log.steps, ==, 0);
  bench_clear(&b);
}

static void test_wrong_size(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "simpleclassifier", NULL);
  nwt_source_free(b.train);
  b.train = nwt_source_new(TRAIN, 10, CLASSES, 1, TRUE);
  NwTrainerSetup setup = bench_setup(&b);
  g_assert_cmpint(nw_trainer_new(&setup, &b.trainer, &error), ==, NW_BAD_SHAPE);
  g_test_message("%s", error.text);
  bench_clear(&b);
}

/* Every allocation fails once: a sentence each time, and nothing leaks. */
static void test_no_memory(void)
{
  NwError error;
  Bench b;
  bench_init(&b, "simplecnn", NULL);
  NwTrainerSetup setup = bench_setup(&b);
  int failures = 0;
  int64_t live = nw_memory_live();
  for (int64_t n = 0;; n++, failures++) {
    nw_memory_fail_after(n);
    NwStatus status = nw_trainer_new(&setup, &b.trainer, &error);
    nw_memory_fail_after(-1);
    if (status == NW_OK)
      break;
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
    g_assert_null(b.trainer);
    g_assert_cmpint(nw_memory_live(), ==, live);
  }
  g_test_message("%d allocations failed, one at a time", failures);
  g_assert_cmpint(failures, >, 50);
  nwt_ok(nw_trainer_run(b.trainer, &error));
  bench_clear(&b);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/trainer/learns", test_learns);
  g_test_add_func("/trainer/checkpoint-is-a-model", test_checkpoint_is_a_model);
  g_test_add_func("/trainer/frozen", test_frozen);
  g_test_add_func("/trainer/frozen-norm", test_frozen_norm);
  g_test_add_func("/trainer/class-weights", test_class_weights);
  g_test_add_func("/trainer/last-batch-of-one", test_last_batch_of_one);
  g_test_add_func("/trainer/stop", test_stop);
  g_test_add_func("/trainer/pause", test_pause);
  g_test_add_func("/trainer/stop-while-paused", test_stop_while_paused);
  g_test_add_func("/trainer/not-a-number", test_not_a_number);
  g_test_add_func("/trainer/first-loss", test_first_loss);
  g_test_add_func("/trainer/source-fails", test_source_fails);
  g_test_add_func("/trainer/no-folder", test_no_folder);
  g_test_add_func("/trainer/wrong-size", test_wrong_size);
  g_test_add_func("/trainer/no-memory", test_no_memory);
  return g_test_run();
}
