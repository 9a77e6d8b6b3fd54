/* All layers from the op table: search, drag onto the canvas, Enter or double click appends behind the
 * selected block. */
#pragma once

#include <gtk/gtk.h>

#include "engine/op/op.h"

#define NW_TYPE_PALETTE (nw_palette_get_type())
G_DECLARE_FINAL_TYPE(NwPalette, nw_palette, NW, PALETTE, GtkWidget)
/* Signal "chosen" (gpointer op): Enter or double click. */

GtkWidget *nw_palette_new(void);
void nw_palette_focus_search(NwPalette *palette);
/* The row of a layer, for tests; NULL: none. */
GtkWidget *nw_palette_row(NwPalette *palette, const char *op_id);
/* Is this op offered? Layers, not losses, optimizers or internal steps. */
gboolean nw_palette_offers(const NwOp *op);
