/* The opcodes of pickle protocol 2 that torch.load and torch.jit.load accept, appended to a buffer. */
#pragma once

#include "engine/base/text.h"
#include "engine/io/zip-write.h"
#include "engine/tensor/spec.h"

void nw_pickle_put_start(NwText *out);
void nw_pickle_put_text(NwText *out, const char *text);
void nw_pickle_put_int(NwText *out, int64_t value);
void nw_pickle_put_real(NwText *out, double value);
void nw_pickle_put_global(NwText *out, const char *module, const char *name);
/* A contiguous tensor whose bytes are the record data/<key>. */
void nw_pickle_put_tensor(NwText *out, const NwSpec *spec, int key, bool requires_grad);
void nw_pickle_put_ordered_dict(NwText *out); /* an empty one */
/* Appends the record data/<key>. */
NwStatus nw_pickle_add_data(NwZipWriter *zip, int key, const NwSpec *spec, const void *data, NwError *error);
