/* Thousands of pictures in a grid; each is decoded when it comes into view, a few a frame, so that scrolling
 * never waits. */
#pragma once

#include <gtk/gtk.h>

#include "app/preview.h"

#define NW_TYPE_PICTURE_GRID (nw_picture_grid_get_type())
G_DECLARE_FINAL_TYPE(NwPictureGrid, nw_picture_grid, NW, PICTURE_GRID, GtkWidget)
/* Signal "chosen" (guint index of the manifest). */

enum { NW_PICTURE_GRID_MAX = 5000 };

GtkWidget *nw_picture_grid_new(NwProject *project);
/* Shows the pictures of a class (-1: all) and part (-1: both) whose file name holds text; returns how many
 * match (at most NW_PICTURE_GRID_MAX are shown). */
guint nw_picture_grid_show(NwPictureGrid *grid, int label, int split, const char *text);
/* A texture of RGB bytes. */
GdkTexture *nw_preview_texture(const NwPreview *preview);
