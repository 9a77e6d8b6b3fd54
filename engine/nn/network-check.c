/* Infers a whole network and says what is wrong with it, block by block, in sentences. */
#include "engine/nn/network-internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/memory.h"

typedef struct Check {
  const NwNetwork *network;
  NwNetworkReport *report;
  NwBlockShape *shapes; /* by block index */
  int64_t batch, classes;
} Check;

static void note(NwNetworkReport *report, const NwError *error)
{
  if (report->n_errors++ == 0) {
    report->error = *error;
    report->status = error->status;
  }
}

/* A block's error keeps its own sentence; the report's first error also says which block. */
static void note_block(Check *check, int index)
{
  NwError error = check->report->blocks[index].error;
  const char *name = check->network->blocks[index]->name;
  char quoted[256];
  snprintf(quoted, sizeof quoted, "\"%s\"", name);
  if (strstr(error.text, quoted) == NULL)
    nw_error_prefix(&error, error.status, "%s", name);
  note(check->report, &error);
}

static int64_t count_parameters(const NwBlock *block, const NwBlockShape *shape)
{
  int64_t n = 0;
  for (int port = 0; port < block->op->n_inputs; port++)
    if (block->op->inputs[port].role == NW_PORT_PARAM && shape->own[port])
      n += nw_spec_count(&shape->in[port]);
  return n;
}

static double count_macs(const Check *check, const NwBlock *block, const NwBlockShape *shape)
{
  if (block->op->cost == NULL || check->batch <= 0)
    return 0;
  NwCost cost = block->op->cost(block->op, block->attrs, shape->in, shape->n_in, shape->out);
  return cost.macs / (double)check->batch;
}

/* Fills the data inputs; false when a block above has no output. */
static bool gather(Check *check, NwBlockShape *shape)
{
  for (int i = 0; i < shape->n_in; i++)
    if (shape->from[i] >= 0) {
      const NwBlockReport *above = &check->report->blocks[shape->from[i]];
      if (!above->reached || above->status != NW_OK)
        return false;
      shape->in[i] = above->out;
    }
  return true;
}

static NwStatus infer_input(const NwBlock *block, NwBlockReport *report, const NwSpec *input)
{
  if (input->ndim != 4 || nw_spec_count(input) < 0) {
    nw_fail(&report->error, NW_BAD_SHAPE, "The pictures of \"%s\" must be batch × channels × height × width.",
            block->name);
    return report->error.status;
  }
  report->in = report->out = *input;
  report->reached = true;
  return NW_OK;
}

static void check_block(Check *check, int index, const NwSpec *input)
{
  const NwBlock *block = check->network->blocks[index];
  NwBlockReport *report = &check->report->blocks[index];
  NwBlockShape *shape = &check->shapes[index];
  NwNetworkReport *total = check->report;
  if (block->op->group == NW_GROUP_INPUT) {
    report->status = infer_input(block, report, input);
  } else {
    report->status = nw_block_wires(check->network, block, shape, &report->error);
    if (report->status == NW_OK) {
      if (!gather(check, shape))
        return; /* the mistake is above */
      report->reached = true;
      for (int i = 0; i < shape->n_in; i++)
        if (shape->from[i] >= 0) {
          report->in = shape->in[i];
          break;
        }
      report->status = nw_block_infer(block, shape, &report->error);
    }
  }
  if (report->status != NW_OK) {
    report->error.block = block->id;
    report->error.status = report->status;
    note_block(check, index);
    return;
  }
  if (block->op->group != NW_GROUP_INPUT) {
    report->out = shape->out[0];
    report->parameters = count_parameters(block, shape);
    report->macs = count_macs(check, block, shape);
  }
  report->bytes_out = (int64_t)nw_spec_bytes(&report->out);
  total->parameters += report->parameters;
  total->macs += report->macs;
}

/* ---- the network as a whole ---- */

static void whole(Check *check, NwStatus status, uint32_t block, const char *property, const char *text)
{
  NwError error = {0};
  nw_fail(&error, status, "%s", text);
  error.block = block;
  snprintf(error.property, sizeof error.property, "%s", property);
  note(check->report, &error);
}

/* Finds the only block whose output nobody reads. */
static void find_output(Check *check)
{
  const NwNetwork *network = check->network;
  NwNetworkReport *report = check->report;
  int first = -1, second = -1;
  for (int i = 0; i < network->n; i++) {
    bool read = false;
    for (int j = 0; j < network->n && !read; j++)
      for (int k = 0; k < network->blocks[j]->n_from && !read; k++)
        read = network->blocks[j]->from[k] == network->blocks[i]->id;
    if (read)
      continue;
    if (first < 0)
      first = i;
    else if (second < 0)
      second = i;
  }
  if (first >= 0 && second < 0 && network->blocks[first]->op->group != NW_GROUP_INPUT) {
    report->output = network->blocks[first]->id;
    if (report->blocks[first].reached && report->blocks[first].status == NW_OK)
      report->out = report->blocks[first].out;
    return;
  }
  if (report->n_errors > 0)
    return; /* a missing wire makes an end too; that sentence is the better one */
  char text[512];
  if (second >= 0) {
    snprintf(text, sizeof text,
             "The network has two outputs, since nothing reads \"%.180s\" and nothing reads \"%.180s\": "
             "connect one "
             "of them, or delete it.",
             network->blocks[first]->name, network->blocks[second]->name);
    whole(check, NW_BAD_STATE, network->blocks[second]->id, "", text);
  } else {
    whole(check, NW_BAD_STATE, 0, "",
          "The network has no output: add layers behind the input, the last with one number a class.");
  }
}

static bool has_input(const Check *check)
{
  for (int i = 0; i < check->network->n; i++)
    if (check->network->blocks[i]->op->group == NW_GROUP_INPUT)
      return true;
  return false;
}

