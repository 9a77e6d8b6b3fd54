/* Every command of netwright, its forms, JSON and exit codes, as a script sees them. */
#include "tests/app/cli-run.h"

char *nwt_netwright;
static char *root, *history, *pictures; /* shared by all cases: one trained run */

static const char *const commands[] = {"new",  "info",    "scan",   "train", "resume",
                                       "eval", "predict", "export", "runs",  "layers"};

static void test_help(void)
{
  nwt_expect_only(history, 0, "Commands:", "%s", "");
  nwt_expect_only(history, 0, "Commands:", "--help");
  nwt_expect_only(history, 0, "netwright 0", "--version");
  nwt_expect_only(history, 2, "there is no command \"fly\"", "fly");
  for (guint i = 0; i < G_N_ELEMENTS(commands); i++) {
    g_autofree char *usage = g_strdup_printf("netwright %s [OPTION", commands[i]);
    g_autofree char *hint = g_strdup_printf("`netwright %s --help`", commands[i]);
    nwt_expect_only(history, 0, usage, "%s --help", commands[i]);
    nwt_expect_only(history, 2, "--never", "%s --never", commands[i]);
    nwt_expect_only(history, 2, hint, "%s --never", commands[i]);
    nwt_expect_only(history, 0, commands[i], "--help");
  }
}

static void test_wrong_usage(void)
{
  static const char *const lines[] = {
      "new",
      "new x --template vgg99",
      "info",
      "info . --batch -3",
      "scan",
      "scan a b",
      "train",
      "train --template simplecnn",
      "train a --template simplecnn --data b",
      "train a b",
      "train --template nothing --data b",
      "resume",
      "eval",
      "predict latest",
      "predict latest x --top 0",
      "predict latest x --checkpoint newest",
      "eval latest --checkpoint newest",
      "train . --size 28",
      "train . --threads -2",
      "resume latest --threads -2",
      "resume latest --epochs 0",
      "scan . --val-share 2",
      "export latest",
      "export latest --format weights",
      "export latest --output /dev/null",
      "export latest --format gif --output /dev/null",
      "export latest --format weights --output /dev/null --checkpoint newest",
      "runs fly",
      "runs show",
      "runs compare latest",
      "layers Conv9d",
  };
  for (guint i = 0; i < G_N_ELEMENTS(lines); i++)
    nwt_expect_only(history, 2, "netwright", "%s", lines[i]);
  /* settings that are not: the sentence names the key */
  static const char *const settings[][2] = {{"--lr fast", "lr"},
                                            {"--lr -1", "lr"},
                                            {"--epochs 0", "epochs"},
                                            {"--batch-size many", "batch_size"},
                                            {"--optimizer magic", "magic"},
                                            {"--schedule magic", "magic"},
                                            {"--set optimizer.magic=1", "magic"},
                                            {"--set nothing", "key=value"},
                                            {"--size 0x3", "--size"},
                                            {"--device cuda", "cuda"}};
  for (guint i = 0; i < G_N_ELEMENTS(settings); i++)
    nwt_expect_only(history, 2, settings[i][1], "train --template simplecnn --data %s %s", pictures,
                    settings[i][0]);
}

/* ---- projects ---- */

static void test_project(void)
{
  g_autofree char *project = g_build_filename(root, "project", NULL);
  nwt_expect_only(history, 0, "3 classes", "new '%s' --template simplecnn --data '%s'", project, pictures);
  nwt_expect_only(history, 1, "holds a project already", "new '%s' --template mlp", project);
  nwt_expect_only(history, 0, "features.0", "info '%s'", project);
  g_autofree char *text = nwt_expect(history, 0, NULL, "info '%s' --batch 16 --json", project);
  NwJson *json = nwt_json(text);
  g_assert_cmpint(nw_json_get_int(json, "batch", 0), ==, 16);
  /* 3 → 32 → 64 channels, 12 → 3 pixels, 576 → 128 → 3 */
  g_assert_cmpint(nw_json_get_int(json, "parameters", 0), ==,
                  3 * 32 * 9 + 32 + 32 * 64 * 9 + 64 + 576 * 128 + 128 + 128 * 3 + 3);
  g_assert_cmpint(nw_json_get_int(json, "training_bytes", 0), >, 0);
  NwJson *last = nw_json_at(nw_json_get(json, "blocks"), nw_json_length(nw_json_get(json, "blocks")) - 1);
  g_assert_cmpstr(nw_json_get_string(last, "name", ""), ==, "classifier.4");
  nw_json_free(json);
  nwt_expect_only(history, 0, "Finished", "train '%s' --epochs 1 --name 'from a project'", project);
  nwt_expect_only(history, 0, "from a project", "runs list");
  /* a size without channels leaves the pictures their colour */
  g_autofree char *sized = g_build_filename(root, "sized project", NULL);
  g_autofree char *made =
      nwt_expect(history, 0, "(20×20×3)", "new '%s' --data '%s' --size 20", sized, pictures);
  g_assert_nonnull(strstr(made, "sized project'\n")); /* quoted for the shell */
  /* without pictures there is something to draw, but nothing to train on */
  g_autofree char *empty = g_build_filename(root, "empty-project", NULL);
  nwt_expect_only(history, 0, "netwright train", "new '%s' --template mlp --size 28x28x1", empty);
  nwt_expect_only(history, 1, "has no data set", "train '%s'", empty);
  nwt_expect_only(history, 0, "simplecnn", "new --list");
}

