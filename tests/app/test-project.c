/* The document: edits, undo and redo, reading and writing, what follows the data set. */
#include <math.h>

#include "app/preview.h"
#include "app/project.h"
#include "engine/base/memory.h"
#include "tests/app/pictures.h"

static void ok(NwStatus status, const NwError *error)
{
  if (status != NW_OK)
    g_error("%s", error->text);
}

static char *text_of(NwProject *project)
{
  NwJson *json = nw_project_to_json(project);
  char *text = nw_json_print(json, true), *out = g_strdup(text);
  nw_free(text);
  nw_json_free(json);
  return out;
}

static void expect_text(NwProject *project, const char *wanted)
{
  g_autofree char *text = text_of(project);
  g_assert_cmpstr(text, ==, wanted);
}

static NwProject *simplecnn(void)
{
  NwProject *project = nw_project_new();
  NwError error = {0};
  ok(nw_project_use_template(project, nw_template_find("simplecnn"), &error), &error);
  g_assert_cmpint(nw_project_report(project)->status, ==, NW_OK);
  return project;
}

static guint32 named(NwProject *project, const char *name)
{
  const NwBlock *block = nw_network_find_name(nw_project_network(project), name);
  g_assert_nonnull(block);
  return block->id;
}

static gint64 attr_of(NwProject *project, const char *name, const char *key)
{
  const NwBlock *block = nw_network_find_name(nw_project_network(project), name);
  return nw_attr_get(nw_attr_find(block->op, key), block->attrs).i;
}

/* ---- edits ---- */

static void test_edits(void)
{
  g_autoptr(NwProject) project = simplecnn();
  NwError error = {0};
  guint32 conv = named(project, "features.0"), relu = named(project, "features.1"), added = 0;
  g_autofree char *begin = text_of(project);
  ok(nw_project_set_attr_text(project, conv, "out_channels", "48", &error), &error);
  /* shapes follow at once: the next convolution sees 48 channels */
  const NwBlockReport *report = nw_project_block_report(project, named(project, "features.3"));
  g_assert_cmpint(report->in.dims[1], ==, 48);
  /* what the row does not allow is refused with the property, and nothing has changed */
  g_autofree char *now = text_of(project);
  g_assert_cmpint(nw_project_set_attr_text(project, conv, "stride", "0", &error), !=, NW_OK);
  g_assert_cmpstr(error.property, ==, "stride");
  g_assert_cmpint(nw_project_connect(project, named(project, "classifier.4"), relu, 0, &error), !=,
                  NW_OK); /* a loop */
  g_assert_cmpint(nw_project_rename_block(project, relu, "features.0", &error), !=, NW_OK);
  expect_text(project, now);
  /* a new block goes between, and deleting it heals the wire */
  ok(nw_project_insert_block(project, nw_op_find("batch_norm2d"), conv, &added, &error), &error);
  const NwBlock *reader = nw_network_find(nw_project_network(project), relu);
  g_assert_cmpint(reader->from[0], ==, added);
  g_assert_cmpint(nw_project_report(project)->status, ==, NW_OK);
  ok(nw_project_remove_blocks(project, &added, 1, TRUE, &error), &error);
  g_assert_cmpint(nw_network_find(nw_project_network(project), relu)->from[0], ==, conv);
  g_assert_cmpint(nw_project_report(project)->status, ==, NW_OK);
  /* without healing the network falls apart, and the report names the block */
  ok(nw_project_remove_blocks(project, &relu, 1, FALSE, &error), &error);
  g_assert_cmpint(nw_project_report(project)->status, !=, NW_OK);
  g_assert_cmpint(nw_project_report(project)->error.text[0], !=, '\0');
  while (nw_project_undo_label(project) != NULL &&
         !g_str_has_prefix(nw_project_undo_label(project), "Use the Template"))
    g_assert_true(nw_project_undo(project));
  expect_text(project, begin);
}

