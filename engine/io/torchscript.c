#include "engine/io/torchscript.h"

#include <stdio.h>

#include "engine/base/memory.h"
#include "engine/io/bytes.h"
#include "engine/io/module-tree.h"
#include "engine/io/pickle-write.h"
#include "engine/io/torchscript-code.h"

typedef struct Archive {
  NwText objects; /* data.pkl */
  NwText code;    /* code/__torch__.py */
  NwText forward;
  const NwParam **params; /* record number -> parameter */
  int count;
} Archive;

static void class_name(const NwModuleTree *node, char *name, size_t n)
{
  if (node->number == 0)
    snprintf(name, n, "Net");
  else
    snprintf(name, n, "M%d", node->number);
}

/* The object and its class are written together, so that attributes come in the same order in both: torch
 * pairs them by position. */
static void put_list(NwText *out, const NwModuleTree *node, const char *name, bool buffers)
{
  nw_text_printf(out, "  %s = [", name);
  for (int i = 0; i < node->n_params; i++)
    if (node->params[i]->buffer == buffers)
      nw_text_printf(out, "\"%s\", ", node->leaves[i]);
  nw_text_add(out, "]\n");
}

static void put_class(Archive *archive, const NwModuleTree *node)
{
  NwText *out = &archive->code;
  char name[24];
  class_name(node, name, sizeof name);
  nw_text_printf(out, "class %s(Module):\n", name);
  put_list(out, node, "__parameters__", false);
  put_list(out, node, "__buffers__", true);
  nw_text_add(out, "  training : bool\n");
  for (int i = 0; i < node->n_params; i++)
    nw_text_printf(out, "  __annotations__[\"%s\"] = Tensor\n", node->leaves[i]);
  for (int i = 0; i < node->n_children; i++) {
    class_name(node->children[i], name, sizeof name);
    nw_text_printf(out, "  __annotations__[\"%s\"] = __torch__.%s\n", node->children[i]->name, name);
  }
  if (node->number == 0) {
    nw_text_add(out, "  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:\n");
    nw_text_add_n(out, archive->forward.data, archive->forward.length);
  }
  nw_text_add(out, "\n");
}

static void put_object(Archive *archive, const NwModuleTree *node)
{
  NwText *out = &archive->objects;
  char name[24];
  class_name(node, name, sizeof name);
  nw_pickle_put_global(out, "__torch__", name);
  nw_text_add(out, ")");
  nw_put_u8(out, 0x81); /* NEWOBJ */
  nw_text_add(out, "}(");
  for (int i = 0; i < node->n_params; i++) {
    const NwParam *param = node->params[i];
    nw_pickle_put_text(out, node->leaves[i]);
    nw_pickle_put_tensor(out, &param->spec, archive->count, !param->buffer && !param->frozen);
    archive->params[archive->count++] = param;
  }
  nw_pickle_put_text(out, "training");
  nw_put_u8(out, 0x89);
  for (int i = 0; i < node->n_children; i++) {
    nw_pickle_put_text(out, node->children[i]->name);
    put_object(archive, node->children[i]);
  }
  nw_text_add(out, "ub");
  put_class(archive, node);
}

static NwStatus write_records(const Archive *archive, const char *const *extra, NwZipWriter *zip,
                              NwError *error)
{
  static const char constants[] = {(char)0x80, 2, ')', '.'};
  NW_TRY(nw_zip_writer_add(zip, "data.pkl", archive->objects.data, archive->objects.length, error));
  NW_TRY(nw_zip_writer_add(zip, "byteorder", "little", 6, error));
  for (int i = 0; i < archive->count; i++)
    NW_TRY(nw_pickle_add_data(zip, i, &archive->params[i]->spec, archive->params[i]->data, error));
  NW_TRY(nw_zip_writer_add(zip, "code/__torch__.py", archive->code.data, archive->code.length, error));
  NW_TRY(nw_zip_writer_add(zip, "constants.pkl", constants, sizeof constants, error));
  for (; extra != NULL && extra[0] != NULL; extra += 2) {
    NwText name = {0}, text = {0};
    nw_text_printf(&name, "extra/%s", extra[0]);
    nw_text_add(&text, extra[1]);
    NwStatus status = name.failed || text.failed
                          ? nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.")
                          : nw_zip_writer_add(zip, name.data, text.data, text.length, error);
    nw_text_clear(&name);
    nw_text_clear(&text);
    NW_TRY(status);
  }
  /* 3 is the oldest archive version whose operators mean what we mean; every torch since 1.6 reads it */
  return nw_zip_writer_add(zip, "version", "3\n", 2, error);
}

static NwStatus build(Archive *archive, NwModel *model, NwError *error)
{
  NwModuleTree *tree;
  NW_TRY(nw_torchscript_forward(model, &archive->forward, error));
  archive->params = nw_alloc0(((size_t)nw_model_count(model) + 1) * sizeof *archive->params);
  if (archive->params == NULL)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
  NW_TRY(nw_module_tree_new(model, &tree, error));
  nw_pickle_put_start(&archive->objects);
  put_object(archive, tree);
  nw_text_add(&archive->objects, ".");
  nw_module_tree_free(tree);
  if (archive->objects.failed || archive->code.failed)
    return nw_fail(error, NW_NO_MEMORY, "There is no memory to write the model.");
  return NW_OK;
}

NwStatus nw_torchscript_write(const char *path, NwModel *model, const char *const *extra, NwError *error)
{
  Archive archive = {0};
  NwZipWriter *zip = NULL;
  NwStatus status = build(&archive, model, error);
  if (status == NW_OK)
    status = nw_zip_writer_open(path, "model", &zip, error);
  if (status == NW_OK) {
    status = write_records(&archive, extra, zip, error);
    if (status == NW_OK)
      status = nw_zip_writer_commit(zip, error);
    else
      nw_zip_writer_cancel(zip);
  }
  nw_text_clear(&archive.objects);
  nw_text_clear(&archive.code);
  nw_text_clear(&archive.forward);
  nw_free(archive.params);
  return status;
}
