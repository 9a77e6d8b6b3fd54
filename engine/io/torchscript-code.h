/* The forward function of a network as TorchScript text, made from the templates of the op rows. */
#pragma once

#include "engine/base/text.h"
#include "engine/nn/model.h"

/* Appends the statements of forward, from "    training = self.training" to "    return ...". Errors carry
 * the block. */
NwStatus nw_torchscript_forward(NwModel *model, NwText *out, NwError *error);