static void test_undo(void)
{
  g_autoptr(NwProject) project = simplecnn();
  NwError error = {0};
  guint32 conv = named(project, "features.0"), blocks[2] = {conv, named(project, "features.1")};
  g_autofree char *begin = text_of(project);
  g_assert_null(nw_project_redo_label(project));
  /* moves in a row and digits typed in a row are one step */
  for (int i = 0; i < 10; i++)
    ok(nw_project_move_blocks(project, blocks, 2, 3, 4, &error), &error);
  g_autofree char *moved = text_of(project);
  ok(nw_project_set_attr_text(project, conv, "out_channels", "4", &error), &error);
  ok(nw_project_set_attr_text(project, conv, "out_channels", "48", &error), &error);
  g_autofree char *edited = text_of(project);
  g_assert_true(nw_project_undo(project));
  expect_text(project, moved);
  g_assert_true(nw_project_undo(project));
  expect_text(project, begin);
  g_assert_true(nw_project_redo(project));
  expect_text(project, moved);
  g_assert_true(nw_project_redo(project));
  expect_text(project, edited);
  g_assert_false(nw_project_redo(project));
  /* a group is one step with its own name, whatever is inside */
  nw_project_begin_group(project, "Tidy");
  ok(nw_project_set_attr_text(project, conv, "out_channels", "8", &error), &error);
  ok(nw_project_set_frozen(project, conv, TRUE, &error), &error);
  nw_project_begin_group(project, "inner");
  ok(nw_project_arrange(project, &error), &error);
  nw_project_end_group(project);
  ok(nw_project_set_config(project, "lr", "0.25", &error), &error);
  nw_project_end_group(project);
  g_autofree char *tidy = text_of(project);
  g_assert_cmpstr(nw_project_undo_label(project), ==, "Tidy");
  g_assert_true(nw_project_undo(project));
  expect_text(project, edited);
  g_assert_cmpstr(nw_project_redo_label(project), ==, "Tidy");
  g_assert_true(nw_project_redo(project));
  expect_text(project, tidy);
  /* an empty group, and an edit that changes nothing, leave no step */
  nw_project_begin_group(project, "Nothing");
  ok(nw_project_set_config(project, "lr", "0.25", &error), &error);
  nw_project_end_group(project);
  g_assert_cmpstr(nw_project_undo_label(project), ==, "Tidy");
  /* a new edit behind an undo forgets what could be done again */
  g_assert_true(nw_project_undo(project));
  ok(nw_project_set_config(project, "epochs", "77", &error), &error);
  g_assert_null(nw_project_redo_label(project));
}

/* Any edits, undone to the start, give the start, byte for byte; redone, the end. */
static void test_random_edits(void)
{
  g_autoptr(NwProject) project = simplecnn();
  NwError error = {0};
  g_autofree char *begin = text_of(project);
  guint steps = 0, refused = 0;
  const NwOp *ops[] = {nw_op_find("conv2d"),  nw_op_find("relu"),   nw_op_find("add"),
                       nw_op_find("flatten"), nw_op_find("linear"), nw_op_find("max_pool2d")};
  for (int i = 0; i < 150; i++) {
    int n = nw_network_count(nw_project_network(project));
    const NwBlock *a = nw_network_at(nw_project_network(project), g_test_rand_int_range(0, n));
    const NwBlock *b = nw_network_at(nw_project_network(project), g_test_rand_int_range(0, n));
    guint32 ids[2] = {a->id, b->id}, added;
    NwStatus status = NW_OK;
    const NwOp *op = ops[g_test_rand_int_range(0, G_N_ELEMENTS(ops))];
    switch (g_test_rand_int_range(0, 8)) {
    case 0:
      status = nw_project_add_block(project, op, 10, 20, &added, &error);
      break;
    case 1:
      status = nw_project_insert_block(project, op, ids[0], &added, &error);
      break;
    case 2:
      status = n > 4 ? nw_project_remove_blocks(project, ids, 1, TRUE, &error) : NW_OK;
      break;
    case 3:
      status = n > 4 && ids[0] != ids[1] ? nw_project_remove_blocks(project, ids, 2, FALSE, &error) : NW_OK;
      break;
    case 4:
      status = nw_project_connect(project, ids[0], ids[1], 0, &error);
      break;
    case 5:
      status = nw_project_move_blocks(project, ids, 1, 1, 1, &error);
      break;
    case 6:
      status = nw_project_set_attr_text(project, ids[0], "out_channels", "5", &error);
      break;
    default: {
      g_autofree char *copied = nw_project_copy_blocks(project, ids, 2);
      g_autoptr(GArray) pasted = NULL;
      status = nw_project_paste_blocks(project, copied, 100, 100, &pasted, &error);
    }
    }
    steps++;
    refused += status != NW_OK;
  }
  g_test_message("%u edits, %u refused", steps, refused);
  g_assert_cmpint(refused, <, steps / 2);
  g_autofree char *end = text_of(project);
  while (!g_str_has_prefix(nw_project_undo_label(project), "Use the Template"))
    g_assert_true(nw_project_undo(project));
  expect_text(project, begin);
  while (nw_project_redo(project))
    ;
  expect_text(project, end);
}

