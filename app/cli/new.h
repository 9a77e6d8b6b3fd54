/* Shared by `new` and `train --template`. */
#pragma once

#include "app/cli/cli.h"

int nw_cli_no_template(const char *command, const char *name);
/* Data set and template into an empty project. */
/* "--weights FILE", "--match name|order", "--pretrained": read by GOption. */
typedef struct NwCliWeights {
  char *file, *match;
  gboolean pretrained;
} NwCliWeights;
#define NW_CLI_WEIGHTS_OPTIONS(w)                                                                            \
  {"weights", 'w', 0, G_OPTION_ARG_FILENAME, &(w).file, N_("File of weights to begin with"), N_("FILE")},    \
      {"match",    0,                                                                                        \
       0,          G_OPTION_ARG_STRING,                                                                      \
       &(w).match, N_("How its tensors find their place: name (default) or order"),                          \
       N_("WAY")},                                                                                           \
  {                                                                                                          \
    "pretrained", 0, 0, G_OPTION_ARG_NONE, &(w).pretrained,                                                  \
        N_("Begin with the weights that come with this program"), NULL                                       \
  }
void nw_cli_weights_clear(NwCliWeights *weights);
/* tmpl: what --pretrained is for; NULL: not a template. Prints what matched; all is silence where nothing was
 * asked. */
NwStatus nw_cli_use_weights(NwProject *project, const NwTemplate *tmpl, const NwCliWeights *weights,
                            gboolean quiet, NwError *error);
NwStatus nw_cli_fill_project(NwProject *project, const NwTemplate *tmpl, const char *data, const char *size,
                             NwError *error);
