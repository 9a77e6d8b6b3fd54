/* Resuming, bit for bit, from every kind of checkpoint; full disks; files that are no checkpoints; and what
 * PyTorch makes of ours. */
#include <glib/gstdio.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "engine/train/checkpoint.h"
#include "engine/train/trainer.h"
#include "tests/engine/nets.h"
#include "tests/engine/python.h"
#include "tests/engine/source.h"

enum { SIZE = 8, CLASSES = 4, TRAIN = 70, VALIDATION = 30, EPOCHS = 3, BATCHES = 5 };

typedef struct Plan {
  const char *net, *optimizer, *schedule, *exact;
} Plan;

/* One training in a folder of its own. */
typedef struct Run {
  NwModel *model;
  NwTrainConfig config;
  NwtSource *train, *validation;
  NwTrainer *trainer;
  char *folder;
  GString *remarks;
  GArray *losses;
  NwEpochEvent epochs[EPOCHS + 1];
  int64_t stop_at, steps;
  gboolean stop_in_validation, keep; /* keep: a copy of every last.pth */
  int kept;
  int64_t limit_at; /* from this step on no file may grow beyond 1000 bytes */
} Run;

static void set_limit(rlim_t bytes)
{
  struct rlimit limit;
  g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &limit), ==, 0);
  limit.rlim_cur = bytes;
  g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &limit), ==, 0);
}

static void on_step(void *owner, const NwStepEvent *event)
{
  Run *run = owner;
  run->steps++;
  g_array_append_val(run->losses, event->loss);
  if (event->step == run->stop_at)
    nw_trainer_stop(run->trainer);
  if (run->limit_at > 0 && event->step == run->limit_at)
    set_limit(1000);
}

static void on_epoch(void *owner, const NwEpochEvent *event)
{
  ((Run *)owner)->epochs[event->epoch] = *event;
}

static void on_remark(void *owner, const char *text)
{
  g_string_append_printf(((Run *)owner)->remarks, "%s\n", text);
}

static void copy_file(const char *from, const char *to)
{
  g_autofree char *bytes = NULL;
  gsize n;
  g_assert_true(g_file_get_contents(from, &bytes, &n, NULL));
  g_assert_true(g_file_set_contents(to, bytes, (gssize)n, NULL));
}

static void on_checkpoint(void *owner, const char *kind, const char *path, int64_t epoch, int64_t step)
{
  Run *run = owner;
  if (!run->keep || strcmp(kind, "last") != 0)
    return;
  g_autofree char *copy = g_strdup_printf("%s/kept-%d.pth", run->folder, run->kept++);
  copy_file(path, copy);
}

static void on_validation(void *owner)
{
  Run *run = owner;
  if (run->stop_in_validation)
    nw_trainer_stop(run->trainer);
}

static void run_init(Run *run, const Plan *plan, const char *checkpoint_seconds)
{
  NwError error;
  *run = (Run){.folder = g_dir_make_tmp("netwright-XXXXXX", NULL), .remarks = g_string_new("")};
  run->losses = g_array_new(FALSE, FALSE, sizeof(double));
  run->model = nwt_model(plan->net, 1, SIZE, CLASSES, 9);
  nw_train_config_init(&run->config);
  const char *settings[] = {"epochs",
                            "3",
                            "batch_size",
                            "15",
                            "optimizer",
                            plan->optimizer,
                            "schedule",
                            plan->schedule,
                            "exact",
                            plan->exact,
                            "checkpoint_seconds",
                            checkpoint_seconds,
                            "warmup_epochs",
                            "0.7",
                            "lr",
                            "0.01"};
  for (gsize i = 0; i < G_N_ELEMENTS(settings); i += 2)
    nwt_ok(nw_train_config_set(&run->config, settings[i], settings[i + 1], &error));
  if (strcmp(plan->schedule, "plateau") == 0) /* so that it falls in so short a training */
    nwt_ok(nw_train_config_set(&run->config, "schedule.threshold", "100", &error));
  if (strcmp(plan->schedule, "plateau") == 0)
    nwt_ok(nw_train_config_set(&run->config, "schedule.patience", "0", &error));
  if (strcmp(plan->schedule, "step") == 0)
    nwt_ok(nw_train_config_set(&run->config, "schedule.step_size", "1", &error));
  run->train = nwt_source_new(TRAIN, SIZE, CLASSES, 1, TRUE);
  run->validation = nwt_source_new(VALIDATION, SIZE, CLASSES, 2, FALSE);
  run->validation->hook = on_validation;
  run->validation->hook_owner = run;
  NwTrainerSetup setup = {.model = run->model,
                          .config = &run->config,
                          .normalization = {{0.4}, {0.25}},
                          .train = &run->train->source,
                          .validation = &run->validation->source,
                          .folder = run->folder,
                          .observer = {.owner = run,
                                       .step = on_step,
                                       .epoch = on_epoch,
                                       .checkpoint = on_checkpoint,
                                       .remark = on_remark}};
  nwt_ok(nw_trainer_new(&setup, &run->trainer, &error));
}