static void test_scan(void)
{
  g_autofree char *text = nwt_expect(history, 0, NULL, "scan '%s' --json", pictures);
  NwJson *json = nwt_json(text);
  g_assert_cmpint(nw_json_length(nw_json_get(json, "classes")), ==, 3);
  nw_json_free(json);
  nwt_expect_only(history, 0, "3 classes, 72 pictures to train, 18 to validate", "scan '%s'", pictures);
}

/* Names come from archives of other people; they must not steer the terminal of who looks at them. */
static void test_names_that_steer(void)
{
  g_autofree char *set = nwt_set(root, "steering", 2, 3);
  nwt_put_picture(root, "steering/red\033[31m/0.bmp", 1, 1);
  nwt_put(root, "steering/red\033[31m/bell\a.png", "", 0);
  nwt_put_picture(root, "steering/red\033[31m/1.bmp", 1, 2);
  NwtOutput output = nwt_run(history, "scan '%s'", set);
  g_assert_cmpint(output.code, ==, 0);
  g_assert_nonnull(strstr(output.out, "red?[31m"));
  g_assert_nonnull(strstr(output.out, "bell?.png"));
  g_assert_null(strchr(output.out, '\033'));
  g_assert_null(strchr(output.out, '\a'));
  nwt_output_clear(&output);
  output = nwt_run(history, "scan '%s/red\033[31m/none'", set);
  g_assert_cmpint(output.code, ==, 3);
  g_assert_null(strchr(output.err, '\033'));
  nwt_output_clear(&output);
}

static void test_machine_and_layers(void)
{
  g_autofree char *machine = nwt_expect(history, 0, NULL, "info --machine --json");
  NwJson *json = nwt_json(machine);
  g_assert_nonnull(nw_json_get_string(json, "cpu", NULL));
  g_assert_nonnull(nw_json_get_string(json, "isa", NULL));
  g_assert_cmpint(nw_json_get_int(json, "threads", 0), >, 0);
  nw_json_free(json);
  g_autofree char *layers = nwt_expect(history, 0, NULL, "layers --json");
  json = nwt_json(layers);
  g_assert_cmpint(nw_json_length(json), >, 15);
  for (size_t i = 0; i < nw_json_length(json); i++)
    g_assert_nonnull(nw_json_get_string(nw_json_at(json, i), "doc", NULL));
  nw_json_free(json);
  nwt_expect_only(history, 0, "kernel_size", "layers Conv2d");
  nwt_expect_only(history, 0, "## Conv2d", "layers --markdown");
}

/* ---- one run, from training to export ---- */

static void check_epoch(const NwJson *line, const char *run, int epoch)
{
  static const char *const numbers[] = {"train_loss", "train_accuracy", "val_loss", "val_accuracy",
                                        "lr",         "pictures_per_s"};
  g_assert_cmpstr(nw_json_get_string(line, "event", ""), ==, "epoch");
  g_assert_cmpstr(nw_json_get_string(line, "run", ""), ==, run);
  g_assert_cmpint(nw_json_get_int(line, "epoch", 0), ==, epoch);
  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
    g_assert_true(nw_json_is_number(nw_json_get(line, numbers[i])));
  for (guint i = 1; i < 4; i += 2) {
    double share = nw_json_get_real(line, numbers[i], -1);
    g_assert_true(share >= 0 && share <= 1);
  }
}