static void test_clipboard(void)
{
  g_autoptr(NwProject) project = simplecnn();
  NwError error = {0};
  guint32 blocks[2] = {named(project, "features.0"), named(project, "features.1")};
  ok(nw_project_set_attr_text(project, blocks[0], "out_channels", "7", &error), &error);
  g_autofree char *copied = nw_project_copy_blocks(project, blocks, 2);
  g_autoptr(GArray) pasted = NULL;
  int n = nw_network_count(nw_project_network(project));
  ok(nw_project_paste_blocks(project, copied, 300, 40, &pasted, &error), &error);
  g_assert_cmpint(pasted->len, ==, 2);
  g_assert_cmpint(nw_network_count(nw_project_network(project)), ==, n + 2);
  /* with their attributes and the wire between them */
  const NwBlock *x = nw_network_find(nw_project_network(project), g_array_index(pasted, guint32, 0));
  const NwBlock *y = nw_network_find(nw_project_network(project), g_array_index(pasted, guint32, 1));
  const NwBlock *conv = g_str_equal(x->op->id, "conv2d") ? x : y, *relu = conv == x ? y : x;
  g_assert_cmpint(nw_attr_get(nw_attr_find(conv->op, "out_channels"), conv->attrs).i, ==, 7);
  g_assert_cmpint(relu->from[0], ==, conv->id);
  GArray *none = NULL;
  g_autofree char *before = text_of(project);
  g_assert_cmpint(nw_project_paste_blocks(project, "some words", 0, 0, &none, &error), !=, NW_OK);
  g_assert_cmpint(nw_project_paste_blocks(project, "{\"blocks\":[{\"id\":1}]}", 0, 0, &none, &error), !=,
                  NW_OK);
  expect_text(project, before);
}

/* ---- files ---- */

/* A network that was broken and saved over is not lost, though undo ended with the program. */
static void test_previous(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *place = g_build_filename(folder, "project", NULL);
  g_autofree char *kept = g_build_filename(place, "project.previous.json", NULL);
  NwError error = {0};
  NwProject *project = simplecnn();
  ok(nw_project_save_as(project, place, &error), &error);
  g_autofree char *whole = text_of(project);
  g_assert_false(nw_project_has_previous(project));
  g_object_unref(project);
  ok(nw_project_open(place, &project, &error), &error);
  ok(nw_project_save(project, &error), &error); /* nothing changed: nothing to keep */
  g_assert_false(nw_project_has_previous(project));
  guint32 block = named(project, "features.0");
  ok(nw_project_remove_blocks(project, &block, 1, FALSE, &error), &error);
  ok(nw_project_save(project, &error), &error);
  block = named(project, "features.3");
  ok(nw_project_remove_blocks(project, &block, 1, FALSE, &error), &error);
  ok(nw_project_save(project, &error), &error); /* of the same sitting: the version before stays */
  g_object_unref(project);

  ok(nw_project_open(place, &project, &error), &error);
  g_autofree char *broken = text_of(project);
  g_assert_null(nw_project_undo_label(project));
  g_assert_true(nw_project_has_previous(project));
  ok(nw_project_restore_previous(project, &error), &error);
  expect_text(project, whole);
  g_assert_true(nw_project_undo(project));
  expect_text(project, broken);
  g_assert_true(g_file_set_contents(kept, "{\"network\":", -1, NULL));
  g_assert_cmpint(nw_project_restore_previous(project, &error), ==, NW_BAD_FORMAT);
  expect_text(project, broken);
  g_object_unref(project);
  nwt_folder_free(folder);
}

