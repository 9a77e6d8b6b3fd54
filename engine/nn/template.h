/* Templates: small programs that draw a network for given pictures and classes. */
#pragma once

#include "engine/nn/network.h"

typedef struct NwTemplate {
  const char *id;    /* "simplecnn" */
  const char *label; /* "SimpleCNN" */
  const char *doc;   /* N_() */
  int64_t width, height, channels; /* proposed picture size */
  NwStatus (*build)(NwNetwork *network, int64_t channels, int64_t height, int64_t width, int64_t classes,
                    NwError *error);
} NwTemplate;

const NwTemplate *nw_template_find(const char *id);
const NwTemplate *nw_template_at(size_t index); /* NULL past the end */
/* A new laid-out network. Errors: NW_BAD_SHAPE where the pictures are too small for it. */
NwStatus nw_template_build(const NwTemplate *tmpl, int64_t channels, int64_t height, int64_t width, int64_t classes,
                           NwNetwork **out, NwError *error);
/* Lays the blocks out from top to bottom, branches beside each other (the Arrange command). */
NwStatus nw_network_arrange(NwNetwork *network, NwError *error);
