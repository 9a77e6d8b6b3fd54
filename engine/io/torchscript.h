/* TorchScript archives written from the op rows: torch.jit.load opens them. What irregular ops write with
 * (nw_torch_line and its kin) is declared in engine/op/op.h; leading blanks in a line nest it deeper ("if
 * training:"). */
#pragma once

#include "engine/nn/model.h"

/* Writes the model, atomically; takes normalised f32 NCHW, returns logits. Refused by name: blocks whose op
 * has no TorchScript. extra: files stored under extra/ (NULL or name/text pairs ending in NULL). Equal
 * models, equal bytes. */
NwStatus nw_torchscript_write(const char *path, NwModel *model, const char *const *extra, NwError *error);
