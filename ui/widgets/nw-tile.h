/* A tile: what a figure is, the figure with its unit, and a line that puts it into relation. */
#pragma once

#include <gtk/gtk.h>

#define NW_TYPE_TILE (nw_tile_get_type())
G_DECLARE_FINAL_TYPE(NwTile, nw_tile, NW, TILE, GtkWidget)

GtkWidget *nw_tile_new(const char *label);
/* value "–" when there is none yet; unit may be NULL. */
void nw_tile_set(NwTile *tile, const char *value, const char *unit);
/* tone: "ok", "warn", "" (dim). */
void nw_tile_set_note(NwTile *tile, const char *note, const char *tone);
/* A thin bar instead of the note; share 0 … 1. */
void nw_tile_set_share(NwTile *tile, double share);
