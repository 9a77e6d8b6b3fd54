/* What follows from the rows for exports: every layer, with the attributes and sizes of its own cases, stands
 * behind small layers that bring a picture into its shape, is written as TorchScript, and PyTorch computes
 * the same. A new layer is tested here without a word in this file. */
#include <glib/gstdio.h>
#include <string.h>

#include "engine/graph/plan.h"
#include "engine/io/pth.h"
#include "engine/io/torchscript.h"
#include "tests/engine/nets.h"
#include "tests/engine/python.h"

enum { SIDE = 4 };

typedef struct Shape {
  int ndim;
  int64_t dims[NW_MAX_DIMS];
  int below; /* whole numbers below it; 0: floating ones */
} Shape;

static Shape parse(const char *text)
{
  const char *below = strchr(text, '<');
  Shape shape = {.below = below ? atoi(below + 1) : 0};
  for (const char *at = text; g_ascii_isdigit(*at);) {
    char *end;
    shape.dims[shape.ndim++] = g_ascii_strtoll(at, &end, 10);
    at = *end == 'x' ? end + 1 : "";
  }
  return shape;
}

/* input → Flatten → Linear → Reshape: any numbers of this shape. */
static uint32_t feed(NwNetwork *network, uint32_t input, int k, const Shape *shape)
{
  int64_t count = 1;
  g_autofree char *flat = g_strdup_printf("flat%d", k), *mix = g_strdup_printf("mix%d", k),
                  *fold = g_strdup_printf("fold%d", k);
  g_autoptr(GString) sizes = g_string_new("shape=");
  for (int i = 1; i < 4; i++) {
    count *= i < shape->ndim ? shape->dims[i] : 1;
    g_string_append_printf(sizes, i > 1 ? "x%d" : "%d", i < shape->ndim ? (int)shape->dims[i] : 0);
  }
  g_autofree char *features = g_strdup_printf("out_features=%d", (int)count);
  uint32_t at = nwt_block(network, "flatten", flat, "", input);
  at = nwt_block(network, "linear", mix, features, at);
  if (shape->below > 6) { /* from 0 to 6, of which the layer takes the whole part */
    g_autofree char *cut = g_strdup_printf("cut%d", k);
    at = nwt_block(network, "relu6", cut, "", at);
  }
  return nwt_block(network, "reshape", fold, sizes->str, at);
}

/* Attributes that are hidden cannot be set on a block. */
static char *visible(const NwOp *op, const char *attrs)
{
  g_autoptr(GString) kept = g_string_new("");
  g_auto(GStrv) words = g_strsplit(attrs, " ", -1);
  for (char **w = words; *w; w++) {
    g_auto(GStrv) pair = g_strsplit(*w, "=", 2);
    const NwAttr *attr = pair[0] ? nw_attr_find(op, pair[0]) : NULL;
    if (attr != NULL && !(attr->flags & NW_ATTR_HIDDEN))
      g_string_append_printf(kept, "%s ", *w);
  }
  return g_string_free(g_steal_pointer(&kept), FALSE);
}

/* The network around one case; NULL: it cannot be fed, *why says so. */
static NwNetwork *draw(const NwOp *op, const NwOpCase *c, int64_t *batch, const char **why)
{
  NwError error;
  NwNetwork *network;
  g_auto(GStrv) words = g_strsplit(c->shapes, " ", -1);
  Shape shapes[NW_MAX_PORTS] = {0};
  int n = 0;
  *why = NULL;
  for (int port = 0; words[port] != NULL; port++) {
    const NwPort *p = &op->inputs[MIN(port, op->n_inputs - 1)];
    if (p->role != NW_PORT_DATA || strcmp(words[port], "-") == 0)
      continue;
    shapes[n] = parse(words[port]);
    if (shapes[n].below > 0 && shapes[n].below <= 6)
      *why = "its whole numbers are too small";
    else if (shapes[n].ndim < 2 || shapes[n].ndim > 4 || shapes[n].dims[0] != shapes[0].dims[0])
      *why = "its inputs are no batch of the same size";
    n++;
  }
  if (*why != NULL)
    return NULL;
  *batch = shapes[0].dims[0];
  nwt_ok(nw_network_new(&network, &error));
  uint32_t input = nwt_block(network, "input", "input", "", 0), feeds[NW_MAX_PORTS];
  for (int k = 0; k < n; k++)
    feeds[k] = feed(network, input, k, &shapes[k]);
  g_autofree char *attrs = visible(op, c->attrs);
  uint32_t at = nwt_block(network, op->id, "layer", attrs, feeds[0]);
  for (int k = 1; k < n; k++)
    nwt_ok(nw_network_connect(network, feeds[k], at, k, &error));
  NwNetworkReport report;
  NwSpec spec = nw_spec(NW_F32, 4, (int64_t[]){*batch, 2, SIDE, SIDE});
  nwt_ok(nw_network_check(network, &spec, 0, &report, &error));
  int ndim = report.out.ndim;
  if (ndim < 0)
    g_error("%s \"%s\" %s: %s", op->id, c->attrs, c->shapes, report.error.text);
  nw_network_report_clear(&report);
  if (ndim > 2)
    nwt_block(network, "flatten", "end", "", at);
  if (ndim >= 2)
    return network;
  *why = "it takes the batch apart";
  nw_network_free(network);
  return NULL;
}

