/* A project being trained in this process: what the window sees and does. */
#include <math.h>

#include "app/export.h"
#include "app/session.h"
#include "tests/app/pictures.h"

static char *root, *set;

static void ok(NwStatus status, const NwError *error)
{
  if (status != NW_OK)
    g_error("%s", error->text);
}

/* Everything a test needs: a history of its own and a project with the set. */
typedef struct Bench {
  char *folder;
  NwHistory *history;
  NwProject *project;
  NwSession *session;
  GMainLoop *loop;
  guint states, progress, finished;
  gint64 pause_at; /* step at which the main thread asks for it */
} Bench;

static void on_state(NwSession *session, gpointer data)
{
  ((Bench *)data)->states++;
}

static void on_progress(NwSession *session, gpointer data)
{
  ((Bench *)data)->progress++;
}

static void on_finished(NwSession *session, gpointer data)
{
  Bench *b = data;
  b->finished++;
  g_main_loop_quit(b->loop);
}

static void bench_session(Bench *b)
{
  b->session = nw_session_new(b->history);
  g_signal_connect(b->session, "state-changed", G_CALLBACK(on_state), b);
  g_signal_connect(b->session, "progress", G_CALLBACK(on_progress), b);
  g_signal_connect(b->session, "finished", G_CALLBACK(on_finished), b);
}

static Bench bench_new(Bench *b, const char *epochs)
{
  NwError error = {0};
  b->folder = nwt_folder_new();
  ok(nw_history_open(b->folder, &b->history, &error), &error);
  b->project = nw_project_new();
  ok(nw_project_set_dataset(b->project, set, &error), &error);
  ok(nw_project_use_template(b->project, nw_template_find("simplecnn"), &error), &error);
  ok(nw_project_set_config(b->project, "epochs", epochs, &error), &error);
  ok(nw_project_set_config(b->project, "batch_size", "8", &error), &error);
  b->loop = g_main_loop_new(NULL, FALSE);
  bench_session(b);
  return *b;
}

static void bench_free(Bench *b)
{
  g_object_unref(b->session);
  while (g_main_context_iteration(NULL, FALSE))
    ;
  g_object_unref(b->project);
  nw_history_close(b->history);
  g_main_loop_unref(b->loop);
  nwt_folder_free(b->folder);
}

static NwRunInfo *run_of(Bench *b)
{
  NwRunInfo *info = NULL;
  NwError error = {0};
  ok(nw_history_find(b->history, nw_session_run(b->session), &info, &error), &error);
  return info;
}

static void expect_run(Bench *b, NwRunState state)
{
  NwRunInfo *info = run_of(b);
  g_assert_cmpint(info->state, ==, state);
  nw_run_info_free(info);
}

/* The curves of the session and of the history are the same, point for point. */
static void expect_same_curves(Bench *b)
{
  static const char *const metrics[] = {"train_loss", "train_accuracy",   "lr",
                                        "val_loss",   "epoch_train_loss", "val_accuracy"};
  for (guint i = 0; i < G_N_ELEMENTS(metrics); i++) {
    g_autoptr(GArray) kept = NULL;
    NwError error = {0};
    const GArray *shown = nw_session_series(b->session, metrics[i]);
    ok(nw_history_metrics(b->history, nw_session_run(b->session), metrics[i], &kept, &error), &error);
    g_assert_nonnull(shown);
    g_assert_cmpint(shown->len, ==, kept->len);
    for (guint k = 0; k < kept->len; k++) {
      NwMetricPoint x = g_array_index(shown, NwMetricPoint, k), y = g_array_index(kept, NwMetricPoint, k);
      g_assert_cmpint(x.step, ==, y.step);
      g_assert_cmpfloat(x.epoch, ==, y.epoch);
      g_assert_cmpfloat(x.value, ==, y.value);
    }
  }
}

