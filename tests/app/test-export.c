/* Taking a trained network away: both formats, for us and for PyTorch, and what must not happen to files. */
#include "app/export.h"
#include "app/session.h"
#include "tests/app/pictures.h"
#include "tests/engine/python.h"

static char *root, *set;
static NwHistory *history;

static void ok(NwStatus status, const NwError *error)
{
  if (status != NW_OK)
    g_error("%s", error->text);
}

/* A finished run of the template; its id. */
static char *train(const char *template, const char *epochs)
{
  NwError error = {0};
  NwProject *project = nw_project_new();
  NwSession *session = nw_session_new(history);
  ok(nw_project_set_dataset(project, set, &error), &error);
  ok(nw_project_use_template(project, nw_template_find(template), &error), &error);
  ok(nw_project_set_config(project, "epochs", epochs, &error), &error);
  ok(nw_project_set_config(project, "batch_size", "16", &error), &error);
  ok(nw_session_start(session, project, template, &error), &error);
  nw_session_wait(session);
  if (nw_session_state(session) != NW_TRAINER_FINISHED)
    g_error("%s", nw_session_error(session)->text);
  char *run = g_strdup(nw_session_run(session));
  g_object_unref(session);
  g_object_unref(project);
  while (g_main_context_iteration(NULL, FALSE))
    ;
  return run;
}

static char *place(const char *name)
{
  return g_build_filename(root, name, NULL);
}

static void take(const char *run, const char *checkpoint, const char *format, const char *path)
{
  NwError error = {0};
  g_autofree char *report = NULL;
  ok(nw_export_run(history, run, checkpoint, nw_export_format_find(format), path, &report, &error), &error);
  g_assert_true(g_str_has_prefix(report, "Written and read back: "));
  g_assert_true(g_str_has_suffix(report, "largest difference 0."));
}

static void test_formats(void)
{
  const NwExportFormat *format;
  guint n = 0;
  for (; (format = nw_export_format_at(n)) != NULL; n++) {
    g_assert_true(nw_export_format_find(format->id) == format);
    g_assert_nonnull(format->label);
    g_assert_nonnull(format->doc);
    g_assert_nonnull(format->extension);
  }
  g_assert_cmpint(n, >=, 2);
  g_assert_null(nw_export_format_find("onnx?"));
  g_assert_null(nw_export_format_find(NULL));
}

/* Each template, read by PyTorch; a branching one, too. */
static void test_torch(void)
{
  static const char *const templates[] = {"simplecnn", "resnet-small"};
  if (!nwt_have_torch())
    return;
  for (guint i = 0; i < G_N_ELEMENTS(templates); i++) {
    g_autofree char *run = train(templates[i], "1"), *weights = place("torch.pth"),
                    *model = place("torch.pt");
    take(run, "best", "weights", weights);
    take(run, "best", "torchscript", model);
    g_autofree char *side = g_strdup_printf("%d", NWT_SIDE);
    nwt_python("check_export.py", templates[i], "3", side, "3", weights, model, NULL);
    g_remove(weights);
    g_remove(model);
  }
}

/* Equal weights give equal bytes, whichever run they come from; other weights give others. */
static void test_bytes(void)
{
  g_autofree char *first = train("simplecnn", "2"), *second = train("simplecnn", "2");
  static const char *const formats[] = {"weights", "torchscript", "onnx", "safetensors", "npz"};
  g_assert_cmpstr(first, !=, second);
  for (guint i = 0; i < G_N_ELEMENTS(formats); i++) {
    g_autofree char *a = place("a"), *b = place("other-name"), *bytes = NULL;
    gsize n;
    take(first, "last", formats[i], a);
    take(second, "last", formats[i], b);
    nwt_expect_same_file(a, b);
    g_assert_true(g_file_get_contents(a, &bytes, &n, NULL));
    g_assert_null(g_strstr_len(bytes, (gssize)n, "netwright-test-")); /* no path */
    g_assert_null(memmem(bytes, n, first, strlen(first)));            /* no run id */
    g_assert_null(memmem(bytes, n, root, strlen(root)));
    g_remove(a);
    g_remove(b);
  }
}

