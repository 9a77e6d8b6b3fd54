/* Shared by `new` and `train --template`. */
#pragma once

#include "app/cli/cli.h"

int nw_cli_no_template(const char *command, const char *name);
/* Data set and template into an empty project. */
NwStatus nw_cli_fill_project(NwProject *project, const NwTemplate *tmpl, const char *data, const char *size,
                             NwError *error);