static void test_train_json(void)
{
  g_autofree char *text = nwt_expect(
      history, 0, NULL,
      "train --template simplecnn --data '%s' --epochs 4 --batch-size 16 --lr 2e-3 --optimizer adamw "
      "--schedule cosine --seed 7 --name first --set optimizer.weight_decay=0.02 --json",
      pictures);
  g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
  g_autofree char *run = nwt_latest(history);
  g_assert_cmpint(g_strv_length(lines), ==, 5);
  for (int i = 0; i < 4; i++) {
    NwJson *line = nwt_json(lines[i]);
    check_epoch(line, run, i + 1);
    nw_json_free(line);
  }
  NwJson *last = nwt_json(lines[4]);
  g_assert_cmpstr(nw_json_get_string(last, "event", ""), ==, "finished");
  g_assert_cmpstr(nw_json_get_string(last, "run", ""), ==, run);
  g_assert_cmpint(nw_json_get_int(last, "epochs", 0), ==, 4);
  g_assert_cmpint(nw_json_get_int(last, "best_epoch", 0), >, 0);
  g_assert_true(nw_json_get_real(last, "best_val_accuracy", 0) > 0.9); /* the stripes are easy */
  nw_json_free(last);
}

static void test_history(void)
{
  g_autofree char *text = nwt_expect(history, 0, NULL, "runs show first --json");
  NwJson *json = nwt_json(text);
  NwJson *training = nw_json_get(nw_json_get(json, "config"), "training");
  g_assert_cmpstr(nw_json_get_string(json, "state", ""), ==, "finished");
  g_assert_cmpint(nw_json_get_int(training, "batch_size", 0), ==, 16);
  g_assert_cmpint(nw_json_get_int(training, "seed", 0), ==, 7);
  NwJson *metrics = nw_json_get(json, "metrics");
  g_assert_cmpint(nw_json_length(nw_json_get(metrics, "train_loss")), ==, 4 * 5); /* 72 pictures by 16 */
  g_assert_cmpint(nw_json_length(nw_json_get(metrics, "val_accuracy")), ==, 4);
  g_assert_nonnull(nw_json_get_string(nw_json_get(json, "environment"), "cpu", NULL));
  nw_json_free(json);
  nwt_expect_only(history, 0, "Finished",
                  "train --template simplecnn --data '%s' --epochs 1 --lr 0.1 --name second", pictures);
  nwt_expect_only(history, 0, "training.lr", "runs compare first second");
  g_autofree char *differences = nwt_expect(history, 0, NULL, "runs compare first second --json");
  json = nwt_json(differences);
  NwJson *rows = nw_json_get(json, "differences");
  g_assert_nonnull(nw_json_get(rows, "training.lr"));
  g_assert_nonnull(nw_json_get(rows, "best_val_accuracy"));
  g_assert_null(nw_json_get(rows, "dataset.path")); /* the same in both */
  nw_json_free(json);
  nwt_expect_only(history, 0, NULL, "runs rename second 'the other'");
  nwt_expect_only(history, 0, NULL, "runs tag 'the other' 'try, lr'");
  nwt_expect_only(history, 0, "the trash", "runs delete 'the other'");
  g_autofree char *rest = nwt_expect(history, 0, NULL, "runs list");
  g_assert_null(strstr(rest, "the other"));
  nwt_expect_only(history, 0, "the other", "runs list --all");
  nwt_expect_only(history, 3, "There is no run", "runs show 'the other'");
  g_autofree char *all = nwt_expect(history, 0, NULL, "runs list --all --json");
  json = nwt_json(all);
  g_assert_cmpstr(nw_json_get_string(nw_json_at(json, 0), "tags", ""), ==, "try, lr");
  nwt_expect_only(history, 0, NULL, "runs restore %s", nw_json_get_string(nw_json_at(json, 0), "run", ""));
  nw_json_free(json);
  nwt_expect_only(history, 0, "the other", "runs list");
  nwt_expect_only(history, 3, "There is no run", "runs show zzz");
  nwt_expect_only(history, 1, "finished", "resume first"); /* nothing to go on with, and it says how to */
  nwt_expect_only(history, 0, "epoch 5/5", "resume first --epochs 5");
}

