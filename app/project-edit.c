/* Edits of the network. */
#include <string.h>

#include "app/i18n.h"
#include "app/project-internal.h"
#include "engine/base/memory.h"

static NwStatus done(NwProject *project, NwEdit *edit, NwStatus status, const char *label, const char *merge)
{
  return nw_edit_end(project, edit, status, label, merge, NW_NETWORK_CHANGED);
}

NwStatus nw_project_add_block(NwProject *project, const NwOp *op, double x, double y, guint32 *block,
                              NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  uint32_t id = 0;
  NwStatus status = nw_network_add(project->network, op, NULL, 0, &id, error);
  if (status == NW_OK)
    status = nw_network_move(project->network, id, x, y, error);
  if (block != NULL)
    *block = status == NW_OK ? id : 0;
  g_autofree char *label = g_strdup_printf(_("Add %s"), op->label != NULL ? op->label : op->id);
  return done(project, &edit, status, label, NULL);
}

/* Readers of `id` get `source` instead. */
static NwStatus redirect(NwNetwork *network, guint32 id, guint32 source, guint32 except, NwError *error)
{
  for (int i = 0; i < nw_network_count(network); i++) {
    const NwBlock *reader = nw_network_at(network, i);
    for (int port = 0; port < reader->n_from && reader->id != except; port++)
      if (reader->from[port] == id)
        NW_TRY(nw_network_connect(network, source, reader->id, port, error));
  }
  return NW_OK;
}

static guint32 last_block(NwProject *project)
{
  if (project->report.output != 0)
    return project->report.output;
  int n = nw_network_count(project->network);
  return n > 0 ? nw_network_at(project->network, n - 1)->id : 0;
}

enum { CARD_WIDTH_GAP = 276, CARD_HEIGHT_GAP = 78 };

/* Blocks below the new one, in its column, make room. */
static NwStatus make_room(NwNetwork *network, const NwBlock *new_block, NwError *error)
{
  for (int i = 0; i < nw_network_count(network); i++) {
    const NwBlock *other = nw_network_at(network, i);
    if (other->id != new_block->id && other->y >= new_block->y - 1 &&
        ABS(other->x - new_block->x) < CARD_WIDTH_GAP - 40)
      NW_TRY(nw_network_move(network, other->id, other->x, other->y + CARD_HEIGHT_GAP, error));
  }
  return NW_OK;
}

static NwStatus insert_behind(NwProject *project, const NwOp *op, guint32 after, guint32 *id, NwError *error)
{
  NwNetwork *network = project->network;
  const NwBlock *before = after != 0 ? nw_network_find(network, after) : NULL;
  NW_TRY(nw_network_add(network, op, NULL, 0, id, error));
  before = after != 0 ? nw_network_find(network, after) : NULL;
  if (before == NULL)
    return nw_network_move(network, *id, 40, 40, error);
  NW_TRY(nw_network_move(network, *id, before->x, before->y + CARD_HEIGHT_GAP, error));
  NW_TRY(make_room(network, nw_network_find(network, *id), error));
  const NwBlock *new_block = nw_network_find(network, *id);
  if (new_block->n_from == 0 && !(op->n_inputs > 0 && op->inputs[0].role == NW_PORT_DATA))
    return NW_OK; /* pictures: nothing flows into them */
  NW_TRY(redirect(network, after, *id, *id, error));
  return nw_network_connect(network, after, *id, 0, error);
}

NwStatus nw_project_insert_block(NwProject *project, const NwOp *op, guint32 after, guint32 *block,
                                 NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  uint32_t id = 0;
  NwStatus status = insert_behind(project, op, after != 0 ? after : last_block(project), &id, error);
  if (block != NULL)
    *block = status == NW_OK ? id : 0;
  g_autofree char *label = g_strdup_printf(_("Insert %s"), op->label != NULL ? op->label : op->id);
  return done(project, &edit, status, label, NULL);
}

NwStatus nw_project_remove_blocks(NwProject *project, const guint32 *blocks, guint n, gboolean heal,
                                  NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  NwStatus status = NW_OK;
  for (guint i = 0; i < n && status == NW_OK; i++) {
    const NwBlock *block = nw_network_find(project->network, blocks[i]);
    guint32 source = block != NULL && block->n_from > 0 ? block->from[0] : 0;
    if (heal && source != 0)
      status = redirect(project->network, blocks[i], source, 0, error);
    if (status == NW_OK)
      status = nw_network_remove(project->network, blocks[i], error);
  }
  g_autofree char *label = g_strdup_printf(g_dngettext(NULL, "Delete %u Block", "Delete %u Blocks", n), n);
  return done(project, &edit, status, label, NULL);
}

