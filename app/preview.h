/* Pictures of a project's data set for eyes: as they are, and as the network sees them. */
#pragma once

#include "app/project.h"

typedef struct NwPreview {
  guint width, height;
  guint8 *rgb; /* height × width × 3, g_free */
} NwPreview;

void nw_preview_clear(NwPreview *preview);
/* Picture `index` of the manifest, no larger than max_side. Errors: the decoder's sentences; NW_BAD_STATE
 * without a set. */
NwStatus nw_preview_original(NwProject *project, guint index, guint max_side, NwPreview *out, NwError *error);
/* The same picture after the transforms, drawn by the code that trains, with the numbers it will use in
 * `epoch` of a run with the project's seed. Validation pictures take the evaluation transforms. */
NwStatus nw_preview_seen(NwProject *project, guint index, guint64 epoch, NwPreview *out, NwError *error);
