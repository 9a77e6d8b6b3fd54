/* The pictures of one split as a loader sees them: by position, transformed, from memory where they are
 * small, replaced where they cannot be read. Safe from many threads. Private to data/. */
#pragma once

#include "data/fetch.h"

typedef struct NwSet NwSet;

NwStatus nw_set_new(const NwManifest *manifest, NwSplit split, const NwPreprocessing *preprocessing,
                    gboolean training, guint64 seed, NwSet **out, NwError *error);
void nw_set_free(NwSet *set);
guint32 nw_set_count(const NwSet *set);
guint nw_set_entry_index(const NwSet *set, guint32 position);
gint64 nw_set_label(const NwSet *set, guint32 position);
gboolean nw_set_is_quick(const NwSet *set); /* pictures come from memory */
/* Writes height × width × channels bytes. *shown: position of the picture that was taken, another one when
 * this cannot be read. */
NwStatus nw_set_picture(NwSet *set, NwFetch *fetch, guint32 position, guint64 epoch, guint8 *out,
                        guint32 *shown, NwError *error);
/* While set, waiting for a slow disk is given up at once (NW_CANCELLED). */
void nw_set_interrupt(NwSet *set, gboolean interrupt);
guint nw_set_replaced(NwSet *set);
GPtrArray *nw_set_replaced_texts(NwSet *set);