static void test_files(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *place = g_build_filename(folder, "my project", NULL),
                  *set = nwt_set(folder, "pictures", 3, 10);
  g_autofree char *path = g_build_filename(place, "project.json", NULL);
  g_autoptr(NwProject) project = simplecnn(), back = NULL, other = NULL;
  NwError error = {0};
  g_assert_true(nw_project_is_dirty(project));
  g_assert_cmpint(nw_project_save(project, &error), ==, NW_BAD_STATE); /* no folder yet */
  nw_project_set_name(project, "stripes \"äö\"");
  ok(nw_project_set_dataset(project, set, &error), &error);
  ok(nw_project_set_config(project, "optimizer", "sgd", &error), &error);
  ok(nw_project_set_config(project, "optimizer.momentum", "0.9", &error), &error);
  ok(nw_project_set_config(project, "schedule", "cosine", &error), &error);
  ok(nw_project_set_split(project, 5, 0.4, &error), &error);
  ok(nw_project_save_as(project, place, &error), &error);
  g_assert_false(nw_project_is_dirty(project));
  g_autofree char *written = text_of(project);
  ok(nw_project_open(place, &back, &error), &error);
  expect_text(back, written);
  g_assert_cmpstr(nw_project_name(back), ==, "stripes \"äö\"");
  g_assert_null(nw_project_manifest(back)); /* nothing is read before it is asked for */
  g_assert_cmpstr(nw_project_obstacle(back, NULL), ==, "The data set has not been read yet");
  ok(nw_project_scan(back, &error), &error);
  g_assert_null(nw_project_obstacle(back, NULL));
  expect_text(back, written); /* scanning what it names changes nothing */
  g_assert_false(nw_project_is_dirty(back));
  g_assert_cmpstr(nw_project_manifest(back)->digest, ==, nw_project_manifest(project)->digest);
  /* undo back to what was saved is not dirty */
  ok(nw_project_set_config(back, "epochs", "99", &error), &error);
  g_assert_true(nw_project_is_dirty(back));
  nw_project_undo(back);
  g_assert_false(nw_project_is_dirty(back));
  g_autofree char *before = NULL, *after = NULL;
  g_assert_true(g_file_get_contents(path, &before, NULL, NULL));
  g_autoptr(NwProject) stranger = simplecnn();
  g_assert_cmpint(nw_project_save_as(stranger, place, &error), ==, NW_EXISTS); /* nothing is written over */
  g_assert_cmpint(nw_project_open("/nowhere/at/all", &other, &error), ==, NW_NOT_FOUND);
  g_assert_true(g_file_get_contents(path, &after, NULL, NULL));
  g_assert_cmpstr(before, ==, after);
  nwt_folder_free(folder);
}

/* Any cut and any flipped letter of a project file: a sentence or a project, never a crash. */
static void test_damaged_files(void)
{
  g_autoptr(NwProject) project = simplecnn();
  g_autofree char *text = text_of(project);
  gsize n = strlen(text);
  NwError error = {0};
  guint refused = 0, cuts = 0;
  for (gsize cut = 0; cut < n; cut += 1 + n / 300, cuts++) {
    g_autofree char *part = g_strndup(text, cut);
    NwProject *out = NULL;
    error.text[0] = '\0';
    g_assert_cmpint(nw_project_open_text(part, NULL, &out, &error), !=, NW_OK);
    g_assert_cmpint(error.text[0], !=, '\0');
    g_assert_null(out);
  }
  for (int i = 0; i < 400; i++) {
    g_autofree char *wrong = g_strdup(text);
    wrong[g_test_rand_int_range(0, (gint)n)] = "x9\"{}[]:,-"[g_test_rand_int_range(0, 10)];
    NwProject *out = NULL;
    if (nw_project_open_text(wrong, NULL, &out, &error) != NW_OK)
      refused++;
    g_clear_object(&out);
  }
  /* a share that splits nothing is told, not bent */
  g_auto(GStrv) halves = g_strsplit(text, "\"val_share\": 0.2", 2);
  g_assert_nonnull(halves[1]);
  g_autofree char *share = g_strconcat(halves[0], "\"val_share\": 7", halves[1], NULL);
  NwProject *none = NULL;
  g_assert_cmpint(nw_project_open_text(share, NULL, &none, &error), ==, NW_BAD_FORMAT);
  g_assert_nonnull(strstr(error.text, "validation share is 7"));
  g_test_message("%u cuts refused, %u of 400 wrong letters refused", cuts, refused);
  g_assert_cmpint(refused, >, 100);
}

