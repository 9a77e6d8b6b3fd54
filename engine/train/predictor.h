/* Inference: a frozen plan per batch size. */
#pragma once

#include "engine/nn/model.h"
#include "engine/train/trainer.h"

typedef struct NwPredictor NwPredictor;
/* Plans for batches of up to batch_size. model is borrowed and must not change meanwhile. */
NwStatus nw_predictor_new(NwModel *model, const NwNormalization *normalization, int64_t batch_size,
                          NwPredictor **out, NwError *error);
void nw_predictor_free(NwPredictor *predictor);
/* pixels: n × height × width × channels, n ≤ batch_size. logits: n × classes, written. */
NwStatus nw_predictor_run(NwPredictor *predictor, const uint8_t *pixels, int64_t n, float *logits,
                          NwError *error);
/* Normalised input instead: n × C × H × W f32. */
NwStatus nw_predictor_run_f32(NwPredictor *predictor, const float *input, int64_t n, float *logits,
                              NwError *error);