static void run_clear(Run *run)
{
  g_autoptr(GDir) dir = g_dir_open(run->folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
    g_autofree char *path = g_build_filename(run->folder, name, NULL);
    g_unlink(path);
  }
  g_rmdir(run->folder);
  nw_trainer_free(run->trainer);
  nw_model_free(run->model);
  nw_train_config_clear(&run->config);
  nwt_source_free(run->train);
  nwt_source_free(run->validation);
  g_string_free(run->remarks, TRUE);
  g_array_free(run->losses, TRUE);
  g_free(run->folder);
}

static char *file_of(const Run *run, const char *name)
{
  return g_build_filename(run->folder, name, NULL);
}

static void expect_same_file(const Run *a, const Run *b, const char *name)
{
  g_autofree char *first = file_of(a, name), *second = file_of(b, name), *ours = NULL, *theirs = NULL;
  gsize n, m;
  g_assert_true(g_file_get_contents(first, &ours, &n, NULL));
  g_assert_true(g_file_get_contents(second, &theirs, &m, NULL));
  if (n != m || memcmp(ours, theirs, n) != 0)
    g_error("%s is not the same", name);
}

/* ---- resuming ---- */

/* Every file, every loss that is still to come and every epoch's averages must be equal. */
static void expect_rest(const Run *whole, const Run *rest)
{
  guint done = whole->losses->len - rest->losses->len;
  expect_same_file(whole, rest, "last.pth");
  for (guint i = 0; i < rest->losses->len; i++)
    g_assert_cmpfloat(g_array_index(whole->losses, double, done + i), ==,
                      g_array_index(rest->losses, double, i));
  for (int e = 1; e <= EPOCHS; e++) {
    if (rest->epochs[e].epoch == 0)
      continue;
    g_assert_cmpfloat(whole->epochs[e].train_loss, ==, rest->epochs[e].train_loss);
    g_assert_cmpfloat(whole->epochs[e].train_accuracy, ==, rest->epochs[e].train_accuracy);
    g_assert_cmpfloat(whole->epochs[e].val_loss, ==, rest->epochs[e].val_loss);
    g_assert_cmpint(whole->epochs[e].best, ==, rest->epochs[e].best);
  }
}

static void resume_from(const Plan *plan, const Run *whole, const char *path)
{
  NwError error;
  Run rest;
  g_autofree char *seconds =
      g_strdup_printf("%g", whole->config.checkpoint_seconds); /* it stands in the files */
  run_init(&rest, plan, seconds);
  nwt_ok(nw_trainer_resume(rest.trainer, path, &error));
  g_autofree char *last = file_of(&rest, "last.pth");
  copy_file(path,
            last); /* in the same folder, as a person resumes; of a finished run nothing new is written */
  nwt_ok(nw_trainer_run(rest.trainer, &error));
  expect_rest(whole, &rest);
  run_clear(&rest);
}

