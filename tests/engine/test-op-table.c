/* Attributes from their rows: values, texts, JSON, ranges and the sentences about them; the table's look-ups.
 */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "engine/base/memory.h"
#include "engine/op/infer.h"
#include "engine/op/op.h"

/* A layer of the test's own, with an attribute of each kind. */
typedef struct Kite {
  int64_t tails;
  double drag;
  bool string;
  int64_t cloth;
  NwDims size;
  bool training;
  double share;
} Kite;

static const NwEnumItem cloths[] = {{0, "silk", "Silk"}, {4, "paper", "Paper"}};
static const NwAttr rows[] = {
    {"tails", "Tails", "Tails.", NULL, NW_ATTR_INT, 0, offsetof(Kite, tails), 2, 1, 2147483647, 1, 9, 1},
    {"drag", "Drag", "Drag.", NULL, NW_ATTR_REAL, 0, offsetof(Kite, drag), 0.1, 0, INFINITY, 0, 1, 0.1},
    {"string", "String", "String.", NULL, NW_ATTR_BOOL, 0, offsetof(Kite, string), 1, 0, 1, 0, 1, 1},
    {"cloth", "Cloth", "Cloth.", NULL, NW_ATTR_ENUM, 0, offsetof(Kite, cloth), 4, .items = cloths,
     .n_items = 2},
    {"size", "Size", "Size.", "pixels", NW_ATTR_DIMS, 0, offsetof(Kite, size), 3, 1, 99, 1, 9, 1, .count = 2,
     .visible_when = "cloth=paper"},
    {"training", "Training", "Training.", NULL, NW_ATTR_BOOL, NW_ATTR_HIDDEN, offsetof(Kite, training), 0, 0,
     1, 0, 1, 1},
    {"share", "Share", "Share.", NULL, NW_ATTR_REAL, NW_ATTR_HIDDEN, offsetof(Kite, share), 0, 0, 9, 0, 1, 1},
};

/* Relations are checked after every single range. */
static NwStatus kite_check(const NwOp *op, const void *attrs, NwError *error)
{
  const Kite *a = attrs;
  return a->tails <= a->size.v[0]
             ? NW_OK
             : nw_fail_property(error, NW_BAD_ARGUMENT, "tails", "Kite: more tails than size");
}

static const NwOp kite = {.id = "kite", .label = "Kite", NW_ATTRS(Kite, rows), .check = kite_check};

static Kite initial(void)
{
  Kite attrs;
  memset(&attrs, 0xee, sizeof attrs);
  nw_attrs_init(&kite, &attrs);
  return attrs;
}

static void test_initial(void)
{
  Kite attrs = initial();
  g_assert_cmpint(attrs.tails, ==, 2);
  g_assert_cmpfloat(attrs.drag, ==, 0.1);
  g_assert_true(attrs.string && !attrs.training);
  g_assert_cmpint(attrs.cloth, ==, 4);
  g_assert_true(attrs.size.v[0] == 3 && attrs.size.v[1] == 3 && attrs.size.v[2] == 0);
  for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
    g_assert_true(nw_attr_is_initial(&rows[i], &attrs));
  attrs.size.v[1] = 4;
  g_assert_false(nw_attr_is_initial(&rows[4], &attrs));
}

