/* Taking a trained network away. Every export is read back and compared before it counts as done. */
#pragma once

#include "engine/base/status.h"
#include "storage/history.h"

typedef struct NwExportFormat {
  const char *id;                      /* "weights", "torchscript" */
  const char *label, *doc, *extension; /* label, doc: N_() */
} NwExportFormat;
const NwExportFormat *nw_export_format_at(guint index); /* NULL past the end */
const NwExportFormat *nw_export_format_find(const char *id);
/* checkpoint: "best" or "last". *report: a translated sentence on what was checked and the largest difference
 * (g_free). */
NwStatus nw_export_run(NwHistory *history, const char *run, const char *checkpoint,
                       const NwExportFormat *format, const char *path, char **report, NwError *error);
