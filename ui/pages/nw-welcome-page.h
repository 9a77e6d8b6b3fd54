/* The start page: recent projects, and templates to begin with. */
#pragma once

#include <gtk/gtk.h>

#include "app/settings.h"

/* Actions used: win.open-folder (s), win.new (s template), win.open. */
GtkWidget *nw_welcome_page_new(NwSettings *settings);
