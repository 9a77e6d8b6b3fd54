/* Attributes of an op: typed values at offsets of a plain struct, described by rows.
 *
 * From the rows come the property editor, the project file, checks, undo, the manual and the exporters. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/json.h"
#include "engine/base/status.h"

typedef enum NwAttrType {
  NW_ATTR_INT,  /* int64_t */
  NW_ATTR_REAL, /* double */
  NW_ATTR_BOOL, /* bool */
  NW_ATTR_ENUM, /* int64_t: NwEnumItem.value */
  NW_ATTR_DIMS  /* NwDims of exactly `count` whole numbers, e.g. kernel_size (height, width) */
} NwAttrType;

enum { NW_MAX_ATTR_DIMS = 4 };
typedef struct NwDims {
  int64_t v[NW_MAX_ATTR_DIMS];
} NwDims;

typedef struct NwValue {
  NwAttrType type;
  union {
    int64_t i; /* INT, ENUM */
    double r;
    bool b;
    NwDims d;
  };
} NwValue;

typedef struct NwEnumItem {
  int64_t value;
  const char *key;   /* as in files and as torch writes it: "zeros" */
  const char *label; /* N_() */
} NwEnumItem;

typedef enum NwAttrFlags {
  NW_ATTR_HIDDEN = 1,   /* set by the engine ("training", "stream"), never shown or saved */
  NW_ATTR_ON_BLOCK = 2, /* telling enough to be shown on the block */
  NW_ATTR_LOG = 4       /* a control should step by factors */
} NwAttrFlags;

typedef struct NwAttr {
  const char *key;   /* torch's name: "kernel_size" */
  const char *label; /* N_(): "Kernel size" */
  const char *doc;   /* N_(): one sentence */
  const char *unit;  /* N_() or NULL: "pixels" */
  NwAttrType type;
  unsigned flags;
  size_t offset; /* into the op's attribute struct */
  double initial, min, max;    /* legal range; every number of DIMS; BOOL: initial only; ENUM: initial only */
  double ui_min, ui_max, step; /* what a control offers; all 0: as min, max, 1 */
  int count;                   /* DIMS: how many numbers */
  const NwEnumItem *items;     /* ENUM */
  int n_items;
  const char *visible_when; /* "padding_mode=zeros", or NULL */
} NwAttr;

typedef struct NwOp NwOp;

/* The attribute struct of an op filled with the initial values; attrs holds op->attrs_size bytes. */
void nw_attrs_init(const NwOp *op, void *attrs);
const NwAttr *nw_attr_find(const NwOp *op, const char *key); /* NULL: no such attribute */
NwValue nw_attr_get(const NwAttr *attr, const void *attrs);
/* Checks the type and the legal range, then stores. An INT is accepted for REAL, and for DIMS (all numbers alike).
 * Errors: NW_BAD_ARGUMENT with the property set ("Conv2d: stride is 0; it must be from 1 to 255"). */
NwStatus nw_attr_set(const NwOp *op, const NwAttr *attr, void *attrs, NwValue value, NwError *error);
/* Parses "3", "0.5", "true", "zeros", "3x5" or "3,5"; the same errors. For the command line, tests and entries. */
NwStatus nw_attr_set_text(const NwOp *op, void *attrs, const char *key, const char *text, NwError *error);
/* Engine-set switches: stores when the op has such an attribute, else does nothing. */
void nw_attrs_set_hidden(const NwOp *op, void *attrs, const char *key, int64_t value);
bool nw_attr_is_initial(const NwAttr *attr, const void *attrs);
bool nw_attr_visible(const NwOp *op, const NwAttr *attr, const void *attrs);
/* Text of a value as nw_attr_set_text reads it ("3x5"; equal numbers of DIMS print once: "3"). */
void nw_attr_print(const NwAttr *attr, const void *attrs, char *text, size_t n);
/* Every range, and op->check. */
NwStatus nw_attrs_check(const NwOp *op, const void *attrs, NwError *error);
/* An object of all attributes that are not hidden; NULL: no memory. DIMS become arrays, enums their key. */
NwJson *nw_attrs_to_json(const NwOp *op, const void *attrs);
/* Starts from the initial values; unknown keys and wrong types are refused by name. */
NwStatus nw_attrs_from_json(const NwOp *op, const NwJson *json, void *attrs, NwError *error);
