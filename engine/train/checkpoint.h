/* Checkpoints: a PyTorch file with model_state_dict, optimizer_state_dict, epoch and one JSON string
 * "netwright". */
#pragma once

#include "engine/nn/model.h"

/* Reads the JSON string of a checkpoint (network, config, counters, extra). Owner: caller. */
NwStatus nw_checkpoint_read_json(const char *path, NwJson **out, NwError *error);
/* A model with the network and weights of a checkpoint. */
NwStatus nw_checkpoint_read_model(const char *path, NwModel **out, NwJson **json, NwError *error);
