/* PyTorch's files: state dicts and checkpoints, written as zip and read, also the formats before 1.6 and
 * whole pickled modules, without running anything. Format: docs of PyTorch's serialization; facts checked
 * against torch 1.13 and 2.15. */
#pragma once

#include "engine/base/json.h"
#include "engine/nn/model.h"

typedef struct NwPthTensor {
  const char *name;
  NwSpec spec;
  const void *data; /* contiguous, little-endian; may be unaligned, so copy it out */
} NwPthTensor;

/* A small object tree to be pickled: dict, list, tuple, str, int, float, bool, None, tensor. Everything put
 * into a container belongs to it. Constructors give NULL without memory; adders take NULL and then make
 * nw_pth_write fail. */
typedef struct NwPickle NwPickle;
NwPickle *nw_pickle_dict(void);
NwPickle *nw_pickle_ordered_dict(void); /* collections.OrderedDict */
NwPickle *nw_pickle_list(void);
NwPickle *nw_pickle_tuple(void);
NwPickle *nw_pickle_string(const char *text);
NwPickle *nw_pickle_int(int64_t value);
NwPickle *nw_pickle_real(double value);
NwPickle *nw_pickle_bool(bool value);
NwPickle *nw_pickle_none(void);
NwPickle *nw_pickle_tensor(const NwSpec *spec, const void *data); /* data borrowed until written */
void nw_pickle_set(NwPickle *dict, const char *key, NwPickle *value);
void nw_pickle_set_int(NwPickle *dict, int64_t key, NwPickle *value);
void nw_pickle_append(NwPickle *list, NwPickle *value);
void nw_pickle_free(NwPickle *value);

/* Writes root as a torch zip file, atomically. Equal contents give equal bytes. */
NwStatus nw_pth_write(const char *path, const NwPickle *root, NwError *error);
/* The model's state dict (weights.pth); the tree form borrows the model's numbers until it was written. */
NwStatus nw_pth_write_weights(const char *path, NwModel *model, NwError *error);
NwPickle *nw_pickle_state_dict(NwModel *model);

/* Reading: the file is mapped; tensors point into the map or into copies the file owns. Files may be hostile:
 * everything is checked, and nothing in them is run. Errors: NW_NOT_FOUND, NW_BAD_FORMAT, NW_UNSUPPORTED,
 * NW_TOO_NEW, NW_NO_MEMORY, NW_IO. One thread at a time; accessors of an opened
 * file are safe from many. */
typedef struct NwPthFile NwPthFile;
typedef struct NwPthNode NwPthNode; /* a value of the tree */
NwStatus nw_pth_open(const char *path, NwPthFile **out, NwError *error);
void nw_pth_close(NwPthFile *file);
const NwPthNode *nw_pth_root(const NwPthFile *file);
const NwPthNode *nw_pth_get(const NwPthNode *dict, const char *key); /* NULL: missing or not a dict */
const NwPthNode *nw_pth_get_int(const NwPthNode *dict, int64_t key);
const char *nw_pth_text(const NwPthNode *node); /* NULL: not a string */
bool nw_pth_int(const NwPthNode *node, int64_t *value);
bool nw_pth_real(const NwPthNode *node, double *value);
bool nw_pth_tensor(const NwPthNode *node, NwPthTensor *tensor);
/* Also of tensors that cannot be used: *reason then says why (NULL: it can be used). */
bool nw_pth_is_tensor(const NwPthNode *node, NwSpec *spec, const char **dtype, const char **reason);
int nw_pth_length(const NwPthNode *container);
const NwPthNode *nw_pth_at(const NwPthNode *container, int index, const char **key); /* dict: key of item */
/* The dict that holds the weights (root, or under the usual keys; of a TorchScript file or a pickled module,
 * its parameters and buffers by path); NULL: none. */
const NwPthNode *nw_pth_state_dict(const NwPthFile *file);
const char *nw_pth_format(const NwPthFile *file); /* "PyTorch", "TorchScript", … */
/* The error of a file whose state dict is NULL. */
NwStatus nw_pth_no_weights(const NwPthFile *file, const char *path, NwError *error);

/* Loads the weights of a .pth, a checkpoint or a TorchScript file strictly: same names, shapes and types. On
 * failure the model may hold a part of them. */
NwStatus nw_pth_read_weights(const char *path, NwModel *model, NwError *error);
/* One of them: NW_BAD_FORMAT when it is missing, NW_BAD_SHAPE when it does not fit. */
NwStatus nw_pth_load_param(const NwPthNode *state_dict, const NwParam *param, NwError *error);
