/* One run of the history as a GObject, so that list models can sort, filter and update it. */
#pragma once

#include <gio/gio.h>

#include "app/session.h"

#define NW_TYPE_RUN_ITEM (nw_run_item_get_type())
G_DECLARE_FINAL_TYPE(NwRunItem, nw_run_item, NW, RUN_ITEM, GObject)
/* Signal "changed": the row must be drawn anew. */

NwRunItem *nw_run_item_new(NwRunInfo *info); /* takes info */
const NwRunInfo *nw_run_item_info(NwRunItem *item);
void nw_run_item_update(NwRunItem *item, NwRunInfo *info); /* takes info */
/* Place among the runs that are compared (colour and dash), -1: not compared. */
int nw_run_item_slot(NwRunItem *item);
void nw_run_item_set_slot(NwRunItem *item, int slot);
/* A flat table "optimizer.momentum" → "0.9" of what the run was started with; owned by the item. */
GHashTable *nw_run_item_settings(NwRunItem *item);
