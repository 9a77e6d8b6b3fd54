/* Networks as documents: edits, wires, names, JSON, and the sentences that wrong networks get. */
#include <glib.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/nn/network.h"
#include "engine/nn/template.h"

static NwError error;

static void ok(NwStatus status)
{
  if (status != NW_OK)
    g_error("%s: %s", nw_status_text(status), error.text);
}

static NwNetwork *empty(void)
{
  NwNetwork *network;
  ok(nw_network_new(&network, &error));
  return network;
}

static uint32_t add(NwNetwork *network, const char *op, const char *name, uint32_t from)
{
  uint32_t id = 0;
  const NwOp *row = nw_op_find(op);
  g_assert_nonnull(row);
  ok(nw_network_add(network, row, name, 0, &id, &error));
  if (from != 0)
    ok(nw_network_connect(network, from, id, 0, &error));
  return id;
}

static void set(NwNetwork *network, uint32_t id, const char *key, const char *text)
{
  ok(nw_network_set_text(network, id, key, text, &error));
}

/* input → conv → relu → flatten → linear(10) */
typedef struct Small {
  uint32_t input, conv, relu, flatten, linear;
} Small;

static Small small(NwNetwork *network)
{
  Small s;
  s.input = add(network, "input", NULL, 0);
  s.conv = add(network, "conv2d", "features.0", s.input);
  s.relu = add(network, "relu", "features.1", s.conv);
  s.flatten = add(network, "flatten", "flatten", s.relu);
  s.linear = add(network, "linear", "fc", s.flatten);
  set(network, s.linear, "out_features", "10");
  return s;
}

static NwSpec pictures(int64_t n, int64_t c, int64_t h, int64_t w)
{
  return nw_spec(NW_F32, 4, (int64_t[]){n, c, h, w});
}

/* ---- edits ---- */

