/* How many pictures each class has, for training and validation, as bars with figures. */
#pragma once

#include <gtk/gtk.h>

#include "app/project.h"

GtkWidget *nw_class_balance_new(void);
/* Shows the manifest (NULL: nothing). Classes with less than half of the usual number are marked. */
void nw_class_balance_fill(GtkWidget *balance, const NwManifest *manifest);
