/* Problems of a data set, its split, and what happens to a picture before it is learned from. */
#pragma once

#include <gtk/gtk.h>

#include "app/project.h"

#define NW_TYPE_DATA_SETTINGS (nw_data_settings_get_type())
G_DECLARE_FINAL_TYPE(NwDataSettings, nw_data_settings, NW, DATA_SETTINGS, GtkWidget)

GtkWidget *nw_data_settings_new(NwProject *project);