/* ---- what follows the data set ---- */

static void test_data_follows(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *three = nwt_set(folder, "three", 3, 10), *five = nwt_set(folder, "five", 5, 10);
  g_autoptr(NwProject) project = simplecnn();
  NwError error = {0};
  g_assert_cmpint(attr_of(project, "classifier.4", "out_features"), ==, 10);
  g_assert_cmpstr(nw_project_obstacle(project, NULL), ==, "Choose a folder of pictures first");
  ok(nw_project_set_dataset(project, three, &error), &error);
  g_assert_cmpint(attr_of(project, "classifier.4", "out_features"), ==, 3);
  const NwPreprocessing *p = nw_project_preprocessing(project);
  g_assert_cmpint(p->width, ==, NWT_SIDE); /* small pictures of one size keep it */
  g_assert_cmpint(p->height, ==, NWT_SIDE);
  g_assert_cmpint(p->channels, ==, 3);
  for (int c = 0; c < 3; c++)
    g_assert_true(p->mean[c] > 0.1 && p->mean[c] < 0.6 && p->deviation[c] > 0.01);
  g_assert_null(nw_project_obstacle(project, NULL));
  ok(nw_project_set_dataset(project, five, &error), &error);
  g_assert_cmpint(attr_of(project, "classifier.4", "out_features"), ==, 5);
  /* pictures of several sizes are brought to the project's; another number of classes is followed on a rescan
   * too */
  nwt_put_golden(five, "class0/photo.jpg", "photo.jpg", 100);
  nwt_put_picture(five, "class7/a.bmp", 2, 1);
  nwt_put_picture(five, "class7/b.bmp", 2, 2);
  ok(nw_project_scan(project, &error), &error);
  g_assert_cmpint(attr_of(project, "classifier.4", "out_features"), ==, 6);
  /* a set that cannot be used leaves everything as it was */
  g_autofree char *before = text_of(project);
  g_assert_cmpint(nw_project_set_dataset(project, "/nowhere/at/all", &error), ==, NW_NOT_FOUND);
  expect_text(project, before);
  g_autofree char *bytes = g_build_filename(folder, "three-\xff", NULL); /* a name that a file cannot keep */
  g_assert_cmpint(g_rename(three, bytes), ==, 0);
  g_assert_cmpint(nw_project_set_dataset(project, bytes, &error), ==, NW_BAD_DATA);
  g_assert_nonnull(strstr(error.text, "UTF-8"));
  g_assert_true(g_utf8_validate(error.text, -1, NULL));
  expect_text(project, before);
  g_assert_cmpint(nw_project_manifest(project)->classes->len, ==, 6);
  /* settings that stop Train are told with their block */
  guint32 block = 0;
  ok(nw_project_set_attr_text(project, named(project, "classifier.4"), "out_features", "2", &error), &error);
  g_assert_nonnull(nw_project_obstacle(project, &block));
  nwt_folder_free(folder);
}

static void test_grey(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *set = g_build_filename(folder, "grey", NULL);
  g_autoptr(NwProject) project = simplecnn();
  NwError error = {0};
  for (int i = 0; i < 6; i++) {
    g_autofree char *a = g_strdup_printf("grey/a/%d.png", i), *b = g_strdup_printf("grey/b/%d.jpg", i);
    nwt_put_golden(folder, a, "gray.png", 100);
    nwt_put_golden(folder, b, "gray.jpg", 100);
  }
  ok(nw_project_set_dataset(project, set, &error), &error);
  g_assert_cmpint(nw_project_preprocessing(project)->channels, ==, 1);
  g_assert_cmpint(nw_project_report(project)->status, ==, NW_OK);
  nwt_folder_free(folder);
}