NwStatus nw_project_move_blocks(NwProject *project, const guint32 *blocks, guint n, double dx, double dy,
                                NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  NwStatus status = NW_OK;
  GString *merge = g_string_new("move");
  for (guint i = 0; i < n && status == NW_OK; i++) {
    const NwBlock *block = nw_network_find(project->network, blocks[i]);
    g_string_append_printf(merge, " %u", blocks[i]);
    status = block == NULL
                 ? nw_fail(error, NW_NOT_FOUND, _("There is no block %u"), blocks[i])
                 : nw_network_move(project->network, blocks[i], block->x + dx, block->y + dy, error);
  }
  g_autofree char *label = g_strdup_printf(g_dngettext(NULL, "Move %u Block", "Move %u Blocks", n), n);
  status = done(project, &edit, status, label, merge->str);
  g_string_free(merge, TRUE);
  return status;
}

NwStatus nw_project_connect(NwProject *project, guint32 from, guint32 to, int port, NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  return done(project, &edit, nw_network_connect(project->network, from, to, port, error),
              from != 0 ? _("Connect") : _("Disconnect"), NULL);
}

NwStatus nw_project_rename_block(NwProject *project, guint32 block, const char *name, NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  return done(project, &edit, nw_network_rename(project->network, block, name, error), _("Rename Block"),
              NULL);
}

NwStatus nw_project_set_attr(NwProject *project, guint32 block, const char *key, NwValue value,
                             NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  g_autofree char *label = g_strdup_printf(_("Change %s"), key),
                  *merge = g_strdup_printf("attr %u %s", block, key);
  return done(project, &edit, nw_network_set(project->network, block, key, value, error), label, merge);
}

NwStatus nw_project_set_attr_text(NwProject *project, guint32 block, const char *key, const char *text,
                                  NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  g_autofree char *label = g_strdup_printf(_("Change %s"), key),
                  *merge = g_strdup_printf("attr %u %s", block, key);
  return done(project, &edit, nw_network_set_text(project->network, block, key, text, error), label, merge);
}

NwStatus nw_project_set_frozen(NwProject *project, guint32 block, gboolean frozen, NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  return done(project, &edit, nw_network_set_frozen(project->network, block, frozen, error),
              frozen ? _("Freeze Weights") : _("Train Weights"), NULL);
}

NwStatus nw_project_arrange(NwProject *project, NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  return done(project, &edit, nw_network_arrange(project->network, error), _("Arrange"), NULL);
}

NwStatus nw_project_use_template(NwProject *project, const NwTemplate *tmpl, NwError *error)
{
  NwEdit edit = nw_edit_begin(project);
  gint64 classes = nw_project_classes(project);
  /* Without pictures yet, the size is what the template proposes. */
  if (project->dataset == NULL) {
    nw_preprocessing_free(project->preprocessing);
    project->preprocessing =
        nw_preprocessing_new((guint)tmpl->channels, (guint)tmpl->height, (guint)tmpl->width);
  }
  const NwPreprocessing *p = project->preprocessing;
  NwNetwork *network = NULL;
  NwStatus status =
      nw_template_build(tmpl, p->channels, p->height, p->width, classes > 0 ? classes : 10, &network, error);
  if (status == NW_OK) {
    nw_network_free(project->network);
    project->network = network;
  }
  g_autofree char *label = g_strdup_printf(_("Use the Template %s"), tmpl->label);
  return done(project, &edit, status, label, NULL);
}

/* ---- clipboard ---- */

static gboolean chosen(const guint32 *blocks, guint n, gint64 id)
{
  for (guint i = 0; i < n; i++)
    if (blocks[i] == id)
      return TRUE;
  return FALSE;
}

char *nw_project_copy_blocks(NwProject *project, const guint32 *blocks, guint n)
{
  NwJson *all = nw_network_to_json(project->network), *some = nw_json_object(), *list = nw_json_array();
  NwJson *from = nw_json_get(all, "blocks");
  for (size_t i = 0; i < nw_json_length(from); i++)
    if (chosen(blocks, n, nw_json_get_int(nw_json_at(from, i), "id", -1)))
      nw_json_append(list, nw_json_copy(nw_json_at(from, i)));
  nw_json_set(some, "blocks", list);
  char *text = nw_json_print(some, true);
  char *out = g_strdup(text);
  nw_free(text);
  nw_json_free(some);
  nw_json_free(all);
  return out;
}

/* A name that is free: the old one, or with a number behind it. */
static char *free_name(NwNetwork *network, const char *name)
{
  char *wish = g_strdup(name);
  for (int k = 2; nw_network_find_name(network, wish) != NULL; k++) {
    g_free(wish);
    wish = g_strdup_printf("%s_%d", name, k);
  }
  return wish;
}