/* Which whole-number property of the block would make it give `classes` numbers? Found by trying, so that no
 * layer has to be known here. */
static const NwAttr *property_for_classes(const Check *check, int index, int64_t classes)
{
  const NwBlock *block = check->network->blocks[index];
  if (block->op->group == NW_GROUP_INPUT)
    return NULL;
  void *attrs = nw_alloc(block->op->attrs_size);
  const NwAttr *found = NULL;
  for (int i = 0; i < block->op->n_attrs && attrs != NULL && found == NULL; i++) {
    const NwAttr *attr = &block->op->attrs[i];
    if (attr->type != NW_ATTR_INT || (attr->flags & NW_ATTR_HIDDEN))
      continue;
    memcpy(attrs, block->attrs, block->op->attrs_size);
    NwValue value = {.type = NW_ATTR_INT, .i = classes};
    if (nw_attr_set(block->op, attr, attrs, value, NULL) != NW_OK)
      continue;
    NwBlock changed = *block;
    changed.attrs = attrs;
    NwBlockShape shape = check->shapes[index];
    if (nw_block_infer(&changed, &shape, NULL) == NW_OK && shape.out[0].ndim == 2 &&
        shape.out[0].dims[1] == classes)
      found = attr;
  }
  nw_free(attrs);
  return found;
}

static void check_output(Check *check)
{
  NwNetworkReport *report = check->report;
  int last = nw_network_index(check->network, report->output);
  if (last < 0 || report->n_errors > 0 || !nw_spec_present(&report->out))
    return;
  char text[512], shape[96];
  const NwSpec *out = &report->out;
  if (out->ndim != 2) {
    nw_spec_shape_text(out, true, shape, sizeof shape);
    snprintf(text, sizeof text,
             "The last block, \"%.180s\", gives %s for each picture, and training needs one number a class: "
             "flatten "
             "it and end in a linear layer.",
             check->network->blocks[last]->name, shape);
    whole(check, NW_BAD_SHAPE, report->output, "", text);
    return;
  }
  if (check->classes <= 0 || out->dims[1] == check->classes)
    return;
  /* The number may come from further up, through blocks that keep the shape. */
  int index = last;
  const NwAttr *attr = property_for_classes(check, index, check->classes);
  while (attr == NULL && (check->network->blocks[index]->op->flags & NW_OP_KEEPS_SHAPE) &&
         check->shapes[index].from[0] >= 0) {
    index = check->shapes[index].from[0];
    attr = property_for_classes(check, index, check->classes);
  }
  int n = snprintf(text, sizeof text,
                   "The last block gives %" PRId64 " numbers, the data set has %" PRId64 " classes: ",
                   out->dims[1], check->classes);
  if (attr == NULL)
    snprintf(text + n, sizeof text - (size_t)n, "end in a layer that gives %" PRId64 ".", check->classes);
  else if (index == last)
    snprintf(text + n, sizeof text - (size_t)n, "set %s to %" PRId64 ".", attr->key, check->classes);
  else
    snprintf(text + n, sizeof text - (size_t)n, "set %s of \"%.180s\" to %" PRId64 ".", attr->key,
             check->network->blocks[index]->name, check->classes);
  whole(check, NW_BAD_SHAPE, check->network->blocks[attr != NULL ? index : last]->id,
        attr != NULL ? attr->key : "", text);
}

/* Parameters and two moments; the gradients of the largest block, since the optimizer takes each as soon as
 * it is there; and every block's output, which backward may need. A block that may lie on its input costs
 * nothing of its own. The plan knows the exact number; this one is for a badge that follows every edit. */
static int64_t estimate_training(const Check *check)
{
  int64_t kept = 0, largest = 0;
  for (int i = 0; i < check->network->n; i++) {
    const NwBlockReport *block = &check->report->blocks[i];
    if (!(check->network->blocks[i]->op->flags & NW_OP_INPLACE))
      kept += block->bytes_out;
    if (block->parameters > largest)
      largest = block->parameters;
  }
  return check->report->parameters * 3 * 4 + largest * 4 + kept;
}

NwStatus nw_network_check(const NwNetwork *network, const NwSpec *input, int64_t classes,
                          NwNetworkReport *report, NwError *error)
{
  memset(report, 0, sizeof *report);
  size_t n = (size_t)network->n;
  Check check = {.network = network, .report = report, .classes = classes};
  check.batch = input->ndim > 0 ? input->dims[0] : 0;
  int *order = nw_alloc0(sizeof *order * n);
  check.shapes = nw_alloc0(sizeof *check.shapes * n);
  report->blocks = nw_alloc0(sizeof *report->blocks * n);
  NwStatus status = NW_OK;
  if (order == NULL || check.shapes == NULL || report->blocks == NULL)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory to check the network.");
  else
    status = nw_network_order(network, order, error);
  if (status == NW_OK) {
    report->n_blocks = network->n;
    report->out = nw_spec_absent();
    for (int i = 0; i < network->n; i++) {
      report->blocks[i].id = network->blocks[i]->id;
      report->blocks[i].in = report->blocks[i].out = nw_spec_absent();
    }
    if (!has_input(&check))
      whole(&check, NW_BAD_STATE, 0, "", "The network has no input: add an Input block for the pictures.");
    for (int i = 0; i < network->n; i++)
      check_block(&check, order[i], input);
    find_output(&check);
    check_output(&check);
    report->training_bytes = estimate_training(&check);
  }
  nw_free(order);
  nw_free(check.shapes);
  if (status != NW_OK)
    nw_network_report_clear(report);
  return status;
}

void nw_network_report_clear(NwNetworkReport *report)
{
  nw_free(report->blocks);
  memset(report, 0, sizeof *report);
}
