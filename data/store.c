#include "data/store.h"

#include <stdatomic.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/frame.h"
#include "data/words.h"

NwStore *nw_store_share(NwStore *store)
{
  atomic_fetch_add(&store->others, 1);
  return store;
}

void nw_store_free(NwStore *store)
{
  if (!store || atomic_fetch_sub(&store->others, 1) > 0)
    return;
  nw_store_zip_free(store->zip);
  nw_store_tar_free(store->tar);
  g_free(store->packed.pixels);
  g_free(store->root);
  g_free(store);
}

NwStatus nw_store_read(const NwStore *store, const NwPictureEntry *entry, NwBytes *room, const guint8 **bytes,
                       gsize *n, NwError *error)
{
  if (store->zip)
    return nw_store_zip_read(store->zip, entry->record, room, bytes, n, error);
  if (store->tar)
    return nw_store_tar_read(store->tar, entry->record, room, bytes, n, error);
  if (!entry->path)
    return nw_fail(error, NW_BAD_STATE, "a packed set has no files");
  char *path = g_build_filename(store->root, entry->path, NULL);
  NwStatus status = nw_file_bytes(path, room, n, error);
  *bytes = room->data;
  g_free(path);
  return status;
}

gboolean nw_store_is_there(const NwStore *store)
{
  struct stat st;
  return store->kind != NW_DATA_FOLDER || stat(store->root, &st) == 0;
}

const guint8 *nw_store_packed(const NwStore *store, const NwPictureEntry *entry)
{
  const NwPacked *p = &store->packed;
  return p->pixels + (gsize)entry->record * p->width * p->height * p->channels;
}
