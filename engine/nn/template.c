#include "engine/nn/template.h"

#include <inttypes.h>
#include <string.h>

#include "engine/nn/templates/draw.h"

static const NwTemplate templates[] = {
    {"simplecnn", "SimpleCNN",
     N_("Two convolutions and two linear layers with dropout; a good first choice."), 28, 28, 1,
     nw_template_simplecnn},
    {"lenet", "LeNet", N_("LeCun's classic for small pictures, with ReLU; tiny and quick."), 32, 32, 3,
     nw_template_lenet},
    {"mlp", "MLP", N_("Three linear layers and no convolution; the plainest network."), 28, 28, 1,
     nw_template_mlp},
    {"simpleclassifier", "SimpleClassifier",
     N_("Two narrow convolutions and a wide linear layer, for larger photos."), 224, 224, 3,
     nw_template_simpleclassifier},
    {"resnet-small", "Small ResNet",
     N_("Six residual blocks with batch norm; more accurate on small pictures, slower."), 32, 32, 3,
     nw_template_resnet_small},
    {"resnet18", "ResNet-18", N_("The 18-layer residual network as in torchvision, for photos."), 224, 224, 3,
     nw_template_resnet18},
    {"resnet34", "ResNet-34", N_("The 34-layer residual network as in torchvision."), 224, 224, 3,
     nw_template_resnet34},
    {"resnet50", "ResNet-50", N_("The 50-layer residual network as in torchvision; accurate and large."), 224,
     224, 3, nw_template_resnet50},
    {"mobilenet-v2", "MobileNetV2", N_("A small, quick network for photos, as in torchvision."), 224, 224, 3,
     nw_template_mobilenet_v2},
    {"mobilenet-v3-small", "MobileNetV3-Small", N_("The smallest network for photos, as in torchvision."),
     224, 224, 3, nw_template_mobilenet_v3_small},
    {"mobilenet-v3-large", "MobileNetV3-Large",
     N_("A quick and accurate network for photos, as in torchvision."), 224, 224, 3,
     nw_template_mobilenet_v3_large},
    {"efficientnet-b0", "EfficientNet-B0", N_("Few weights and high accuracy for photos, as in torchvision."),
     224, 224, 3, nw_template_efficientnet_b0},
    {"efficientnet-lite0", "EfficientNet-Lite0",
     N_("A quick network for photos whose weights, learnt from a million of them, come with this program."),
     224, 224, 3, nw_template_efficientnet_lite0},
    {"squeezenet1-0", "SqueezeNet 1.0", N_("Very few weights, as in torchvision."), 224, 224, 3,
     nw_template_squeezenet1_0},
    {"squeezenet1-1", "SqueezeNet 1.1", N_("Very few weights and less to compute, as in torchvision."), 224,
     224, 3, nw_template_squeezenet1_1},
    {"alexnet", "AlexNet", N_("The network that began it in 2012, as in torchvision."), 224, 224, 3,
     nw_template_alexnet},
    {"vgg11", "VGG-11", N_("Plain 3×3 convolutions and very large linear layers, as in torchvision."), 224,
     224, 3, nw_template_vgg11},
    {"vgg11-bn", "VGG-11 with batch norm", N_("VGG-11 that trains more easily, as in torchvision."), 224, 224,
     3, nw_template_vgg11_bn},
    {"vgg16", "VGG-16", N_("The deeper VGG, as in torchvision; slow and large."), 224, 224, 3,
     nw_template_vgg16},
    {"vgg16-bn", "VGG-16 with batch norm", N_("VGG-16 that trains more easily, as in torchvision."), 224, 224,
     3, nw_template_vgg16_bn},
};

const NwTemplate *nw_template_at(size_t index)
{
  return index < (size_t)NW_COUNT(templates) ? &templates[index] : NULL;
}

const NwTemplate *nw_template_find(const char *id)
{
  for (int i = 0; i < NW_COUNT(templates); i++)
    if (strcmp(templates[i].id, id) == 0)
      return &templates[i];
  return NULL;
}

/* The drawing is checked at once: windows that exceed a small picture are told here, not later. */
static NwStatus check(const NwTemplate *tmpl, const NwNetwork *network, const NwSpec *input, int64_t classes,
                      NwError *error)
{
  NwNetworkReport report;
  NW_TRY(nw_network_check(network, input, classes, &report, error));
  NwStatus status = report.status;
  if (status != NW_OK) {
    status =
        nw_fail(error, NW_BAD_SHAPE,
                "Pictures of %" PRId64 "×%" PRId64 " with %" PRId64 " channels do not suit %s (it proposes "
                "%" PRId64 "×%" PRId64 "). %s",
                input->dims[3], input->dims[2], input->dims[1], tmpl->label, tmpl->width, tmpl->height,
                report.error.text);
  }
  nw_network_report_clear(&report);
  return status;
}

NwStatus nw_template_build(const NwTemplate *tmpl, int64_t channels, int64_t height, int64_t width,
                           int64_t classes, NwNetwork **out, NwError *error)
{
  *out = NULL;
  if (channels < 1 || height < 1 || width < 1)
    return nw_fail(error, NW_BAD_SHAPE,
                   "Pictures of %" PRId64 "×%" PRId64 " with %" PRId64 " channels do not exist.", width,
                   height, channels);
  if (classes < 1)
    return nw_fail(error, NW_BAD_ARGUMENT, "A network for %" PRId64 " classes cannot be drawn.", classes);
  NwNetwork *network;
  NW_TRY(nw_network_new(&network, error));
  const NwSpec input = nw_spec(NW_F32, 4, (int64_t[]){1, channels, height, width});
  NwStatus status = tmpl->build(network, channels, height, width, classes, error);
  if (status == NW_OK)
    status = check(tmpl, network, &input, classes, error);
  if (status == NW_OK)
    status = nw_network_arrange(network, error);
  if (status != NW_OK) {
    nw_network_free(network);
    return status;
  }
  *out = network;
  return NW_OK;
}