static void test_train(void)
{
  Bench b = {0};
  NwError error = {0};
  bench_new(&b, "4");
  ok(nw_session_start(b.session, b.project, "first", &error), &error);
  g_assert_true(nw_session_is_active(b.session));
  g_assert_cmpint(nw_session_start(b.session, b.project, "second", &error), ==, NW_BAD_STATE);
  /* the project may be edited meanwhile: the run has its own copy */
  ok(nw_project_use_template(b.project, nw_template_find("mlp"), &error), &error);
  g_main_loop_run(b.loop);
  g_assert_false(nw_session_is_active(b.session));
  g_assert_cmpint(nw_session_state(b.session), ==, NW_TRAINER_FINISHED);
  g_assert_null(nw_session_error(b.session));
  g_assert_cmpint(b.finished, ==, 1);
  g_assert_cmpint(b.progress, >=, 1);
  const NwSessionProgress *p = nw_session_progress(b.session);
  g_assert_cmpint(p->epoch, ==, 4);
  g_assert_cmpint(p->epochs, ==, 4);
  g_assert_cmpint(p->step, ==, 4 * 9);
  g_assert_true(p->best_val_accuracy > 0.9);
  NwRunInfo *info = run_of(&b);
  g_assert_cmpint(info->state, ==, NW_RUN_FINISHED);
  g_assert_cmpint(info->epochs_done, ==, 4);
  g_assert_cmpint(info->best_epoch, ==, p->best_epoch);
  g_assert_cmpfloat(info->best_val_accuracy, ==, p->best_val_accuracy);
  g_assert_nonnull(strstr(info->config, "conv2d")); /* frozen as it was at the start */
  g_assert_cmpstr(info->dataset_digest, ==, nw_project_manifest(b.project)->digest);
  g_autofree char *json = g_build_filename(info->folder, "run.json", NULL);
  g_autofree char *best = g_build_filename(info->folder, "best.pth", NULL);
  g_assert_true(g_file_test(json, G_FILE_TEST_EXISTS));
  g_assert_true(g_file_test(best, G_FILE_TEST_EXISTS));
  nw_run_info_free(info);
  expect_same_curves(&b);
  /* a new training is a new run */
  g_autofree char *before = g_strdup(nw_session_run(b.session));
  ok(nw_session_start(b.session, b.project, NULL, &error), &error);
  g_assert_cmpstr(nw_session_run(b.session), !=, before);
  g_main_loop_run(b.loop);
  expect_same_curves(&b);
  bench_free(&b);
}

static void wait_for(Bench *b, NwTrainerState state)
{
  gint64 until = g_get_monotonic_time() + 20 * G_USEC_PER_SEC;
  while (nw_session_state(b->session) != state) {
    g_main_context_iteration(NULL, FALSE);
    g_usleep(500);
    if (g_get_monotonic_time() > until)
      g_error("state %d did not come", state);
  }
}

static void wait_for_step(Bench *b, gint64 step)
{
  while (nw_session_progress(b->session)->step < step)
    g_main_context_iteration(NULL, TRUE);
}

/* A name is kept in one language and shown in that of the day; a template is called by its name. */
static void test_network_words(void)
{
  Bench b = {0};
  NwError error = {0};
  NwRunInfo *info = NULL;
  g_autofree char *shape = nw_session_network_words("12 blocks, 4 with weights"), *name = NULL;
  g_assert_cmpstr(shape, ==, "12 blocks, 4 with weights");
  g_autofree char *none = nw_session_network_words(NULL);
  g_assert_cmpstr(none, ==, "–");
  bench_new(&b, "1");
  ok(nw_session_start(b.session, b.project, NULL, &error), &error);
  g_main_loop_run(b.loop);
  ok(nw_history_find(b.history, nw_session_run(b.session), &info, &error), &error);
  name = nw_session_network_words(info->network_name);
  g_assert_cmpstr(name, ==, "SimpleCNN");
  nw_run_info_free(info);
  bench_free(&b);
}