static void refused(const char *run, const char *checkpoint, const char *path, NwStatus wanted,
                    const char *part)
{
  NwError error = {0};
  char *report = (char *)"not set";
  NwStatus status =
      nw_export_run(history, run, checkpoint, nw_export_format_find("weights"), path, &report, &error);
  if (status != wanted || strstr(error.text, part) == NULL)
    g_error("%s: %s, expected %s with \"%s\"", nw_status_text(status), error.text, nw_status_text(wanted),
            part);
  g_assert_null(report);
}

static guint files_in_root(void)
{
  g_autoptr(GDir) dir = g_dir_open(root, 0, NULL);
  guint n = 0;
  while (g_dir_read_name(dir) != NULL)
    n++;
  return n;
}

static void test_refused(void)
{
  NwError error = {0};
  NwRunInfo *info = NULL;
  g_autofree char *run = train("simplecnn", "1"), *fine = place("fine.pth"),
                  *nowhere = place("no/such/place.pth");
  guint before = files_in_root();
  refused("no such run", "best", fine, NW_NOT_FOUND, "no such run");
  refused(run, "middle", fine, NW_BAD_ARGUMENT, "choose best or last");
  refused(run, "../other/last", fine, NW_BAD_ARGUMENT, "choose best or last");
  refused(run, "last", nowhere, NW_IO, nowhere);
  refused(run, "last", root, NW_IO, root);
  g_assert_cmpint(nw_export_run(history, run, "last", NULL, fine, NULL, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpint(files_in_root(), ==, before); /* nothing half-done lies about */

  /* never onto the checkpoint itself, by whatever name */
  ok(nw_history_find(history, run, &info, &error), &error);
  g_autofree char *last = g_build_filename(info->folder, "last.pth", NULL), *link = place("link.pth");
  g_autofree char *kept = NULL, *now = NULL;
  gsize n, m;
  g_assert_true(g_file_get_contents(last, &kept, &n, NULL));
  g_assert_cmpint(symlink(last, link), ==, 0);
  refused(run, "best", last, NW_EXISTS, "checkpoint of the run itself");
  refused(run, "best", link, NW_EXISTS, "checkpoint of the run itself");
  g_assert_true(g_file_get_contents(last, &now, &m, NULL));
  g_assert_cmpmem(kept, n, now, m);
  g_remove(link);

  /* an older export stays when the new one cannot be made */
  take(run, "last", "weights", fine);
  g_autofree char *copy = place("copy.pth");
  take(run, "last", "weights", copy);
  for (gsize size = 0; size < n; size = size * 3 + 7) { /* cut checkpoints */
    g_assert_true(g_file_set_contents(last, kept, (gssize)size, NULL));
    refused(run, "last", fine, NW_BAD_FORMAT, "last.pth");
    nwt_expect_same_file(fine, copy);
  }
  g_remove(last);
  refused(run, "last", fine, NW_NOT_FOUND, "has no checkpoint \"last\"");
  nwt_expect_same_file(fine, copy);
  g_remove(fine);
  g_remove(copy);
  nw_run_info_free(info);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  NwError error = {0};
  root = nwt_folder_new();
  set = nwt_set(root, "set", 3, 20);
  g_autofree char *folder = place("history");
  ok(nw_history_open(folder, &history, &error), &error);
  g_test_add_func("/export/formats", test_formats);
  g_test_add_func("/export/bytes", test_bytes);
  g_test_add_func("/export/refused", test_refused);
  g_test_add_func("/export/torch", test_torch);
  int result = g_test_run();
  nw_history_close(history);
  g_free(set);
  nwt_folder_free(root);
  return result;
}
