/* Shared by `train` and `resume`: waiting for a session, telling how it goes, ending well. */
#pragma once

#include "app/cli/cli.h"

typedef struct NwCliRun {
  NwSession *session;
  gboolean json;
  const char *history; /* of --history; NULL: the usual one */
} NwCliRun;

/* Prepares the listener and SIGINT. Call before the session starts. */
void nw_cli_run_prepare(NwCliRun *run);
/* Blocks to the end; prints the last lines; gives the exit code. */
int nw_cli_run_wait(NwCliRun *run);