static void test_pause_stop_resume(void)
{
  Bench b = {0}, whole = {0};
  NwError error = {0};
  bench_new(&whole, "20");
  ok(nw_session_start(whole.session, whole.project, NULL, &error), &error);
  g_main_loop_run(whole.loop);

  bench_new(&b, "20");
  gint64 begin = g_get_monotonic_time();
  ok(nw_session_start(b.session, b.project, NULL, &error), &error);
  wait_for_step(&b, 12);
  nw_session_pause(b.session);
  wait_for(&b, NW_TRAINER_PAUSED);
  gint64 at = nw_session_progress(b.session)->step;
  g_usleep(300 * 1000);
  while (g_main_context_iteration(NULL, FALSE))
    ;
  g_assert_cmpint(nw_session_progress(b.session)->step, ==, at); /* it really stands still */
  g_assert_true(nw_session_is_active(b.session));
  expect_run(&b, NW_RUN_PAUSED);
  nw_session_continue(b.session);
  wait_for(&b, NW_TRAINER_RUNNING);
  wait_for_step(&b, at + 10);
  nw_session_stop(b.session);
  g_main_loop_run(b.loop);
  g_assert_cmpint(nw_session_state(b.session), ==, NW_TRAINER_STOPPED);
  /* the pause is no time of training */
  g_assert_cmpfloat(nw_session_progress(b.session)->seconds + 0.3, <=,
                    (double)(g_get_monotonic_time() - begin) / 1e6);
  expect_run(&b, NW_RUN_STOPPED);
  expect_same_curves(&b);
  g_autofree char *run = g_strdup(nw_session_run(b.session));
  g_assert_cmpint(nw_session_progress(b.session)->step, <, 20 * 9);
  /* another session of a later start goes on with it */
  g_object_unref(b.session);
  bench_session(&b);
  ok(nw_session_resume(b.session, run, 0, &error), &error);
  g_assert_cmpstr(nw_session_run(b.session), ==, run);
  g_main_loop_run(b.loop);
  g_assert_cmpint(nw_session_state(b.session), ==, NW_TRAINER_FINISHED);
  expect_same_curves(&b);
  g_assert_cmpint(nw_session_series(b.session, "train_loss")->len, ==, 20 * 9);
  /* and ends where the one that was left alone ended */
  for (guint i = 0; i < 2; i++) {
    g_autofree char *ours = g_build_filename(root, "ours.pth", NULL),
                    *theirs = g_build_filename(root, "theirs.pth", NULL);
    const char *kind = i == 0 ? "last" : "best";
    ok(nw_export_run(b.history, run, kind, nw_export_format_find("weights"), ours, NULL, &error), &error);
    ok(nw_export_run(whole.history, "latest", kind, nw_export_format_find("weights"), theirs, NULL, &error),
       &error);
    nwt_expect_same_file(ours, theirs);
  }
  g_assert_cmpint(nw_session_resume(b.session, run, 0, &error), ==, NW_BAD_STATE); /* finished */
  ok(nw_session_resume(b.session, run, 2, &error), &error);
  g_main_loop_run(b.loop);
  NwRunInfo *info = run_of(&b);
  g_assert_cmpint(info->epochs_done, ==, 22);
  nw_run_info_free(info);
  bench_free(&b);
  bench_free(&whole);
}

/* ---- without a main loop ---- */

typedef struct Heard {
  gint steps, epochs, remarks;
} Heard;

static void hear_step(const NwStepEvent *step, gpointer data)
{
  g_atomic_int_inc(&((Heard *)data)->steps);
}

static void hear_epoch(const NwEpochEvent *epoch, gpointer data)
{
  g_atomic_int_inc(&((Heard *)data)->epochs);
}

static void hear_remark(const char *text, gpointer data)
{
  g_atomic_int_inc(&((Heard *)data)->remarks);
}

static void test_wait(void)
{
  Bench b = {0};
  NwError error = {0};
  Heard heard = {0};
  static const NwSessionListener listener = {hear_step, hear_epoch, hear_remark};
  bench_new(&b, "3");
  nw_session_listen(b.session, &listener, &heard);
  ok(nw_session_start(b.session, b.project, NULL, &error), &error);
  nw_session_wait(b.session);
  g_assert_cmpint(nw_session_state(b.session), ==, NW_TRAINER_FINISHED);
  g_assert_cmpint(heard.steps, ==, 27);
  g_assert_cmpint(heard.epochs, ==, 3);
  expect_same_curves(&b);
  bench_free(&b);
}

/* A main thread that does not listen for a long time loses nothing that counts, and does not hold the
 * training up. */
static void test_sleeping_reader(void)
{
  Bench b = {0};
  NwError error = {0};
  bench_new(&b, "125"); /* 9,000 steps: more than the ring holds */
  ok(nw_project_use_template(b.project, nw_template_find("lenet"), &error), &error);
  ok(nw_project_set_config(b.project, "batch_size", "1", &error), &error);
  ok(nw_session_start(b.session, b.project, NULL, &error), &error);
  g_usleep(2000 * 1000);
  g_main_loop_run(b.loop);
  g_assert_cmpint(nw_session_progress(b.session)->epoch, ==, 125);
  g_assert_cmpint(nw_session_series(b.session, "val_loss")->len, ==, 125);
  g_autoptr(GArray) kept = NULL;
  ok(nw_history_metrics(b.history, nw_session_run(b.session), "train_loss", &kept, &error), &error);
  g_assert_cmpint(kept->len, ==, 125 * 72);
  bench_free(&b);
}

/* ---- the owner goes, things fail ---- */

static void test_dropped(void)
{
  for (int i = 0; i < 6; i++) {
    Bench b = {0};
    NwError error = {0};
    bench_new(&b, "100000");
    ok(nw_session_start(b.session, b.project, NULL, &error), &error);
    g_autofree char *run = g_strdup(nw_session_run(b.session));
    g_usleep((gulong)i * 20 * 1000);
    while (i % 2 == 0 && g_main_context_iteration(NULL, FALSE))
      ;
    g_signal_handlers_disconnect_by_data(b.session, &b);
    g_object_run_dispose(G_OBJECT(b.session)); /* the window was closed */
    NwRunInfo *info = NULL;
    ok(nw_history_find(b.history, run, &info, &error), &error);
    g_assert_cmpint(info->state, ==, NW_RUN_STOPPED);
    nw_run_info_free(info);
    bench_free(&b);
  }
}

