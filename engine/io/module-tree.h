/* The tree of modules that the dotted names of parameters spell out: "layer1.0.conv1.weight" lies three
 * modules deep. */
#pragma once

#include "engine/nn/model.h"

typedef struct NwModuleTree NwModuleTree;
struct NwModuleTree {
  char *name; /* attribute name in the parent; "" for the root */
  int number; /* of the class, from 1 in depth-first order; 0: the root */
  const NwParam **params;
  const char **leaves; /* attribute names of params, borrowed from their names */
  int n_params;
  NwModuleTree **children;
  int n_children;
};

/* Refused with the block's name: names that cannot be attributes in TorchScript, or that stand for two
 * things. */
NwStatus nw_module_tree_new(NwModel *model, NwModuleTree **out, NwError *error);
void nw_module_tree_free(NwModuleTree *tree); /* NULL is allowed */