static void test_resume(const void *data)
{
  const Plan *plan = data;
  NwError error;
  Run whole;
  run_init(&whole, plan, "0.001"); /* after nearly every step */
  whole.keep = TRUE;
  nwt_ok(nw_trainer_run(whole.trainer, &error));
  g_assert_cmpint(whole.steps, ==, EPOCHS * BATCHES);
  g_assert_cmpint(whole.kept, >=, EPOCHS + 2);
  /* ./dev test takes every third of them, others in each training, and always the last; --full takes all */
  static int turn;
  int every = g_strcmp0(g_getenv("NETWRIGHT_TEST_FULL"), "yes") == 0 ? 1 : 3, resumed = 0;
  for (int i = 0; i < whole.kept; i++) {
    if (i % every != turn % every && i != whole.kept - 1)
      continue;
    g_autofree char *path = g_strdup_printf("%s/kept-%d.pth", whole.folder, i);
    resume_from(plan, &whole, path);
    resumed++;
  }
  turn++;
  g_test_message("%s, %s, %s: resumed from %d of %d checkpoints, lr %.4g to %.4g", plan->net, plan->optimizer,
                 plan->schedule, resumed, whole.kept, whole.epochs[1].lr, whole.epochs[EPOCHS].lr);
  run_clear(&whole);
}

/* Stopped at a step or inside a validation, and resumed from what the stop wrote. */
static void stop_and_resume(const Plan *plan, int64_t stop_at, gboolean in_validation)
{
  NwError error;
  Run whole, first;
  run_init(&whole, plan, "1000");
  nwt_ok(nw_trainer_run(whole.trainer, &error));
  run_init(&first, plan, "1000");
  first.stop_at = stop_at;
  first.stop_in_validation = in_validation;
  g_assert_cmpint(nw_trainer_run(first.trainer, &error), ==, NW_CANCELLED);
  g_autofree char *path = file_of(&first, "last.pth");
  resume_from(plan, &whole, path);
  run_clear(&first);
  run_clear(&whole);
}

static void test_stop(void)
{
  static const Plan plan = {"simplecnn", "adam", "cosine", "false"};
  stop_and_resume(&plan, 8, FALSE);
  stop_and_resume(&plan, BATCHES, FALSE); /* just before the validation */
  stop_and_resume(&plan, 0, TRUE);
}

static void test_more_epochs(void)
{
  static const Plan plan = {"simplecnn", "adamw", "constant", "false"};
  NwError error;
  Run whole, more;
  run_init(&whole, &plan, "1000");
  nwt_ok(nw_trainer_run(whole.trainer, &error));
  g_autofree char *path = file_of(&whole, "last.pth");
  run_init(&more, &plan, "1000");
  nwt_ok(nw_trainer_resume(more.trainer, path, &error));
  nwt_ok(nw_trainer_run(more.trainer, &error)); /* nothing is left to do */
  g_assert_cmpint(more.steps, ==, 0);
  run_clear(&more);
  run_clear(&whole);
}

/* ---- refusals ---- */

static void test_refused(void)
{
  static const Plan plan = {"simplecnn", "adam", "constant", "false"},
                    other = {"simplecnn", "sgd", "constant", "false"},
                    net = {"simpleclassifier", "adam", "constant", "false"};
  NwError error;
  Run run, wrong;
  NwJson *json;
  run_init(&run, &plan, "1000");
  run.stop_at = 7;
  g_assert_cmpint(nw_trainer_run(run.trainer, &error), ==, NW_CANCELLED);
  g_autofree char *path = file_of(&run, "last.pth"), *text = file_of(&run, "text.pth"),
                  *missing = file_of(&run, "none.pth");
  run_init(&wrong, &other, "1000");
  g_assert_cmpint(nw_trainer_resume(wrong.trainer, path, &error), ==, NW_BAD_STATE);
  g_test_message("%s", error.text);
  run_clear(&wrong);
  run_init(&wrong, &net, "1000");
  g_assert_cmpint(nw_trainer_resume(wrong.trainer, path, &error), !=, NW_OK);
  g_test_message("%s", error.text);
  run_clear(&wrong);
  run_init(&wrong, &plan, "1000");
  wrong.train->source.count -= 3;
  g_assert_cmpint(nw_trainer_resume(wrong.trainer, path, &error), ==, NW_BAD_DATA);
  g_test_message("%s", error.text);
  wrong.train->source.count += 3;
  run_clear(&wrong);
  g_assert_true(g_file_set_contents(text, "not a checkpoint", -1, NULL));
  g_assert_cmpint(nw_checkpoint_read_json(text, &json, &error), ==, NW_BAD_FORMAT);
  g_test_message("%s", error.text);
  g_assert_cmpint(nw_checkpoint_read_json(missing, &json, &error), ==, NW_NOT_FOUND);
  g_test_message("%s", error.text);
  run_clear(&run);
}

