/* What is chosen on the canvas: name, shapes, every attribute, figures; and the totals of the network, which
 * never scroll away. */
#pragma once

#include <gtk/gtk.h>

#include "app/project.h"

#define NW_TYPE_INSPECTOR (nw_inspector_get_type())
G_DECLARE_FINAL_TYPE(NwInspector, nw_inspector, NW, INSPECTOR, GtkWidget)

GtkWidget *nw_inspector_new(NwProject *project);
void nw_inspector_show(NwInspector *inspector, guint32 block, guint chosen); /* block 0: none or several */
void nw_inspector_set_narrow(NwInspector *inspector, gboolean narrow);