static void test_mnist_numbers(void)
{
  const char *wish = g_getenv("NETWRIGHT_MNIST");
  g_autofree char *near =
      g_build_filename(g_getenv("NETWRIGHT_SOURCE"), "..", "shared", "data", "mnist", NULL);
  const char *place = wish != NULL ? wish : near;
  if (!g_file_test(place, G_FILE_TEST_IS_DIR)) {
    if (g_strcmp0(g_getenv("CI"), "true") == 0)
      g_test_fail_printf("MNIST is not at %s", place);
    else
      g_test_skip("MNIST is not there (NETWRIGHT_MNIST says where)");
    return;
  }
  g_autoptr(NwProject) project = simplecnn();
  NwError error = {0};
  ok(nw_project_set_dataset(project, place, &error), &error);
  const NwPreprocessing *p = nw_project_preprocessing(project);
  g_assert_cmpint(p->channels, ==, 1);
  g_assert_cmpint(p->width, ==, 28);
  g_assert_cmpfloat(p->mean[0], ==, 0.1307);
  g_assert_cmpfloat(p->deviation[0], ==, 0.3081);
  g_assert_cmpint(nw_manifest_count(nw_project_manifest(project), NW_SPLIT_TRAIN, -1), ==, 60000);
}

/* ---- the thread ---- */

typedef struct Answer {
  GMainLoop *loop;
  gboolean failed;
  guint dataset, network, progress;
} Answer;

static void on_done(NwProject *project, const NwError *error, gpointer data)
{
  Answer *answer = data;
  answer->failed = error != NULL;
  g_main_loop_quit(answer->loop);
}

static void count(NwProject *project, gpointer data)
{
  ++*(guint *)data;
}

static void test_async(void)
{
  char *folder = nwt_folder_new();
  g_autofree char *set = nwt_set(folder, "set", 4, 20);
  g_autoptr(NwProject) project = simplecnn();
  Answer answer = {.loop = g_main_loop_new(NULL, FALSE)};
  g_signal_connect(project, "dataset-changed", G_CALLBACK(count), &answer.dataset);
  g_signal_connect(project, "network-changed", G_CALLBACK(count), &answer.network);
  nw_project_set_dataset_async(project, set, NULL, on_done, &answer);
  g_main_loop_run(answer.loop);
  g_assert_false(answer.failed);
  g_assert_cmpint(answer.dataset, ==, 1);
  g_assert_cmpint(answer.network, >=, 1);
  g_assert_cmpint(attr_of(project, "classifier.4", "out_features"), ==, 4);
  nw_project_set_dataset_async(project, "/nowhere/at/all", NULL, on_done, &answer);
  g_main_loop_run(answer.loop);
  g_assert_true(answer.failed);
  g_assert_cmpint(nw_project_manifest(project)->classes->len, ==, 4);
  g_autoptr(GCancellable) cancellable = g_cancellable_new();
  g_cancellable_cancel(cancellable);
  nw_project_set_dataset_async(project, folder, cancellable, on_done, &answer);
  g_main_loop_run(answer.loop);
  g_assert_true(answer.failed);
  /* pictures for the eye: as they are, and as the network sees them */
  NwPreview preview = {0};
  NwError error = {0};
  ok(nw_preview_original(project, 0, 8, &preview, &error), &error);
  g_assert_cmpint(MAX(preview.width, preview.height), ==, 8);
  nw_preview_clear(&preview);
  ok(nw_preview_seen(project, 0, 0, &preview, &error), &error);
  g_assert_cmpint(preview.width, ==, NWT_SIDE);
  nw_preview_clear(&preview);
  g_assert_cmpint(nw_preview_seen(project, 100000, 0, &preview, &error), !=, NW_OK);
  g_main_loop_unref(answer.loop);
  nwt_folder_free(folder);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/project/edits", test_edits);
  g_test_add_func("/project/undo", test_undo);
  g_test_add_func("/project/random-edits", test_random_edits);
  g_test_add_func("/project/clipboard", test_clipboard);
  g_test_add_func("/project/files", test_files);
  g_test_add_func("/project/previous", test_previous);
  g_test_add_func("/project/damaged-files", test_damaged_files);
  g_test_add_func("/project/data-follows", test_data_follows);
  g_test_add_func("/project/grey", test_grey);
  g_test_add_func("/project/mnist-numbers", test_mnist_numbers);
  g_test_add_func("/project/async", test_async);
  return g_test_run();
}
