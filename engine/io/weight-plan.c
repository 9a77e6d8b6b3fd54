#include "engine/io/weight-plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/memory.h"

static const char *const wrappers[] = {"module.", "_orig_mod.", "model.", "net.", "state_dict.", "backbone."};
enum { MAX_WRAPPERS = 4 };

/* Names with where they came from, sorted. */
typedef struct Named {
  const char *name;
  int index;
} Named;

void nw_weight_plan_free(NwWeightPlan *plan)
{
  if (plan == NULL)
    return;
  nw_free(plan->params);
  nw_free(plan->used);
  nw_free(plan);
}

static int compare(const void *a, const void *b)
{
  return strcmp(((const Named *)a)->name, ((const Named *)b)->name);
}

static bool is_counter(const NwParam *param)
{
  size_t n = strlen(param->name);
  return param->spec.ndim == 0 && n > 19 && strcmp(param->name + n - 19, "num_batches_tracked") == 0;
}

static bool converts(NwDType from, NwDType to)
{
  uint64_t nothing = 0;
  return nw_convert(from, &nothing, to, &nothing, 0);
}

static bool fits(const NwWeight *weight, const NwParam *param)
{
  return weight->reason == NULL && nw_spec_same_shape(&weight->spec, &param->spec) &&
         converts(weight->spec.dtype, param->spec.dtype);
}

static const Named *find(const Named *names, int n, const char *prefix, const char *name)
{
  char whole[512];
  Named key = {whole, 0};
  if ((size_t)snprintf(whole, sizeof whole, "%s%s", prefix, name) >= sizeof whole || n == 0)
    return NULL;
  return bsearch(&key, names, (size_t)n, sizeof *names, compare);
}

/* How many parameters have a tensor of their name behind this prefix. */
static int count_named(const NwWeightPlan *plan, const Named *names, const char *prefix)
{
  int found = 0;
  for (int i = 0; i < nw_model_count(plan->model); i++)
    found += find(names, nw_weights_count(plan->weights), prefix, nw_model_at(plan->model, i)->name) != NULL;
  return found;
}

/* Wrappers nest ("module.model."): the best prefix grows one part at a time, as long as the file has such
 * names. */
static void choose_prefix(NwWeightPlan *plan, const Named *names)
{
  char prefix[64] = "";
  int n = nw_weights_count(plan->weights), best = count_named(plan, names, "");
  for (int depth = 0; depth < MAX_WRAPPERS; depth++) {
    size_t used = strlen(prefix);
    int grown = -1;
    for (int w = 0; w < NW_COUNT(wrappers) && grown < 0; w++) {
      snprintf(prefix + used, sizeof prefix - used, "%s", wrappers[w]);
      for (int i = 0; i < n && grown < 0; i++)
        if (strncmp(names[i].name, prefix, strlen(prefix)) == 0)
          grown = w;
    }
    if (grown < 0)
      return;
    int found = count_named(plan, names, prefix);
    if (found > best) {
      best = found;
      snprintf(plan->prefix, sizeof plan->prefix, "%s", prefix);
    }
  }
}

static void match_names(NwWeightPlan *plan, const Named *names)
{
  int n = nw_weights_count(plan->weights);
  for (int i = 0; i < nw_model_count(plan->model); i++) {
    const NwParam *param = nw_model_at(plan->model, i);
    const Named *named = find(names, n, plan->prefix, param->name);
    plan->params[i] = (NwWeightMatch){is_counter(param) ? NW_MATCH_DEFAULT : NW_MATCH_MISSING, -1};
    if (named == NULL)
      continue;
    bool fit = fits(nw_weights_at(plan->weights, named->index), param);
    plan->params[i] = (NwWeightMatch){fit ? NW_MATCH_FOUND : NW_MATCH_MISFIT, named->index};
    plan->used[named->index] = true;
  }
}

/* Both lists are walked once; a tensor is skipped until one of the wanted shape comes. */
static void match_order(NwWeightPlan *plan)
{
  int n = nw_weights_count(plan->weights), at = 0;
  for (int i = 0; i < nw_model_count(plan->model); i++) {
    const NwParam *param = nw_model_at(plan->model, i);
    if (plan->params[i].state != NW_MATCH_MISSING)
      continue;
    for (int k = at; k < n; k++)
      if (!plan->used[k] && fits(nw_weights_at(plan->weights, k), param)) {
        plan->params[i] = (NwWeightMatch){NW_MATCH_FOUND, k};
        plan->used[k] = true;
        at = k + 1;
        break;
      }
  }
}

static void count_all(NwWeightPlan *plan)
{
  for (int i = 0; i < nw_model_count(plan->model); i++) {
    plan->found += plan->params[i].state == NW_MATCH_FOUND;
    plan->missing += plan->params[i].state == NW_MATCH_MISSING;
    plan->misfit += plan->params[i].state == NW_MATCH_MISFIT;
  }
  for (int i = 0; i < nw_weights_count(plan->weights); i++)
    plan->unused += !plan->used[i];
}

