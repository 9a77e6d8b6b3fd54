/* What a run was started with, as a flat table: "config.lr" → "0.001", for comparisons in the window and on
 * the command line. */
#pragma once

#include <glib.h>

#include "storage/history.h"

/* Objects become dotted keys; the network's blocks are left out. Free with g_hash_table_unref. */
GHashTable *nw_run_settings(const NwRunInfo *info);