static void test_texts(void)
{
  static const struct {
    const char *key, *text, *printed;
  } good[] = {{"tails", "7", "7"},       {"tails", "+7", "7"},       {"tails", "2147483647", "2147483647"},
              {"drag", "3", "3"},        {"drag", "1e-3", "0.001"},  {"drag", "0.1", "0.1"},
              {"string", "no", "false"}, {"string", "true", "true"}, {"cloth", "silk", "silk"},
              {"size", "5", "5"},        {"size", "5x7", "5x7"},     {"size", "5,7", "5x7"},
              {"size", "5, 7", "5x7"},   {"size", "5×7", "5x7"},     {"size", "6x6", "6"}};
  static const struct {
    const char *key, *text, *part;
  } bad[] = {
      {"tails", "0", "Kite: tails is 0; it must be from 1 to 2147483647"},
      {"tails", "2147483648", "tails is 2147483648; it must be from 1 to 2147483647"},
      {"tails", "1.5", "Kite: tails must be a whole number"},
      {"tails", "", "a whole number"},
      {"tails", "99999999999999999999", "a whole number"},
      {"drag", "-1", "Kite: drag is -1; it must be 0 or more"},
      {"drag", "inf", "drag is inf"},
      {"drag", "nan", "drag must be a number"},
      {"drag", "0,5", "drag must be a number"},
      {"string", "maybe", "true or false"},
      {"cloth", "steel", "Kite: cloth cannot be \"steel\"; choose from silk, paper"},
      {"cloth", "4", "choose from silk, paper"},
      {"size", "5x", "whole numbers such as"},
      {"size", "x5", "whole numbers such as"},
      {"size", "5x6x7", "whole numbers such as"},
      {"size", "1x2x3x4x5x6", "whole numbers such as"},
      {"size", "5x100", "size is 100; it must be from 1 to 99"},
      {"size", "5\xc3", "whole numbers such as"},
      {"wings", "1", "Kite has no attribute wings; it has tails, drag, string, cloth, size"},
  };
  NwError error = {0};
  char text[64];
  for (guint i = 0; i < G_N_ELEMENTS(good); i++) {
    Kite attrs = initial();
    if (nw_attr_set_text(&kite, &attrs, good[i].key, good[i].text, &error) != NW_OK)
      g_error("%s", error.text);
    nw_attr_print(nw_attr_find(&kite, good[i].key), &attrs, text, sizeof text);
    g_assert_cmpstr(text, ==, good[i].printed);
  }
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    Kite attrs = initial(), before = attrs;
    error = (NwError){0};
    g_assert_cmpint(nw_attr_set_text(&kite, &attrs, bad[i].key, bad[i].text, &error), ==, NW_BAD_ARGUMENT);
    if (strstr(error.text, bad[i].part) == NULL)
      g_error("\"%s\" is not in \"%s\"", bad[i].part, error.text);
    g_assert_cmpstr(error.property, ==, bad[i].key);
    g_assert_cmpmem(&attrs, sizeof attrs, &before, sizeof before); /* nothing was stored */
  }
}

