/* The whole network small, with the part in view marked; a press goes there. */
#pragma once

#include "ui/canvas/nw-canvas.h"

GtkWidget *nw_minimap_new(NwProject *project, NwCanvas *canvas);
