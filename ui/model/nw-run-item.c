#include "ui/model/nw-run-item.h"

#include "app/run-settings.h"

struct _NwRunItem {
  GObject parent;
  NwRunInfo *info;
  GHashTable *settings;
  int slot;
};

G_DEFINE_FINAL_TYPE(NwRunItem, nw_run_item, G_TYPE_OBJECT)

static guint changed_signal;

static void nw_run_item_finalize(GObject *object)
{
  NwRunItem *self = NW_RUN_ITEM(object);
  nw_run_info_free(self->info);
  g_clear_pointer(&self->settings, g_hash_table_unref);
  G_OBJECT_CLASS(nw_run_item_parent_class)->finalize(object);
}

static void nw_run_item_class_init(NwRunItemClass *klass)
{
  G_OBJECT_CLASS(klass)->finalize = nw_run_item_finalize;
  changed_signal =
      g_signal_new("changed", NW_TYPE_RUN_ITEM, G_SIGNAL_RUN_LAST, 0, NULL, NULL, NULL, G_TYPE_NONE, 0);
}

static void nw_run_item_init(NwRunItem *self)
{
  self->slot = -1;
}

NwRunItem *nw_run_item_new(NwRunInfo *info)
{
  NwRunItem *self = g_object_new(NW_TYPE_RUN_ITEM, NULL);
  self->info = info;
  return self;
}

const NwRunInfo *nw_run_item_info(NwRunItem *item)
{
  return item->info;
}

void nw_run_item_update(NwRunItem *item, NwRunInfo *info)
{
  nw_run_info_free(item->info);
  item->info = info;
  g_clear_pointer(&item->settings, g_hash_table_unref);
  g_signal_emit(item, changed_signal, 0);
}

int nw_run_item_slot(NwRunItem *item)
{
  return item->slot;
}

void nw_run_item_set_slot(NwRunItem *item, int slot)
{
  if (item->slot == slot)
    return;
  item->slot = slot;
  g_signal_emit(item, changed_signal, 0);
}

GHashTable *nw_run_item_settings(NwRunItem *item)
{
  if (item->settings == NULL)
    item->settings = nw_run_settings(item->info);
  return item->settings;
}