/* ---- a disk without room ---- */

static void test_full_disk(void)
{
  static const Plan plan = {"simplecnn", "adam", "constant", "false"};
  NwError error;
  Run run, rest, whole;
  signal(SIGXFSZ, SIG_IGN); /* the write then fails, as on a full disk */
  run_init(&run, &plan, "1000");
  run.limit_at = 7; /* in the second epoch */
  NwStatus status = nw_trainer_run(run.trainer, &error);
  set_limit(RLIM_INFINITY);
  g_test_message("%s%s", run.remarks->str, error.text);
  /* it trained to the end, spoke at each failure, and says at the end what is lost */
  g_assert_cmpint(run.steps, ==, EPOCHS * BATCHES);
  g_assert_cmpint(status, !=, NW_OK);
  g_assert_nonnull(strstr(run.remarks->str, "will be tried again"));
  /* the checkpoint of the first epoch is whole, and the run can go on from it */
  g_autofree char *path = file_of(&run, "last.pth");
  NwJson *json;
  nwt_ok(nw_checkpoint_read_json(path, &json, &error));
  g_assert_cmpint(nw_json_get_int(nw_json_get(json, "position"), "epoch", 0), ==, 1);
  nw_json_free(json);
  run_init(&whole, &plan, "1000");
  nwt_ok(nw_trainer_run(whole.trainer, &error));
  run_init(&rest, &plan, "1000");
  nwt_ok(nw_trainer_resume(rest.trainer, path, &error));
  nwt_ok(nw_trainer_run(rest.trainer, &error));
  expect_rest(&whole, &rest);
  run_clear(&rest);
  run_clear(&whole);
  run_clear(&run);
}

/* ---- PyTorch ---- */

static void test_torch(void)
{
  static const char *const optimizers[] = {"sgd", "adam", "adamw", "rmsprop", "adagrad", "nadam"};
  if (!nwt_have_torch())
    return;
  for (gsize i = 0; i < G_N_ELEMENTS(optimizers); i++) {
    Plan plan = {"residual", optimizers[i], "constant", "false"};
    NwError error;
    Run run;
    run_init(&run, &plan, "1000");
    nwt_ok(nw_trainer_run(run.trainer, &error));
    g_autofree char *path = file_of(&run, "last.pth");
    nwt_python("check_checkpoint.py", "residual", "1", "8", "4", path, optimizers[i], "15", NULL);
    run_clear(&run);
  }
}

int main(int argc, char **argv)
{
  static const char *const optimizers[] = {"sgd", "adam", "adamw", "rmsprop", "adagrad", "nadam", "lion"};
  static Plan plans[G_N_ELEMENTS(optimizers) * 16 + 1];
  const NwSchedule *schedule;
  int n = 0;
  g_test_init(&argc, &argv, NULL);
  for (gsize s = 0; (schedule = nw_schedule_at(s)) != NULL; s++)
    for (gsize o = 0; o < G_N_ELEMENTS(optimizers); o++) {
      g_assert_cmpuint(s, <, 16);
      plans[n] = (Plan){n % 2 ? "simpleclassifier" : "simplecnn", optimizers[o], schedule->row.id, "false"};
      if (s < 3 && o < 3)
        plans[n].net = "residual";
      g_autofree char *path = g_strdup_printf("/checkpoint/resume/%s-%s", optimizers[o], schedule->row.id);
      g_test_add_data_func(path, &plans[n++], test_resume);
    }
  plans[n] = (Plan){"simplecnn", "adamw", "cosine", "true"};
  g_test_add_data_func("/checkpoint/resume/exact", &plans[n], test_resume);
  g_test_add_func("/checkpoint/stop", test_stop);
  g_test_add_func("/checkpoint/more-epochs", test_more_epochs);
  g_test_add_func("/checkpoint/refused", test_refused);
  g_test_add_func("/checkpoint/full-disk", test_full_disk);
  g_test_add_func("/checkpoint/torch", test_torch);
  return g_test_run();
}
