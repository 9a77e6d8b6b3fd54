/* TorchScript archives written from the op rows: torch.jit.load opens them. */
#pragma once

#include "engine/nn/model.h"

/* What an op's irregular writer works with. */
struct NwTorchWriter;
/* Variable name of data input k; parameter path or "None"; an attribute as TorchScript text. Borrowed until
 * the next op. */
const char *nw_torch_input(NwTorchWriter *writer, int k);
const char *nw_torch_param(NwTorchWriter *writer, const char *port);
const char *nw_torch_attr(NwTorchWriter *writer, const char *key);
/* Appends a statement (printf form) as a line of forward's body; leading blanks nest it deeper ("if
 * training:"). The op's result must be assigned to nw_torch_output. */
void nw_torch_line(NwTorchWriter *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *nw_torch_output(NwTorchWriter *writer);

/* Writes the model, atomically; takes normalised f32 NCHW, returns logits. Refused by name: blocks whose op
 * has no TorchScript. extra: files stored under extra/ (NULL or name/text pairs ending in NULL). Equal
 * models, equal bytes. */
NwStatus nw_torchscript_write(const char *path, NwModel *model, const char *const *extra, NwError *error);