static void test_refused(void)
{
  Bench b = {0};
  NwError error = {0};
  bench_new(&b, "1");
  g_autoptr(NwProject) empty = nw_project_new();
  g_assert_cmpint(nw_session_start(b.session, empty, NULL, &error), !=, NW_OK);
  g_assert_cmpstr(error.text, ==, "Choose a folder of pictures first");
  guint32 block = nw_network_find_name(nw_project_network(b.project), "classifier.4")->id;
  ok(nw_project_set_attr_text(b.project, block, "out_features", "9", &error), &error);
  g_assert_cmpint(nw_session_start(b.session, b.project, NULL, &error), !=, NW_OK);
  g_assert_cmpint(error.block, ==, block); /* pinned to the block */
  g_assert_false(nw_session_is_active(b.session));
  GPtrArray *list = NULL;
  ok(nw_history_list(b.history, TRUE, &list, &error), &error);
  g_assert_cmpint(list->len, ==, 0);
  g_ptr_array_unref(list);
  g_assert_cmpint(nw_session_resume(b.session, "no such run", 0, &error), ==, NW_NOT_FOUND);
  bench_free(&b);
}

/* The pictures vanish while it trains: the run fails with a sentence, and what was learnt is kept. */
static void test_vanishing_set(void)
{
  Bench b = {0};
  NwError error = {0};
  g_autofree char *mine = g_build_filename(root, "vanishing", NULL);
  for (guint c = 0; c < 2; c++)
    for (guint i = 0; i < 40; i++) {
      g_autofree char *path = g_strdup_printf("vanishing/class%u/%u.jpg", c, i);
      nwt_put_golden(root, path, "photo.jpg", 100);
    }
  bench_new(&b, "100000");
  NwPreprocessing *large = nw_preprocessing_new(3, 96, 96); /* too large to be kept in memory */
  ok(nw_project_set_dataset(b.project, mine, &error), &error);
  ok(nw_project_set_preprocessing(b.project, large, &error), &error);
  nw_preprocessing_free(large);
  ok(nw_project_use_template(b.project, nw_template_find("lenet"), &error), &error);
  ok(nw_session_start(b.session, b.project, NULL, &error), &error);
  wait_for_step(&b, 5);
  nwt_remove(mine);
  g_main_loop_run(b.loop);
  g_assert_cmpint(nw_session_state(b.session), ==, NW_TRAINER_FAILED);
  g_assert_nonnull(nw_session_error(b.session));
  NwRunInfo *info = run_of(&b);
  g_assert_cmpint(info->state, ==, NW_RUN_FAILED);
  g_assert_cmpstr(info->message, ==, nw_session_error(b.session)->text);
  g_autofree char *last = g_build_filename(info->folder, "last.pth", NULL);
  g_assert_true(g_file_test(last, G_FILE_TEST_EXISTS));
  nw_run_info_free(info);
  bench_free(&b);
}

static void test_learning_rate(void)
{
  Bench b = {0};
  NwError error = {0};
  bench_new(&b, "100000");
  ok(nw_session_start(b.session, b.project, NULL, &error), &error);
  wait_for_step(&b, 10);
  nw_session_set_lr(b.session, 0.125);
  while (nw_session_progress(b.session)->lr != 0.125)
    g_main_context_iteration(NULL, TRUE);
  nw_session_stop(b.session);
  nw_session_wait(b.session);
  g_assert_cmpint(nw_session_state(b.session), ==, NW_TRAINER_STOPPED);
  bench_free(&b);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  root = nwt_folder_new();
  set = nwt_set(root, "set", 3, 30);
  g_test_add_func("/session/train", test_train);
  g_test_add_func("/session/network-words", test_network_words);
  g_test_add_func("/session/pause-stop-resume", test_pause_stop_resume);
  g_test_add_func("/session/wait", test_wait);
  g_test_add_func("/session/sleeping-reader", test_sleeping_reader);
  g_test_add_func("/session/dropped", test_dropped);
  g_test_add_func("/session/refused", test_refused);
  g_test_add_func("/session/vanishing-set", test_vanishing_set);
  g_test_add_func("/session/learning-rate", test_learning_rate);
  int result = g_test_run();
  g_free(set);
  nwt_folder_free(root);
  return result;
}
