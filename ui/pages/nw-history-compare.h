/* Chosen runs beside each other: their curves laid over one another, and the settings that differ. */
#pragma once

#include <gtk/gtk.h>

#include "app/session.h"
#include "ui/model/nw-run-item.h"

enum { NW_COMPARE_MAX = 6 }; /* colours that stay apart for every eye */

#define NW_TYPE_HISTORY_COMPARE (nw_history_compare_get_type())
G_DECLARE_FINAL_TYPE(NwHistoryCompare, nw_history_compare, NW, HISTORY_COMPARE, GtkWidget)

GtkWidget *nw_history_compare_new(NwHistory *history);
/* items: NwRunItem, at most NW_COMPARE_MAX are shown, in order; read anew at every call. */
void nw_history_compare_set(NwHistoryCompare *compare, GPtrArray *items);
