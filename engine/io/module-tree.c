#include "engine/io/module-tree.h"

#include <string.h>

#include "engine/base/memory.h"

void nw_module_tree_free(NwModuleTree *tree)
{
  if (tree == NULL)
    return;
  for (int i = 0; i < tree->n_children; i++)
    nw_module_tree_free(tree->children[i]);
  nw_free(tree->children);
  nw_free(tree->params);
  nw_free(tree->leaves);
  nw_free(tree->name);
  nw_free(tree);
}

static NwStatus no_memory(NwError *error)
{
  return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
}

static bool grow(void *list, int count)
{
  void **items =
      nw_realloc(*(void **)list, (size_t)count * sizeof *items, (size_t)(count + 1) * sizeof *items);
  if (items == NULL)
    return false;
  *(void **)list = items;
  return true;
}

static NwModuleTree *node_new(const char *name, size_t n)
{
  NwModuleTree *node = nw_alloc0(sizeof *node);
  if (node == NULL)
    return NULL;
  node->name = nw_alloc(n + 1);
  if (node->name == NULL) {
    nw_free(node);
    return NULL;
  }
  memcpy(node->name, name, n);
  node->name[n] = 0;
  return node;
}

static bool is(const char *part, size_t n, const char *word)
{
  return strlen(word) == n && memcmp(part, word, n) == 0;
}

static NwStatus check_part(const char *part, size_t n, const char *path, NwError *error)
{
  bool bad = n == 0 || is(part, n, "forward") || is(part, n, "training");
  for (size_t i = 0; i < n; i++)
    bad = bad || part[i] == '"' || part[i] == '\\' || (unsigned char)part[i] < ' ';
  if (!bad)
    return NW_OK;
  return nw_fail(error, NW_BAD_ARGUMENT,
                 "TorchScript cannot hold the name %s: \"%.*s\" is not allowed in it. Rename the block.",
                 path, (int)n, part);
}

static NwStatus child(NwModuleTree *node, const char *part, size_t n, NwModuleTree **out, NwError *error)
{
  for (int i = 0; i < node->n_children; i++)
    if (is(part, n, node->children[i]->name)) {
      *out = node->children[i];
      return NW_OK;
    }
  *out = node_new(part, n);
  if (*out == NULL)
    return no_memory(error);
  if (!grow(&node->children, node->n_children)) {
    nw_module_tree_free(*out);
    return no_memory(error);
  }
  node->children[node->n_children++] = *out;
  return NW_OK;
}

static NwStatus insert(NwModuleTree *root, const NwParam *param, NwError *error)
{
  NwModuleTree *node = root;
  const char *part = param->name;
  for (const char *dot; (dot = strchr(part, '.')) != NULL; part = dot + 1) {
    NW_TRY(check_part(part, (size_t)(dot - part), param->name, error));
    NW_TRY(child(node, part, (size_t)(dot - part), &node, error));
  }
  NW_TRY(check_part(part, strlen(part), param->name, error));
  if (!grow(&node->params, node->n_params) || !grow(&node->leaves, node->n_params))
    return no_memory(error);
  node->leaves[node->n_params] = part;
  node->params[node->n_params++] = param;
  return NW_OK;
}

/* Numbers the classes, and finds attributes that would be both a tensor and a module. */
static NwStatus finish(NwModuleTree *node, int *number, NwError *error)
{
  for (int i = 0; i < node->n_children; i++) {
    NwModuleTree *sub = node->children[i];
    for (int k = 0; k < node->n_params; k++)
      if (strcmp(node->leaves[k], sub->name) == 0)
        return nw_fail(
            error, NW_BAD_ARGUMENT,
            "TorchScript cannot tell the parameter %s from a block whose name begins like it. Rename one of "
            "the blocks.",
            node->params[k]->name);
    sub->number = ++*number;
    NW_TRY(finish(sub, number, error));
  }
  return NW_OK;
}

NwStatus nw_module_tree_new(NwModel *model, NwModuleTree **out, NwError *error)
{
  *out = NULL;
  NwModuleTree *root = node_new("", 0);
  if (root == NULL)
    return no_memory(error);
  NwStatus status = NW_OK;
  for (int i = 0; i < nw_model_count(model) && status == NW_OK; i++)
    status = insert(root, nw_model_at(model, i), error);
  int number = 0;
  if (status == NW_OK)
    status = finish(root, &number, error);
  if (status != NW_OK) {
    nw_module_tree_free(root);
    return status;
  }
  *out = root;
  return NW_OK;
}
