/* Reads pickles as data: a machine with a stack that builds nodes and runs nothing.
 *
 * Globals are an allow-list of what PyTorch's own files use; anything else becomes an opaque object that
 * keeps its name, arguments and state. All nodes live in one arena with a cap. Inputs may be hostile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/status.h"
#include "engine/io/zip-read.h"
#include "engine/tensor/spec.h"

typedef enum NwNodeKind {
  NW_NODE_NONE,
  NW_NODE_BOOL,
  NW_NODE_INT,
  NW_NODE_REAL,
  NW_NODE_TEXT,
  NW_NODE_BYTES,
  NW_NODE_TUPLE,
  NW_NODE_LIST,
  NW_NODE_SET,
  NW_NODE_DICT,
  NW_NODE_GLOBAL,
  NW_NODE_STORAGE,
  NW_NODE_TENSOR,
  NW_NODE_OBJECT,
  NW_NODE_MARK
} NwNodeKind;

typedef struct NwPthNode NwPthNode;

/* What torch calls a storage: the bytes of one record and the type of its elements. */
typedef struct NwStorage {
  const char *key;
  const uint8_t *bytes; /* NULL only when it is empty */
  uint64_t size;        /* bytes that may be used */
  int type;             /* index into the table of storage classes */
  bool pending;         /* where its bytes lie is not known yet, so tensors of it have no numbers */
} NwStorage;

struct NwPthNode {
  NwNodeKind kind;
  union {
    int64_t number; /* INT, BOOL */
    double real;
    struct {
      const char *text; /* terminated */
      size_t length;
    };
    struct {
      NwPthNode **items; /* DICT: key, value, key, value */
      size_t count, room;
    };
    struct {
      const char *module, *name;
      int known; /* what it stands for; 0: nothing we know */
    };
    NwStorage storage;
    struct {
      NwSpec spec;
      const void *data;   /* contiguous, little-endian; may be unaligned */
      const char *reason; /* why it cannot be used here, NULL: it can */
      const char *dtype;  /* torch's name of the type, also of one that cannot be used */
    };
    struct {
      NwPthNode *type, *args, *state;
    };
  };
};

/* The arena of one file. */
typedef struct NwNodeArena {
  struct NwArenaBlock *blocks;
  size_t used, limit;
} NwNodeArena;
void *nw_pth_arena_alloc(NwNodeArena *arena,
                         size_t size); /* zeroed; NULL: no memory, or the cap is reached */
void nw_pth_arena_clear(NwNodeArena *arena);
NwPthNode *nw_pth_node_new(NwNodeArena *arena, NwNodeKind kind);
bool nw_pth_node_push(NwNodeArena *arena, NwPthNode *list, NwPthNode *item);

/* What the persistent ids of a pickle refer to. */
typedef struct NwUnpickle NwUnpickle;
struct NwUnpickle {
  NwNodeArena *arena;
  NwZip *zip;
  bool big_endian;
  size_t copied, copy_limit; /* bytes of tensors that had to be copied out */
  size_t used;               /* length of the pickle that was read last */
  /* Formats before PyTorch 1.6; NULL: ids stand for records of the zip. */
  NwStatus (*persistent)(NwUnpickle *context, NwPthNode *id, NwPthNode **result, NwError *error);
  void *owner; /* of persistent */
};

/* Errors: NW_BAD_FORMAT, NW_UNSUPPORTED (an opcode or a persistent id we do not allow), NW_NO_MEMORY. */
NwStatus nw_unpickle(NwUnpickle *context, const uint8_t *bytes, size_t n, NwPthNode **root, NwError *error);

/* The next stage, in pickle-torch.c: what globals, calls and persistent ids mean. */
NwPthNode *nw_unpickle_global(NwUnpickle *context, const char *module, const char *name);
NwStatus nw_unpickle_call(NwUnpickle *context, NwPthNode *function, NwPthNode *args, NwPthNode **result,
                          NwError *error);
NwStatus nw_unpickle_persistent(NwUnpickle *context, NwPthNode *id, NwPthNode **result, NwError *error);
/* args: (storage, offset, sizes, strides, ...), a tuple. */
NwStatus nw_unpickle_tensor(NwUnpickle *context, const NwPthNode *args, NwPthNode **result, NwError *error);
/* The storage class that a global names, as an index into the table; -1: it names none. */
int nw_storage_type(const NwPthNode *global);
unsigned nw_storage_element(int type);  /* bytes of one element */
const char *nw_storage_dtype(int type); /* "float32", also of types that we have no numbers for */

/* pth-legacy.c: what torch.save wrote from 0.2 to 1.5 (five pickles, then the data), and before that (a tar).
 * Sets persistent and owner while it runs. */
NwStatus nw_pth_read_stream(NwUnpickle *context, const uint8_t *bytes, size_t n, NwPthNode **root,
                            NwError *error);
NwStatus nw_pth_read_tar(NwUnpickle *context, const uint8_t *bytes, size_t n, NwPthNode **root,
                         NwError *error);
