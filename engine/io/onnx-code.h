/* Nodes of ONNX from the op rows: an emitter that writes what it is given instead of running it. Composites
 * come to it as their parts. */
#pragma once

#include "engine/base/text.h"
#include "engine/nn/model.h"

typedef struct NwOnnxCode {
  NwText nodes;     /* fields of GraphProto: node */
  NwText constants; /* fields of GraphProto: initializer */
  char logits[64];  /* name of the output */
} NwOnnxCode;

/* The input is "input", parameters have their own names. Errors carry the block. Free with
 * nw_onnx_code_clear, also after a failure. */
NwStatus nw_onnx_code_make(NwModel *model, int opset, NwOnnxCode *code, NwError *error);
void nw_onnx_code_clear(NwOnnxCode *code);
