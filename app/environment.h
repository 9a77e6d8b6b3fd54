/* What a run was trained on and with: recorded with it, shown by `netwright info --machine`. */
#pragma once

#include "engine/base/json.h"

/* Version, processor, instruction set, threads, memory, kernel, libraries. Owner: caller. */
NwJson *nw_environment_json(void);