static void test_edits(void)
{
  NwNetwork *network = empty();
  Small s = small(network);
  g_assert_cmpint(nw_network_count(network), ==, 5);
  g_assert_cmpstr(nw_network_find(network, s.input)->name, ==, "input");
  g_assert_cmpuint(nw_network_find(network, s.relu)->from[0], ==, s.conv);

  /* removing cuts wires; the number is not used again; adding it back by number restores its place */
  ok(nw_network_remove(network, s.relu, &error));
  g_assert_cmpuint(nw_network_find(network, s.flatten)->from[0], ==, 0);
  g_assert_null(nw_network_find(network, s.relu));
  uint32_t fresh = add(network, "relu", "other", 0);
  g_assert_cmpuint(fresh, >, s.linear);
  ok(nw_network_remove(network, fresh, &error));
  g_assert_cmpuint(add(network, "relu", NULL, 0), >, fresh);
  uint32_t back = 0;
  ok(nw_network_add(network, nw_op_find("relu"), "features.1", s.relu, &back, &error));
  g_assert_cmpuint(back, ==, s.relu);
  g_assert_cmpuint(nw_network_at(network, 2)->id, ==, s.relu);
  g_assert_cmpint(nw_network_add(network, nw_op_find("relu"), "again", s.relu, &back, &error), ==, NW_EXISTS);

  ok(nw_network_move(network, s.conv, 12.5, -3, &error));
  g_assert_cmpfloat(nw_network_find(network, s.conv)->x, ==, 12.5);
  g_assert_cmpint(nw_network_move(network, s.conv, 0.0 / 0.0, 0, &error), ==, NW_BAD_ARGUMENT);
  ok(nw_network_set_frozen(network, s.conv, true, &error));
  g_assert_true(nw_network_find(network, s.conv)->frozen);
  g_assert_cmpint(nw_network_remove(network, 999, &error), ==, NW_NOT_FOUND);

  /* values are checked by their rows, and the error says where */
  g_assert_cmpint(nw_network_set_text(network, s.conv, "stride", "0", &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpuint(error.block, ==, s.conv);
  g_assert_cmpstr(error.property, ==, "stride");
  g_assert_cmpint(nw_network_set_text(network, s.conv, "speed", "1", &error), ==, NW_NOT_FOUND);
  g_assert_nonnull(strstr(error.text, "speed"));
  g_assert_cmpint(nw_network_set_text(network, s.conv, "training", "1", &error), ==, NW_NOT_FOUND);

  /* only layers, and one input */
  uint32_t id;
  g_assert_cmpint(nw_network_add(network, nw_op_find("cross_entropy"), NULL, 0, &id, &error), ==,
                  NW_BAD_ARGUMENT);
  g_assert_cmpint(nw_network_add(network, nw_op_find("sgd"), NULL, 0, &id, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpint(nw_network_add(network, nw_op_find("relu_grad"), NULL, 0, &id, &error), ==,
                  NW_BAD_ARGUMENT);
  g_assert_cmpint(nw_network_add(network, nw_op_find("input"), NULL, 0, &id, &error), ==, NW_EXISTS);
  nw_network_free(network);
}

static void test_names(void)
{
  NwNetwork *network = empty();
  Small s = small(network);
  static const char *const bad[] = {
      "",   ".",   "a.", ".a", "a..b", "a b", "a-b", "größe", "a/b", "features", "features.0.weight",
      "fc", "fc.0"};
  for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
    error = (NwError){0};
    g_assert_cmpint(nw_network_rename(network, s.relu, bad[i], &error), !=, NW_OK);
    g_assert_cmpstr(error.property, ==, "name");
    g_assert_cmpuint(error.block, ==, s.relu);
    g_assert_cmpstr(nw_network_find(network, s.relu)->name, ==, "features.1");
  }
  static const char *const good[] = {"a", "_x.9.y_z", "0", "features.00", "features.1", "fc1"};
  for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
    ok(nw_network_rename(network, s.relu, good[i], &error));
    g_assert_true(nw_network_find_name(network, good[i]) == nw_network_find(network, s.relu));
  }
  char longest[400];
  memset(longest, 'a', sizeof longest);
  longest[399] = 0;
  g_assert_cmpint(nw_network_rename(network, s.relu, longest, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpstr(nw_network_find(network, add(network, "conv2d", NULL, 0))->name, ==, "conv1");
  g_assert_cmpstr(nw_network_find(network, add(network, "conv2d", NULL, 0))->name, ==, "conv2");
  nw_network_free(network);
}

static void test_wires(void)
{
  NwNetwork *network = empty();
  Small s = small(network);
  g_assert_cmpint(nw_network_connect(network, s.linear, s.conv, 0, &error), ==, NW_BAD_ARGUMENT);
  g_assert_nonnull(strstr(error.text, "loop"));
  g_assert_cmpint(nw_network_connect(network, s.conv, s.conv, 0, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpint(nw_network_connect(network, s.conv, s.relu, 1, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpint(nw_network_connect(network, s.conv, s.relu, -1, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpint(nw_network_connect(network, s.conv, s.input, 0, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpint(nw_network_connect(network, 999, s.relu, 0, &error), ==, NW_NOT_FOUND);
  ok(nw_network_connect(network, 0, s.relu, 0, &error));
  g_assert_cmpuint(nw_network_find(network, s.relu)->from[0], ==, 0);
  ok(nw_network_connect(network, s.input, s.relu, 0, &error)); /* replaces */
  g_assert_cmpuint(nw_network_find(network, s.relu)->from[0], ==, s.input);

  /* Concat grows by one socket at a time and shrinks from its end */
  uint32_t concat = add(network, "concat", NULL, s.conv);
  int base = nw_network_find(network, concat)->n_from;
  for (int k = 1; k < NW_MAX_PORTS; k++)
    ok(nw_network_connect(network, s.relu, concat, k, &error));
  g_assert_cmpint(nw_network_find(network, concat)->n_from, ==, NW_MAX_PORTS);
  g_assert_cmpint(nw_network_connect(network, s.relu, concat, NW_MAX_PORTS, &error), ==, NW_BAD_ARGUMENT);
  ok(nw_network_connect(network, 0, concat, 3, &error));
  g_assert_cmpint(nw_network_find(network, concat)->n_from, ==, NW_MAX_PORTS);
  for (int k = NW_MAX_PORTS - 1; k >= 2; k--)
    ok(nw_network_connect(network, 0, concat, k, &error));
  g_assert_cmpint(nw_network_find(network, concat)->n_from, ==, MAX(base, 2));
  nw_network_free(network);
}

/* ---- JSON ---- */

static void assert_same(const NwNetwork *a, const NwNetwork *b)
{
  NwJson *x = nw_network_to_json(a), *y = nw_network_to_json(b);
  g_assert_nonnull(x);
  g_assert_true(nw_json_equal(x, y));
  nw_json_free(x);
  nw_json_free(y);
}

static void test_json(void)
{
  for (size_t i = 0; nw_template_at(i) != NULL; i++) {
    NwNetwork *network, *copy, *again;
    ok(nw_template_build(nw_template_at(i), 3, 64, 64, 7, &network, &error));
    ok(nw_network_set_frozen(network, nw_network_at(network, 1)->id, true, &error));
    NwJson *json = nw_network_to_json(network);
    char *text = nw_json_print(json, true);
    NwJson *read;
    ok(nw_json_parse(text, strlen(text), "test", &read, &error));
    ok(nw_network_from_json(read, &again, &error));
    assert_same(network, again);
    ok(nw_network_copy(network, &copy, &error));
    assert_same(network, copy);
    /* the copy lives on its own */
    ok(nw_network_rename(copy, nw_network_at(copy, 0)->id, "pictures", &error));
    g_assert_cmpstr(nw_network_at(network, 0)->name, ==, "input");
    nw_json_free(json);
    nw_json_free(read);
    nw_free(text);
    nw_network_free(network);
    nw_network_free(copy);
    nw_network_free(again);
  }
}

/* Numbers of removed blocks stay unused after saving and loading. */
static void test_json_ids(void)
{
  NwNetwork *network = empty(), *again;
  Small s = small(network);
  uint32_t last = add(network, "relu", NULL, 0);
  ok(nw_network_remove(network, last, &error));
  NwJson *json = nw_network_to_json(network);
  ok(nw_network_from_json(json, &again, &error));
  g_assert_cmpuint(add(again, "relu", NULL, 0), >, last);
  g_assert_cmpuint(s.linear, <, last);
  nw_json_free(json);
  nw_network_free(network);
  nw_network_free(again);
}

static void test_json_bad(void)
{
#define BLOCK(rest) "{\"blocks\":[{\"id\":1,\"name\":\"input\",\"op\":\"input\",\"version\":1}" rest "]}"
#define CONV "\"id\":2,\"name\":\"c\",\"op\":\"conv2d\",\"version\":1"
  static const struct {
    const char *json, *says;
    NwStatus status;
  } cases[] = {
      {"[]", "list of blocks", NW_BAD_FORMAT},
      {"{}", "list of blocks", NW_BAD_FORMAT},
      {"{\"blocks\":5}", "list of blocks", NW_BAD_FORMAT},
      {"{\"blocks\":[7]}", "name or number", NW_BAD_FORMAT},
      {BLOCK(",{\"id\":2,\"name\":\"c\",\"op\":\"warp9\",\"version\":1}"), "warp9", NW_BAD_FORMAT},
      {BLOCK(",{\"id\":2,\"name\":\"c\",\"version\":1}"), "which layer", NW_BAD_FORMAT},
      {BLOCK(",{\"id\":2,\"name\":\"c\",\"op\":\"conv2d\",\"version\":99}"), "version 99", NW_TOO_NEW},
      {BLOCK(",{\"id\":2,\"name\":\"c\",\"op\":\"conv2d\"}"), "version", NW_BAD_FORMAT},
      {BLOCK(",{" CONV ",\"attrs\":{\"speed\":3}}"), "speed", NW_BAD_ARGUMENT},
      {BLOCK(",{" CONV ",\"attrs\":{\"stride\":0}}"), "tride", NW_BAD_ARGUMENT},
      {BLOCK(",{" CONV ",\"attrs\":{\"stride\":\"fast\"}}"), "tride", NW_BAD_ARGUMENT},
      {BLOCK(",{" CONV ",\"mood\":1}"), "mood", NW_BAD_FORMAT},
      {BLOCK(",{" CONV ",\"from\":[9]}"), "number 9", NW_BAD_FORMAT},
      {BLOCK(",{" CONV ",\"from\":[1,1]}"), "input number 2", NW_BAD_FORMAT},
      {BLOCK(",{" CONV ",\"from\":[2]}"), "loop", NW_BAD_FORMAT},
      {BLOCK(",{" CONV ",\"from\":\"x\"}"), "wires", NW_BAD_FORMAT},
      {BLOCK(",{" CONV ",\"from\":[1.5]}"), "wires", NW_BAD_FORMAT},
      {BLOCK(",{\"id\":1,\"name\":\"c\",\"op\":\"relu\",\"version\":1}"), "number 1", NW_BAD_FORMAT},
      {BLOCK(",{\"id\":2,\"name\":\"input\",\"op\":\"relu\",\"version\":1}"), "already", NW_BAD_FORMAT},
      {BLOCK(",{\"id\":2,\"name\":\"b\",\"op\":\"input\",\"version\":1}"), "only one", NW_BAD_FORMAT},
      {BLOCK(",{\"id\":-2,\"name\":\"b\",\"op\":\"relu\",\"version\":1}"), "name or number", NW_BAD_FORMAT},
      {BLOCK(",{\"id\":2,\"name\":\"a b\",\"op\":\"relu\",\"version\":1}"), "a b", NW_BAD_FORMAT},
  };
  for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
    NwJson *json;
    NwNetwork *network;
    ok(nw_json_parse(cases[i].json, strlen(cases[i].json), "test", &json, &error));
    error = (NwError){0};
    NwStatus status = nw_network_from_json(json, &network, &error);
    if (strstr(error.text, cases[i].says) == NULL || status == NW_OK)
      g_error("case %zu: status %d, \"%s\" should say \"%s\"", i, (int)status, error.text, cases[i].says);
    g_assert_null(network);
    if (status != cases[i].status)
      g_error("case %zu: status %s, not %s: %s", i, nw_status_text(status), nw_status_text(cases[i].status),
              error.text);
    nw_json_free(json);
  }
}

/* Damaged documents: each is read or refused, and nothing is left behind. */
static void test_json_damaged(void)
{
  NwNetwork *network;
  ok(nw_template_build(nw_template_find("resnet-small"), 3, 32, 32, 10, &network, &error));
  NwJson *json = nw_network_to_json(network);
  char *text = nw_json_print(json, false);
  size_t n = strlen(text);
  int64_t live = nw_memory_live();
  int refused = 0, read = 0;
  GRand *random = g_rand_new_with_seed(4);
  for (int round = 0; round < 1500; round++) {
    char *copy = g_strdup(text);
    for (int k = g_rand_int_range(random, 1, 4); k > 0; k--) {
      static const char alphabet[] = "0123456789-.,:\"{}[]aeinrt";
      copy[g_rand_int_range(random, 0, (int)n)] = alphabet[g_rand_int_range(random, 0, sizeof alphabet - 1)];
    }
    NwJson *damaged = NULL;
    NwNetwork *again = NULL;
    if (nw_json_parse(copy, n, "test", &damaged, &error) == NW_OK) {
      NwSpec input = pictures(2, 3, 32, 32);
      NwNetworkReport report;
      if (nw_network_from_json(damaged, &again, &error) == NW_OK) {
        read++;
        ok(nw_network_check(again, &input, 10, &report, &error));
        nw_network_report_clear(&report);
        ok(nw_network_arrange(again, &error));
      } else {
        refused++;
        g_assert_cmpuint(strlen(error.text), >, 10);
      }
    }
    nw_network_free(again);
    nw_json_free(damaged);
    g_free(copy);
    g_assert_cmpint(nw_memory_live(), ==, live);
  }
  g_test_message("%d damaged documents were read, %d refused", read, refused);
  g_assert_cmpint(read, >, 20);
  g_assert_cmpint(refused, >, 100);
  g_rand_free(random);
  nw_free(text);
  nw_json_free(json);
  nw_network_free(network);
}

/* ---- wrong networks ---- */

typedef struct Wrong {
  const char *name;
  uint32_t (*make)(NwNetwork *network); /* gives the block that must be blamed, 0: none */
  const char *says;
  const char *property;
  NwStatus status;
} Wrong;

static uint32_t wrong_empty(NwNetwork *network)
{
  return 0;
}

static uint32_t wrong_only_input(NwNetwork *network)
{
  add(network, "input", NULL, 0);
  return 0;
}

static uint32_t wrong_no_input(NwNetwork *network)
{
  Small s = small(network);
  ok(nw_network_remove(network, s.input, &error));
  return 0;
}

static uint32_t wrong_unconnected(NwNetwork *network)
{
  Small s = small(network);
  ok(nw_network_connect(network, 0, s.relu, 0, &error));
  return s.relu;
}

static uint32_t wrong_half_add(NwNetwork *network)
{
  Small s = small(network);
  uint32_t sum = add(network, "add", "sum", s.conv);
  ok(nw_network_connect(network, sum, s.relu, 0, &error));
  return sum;
}

static uint32_t wrong_add_shapes(NwNetwork *network)
{
  Small s = small(network);
  uint32_t sum = add(network, "add", "sum", s.conv);
  ok(nw_network_connect(network, s.input, sum, 1, &error));
  ok(nw_network_connect(network, sum, s.flatten, 0, &error));
  ok(nw_network_remove(network, s.relu, &error));
  return sum;
}

static uint32_t wrong_two_outputs(NwNetwork *network)
{
  Small s = small(network);
  return add(network, "sigmoid", "spare", s.relu);
}

static uint32_t wrong_classes(NwNetwork *network)
{
  Small s = small(network);
  set(network, s.linear, "out_features", "12");
  return s.linear;
}

static uint32_t wrong_classes_above(NwNetwork *network)
{
  Small s = small(network);
  set(network, s.linear, "out_features", "12");
  add(network, "softmax", "last", s.linear);
  return s.linear;
}

static uint32_t wrong_not_flat(NwNetwork *network)
{
  Small s = small(network);
  ok(nw_network_remove(network, s.linear, &error));
  ok(nw_network_remove(network, s.flatten, &error));
  return s.relu;
}

static uint32_t wrong_flat_only(NwNetwork *network)
{
  Small s = small(network);
  ok(nw_network_remove(network, s.linear, &error));
  return s.flatten;
}

static uint32_t wrong_conv_after_flatten(NwNetwork *network)
{
  Small s = small(network);
  uint32_t conv = add(network, "conv2d", "late", s.flatten);
  ok(nw_network_connect(network, conv, s.linear, 0, &error));
  return conv;
}

static uint32_t wrong_kernel(NwNetwork *network)
{
  Small s = small(network);
  set(network, s.conv, "kernel_size", "40");
  return s.conv;
}

static uint32_t wrong_kernel_height(NwNetwork *network)
{
  Small s = small(network);
  set(network, s.conv, "kernel_size", "29x3");
  return s.conv;
}

static uint32_t wrong_dilation(NwNetwork *network)
{
  Small s = small(network);
  set(network, s.conv, "dilation", "20");
  return s.conv;
}

static uint32_t wrong_groups_out(NwNetwork *network)
{
  Small s = small(network);
  set(network, s.conv, "out_channels", "10");
  set(network, s.conv, "groups", "4");
  return s.conv;
}

static uint32_t wrong_groups_in(NwNetwork *network)
{
  Small s = small(network);
  set(network, s.conv, "out_channels", "10");
  set(network, s.conv, "groups", "2");
  return s.conv;
}

static uint32_t wrong_pool(NwNetwork *network)
{
  Small s = small(network);
  uint32_t pool = add(network, "max_pool2d", "pool", s.relu);
  set(network, pool, "kernel_size", "64");
  ok(nw_network_connect(network, pool, s.flatten, 0, &error));
  return pool;
}

static uint32_t wrong_pool_chain(NwNetwork *network)
{
  Small s = small(network);
  uint32_t at = s.relu;
  for (int i = 0; i < 4; i++)
    at = add(network, "max_pool2d", NULL, at);
  uint32_t blamed = add(network, "max_pool2d", "onemore", at);
  ok(nw_network_connect(network, blamed, s.flatten, 0, &error));
  return blamed;
}

static uint32_t wrong_pool_padding(NwNetwork *network)
{
  Small s = small(network);
  uint32_t pool = add(network, "max_pool2d", "pool", s.relu);
  set(network, pool, "kernel_size", "2");
  set(network, pool, "padding", "2");
  ok(nw_network_connect(network, pool, s.flatten, 0, &error));
  return pool;
}

static uint32_t wrong_norm_flat(NwNetwork *network)
{
  Small s = small(network);
  uint32_t norm = add(network, "batch_norm2d", "bn", s.flatten);
  ok(nw_network_connect(network, norm, s.linear, 0, &error));
  return norm;
}

static uint32_t wrong_concat(NwNetwork *network)
{
  Small s = small(network);
  uint32_t pool = add(network, "max_pool2d", "pool", s.relu);
  uint32_t concat = add(network, "concat", "both", s.relu);
  ok(nw_network_connect(network, pool, concat, 1, &error));
  ok(nw_network_connect(network, concat, s.flatten, 0, &error));
  return concat;
}

static uint32_t wrong_huge(NwNetwork *network)
{
  Small s = small(network);
  uint32_t at = s.flatten;
  for (int i = 0; i < 2; i++) {
    at = add(network, "linear", NULL, at);
    set(network, at, "out_features", "65536");
  }
  ok(nw_network_connect(network, at, s.linear, 0, &error));
  set(network, s.linear, "out_features", "3");
  return s.linear;
}

static const Wrong wrongs[] = {
    {"empty", wrong_empty, "no input", "", NW_BAD_STATE},
    {"only-input", wrong_only_input, "no output", "", NW_BAD_STATE},
    {"no-input", wrong_no_input, "no input", "", NW_BAD_STATE},
    {"unconnected", wrong_unconnected, "Nothing feeds \"features.1\": draw a wire", "", NW_BAD_STATE},
    {"half-add", wrong_half_add, "sum", "", -1},
    {"add-shapes", wrong_add_shapes, "sum", "", NW_BAD_SHAPE},
    {"two-outputs", wrong_two_outputs, "two outputs, since nothing reads \"fc\" and nothing reads \"spare\"",
     "", NW_BAD_STATE},
    {"classes", wrong_classes,
     "The last block gives 12 numbers, the data set has 10 classes: set out_features to 10.", "out_features",
     NW_BAD_SHAPE},
    {"classes-above", wrong_classes_above, "set out_features of \"fc\" to 10", "out_features", NW_BAD_SHAPE},
    {"not-flat", wrong_not_flat, "gives 16×26×26 for each picture", "", NW_BAD_SHAPE},
    {"flat-only", wrong_flat_only, "end in a layer that gives 10", "", NW_BAD_SHAPE},
    {"conv-after-flatten", wrong_conv_after_flatten, "Conv2d", "", NW_BAD_SHAPE},
    {"kernel", wrong_kernel, "40", "kernel_size", NW_BAD_SHAPE},
    {"kernel-height", wrong_kernel_height, "height", "kernel_size", NW_BAD_SHAPE},
    {"dilation", wrong_dilation, "features.0", "kernel_size", NW_BAD_SHAPE},
    {"groups-out", wrong_groups_out, "4 groups do not divide 10 channels", "groups", NW_BAD_ARGUMENT},
    {"groups-in", wrong_groups_in, "2 groups do not divide the 1 channels", "groups", NW_BAD_SHAPE},
    {"pool", wrong_pool, "MaxPool2d", "kernel_size", NW_BAD_SHAPE},
    {"pool-chain", wrong_pool_chain, "onemore", "kernel_size", NW_BAD_SHAPE},
    {"pool-padding", wrong_pool_padding, "pool", "padding", -1},
    {"norm-flat", wrong_norm_flat, "BatchNorm2d", "", NW_BAD_SHAPE},
    {"concat", wrong_concat, "both", "", NW_BAD_SHAPE},
    {"huge", wrong_huge, "set out_features to 10", "out_features", NW_BAD_SHAPE},
};

static void test_wrong(gconstpointer data)
{
  const Wrong *wrong = data;
  NwNetwork *network = empty();
  uint32_t blamed = wrong->make(network);
  NwSpec input = pictures(8, 1, 28, 28);
  NwNetworkReport report;
  ok(nw_network_check(network, &input, 10, &report, &error));
  g_test_message("%s", report.error.text);
  g_assert_cmpint(report.n_errors, >, 0);
  g_assert_cmpint(report.status, ==, report.error.status);
  if ((int)wrong->status >= 0)
    g_assert_cmpstr(nw_status_text(report.status), ==, nw_status_text(wrong->status));
  if (strstr(report.error.text, wrong->says) == NULL)
    g_error("\"%s\" should say \"%s\"", report.error.text, wrong->says);
  g_assert_cmpuint(report.error.block, ==, blamed);
  g_assert_cmpstr(report.error.property, ==, wrong->property);
  if (blamed != 0 && report.blocks != NULL)
    for (int i = 0; i < report.n_blocks; i++)
      if (report.blocks[i].id == blamed && report.blocks[i].status != NW_OK)
        g_assert_cmpuint(report.blocks[i].error.block, ==, blamed);
  nw_network_report_clear(&report);
  nw_network_free(network);
}

/* ---- right networks ---- */

static void test_report(void)
{
  NwNetwork *network;
  NwNetworkReport report;
  ok(nw_template_build(nw_template_find("simplecnn"), 1, 28, 28, 10, &network, &error));
  NwSpec input = pictures(64, 1, 28, 28);
  ok(nw_network_check(network, &input, 10, &report, &error));
  g_assert_cmpint(report.status, ==, NW_OK);
  g_assert_cmpint(report.n_errors, ==, 0);
  g_assert_cmpint(report.parameters, ==, 421642);
  g_assert_cmpfloat(report.macs, ==, 28 * 28 * 32 * 9 + 14 * 14 * 64 * 288 + 3136 * 128 + 1280);
  g_assert_cmpuint(report.output, ==, nw_network_find_name(network, "classifier.4")->id);
  g_assert_cmpint(report.out.dims[0], ==, 64);
  g_assert_cmpint(report.out.dims[1], ==, 10);
  for (int i = 0; i < report.n_blocks; i++) {
    g_assert_cmpuint(report.blocks[i].id, ==, nw_network_at(network, i)->id);
    g_assert_true(report.blocks[i].reached);
  }
  g_assert_cmpint(report.blocks[1].parameters, ==, 320);
  g_assert_cmpint(report.blocks[1].bytes_out, ==, 64 * 32 * 28 * 28 * 4);
  g_assert_cmpint(report.training_bytes, >, report.parameters * 16);
  nw_network_report_clear(&report);
  nw_network_free(network);
}

/* After a mistake, blocks before it still have shapes, and those behind are not reached. */
static void test_report_up_to_problem(void)
{
  NwNetwork *network = empty();
  Small s = small(network);
  set(network, s.conv, "kernel_size", "40");
  NwNetworkReport report;
  NwSpec input = pictures(1, 1, 28, 28);
  ok(nw_network_check(network, &input, 10, &report, &error));
  g_assert_true(report.blocks[0].reached);
  g_assert_true(report.blocks[1].reached);
  g_assert_cmpint(report.blocks[1].status, ==, NW_BAD_SHAPE);
  g_assert_false(report.blocks[2].reached);
  g_assert_cmpint(report.blocks[2].status, ==, NW_OK);
  g_assert_cmpint(report.n_errors, ==, 1);
  g_assert_cmpint(report.parameters, ==, 0);
  nw_network_report_clear(&report);
  nw_network_free(network);
}

static void test_check_fault(void)
{
  NwNetwork *network;
  ok(nw_template_build(nw_template_find("resnet-small"), 3, 32, 32, 10, &network, &error));
  NwSpec input = pictures(1, 3, 32, 32);
  int64_t live = nw_memory_live();
  int failures = 0;
  for (int64_t n = 0;; n++) {
    NwNetworkReport report;
    nw_memory_fail_after(n);
    NwStatus status = nw_network_check(network, &input, 10, &report, &error);
    nw_memory_fail_after(-1);
    if (status == NW_OK) {
      bool whole = report.status == NW_OK;
      nw_network_report_clear(&report);
      g_assert_cmpint(nw_memory_live(), ==, live);
      if (whole)
        break;
    } else {
      failures++;
      g_assert_cmpint(status, ==, NW_NO_MEMORY);
      g_assert_cmpint(nw_memory_live(), ==, live);
    }
  }
  g_assert_cmpint(failures, >, 0);
  nw_network_free(network);
}

/* Every allocation of building a template and writing it fails once. */
static void test_build_fault(void)
{
  int64_t live = nw_memory_live();
  int failures = 0;
  for (int64_t n = 0;; n++) {
    NwNetwork *network, *copy = NULL;
    nw_memory_fail_after(n);
    NwStatus status = nw_template_build(nw_template_find("lenet"), 3, 32, 32, 10, &network, &error);
    if (status == NW_OK)
      status = nw_network_copy(network, &copy, &error);
    nw_memory_fail_after(-1);
    nw_network_free(network);
    nw_network_free(copy);
    g_assert_cmpint(nw_memory_live(), ==, live);
    if (status == NW_OK)
      break;
    failures++;
    g_assert_cmpint(status, ==, NW_NO_MEMORY);
  }
  g_assert_cmpint(failures, >, 20);
}

/* ---- templates ---- */

static void test_arrange(void)
{
  for (size_t t = 0; nw_template_at(t) != NULL; t++) {
    const NwTemplate *tmpl = nw_template_at(t);
    NwNetwork *network;
    ok(nw_template_build(tmpl, tmpl->channels, tmpl->height, tmpl->width, 10, &network, &error));
    int n = nw_network_count(network);
    for (int i = 0; i < n; i++) {
      const NwBlock *a = nw_network_at(network, i);
      double height = a->op->flags & NW_OP_KEEPS_SHAPE ? 32 : 58;
      g_assert_cmpint((int)(a->x - nw_network_at(network, 0)->x) % 276, ==, 0);
      for (int k = 0; k < a->n_from; k++) /* the flow goes down */
        if (a->from[k] != 0)
          g_assert_cmpfloat(nw_network_find(network, a->from[k])->y, <, a->y);
      for (int j = 0; j < n; j++) { /* no two cards touch */
        const NwBlock *b = nw_network_at(network, j);
        if (i != j && a->x < b->x + 236 && b->x < a->x + 236 && a->y <= b->y)
          g_assert_cmpfloat(a->y + height + 20, <=, b->y);
      }
    }
    nw_network_free(network);
  }
  NwNetwork *network;
  ok(nw_template_build(nw_template_find("resnet18"), 3, 224, 224, 10, &network, &error));
  double x = nw_network_find_name(network, "conv1")->x;
  g_assert_cmpfloat(nw_network_find_name(network, "layer2.0.downsample.0")->x, ==, x + 276);
  g_assert_cmpfloat(nw_network_find_name(network, "layer2.0.conv2")->x, ==, x);
  g_assert_cmpfloat(nw_network_find_name(network, "layer2.0.add")->x, ==, x);
  g_assert_cmpfloat(nw_network_find_name(network, "fc")->x, ==, x);
  nw_network_free(network);
}

static void test_too_small(void)
{
  NwNetwork *network;
  g_assert_cmpint(nw_template_build(nw_template_find("lenet"), 3, 8, 8, 10, &network, &error), ==,
                  NW_BAD_SHAPE);
  g_assert_null(network);
  g_test_message("%s", error.text);
  g_assert_nonnull(strstr(error.text, "8×8"));
  g_assert_nonnull(strstr(error.text, "LeNet"));
  g_assert_cmpint(nw_template_build(nw_template_find("lenet"), 0, 8, 8, 10, &network, &error), ==,
                  NW_BAD_SHAPE);
  g_assert_cmpint(nw_template_build(nw_template_find("lenet"), 1, 28, 28, 0, &network, &error), ==,
                  NW_BAD_ARGUMENT);
  g_assert_null(nw_template_find("nonet"));
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/network/edits", test_edits);
  g_test_add_func("/network/names", test_names);
  g_test_add_func("/network/wires", test_wires);
  g_test_add_func("/network/json", test_json);
  g_test_add_func("/network/json-ids", test_json_ids);
  g_test_add_func("/network/json-bad", test_json_bad);
  g_test_add_func("/network/json-damaged", test_json_damaged);
  for (size_t i = 0; i < G_N_ELEMENTS(wrongs); i++) {
    char path[64];
    g_snprintf(path, sizeof path, "/network/wrong/%s", wrongs[i].name);
    g_test_add_data_func(path, &wrongs[i], test_wrong);
  }
  g_test_add_func("/network/report", test_report);
  g_test_add_func("/network/report-up-to-problem", test_report_up_to_problem);
  g_test_add_func("/network/check-fault", test_check_fault);
  g_test_add_func("/network/build-fault", test_build_fault);
  g_test_add_func("/network/arrange", test_arrange);
  g_test_add_func("/network/too-small", test_too_small);
  return g_test_run();
}