static void test_values(void)
{
  Kite attrs = initial();
  NwError error = {0};
  const NwAttr *size = nw_attr_find(&kite, "size"), *drag = nw_attr_find(&kite, "drag");
  /* a whole number serves for a real one and for sizes; nothing else converts */
  g_assert_cmpint(nw_attr_set(&kite, size, &attrs, (NwValue){NW_ATTR_INT, .i = 8}, &error), ==, NW_OK);
  g_assert_true(attrs.size.v[0] == 8 && attrs.size.v[1] == 8);
  g_assert_cmpint(nw_attr_set(&kite, drag, &attrs, (NwValue){NW_ATTR_INT, .i = 2}, &error), ==, NW_OK);
  g_assert_cmpfloat(attrs.drag, ==, 2);
  for (int type = 0; type <= NW_ATTR_DIMS; type++)
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
      gboolean fits = type == (int)rows[i].type ||
                      (type == NW_ATTR_INT && (rows[i].type == NW_ATTR_REAL || rows[i].type == NW_ATTR_DIMS));
      NwValue value = {.type = (NwAttrType)type};
      if (!fits)
        g_assert_cmpint(nw_attr_set(&kite, &rows[i], &attrs, value, &error), ==, NW_BAD_ARGUMENT);
    }
  g_assert_cmpint(nw_attr_set(&kite, drag, &attrs, (NwValue){NW_ATTR_REAL, .r = NAN}, &error), ==,
                  NW_BAD_ARGUMENT);
  g_assert_cmpfloat(nw_attr_get(drag, &attrs).r, ==, 2);
  /* switches of the engine: only hidden ones, each type */
  nw_attrs_set_hidden(&kite, &attrs, "training", 1);
  nw_attrs_set_hidden(&kite, &attrs, "share", 3);
  nw_attrs_set_hidden(&kite, &attrs, "tails", 77);
  nw_attrs_set_hidden(&kite, &attrs, "absent", 1);
  g_assert_true(attrs.training && attrs.share == 3 && attrs.tails == 2);
  g_assert_true(nw_attr_visible(&kite, size, &attrs));
  g_assert_false(nw_attr_visible(&kite, nw_attr_find(&kite, "training"), &attrs));
  attrs.cloth = 0;
  g_assert_false(nw_attr_visible(&kite, size, &attrs));
  /* the whole */
  g_assert_cmpint(nw_attrs_check(&kite, &attrs, &error), ==, NW_OK);
  attrs.tails = 9;
  g_assert_cmpint(nw_attrs_check(&kite, &attrs, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpstr(error.text, ==, "Kite: more tails than size");
  attrs.cloth = 3;
  g_assert_cmpint(nw_attrs_check(&kite, &attrs, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpstr(error.property, ==, "cloth");
  for (size_t n = 1; n < 8; n++) { /* printed into any room */
    char text[16];
    memset(text, '#', sizeof text);
    for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
      nw_attr_print(&rows[i], &attrs, text, n);
    g_assert_cmpint(text[n], ==, '#');
  }
}

static NwStatus read_json(const char *text, Kite *attrs, NwError *error)
{
  NwJson *json = NULL;
  g_assert_cmpint(nw_json_parse(text, strlen(text), "x", &json, error), ==, NW_OK);
  NwStatus status = nw_attrs_from_json(&kite, json, attrs, error);
  nw_json_free(json);
  return status;
}

static void test_json(void)
{
  Kite attrs = initial(), back;
  NwError error = {0};
  attrs.drag = 1.0 / 3;
  attrs.size.v[1] = 5;
  attrs.cloth = 0;
  attrs.string = false;
  attrs.tails = 3;
  NwJson *json = nw_attrs_to_json(&kite, &attrs);
  char *text = nw_json_print(json, false);
  g_assert_null(strstr(text, "training")); /* hidden ones are not saved */
  g_assert_cmpint(read_json(text, &back, &error), ==, NW_OK);
  g_assert_cmpmem(&attrs, sizeof attrs, &back, sizeof back);
  nw_free(text);
  nw_json_free(json);
  g_assert_cmpint(nw_attrs_from_json(&kite, NULL, &back, &error), ==, NW_OK);
  g_assert_cmpint(back.tails, ==, 2);
  g_assert_cmpint(read_json("{\"size\": 4, \"drag\": 2}", &back, &error), ==, NW_OK);
  g_assert_true(back.size.v[1] == 4 && back.drag == 2);
  static const char *const bad[][2] = {
      {"[]", "not an object"},
      {"{\"wings\": 1}", "Kite has no attribute wings"},
      {"{\"training\": true}", "no attribute training"},
      {"{\"tails\": \"3\"}", "tails must be a whole number"},
      {"{\"tails\": 3.0}", "tails must be a whole number"},
      {"{\"tails\": 0}", "tails is 0"},
      {"{\"string\": 1}", "true or false"},
      {"{\"drag\": null}", "drag must be a number"},
      {"{\"cloth\": \"steel\"}", "cannot be \"steel\"; choose from silk, paper"},
      {"{\"cloth\": 0}", "one of its choices"},
      {"{\"size\": [3]}", "whole numbers such as"},
      {"{\"size\": [3, 4, 5]}", "whole numbers such as"},
      {"{\"size\": [3, 4.5]}", "whole numbers such as"},
      {"{\"size\": [3, 0]}", "size is 0"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
    g_assert_cmpint(read_json(bad[i][0], &back, &error), !=, NW_OK);
    if (strstr(error.text, bad[i][1]) == NULL)
      g_error("%s: \"%s\" is not in \"%s\"", bad[i][0], bad[i][1], error.text);
  }
}

/* ---- the real table ---- */

/* Every layer's attributes go through JSON and texts and come back. */
static void test_table(void)
{
  const NwOp *op;
  NwError error = {0};
  int n = 0;
  for (size_t k = 0; (op = nw_op_at(k)) != NULL; k++, n++) {
    g_autofree char *attrs = g_malloc0(op->attrs_size + 1), *back = g_malloc0(op->attrs_size + 1);
    nw_attrs_init(op, attrs);
    NwJson *json = nw_attrs_to_json(op, attrs);
    if (nw_attrs_from_json(op, json, back, &error) != NW_OK)
      g_error("%s", error.text);
    g_assert_cmpmem(attrs, op->attrs_size, back, op->attrs_size);
    nw_json_free(json);
    for (int i = 0; i < op->n_attrs; i++) {
      char text[64];
      if (op->attrs[i].flags & NW_ATTR_HIDDEN)
        continue;
      nw_attr_print(&op->attrs[i], attrs, text, sizeof text);
      if (nw_attr_set_text(op, back, op->attrs[i].key, text, &error) != NW_OK)
        g_error("%s", error.text);
      g_assert_true(nw_attr_is_initial(&op->attrs[i], back));
      g_assert_true(nw_attr_find(op, op->attrs[i].key) == &op->attrs[i]);
    }
    for (int i = 0; i < op->n_inputs; i++)
      g_assert_cmpint(nw_op_port(op, op->inputs[i].name), ==, i);
    g_assert_cmpint(nw_op_port(op, "no such port"), ==, -1);
  }
  g_assert_cmpint(n, >, 30);
  g_assert_null(nw_op_at((size_t)n + 100));
  g_assert_null(nw_op_find(""));
  g_assert_null(nw_op_find("conv2"));
  g_assert_null(nw_op_find("Conv2d"));
  for (int g = 0; g < NW_GROUPS; g++) {
    g_assert_nonnull(nw_group_label((NwGroup)g));
    g_assert_nonnull(nw_group_key((NwGroup)g));
  }
}

/* Window sizes as torch has them. */
static void test_window(void)
{
  static const struct {
    int64_t size, kernel, stride, padding, dilation, floor, ceil;
  } good[] = {{32, 3, 1, 1, 1, 32, 32},  {7, 2, 2, 0, 1, 3, 4}, {5, 3, 2, 0, 2, 1, 1},
              {6, 2, 3, 0, 1, 2, 3 - 1}, {3, 1, 3, 1, 1, 2, 2}, {4, 2, 3, 1, 1, 2, 2},
              {28, 5, 1, 2, 1, 28, 28},  {1, 1, 1, 0, 1, 1, 1}};
  NwError error = {0};
  int64_t out;
  for (guint i = 0; i < G_N_ELEMENTS(good); i++)
    for (int up = 0; up < 2; up++) {
      g_assert_cmpint(nw_infer_window(&kite, "height", good[i].size, good[i].kernel, good[i].stride,
                                      good[i].padding, good[i].dilation, up, &out, &error),
                      ==, NW_OK);
      g_assert_cmpint(out, ==, up ? good[i].ceil : good[i].floor);
    }
  g_assert_cmpint(nw_infer_window(&kite, "width", 4, 7, 1, 1, 1, false, &out, &error), ==, NW_BAD_SHAPE);
  g_assert_cmpstr(error.property, ==, "kernel_size");
  g_assert_nonnull(strstr(error.text, "width is 4"));
  g_assert_cmpint(nw_infer_window(&kite, "width", 4, 1, 0, 1, 1, false, &out, &error), ==, NW_BAD_ARGUMENT);
  g_assert_cmpint(nw_infer_window(&kite, "width", INT64_MAX, 1, 1, 1, 1, false, &out, &error), ==,
                  NW_BAD_SHAPE);
  g_assert_cmpint(nw_infer_window(&kite, "width", -1, 1, 1, 1, 1, false, &out, &error), ==, NW_BAD_SHAPE);
}

int main(int argc, char **argv)
{
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/op-table/initial", test_initial);
  g_test_add_func("/op-table/texts", test_texts);
  g_test_add_func("/op-table/values", test_values);
  g_test_add_func("/op-table/json", test_json);
  g_test_add_func("/op-table/table", test_table);
  g_test_add_func("/op-table/window", test_window);
  return g_test_run();
}