static void test_use(void)
{
  g_autofree char *text = nwt_expect(history, 0, NULL, "eval first --json");
  NwJson *json = nwt_json(text);
  g_assert_cmpint(nw_json_get_int(json, "pictures", 0), ==, 18);
  g_assert_true(nw_json_get_real(json, "accuracy", 0) > 0.9);
  nw_json_free(json);
  nwt_expect_only(history, 0, "90 pictures", "eval first --data '%s'", pictures);
  nwt_expect_only(history, 0, "class0", "eval first");
  nwt_expect_only(history, 3, "No such", "eval first --data /nowhere/at/all");
  g_autofree char *guess =
      nwt_expect(history, 0, NULL, "predict first --json --top 2 '%s/class1/003.bmp'", pictures);
  json = nwt_json(guess);
  NwJson *top = nw_json_get(json, "top");
  g_assert_cmpint(nw_json_length(top), ==, 2);
  g_assert_cmpstr(nw_json_get_string(nw_json_at(top, 0), "class", ""), ==, "class1");
  nw_json_free(json);
  nwt_expect_only(history, 0, "class2", "predict latest '%s/class2/003.bmp' /nowhere.png", pictures);
  nwt_expect_only(history, 0, "1 of 2 pictures", "predict latest '%s/class2/003.bmp' /nowhere.png", pictures);
  nwt_expect_only(history, 3, "/nowhere.png: it cannot be opened", "predict first /nowhere.png");
  nwt_expect_only(history, 3, "/class1: this is a folder", "predict first '%s/class1'", pictures);
  nwt_expect_only(history, 3, "There is no file /nowhere.pth", "predict /nowhere.pth x.png");
}

static void test_export(void)
{
  g_autofree char *run = NULL, *text = nwt_expect(history, 0, NULL, "runs show first --json");
  NwJson *json = nwt_json(text);
  run = g_strdup(nw_json_get_string(json, "run", ""));
  nw_json_free(json);
  static const char *const formats[][2] = {{"weights", "pth"},
                                           {"torchscript", "pt"},
                                           {"onnx", "onnx"},
                                           {"safetensors", "safetensors"},
                                           {"npz", "npz"}};
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
    g_autofree char *a = g_strdup_printf("%s/a.%s", root, formats[i][1]);
    g_autofree char *b = g_strdup_printf("%s/b.%s", root, formats[i][1]);
    g_autofree char *bytes = NULL;
    gsize n;
    nwt_expect_only(history, 0, "read back", "export first --format %s --output '%s'", formats[i][0], a);
    g_usleep(1100 * 1000); /* another second on the clock */
    nwt_expect_only(history, 0, "read back", "export first --format %s --output '%s'", formats[i][0], b);
    nwt_expect_same_file(a, b);
    nwt_expect_only(history, 0, "read back", "export first --output '%s'", b); /* the name tells the format */
    nwt_expect_same_file(a, b);
    g_assert_true(g_file_get_contents(a, &bytes, &n, NULL));
    g_assert_null(memmem(bytes, n, run, strlen(run)));
    g_assert_null(memmem(bytes, n, root, strlen(root)));
    nwt_expect_only(history, 0, "classifier.4.bias", "info '%s'", a);
    nwt_expect_only(history, 3, "Give a run", "predict '%s' x.png", a);
    nwt_expect_only(history, 1, NULL, "export first --format %s --output /nowhere/at/all.x", formats[i][0]);
  }
  nwt_expect_only(history, 0, "Checkpoint", "info '%s/runs/%s/last.pth'", history, run);
  nwt_expect_only(history, 0, "class0", "predict '%s/runs/%s/last.pth' '%s/class0/000.bmp'", history, run,
                  pictures);
}

/* A training that begins with the weights of another one, by name; with those of another network, not at all.
 */
static void test_weights(void)
{
  static const char *const names[] = {"w.pth", "w.safetensors", "w.npz", "w.onnx", "w.pt"};
  for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *file = g_build_filename(root, names[i], NULL);
    nwt_expect_only(history, 0, "read back", "export first --output '%s'", file);
    nwt_expect_only(history, 0, "8 of 8 tensors come from the file",
                    "new '%s/with-%s' --template simplecnn --data '%s' --weights '%s'", root, names[i],
                    pictures, file);
    nwt_expect_only(history, 3, "fits this network",
                    "new '%s/bad-%s' --template mlp --data '%s' --weights '%s'", root, names[i], pictures,
                    file);
  }
  nwt_expect_only(history, 0, "Finished", "train '%s/with-w.npz' --epochs 1 --name warm", root);
  nwt_expect_only(history, 2, "name or order", "new '%s/x' --weights '%s/w.pth' --match luck", root, root);
  nwt_expect_only(history, 2, "efficientnet-lite0", "new '%s/x' --template lenet --pretrained", root);
  nwt_expect_only(history, 0, "left as it is: _fc.weight",
                  "new '%s/lite' --from efficientnet-lite0 --pretrained --data '%s'", root, pictures);
}

