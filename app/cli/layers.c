/* netwright layers [NAME] [--json|--markdown]: the manual, written from the rows. */
#include <stdio.h>
#include <string.h>

#include "app/cli/cli.h"
#include "engine/base/memory.h"

static gboolean shown(const NwOp *op)
{
  return op->label != NULL && op->group != NW_GROUP_INTERNAL;
}

static void range_text(const NwAttr *attr, char *text, gsize n)
{
  if (attr->type == NW_ATTR_BOOL) {
    g_strlcpy(text, "true | false", n);
  } else if (attr->type == NW_ATTR_ENUM) {
    text[0] = '\0';
    for (int i = 0; i < attr->n_items; i++) {
      g_strlcat(text, i > 0 ? " | " : "", n);
      g_strlcat(text, attr->items[i].key, n);
    }
  } else {
    g_snprintf(text, n, "%g … %g", attr->min, attr->max);
  }
}

static void initial_text(const NwOp *op, const NwAttr *attr, char *text, gsize n)
{
  void *attrs = g_malloc0(op->attrs_size + 1);
  nw_attrs_init(op, attrs);
  nw_attr_print(attr, attrs, text, n);
  g_free(attrs);
}

static void print_text(const NwOp *op)
{
  printf("%s  (%s, %s)\n  %s\n", op->label, op->id, _(nw_group_label(op->group)), _(op->doc));
  if (op->formula != NULL)
    printf("  %s\n", op->formula);
  if (op->torch != NULL)
    printf(_("  In PyTorch: %s\n"), op->torch);
  for (int i = 0; i < op->n_inputs; i++)
    if (op->inputs[i].role == NW_PORT_PARAM || op->inputs[i].role == NW_PORT_STATE)
      printf(_("  %s %-20s %s\n"), op->inputs[i].role == NW_PORT_PARAM ? _("parameter") : _("buffer"),
             op->inputs[i].name, op->inputs[i].doc != NULL ? _(op->inputs[i].doc) : "");
  for (int i = 0; i < op->n_attrs; i++) {
    const NwAttr *attr = &op->attrs[i];
    char range[128], initial[64];
    if (attr->flags & NW_ATTR_HIDDEN)
      continue;
    range_text(attr, range, sizeof range);
    initial_text(op, attr, initial, sizeof initial);
    printf("  --%-18s %s [%s: %s; %s]\n", attr->key, attr->doc != NULL ? _(attr->doc) : "", _("initially"),
           initial, range);
  }
}

static void print_markdown(const NwOp *op)
{
  printf("## %s\n\n%s\n\n", op->label, _(op->doc));
  if (op->formula != NULL)
    printf("`%s`\n\n", op->formula);
  printf("- %s: `%s`\n- %s: %s\n", _("name in files"), op->id, _("group"), _(nw_group_label(op->group)));
  if (op->torch != NULL)
    printf("- PyTorch: `%s`\n", op->torch);
  puts("");
  if (op->n_attrs > 0)
    printf("| %s | %s | %s | %s |\n|---|---|---|---|\n", _("attribute"), _("initially"), _("range"),
           _("meaning"));
  for (int i = 0; i < op->n_attrs; i++) {
    const NwAttr *attr = &op->attrs[i];
    char range[128], initial[64];
    if (attr->flags & NW_ATTR_HIDDEN)
      continue;
    range_text(attr, range, sizeof range);
    for (char *bar = strchr(range, '|'); bar != NULL; bar = strchr(bar, '|'))
      *bar = '/';
    initial_text(op, attr, initial, sizeof initial);
    printf("| `%s` | %s | %s | %s |\n", attr->key, initial, range, attr->doc != NULL ? _(attr->doc) : "");
  }
  puts("");
}

static NwJson *attr_json(const NwOp *op, const NwAttr *attr)
{
  char range[128], initial[64];
  NwJson *json = nw_json_object();
  range_text(attr, range, sizeof range);
  initial_text(op, attr, initial, sizeof initial);
  nw_json_set_string(json, "key", attr->key);
  nw_json_set_string(json, "doc", attr->doc);
  nw_json_set_string(json, "initial", initial);
  nw_json_set_string(json, "range", range);
  return json;
}

static NwJson *op_json(const NwOp *op)
{
  NwJson *json = nw_json_object(), *attrs = nw_json_array();
  nw_json_set_string(json, "id", op->id);
  nw_json_set_string(json, "label", op->label);
  nw_json_set_string(json, "group", nw_group_key(op->group));
  nw_json_set_string(json, "doc", op->doc);
  nw_json_set_string(json, "torch", op->torch);
  for (int i = 0; i < op->n_attrs; i++)
    if (!(op->attrs[i].flags & NW_ATTR_HIDDEN))
      nw_json_append(attrs, attr_json(op, &op->attrs[i]));
  nw_json_set(json, "attributes", attrs);
  return json;
}

static gboolean is_named(const NwOp *op, const char *name)
{
  return name == NULL || g_ascii_strcasecmp(op->label, name) == 0 || strcmp(op->id, name) == 0;
}

static void print_list(void)
{
  const NwOp *op;
  for (int group = NW_GROUP_INPUT; group < NW_GROUPS; group++) {
    gboolean titled = FALSE;
    for (size_t i = 0; (op = nw_op_at(i)) != NULL; i++) {
      if (!shown(op) || op->group != (NwGroup)group)
        continue;
      if (!titled)
        printf("%s\n", _(nw_group_label(op->group)));
      titled = TRUE;
      printf("  %-20s %s\n", op->label, _(op->doc));
    }
  }
}

int nw_cli_layers(int argc, char **argv)
{
  gboolean json = FALSE, markdown = FALSE;
  const GOptionEntry entries[] = {
      NW_CLI_JSON_OPTION(json),
      {"markdown", 0, 0, G_OPTION_ARG_NONE, &markdown, N_("Print the manual as Markdown"), NULL},
      {NULL}};
  int code, found = 0;
  if (!nw_cli_parse("layers", entries, &argc, &argv, 0, 1, &code))
    return code;
  const char *name = argc > 1 ? argv[1] : NULL;
  NwJson *all = nw_json_array();
  const NwOp *op;
  for (size_t i = 0; (op = nw_op_at(i)) != NULL; i++) {
    if (!shown(op) || !is_named(op, name))
      continue;
    found++;
    if (json)
      nw_json_append(all, op_json(op));
    else if (markdown)
      print_markdown(op);
    else if (name != NULL)
      print_text(op);
  }
  if (json && found > 0)
    nw_cli_print_json(nw_json_copy(all));
  nw_json_free(all);
  if (found == 0)
    return nw_cli_usage("layers", _("there is no layer \"%s\"; `netwright layers` lists them"), name);
  if (name == NULL && !json && !markdown)
    print_list();
  return NW_EXIT_DONE;
}
