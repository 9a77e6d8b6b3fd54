/* The training settings of a project: everything a run is started with, generated from the rows of
 * optimizers, losses and schedules and from a table of the trainer's own. Edits go through the project, so
 * they can be undone. */
#pragma once

#include <gtk/gtk.h>

#include "app/project.h"

#define NW_TYPE_TRAIN_SETTINGS (nw_train_settings_get_type())
G_DECLARE_FINAL_TYPE(NwTrainSettings, nw_train_settings, NW, TRAIN_SETTINGS, GtkWidget)

GtkWidget *nw_train_settings_new(NwProject *project);
/* While a run goes on, the settings show what it was started with and cannot be changed. */
void nw_train_settings_set_locked(NwTrainSettings *settings, gboolean locked);
