/* A pencil for templates: adds one block after another and remembers where it stands. The first failure
 * sticks, so a template is a plain list of layers. */
#pragma once

#include "engine/nn/template.h"

typedef struct NwPencil {
  NwNetwork *network;
  uint32_t at;     /* the block that the next one reads */
  NwStatus status; /* NW_OK until something failed; then every call does nothing */
  NwError *error;
} NwPencil;

/* Starts with the input block. */
NwPencil nw_pencil(NwNetwork *network, NwError *error);
/* Adds a layer behind pencil->at and moves there; returns its id (0: failed). attrs: "key=text key=text",
 * printf. */
uint32_t nw_draw(NwPencil *pencil, const char *op, const char *name, const char *attrs, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for a layer that joins pencil->at and `other`. */
uint32_t nw_draw_join(NwPencil *pencil, const char *op, const char *name, uint32_t other);

/* Residual blocks as torchvision names them: "<path>.conv1", "<path>.bn1", …, "<path>.downsample.0" where the
 * stride or the width changes. */
void nw_draw_basic_block(NwPencil *pencil, const char *path, int64_t from, int64_t to, int64_t stride);

NwStatus nw_template_simplecnn(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                               int64_t classes, NwError *error);
NwStatus nw_template_lenet(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                           int64_t classes, NwError *error);
NwStatus nw_template_mlp(NwNetwork *network, int64_t channels, int64_t height, int64_t width, int64_t classes,
                         NwError *error);
NwStatus nw_template_simpleclassifier(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                      int64_t classes, NwError *error);
NwStatus nw_template_resnet_small(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                  int64_t classes, NwError *error);
NwStatus nw_template_resnet18(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                              int64_t classes, NwError *error);

/* Networks of torchvision and of the published EfficientNet-Lite0: known.c. */
NwStatus nw_template_resnet34(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                              int64_t classes, NwError *error);
NwStatus nw_template_resnet50(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                              int64_t classes, NwError *error);
NwStatus nw_template_vgg11(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                           int64_t classes, NwError *error);
NwStatus nw_template_vgg11_bn(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                              int64_t classes, NwError *error);
NwStatus nw_template_vgg16(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                           int64_t classes, NwError *error);
NwStatus nw_template_vgg16_bn(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                              int64_t classes, NwError *error);
NwStatus nw_template_alexnet(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                             int64_t classes, NwError *error);
NwStatus nw_template_squeezenet1_0(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                   int64_t classes, NwError *error);
NwStatus nw_template_squeezenet1_1(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                   int64_t classes, NwError *error);
NwStatus nw_template_mobilenet_v2(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                  int64_t classes, NwError *error);
NwStatus nw_template_mobilenet_v3_small(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                        int64_t classes, NwError *error);
NwStatus nw_template_mobilenet_v3_large(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                        int64_t classes, NwError *error);
NwStatus nw_template_efficientnet_b0(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                     int64_t classes, NwError *error);
NwStatus nw_template_efficientnet_lite0(NwNetwork *network, int64_t channels, int64_t height, int64_t width,
                                        int64_t classes, NwError *error);