/* Numbers that make every part count: norms' statistics and factors are not what they start from. */
static void disturb(NwModel *model)
{
  for (int i = 0; i < nw_model_count(model); i++) {
    NwParam *param = nw_model_at(model, i);
    for (int64_t k = 0; param->spec.dtype == NW_F32 && k < nw_spec_count(&param->spec); k++)
      ((float *)param->data)[k] +=
          0.2f * (param->buffer ? 1.5f : 0) + 0.2f * nwt_number(6, 60, (uint64_t)i, (uint64_t)k);
  }
}

static void write_case(const char *folder, int number, NwNetwork *network, int64_t batch)
{
  NwError error;
  NwModel *model;
  NwGraph *graph;
  NwPlan *plan;
  NwVal x, y, params[256];
  NwSpec spec = nw_spec(NW_F32, 4, (int64_t[]){batch, 2, SIDE, SIDE});
  nwt_ok(nw_model_new(network, &spec, 0, 11, &model, &error));
  disturb(model);
  g_autofree float *input = g_new(float, nw_spec_count(&spec));
  for (int64_t i = 0; i < nw_spec_count(&spec); i++)
    input[i] = 2 * nwt_number(5, 50, 0, (uint64_t)i);
  nwt_ok(nw_graph_new(&graph, &error));
  nwt_ok(nw_graph_input(graph, "x", &spec, NW_INPUT_DATA, false, &x, &error));
  nwt_ok(nw_model_emit_graph(model, graph, x, false, params, &y, &error));
  NwSpec out = nw_graph_spec(graph, y);
  nwt_ok(nw_plan_compile(graph, &y, 1, &(NwPlanOptions){0}, &plan, &error));
  nwt_ok(nw_plan_bind(plan, x, input, &error));
  for (int i = 0; i < nw_model_count(model); i++)
    nwt_ok(nw_plan_bind(plan, params[i], nw_model_at(model, i)->data, &error));
  nwt_ok(nw_plan_run(plan, &(NwRun){.seed = 1}, &error));
  g_autofree char *script = g_strdup_printf("%s/%d.pt", folder, number),
                  *io = g_strdup_printf("%s/%d.pth", folder, number);
  nwt_ok(nw_torchscript_write(script, model, NULL, &error));
  NwPickle *root = nw_pickle_dict();
  nw_pickle_set(root, "input", nw_pickle_tensor(&spec, input));
  nw_pickle_set(root, "output", nw_pickle_tensor(&out, nw_plan_data(plan, y)));
  nwt_ok(nw_pth_write(io, root, &error));
  nw_pickle_free(root);
  nw_plan_free(plan);
  nw_model_free(model);
}

static void test_exports(void)
{
  const NwOp *op;
  int written = 0, skipped = 0;
  if (!nwt_have_torch())
    return;
  g_autofree char *folder = g_dir_make_tmp("netwright-XXXXXX", NULL);
  g_autofree char *list = g_build_filename(folder, "list", NULL);
  g_autoptr(GString) names = g_string_new("");
  for (size_t k = 0; (op = nw_op_at(k)) != NULL; k++) {
    int before = written;
    if (op->label == NULL || op->group == NW_GROUP_INPUT || op->group == NW_GROUP_LOSS ||
        op->group == NW_GROUP_OPTIMIZER)
      continue;
    const char *why = NULL;
    for (int c = 0; c < op->n_cases; c++) {
      int64_t batch = 0;
      NwNetwork *network = draw(op, &op->cases[c], &batch, &why);
      if (network == NULL) {
        g_test_message("not exported: %s \"%s\" %s, for %s", op->id, op->cases[c].attrs, op->cases[c].shapes,
                       why);
        skipped++;
        continue;
      }
      write_case(folder, written++, network, batch);
      nw_network_free(network);
      g_string_append_printf(names, "%s %s %s\n", op->id, op->cases[c].attrs, op->cases[c].shapes);
    }
    if (written == before)
      g_error("no case of %s can be exported", op->id);
  }
  g_assert_true(g_file_set_contents(list, names->str, -1, NULL));
  nwt_python("check_layers.py", folder, NULL);
  g_test_message("%d cases exported, %d cannot be fed from a picture", written, skipped);
  g_assert_cmpint(written, >, 100);
  for (int i = 0; i < written; i++)
    for (int kind = 0; kind < 2; kind++) {
      g_autofree char *path = g_strdup_printf("%s/%d.%s", folder, i, kind ? "pt" : "pth");
      g_assert_cmpint(g_unlink(path), ==, 0);
    }
  g_unlink(list);
  g_assert_cmpint(g_rmdir(folder), ==, 0);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/ops/torchscript", test_exports);
  return g_test_run();
}