/* The set changes after the training: its numbers are not silently taken for those of the run. */
static void test_changed_set(void)
{
  g_autofree char *set = nwt_set(root, "changing", 2, 10),
                  *other = g_build_filename(root, "the other's", NULL);
  nwt_expect_only(history, 0, "Finished",
                  "train --template mlp --data '%s' --epochs 1 --history \"%s\" --name changing", set, other);
  NwtOutput output = nwt_run(history, "eval changing --history \"%s\"", other);
  g_assert_cmpint(output.code, ==, 0);
  g_assert_cmpstr(output.err, ==, "");
  nwt_output_clear(&output);
  nwt_put_picture(root, "changing/class1/more.bmp", 1, 77);
  nwt_expect_only(history, 0, NULL, "eval changing --history \"%s\"", other);
  output = nwt_run(history, "eval changing --history \"%s\"", other);
  g_assert_nonnull(strstr(output.err, "has changed"));
  nwt_output_clear(&output);
  nwt_put_picture(root, "changing/between/000.bmp", 1, 78);
  nwt_expect_only(history, 3, "\"between\"", "eval changing --history \"%s\"", other);
  /* a line to copy finds the history that was named */
  g_autofree char *hint =
      nwt_expect(history, 0, "runs restore", "runs delete changing --history \"%s\"", other);
  g_autofree char *quoted = g_shell_quote(other), *option = g_strdup_printf(" --history %s`", quoted);
  g_assert_nonnull(strstr(hint, option));
}

/* A progress line with rate and time left where somebody looks, plain lines in a pipe. */
static void test_terminal(void)
{
  g_autofree char *script = g_find_program_in_path("script");
  if (script == NULL) {
    g_test_skip("`script`, which lends a terminal, is not installed");
    return;
  }
  g_autofree char *line = g_strdup_printf(
      "script -qec \"'%s' train --template mlp --data '%s' --epochs 2\" /dev/null", nwt_netwright, pictures);
  g_auto(GStrv) argv = NULL, environment = nwt_environment(history);
  g_autofree char *out = NULL;
  int status = 0;
  g_assert_true(g_shell_parse_argv(line, NULL, &argv, NULL));
  g_assert_true(
      g_spawn_sync(NULL, argv, environment, G_SPAWN_SEARCH_PATH, NULL, NULL, &out, NULL, &status, NULL));
  g_assert_cmpint(nwt_code(status), ==, 0);
  g_assert_nonnull(strstr(out, "\r\033[Kepoch 1/2"));
  g_assert_nonnull(strstr(out, "pictures/s"));
  g_assert_nonnull(strstr(out, " left"));
  g_autofree char *pipe =
      nwt_expect(history, 0, "epoch 2/2", "train --template mlp --data '%s' --epochs 2", pictures);
  g_assert_null(strchr(pipe, '\r'));
  g_assert_null(strchr(pipe, '\033'));
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_assert_cmpint(argc, ==, 2);
  nwt_netwright = argv[1];
  root = nwt_folder_new();
  history = g_build_filename(root, "history", NULL);
  pictures = nwt_set(root, "pictures", 3, 30);
  g_test_add_func("/cli/help", test_help);
  g_test_add_func("/cli/wrong-usage", test_wrong_usage);
  g_test_add_func("/cli/project", test_project);
  g_test_add_func("/cli/scan", test_scan);
  g_test_add_func("/cli/names-that-steer", test_names_that_steer);
  g_test_add_func("/cli/machine-and-layers", test_machine_and_layers);
  g_test_add_func("/cli/train-json", test_train_json);
  g_test_add_func("/cli/history", test_history);
  g_test_add_func("/cli/use", test_use);
  g_test_add_func("/cli/export", test_export);
  g_test_add_func("/cli/weights", test_weights);
  g_test_add_func("/cli/changed-set", test_changed_set);
  g_test_add_func("/cli/terminal", test_terminal);
  int result = g_test_run();
  nwt_folder_free(root);
  return result;
}