NwStatus nw_weight_plan_new(const NwWeights *weights, NwModel *model, bool by_order, NwWeightPlan **out,
                            NwError *error)
{
  *out = NULL;
  NwWeightPlan *plan = nw_alloc0(sizeof *plan);
  int n = nw_weights_count(weights);
  Named *names = nw_alloc0(((size_t)n + 1) * sizeof *names);
  if (plan != NULL) {
    plan->params = nw_alloc0(((size_t)nw_model_count(model) + 1) * sizeof *plan->params);
    plan->used = nw_alloc0(((size_t)n + 1) * sizeof *plan->used);
  }
  if (plan == NULL || names == NULL || plan->params == NULL || plan->used == NULL) {
    nw_free(names);
    nw_weight_plan_free(plan);
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to look through the weights.");
  }
  plan->weights = weights;
  plan->model = model;
  plan->by_order = by_order;
  for (int i = 0; i < n; i++)
    names[i] = (Named){nw_weights_at(weights, i)->name, i};
  qsort(names, (size_t)n, sizeof *names, compare);
  choose_prefix(plan, names);
  match_names(plan, names);
  if (by_order)
    match_order(plan);
  count_all(plan);
  nw_free(names);
  *out = plan;
  return NW_OK;
}

/* ---- telling ---- */

static void put_misfit(const NwWeightPlan *plan, int i, NwText *out)
{
  const NwParam *param = nw_model_at(plan->model, i);
  const NwWeight *weight = nw_weights_at(plan->weights, plan->params[i].item);
  char have[96], want[96];
  nw_spec_shape_text(&weight->spec, false, have, sizeof have);
  nw_spec_shape_text(&param->spec, false, want, sizeof want);
  nw_text_printf(out, "  left as it is: %s is %s %s in the file, %s here\n", param->name, have, weight->dtype,
                 want);
}

void nw_weight_plan_report(const NwWeightPlan *plan, int most, NwText *out)
{
  int all = nw_model_count(plan->model), told[3] = {0};
  nw_text_printf(out, "%d of %d tensors come from the file (%s", plan->found, all,
                 nw_weights_format(plan->weights));
  if (plan->prefix[0] != 0)
    nw_text_printf(out, ", names without \"%s\"", plan->prefix);
  nw_text_add(out, plan->by_order ? ", by order where names differ).\n" : ").\n");
  for (int i = 0; i < all; i++)
    if (plan->params[i].state == NW_MATCH_MISFIT && told[0]++ < most)
      put_misfit(plan, i, out);
  for (int i = 0; i < all; i++)
    if (plan->params[i].state == NW_MATCH_MISSING && told[1]++ < most)
      nw_text_printf(out, "  not in the file: %s\n", nw_model_at(plan->model, i)->name);
  for (int i = 0; i < nw_weights_count(plan->weights); i++)
    if (!plan->used[i] && told[2]++ < most)
      nw_text_printf(out, "  not used: %s\n", nw_weights_at(plan->weights, i)->name);
  int rest = 0;
  for (int k = 0; k < 3; k++)
    rest += told[k] > most ? told[k] - most : 0;
  if (rest > 0)
    nw_text_printf(out, "  and %d more\n", rest);
}

/* ---- doing ---- */

NwStatus nw_weight_plan_apply(const NwWeightPlan *plan, NwError *error)
{
  if (plan->found == 0)
    return nw_fail(
        error, NW_BAD_SHAPE,
        "Nothing in %s fits this network: no tensor has the name and the shape of one of its weights%s.",
        nw_weights_path(plan->weights),
        plan->by_order ? "" : "; they can also be taken by order and shape (--match order)");
  for (int i = 0; i < nw_model_count(plan->model); i++) {
    if (plan->params[i].state != NW_MATCH_FOUND)
      continue;
    NwParam *param = nw_model_at(plan->model, i);
    const NwWeight *weight = nw_weights_at(plan->weights, plan->params[i].item);
    nw_convert(weight->spec.dtype, weight->data, param->spec.dtype, param->data, nw_spec_count(&param->spec));
  }
  return NW_OK;
}

NwStatus nw_weights_load(const char *path, NwModel *model, bool by_order, NwText *report, NwError *error)
{
  NwWeights *weights;
  NwWeightPlan *plan = NULL;
  NW_TRY(nw_weights_open(path, &weights, error));
  NwStatus status = nw_weight_plan_new(weights, model, by_order, &plan, error);
  if (status == NW_OK && report != NULL)
    nw_weight_plan_report(plan, 8, report);
  if (status == NW_OK)
    status = nw_weight_plan_apply(plan, error);
  nw_weight_plan_free(plan);
  nw_weights_close(weights);
  return status;
}
