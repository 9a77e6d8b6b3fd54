#include "engine/nn/templates/draw.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const NwOp *find(NwPencil *pencil, const char *id)
{
  const NwOp *op = nw_op_find(id);
  if (op == NULL)
    pencil->status = nw_fail(pencil->error, NW_NOT_FOUND, "This program has no layer \"%s\".", id);
  return op;
}

NwPencil nw_pencil(NwNetwork *network, NwError *error)
{
  NwPencil pencil = {.network = network, .status = NW_OK, .error = error};
  const NwOp *op = find(&pencil, "input");
  if (op != NULL)
    pencil.status = nw_network_add(network, op, "input", 0, &pencil.at, error);
  return pencil;
}

static uint32_t add(NwPencil *pencil, const char *id, const char *name)
{
  uint32_t block = 0;
  if (pencil->status != NW_OK)
    return 0;
  const NwOp *op = find(pencil, id);
  if (op == NULL)
    return 0;
  pencil->status = nw_network_add(pencil->network, op, name, 0, &block, pencil->error);
  if (pencil->status == NW_OK)
    pencil->status = nw_network_connect(pencil->network, pencil->at, block, 0, pencil->error);
  pencil->at = block;
  return pencil->status == NW_OK ? block : 0;
}

/* "key=text key=text": each pair goes to the attribute of that name. */
static void set_all(NwPencil *pencil, uint32_t block, char *attrs)
{
  char *rest = NULL;
  for (char *pair = strtok_r(attrs, " ", &rest); pair != NULL && pencil->status == NW_OK;
       pair = strtok_r(NULL, " ", &rest)) {
    char *equals = strchr(pair, '=');
    if (equals == NULL) {
      pencil->status = nw_fail(pencil->error, NW_INTERNAL, "A template says \"%s\" without a value.", pair);
      return;
    }
    *equals = 0;
    pencil->status = nw_network_set_text(pencil->network, block, pair, equals + 1, pencil->error);
  }
}

uint32_t nw_draw(NwPencil *pencil, const char *op, const char *name, const char *attrs, ...)
{
  char text[256];
  va_list args;
  va_start(args, attrs);
  vsnprintf(text, sizeof text, attrs, args);
  va_end(args);
  uint32_t block = add(pencil, op, name);
  if (block != 0)
    set_all(pencil, block, text);
  return block;
}

uint32_t nw_draw_join(NwPencil *pencil, const char *op, const char *name, uint32_t other)
{
  uint32_t block = add(pencil, op, name);
  if (pencil->status == NW_OK)
    pencil->status = nw_network_connect(pencil->network, other, block, 1, pencil->error);
  return block;
}

void nw_draw_basic_block(NwPencil *pencil, const char *path, int64_t from, int64_t to, int64_t stride)
{
  char name[128];
  uint32_t top = pencil->at, shortcut = top;
#define NAME(part) (snprintf(name, sizeof name, "%s.%s", path, part), name)
  nw_draw(pencil, "conv2d", NAME("conv1"),
          "out_channels=%" PRId64 " kernel_size=3 stride=%" PRId64 " padding=1 bias=false", to, stride);
  nw_draw(pencil, "batch_norm2d", NAME("bn1"), " ");
  nw_draw(pencil, "relu", NAME("relu"), " ");
  nw_draw(pencil, "conv2d", NAME("conv2"), "out_channels=%" PRId64 " kernel_size=3 padding=1 bias=false", to);
  uint32_t main = nw_draw(pencil, "batch_norm2d", NAME("bn2"), " ");
  if (stride != 1 || from != to) {
    pencil->at = top;
    nw_draw(pencil, "conv2d", NAME("downsample.0"),
            "out_channels=%" PRId64 " kernel_size=1 stride=%" PRId64 " bias=false", to, stride);
    shortcut = nw_draw(pencil, "batch_norm2d", NAME("downsample.1"), " ");
    pencil->at = main;
  }
  nw_draw_join(pencil, "add", NAME("add"), shortcut);
  nw_draw(pencil, "relu", NAME("relu2"),
          " "); /* torch uses its one ReLU twice; a block stands in one place */
#undef NAME
}
