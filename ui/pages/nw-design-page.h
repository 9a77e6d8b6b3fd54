/* The Design page: palette, canvas with its furniture, inspector. */
#pragma once

#include "ui/canvas/nw-canvas.h"
#include "ui/panels/nw-palette.h"

#define NW_TYPE_DESIGN_PAGE (nw_design_page_get_type())
G_DECLARE_FINAL_TYPE(NwDesignPage, nw_design_page, NW, DESIGN_PAGE, GtkWidget)

GtkWidget *nw_design_page_new(NwProject *project);
NwCanvas *nw_design_page_canvas(NwDesignPage *page);
NwPalette *nw_design_page_palette(NwDesignPage *page);
void nw_design_page_set_narrow(NwDesignPage *page, gboolean narrow);