static NwStatus paste_block(NwProject *project, const NwBlock *block, double dx, double dy, GHashTable *ids,
                            NwError *error)
{
  uint32_t id = 0;
  g_autofree char *name = free_name(project->network, block->name);
  NW_TRY(nw_network_add(project->network, block->op, name, 0, &id, error));
  NW_TRY(nw_network_move(project->network, id, block->x + dx, block->y + dy, error));
  for (int i = 0; i < block->op->n_attrs; i++)
    if (!(block->op->attrs[i].flags & NW_ATTR_HIDDEN))
      NW_TRY(nw_network_set(project->network, id, block->op->attrs[i].key,
                            nw_attr_get(&block->op->attrs[i], block->attrs), error));
  g_hash_table_insert(ids, GUINT_TO_POINTER(block->id), GUINT_TO_POINTER(id));
  return block->frozen ? nw_network_set_frozen(project->network, id, true, error) : NW_OK;
}

static NwStatus paste_wires(NwProject *project, const NwBlock *block, GHashTable *ids, NwError *error)
{
  guint32 to = GPOINTER_TO_UINT(g_hash_table_lookup(ids, GUINT_TO_POINTER(block->id)));
  for (int port = 0; port < block->n_from; port++) {
    guint32 from = GPOINTER_TO_UINT(g_hash_table_lookup(ids, GUINT_TO_POINTER(block->from[port])));
    if (from != 0)
      NW_TRY(nw_network_connect(project->network, from, to, port, error));
  }
  return NW_OK;
}

static NwStatus paste_all(NwProject *project, const NwNetwork *pasted, double x, double y, GHashTable *ids,
                          NwError *error)
{
  double left = G_MAXDOUBLE, top = G_MAXDOUBLE;
  int n = nw_network_count(pasted);
  for (int i = 0; i < n; i++) {
    left = MIN(left, nw_network_at(pasted, i)->x);
    top = MIN(top, nw_network_at(pasted, i)->y);
  }
  for (int i = 0; i < n; i++) {
    const NwBlock *block = nw_network_at(pasted, i);
    if (block->op->group != NW_GROUP_INPUT) /* there is only one place where pictures come in */
      NW_TRY(paste_block(project, block, x - left, y - top, ids, error));
  }
  for (int i = 0; i < n; i++)
    if (g_hash_table_contains(ids, GUINT_TO_POINTER(nw_network_at(pasted, i)->id)))
      NW_TRY(paste_wires(project, nw_network_at(pasted, i), ids, error));
  return NW_OK;
}

/* Wires that lead out of what was copied point at blocks the text does not hold. */
static void drop_foreign_wires(NwJson *json)
{
  NwJson *blocks = nw_json_get(json, "blocks");
  g_autoptr(GHashTable) known = g_hash_table_new(NULL, NULL);
  for (size_t i = 0; i < nw_json_length(blocks); i++)
    g_hash_table_add(known, GUINT_TO_POINTER(nw_json_get_int(nw_json_at(blocks, i), "id", 0)));
  for (size_t i = 0; i < nw_json_length(blocks); i++) {
    NwJson *block = nw_json_at(blocks, i), *from = nw_json_get(block, "from"), *kept = nw_json_array();
    for (size_t k = 0; k < nw_json_length(from); k++) {
      gint64 id = nw_json_to_int(nw_json_at(from, k), 0);
      nw_json_append(kept, nw_json_int(g_hash_table_contains(known, GUINT_TO_POINTER(id)) ? id : 0));
    }
    nw_json_set(block, "from", kept);
  }
}

NwStatus nw_project_paste_blocks(NwProject *project, const char *text, double x, double y, GArray **blocks,
                                 NwError *error)
{
  NwJson *json = NULL;
  NwNetwork *pasted = NULL;
  g_autoptr(GHashTable) ids = g_hash_table_new(NULL, NULL);
  *blocks = NULL;
  NwStatus status = nw_json_parse(text, strlen(text), "the clipboard", &json, error);
  if (status == NW_OK) {
    drop_foreign_wires(json);
    status = nw_network_from_json(json, &pasted, error);
  }
  nw_json_free(json);
  NW_TRY(status);
  NwEdit edit = nw_edit_begin(project);
  status = done(project, &edit, paste_all(project, pasted, x, y, ids, error), _("Paste"), NULL);
  nw_network_free(pasted);
  NW_TRY(status);
  GHashTableIter it;
  gpointer value;
  *blocks = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_hash_table_iter_init(&it, ids);
  while (g_hash_table_iter_next(&it, NULL, &value)) {
    guint32 id = GPOINTER_TO_UINT(value);
    g_array_append_val(*blocks, id);
  }
  return NW_OK;
}
