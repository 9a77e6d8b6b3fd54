/* A trained network from a run or a file, with what is needed to use it: shared by eval, predict and info. */
#pragma once

#include "app/cli/cli.h"
#include "engine/nn/model.h"

typedef struct NwTrained {
  NwModel *model;
  NwPreprocessing *preprocessing;
  GPtrArray *classes; /* char *; empty when the file does not say */
  NwRunInfo *run;     /* NULL: from a file */
} NwTrained;

/* word: a run, or the path of a checkpoint. checkpoint: "best" or "last". Prints the sentence; NW_EXIT_DONE
 * or the exit code. */
int nw_cli_load(NwHistory *history, const char *word, const char *checkpoint, NwTrained *out);
void nw_trained_clear(NwTrained *trained);
const char *nw_trained_class(const NwTrained *trained,
                             guint index); /* its number where there is no name; static */
NwNormalization nw_trained_normalization(const NwTrained *trained);
