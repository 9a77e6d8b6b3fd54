/* The application: one window a project; style sheets; the history and settings that all windows share. */
#pragma once

#include <adwaita.h>

#include "app/session.h"
#include "app/settings.h"

#define NW_TYPE_APPLICATION (nw_application_get_type())
G_DECLARE_FINAL_TYPE(NwApplication, nw_application, NW, APPLICATION, AdwApplication)

NwApplication *nw_application_new(void);
NwHistory *nw_application_history(NwApplication *application);
NwSettings *nw_application_settings(NwApplication *application);
/* What the command line asked for, used by the first window. */
void nw_application_set_start(NwApplication *application, const char *project, const char *page);
