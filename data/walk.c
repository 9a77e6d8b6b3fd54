/* Lists a folder, following links as torchvision does, but never in a circle. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/store.h"
#include "data/words.h"

#define DEPTH_MAX 64

typedef struct Walk {
  NwListing *listing;
  struct {
    dev_t device;
    ino_t inode;
  } above[DEPTH_MAX]; /* the folders that we are inside */
  guint depth;
  gboolean cancelled;
} Walk;

static gboolean is_above(const Walk *walk, const struct stat *st)
{
  for (guint i = 0; i < walk->depth; i++)
    if (walk->above[i].device == st->st_dev && walk->above[i].inode == st->st_ino)
      return TRUE;
  return FALSE;
}

static void walk_folder(Walk *walk, int fd, const char *path);

static void visit(Walk *walk, int folder, const char *name, char *path)
{
  NwListing *listing = walk->listing;
  struct stat st;
  if (fstatat(folder, name, &st, 0) != 0) {
    NwFoundKind kind = errno == ENOENT ? NW_FOUND_DANGLING : errno == ELOOP ? NW_FOUND_LOOP : NW_FOUND_DENIED;
    nw_listing_add(listing, kind, path, 0, 0);
  } else if (S_ISDIR(st.st_mode)) {
    if (is_above(walk, &st) || walk->depth == DEPTH_MAX) {
      nw_listing_add(listing, NW_FOUND_LOOP, path, 0, 0);
      return;
    }
    int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    nw_listing_add(listing, fd < 0 ? NW_FOUND_DENIED : NW_FOUND_FOLDER, path, 0, 0);
    if (fd < 0)
      return;
    walk->above[walk->depth].device = st.st_dev;
    walk->above[walk->depth++].inode = st.st_ino;
    char *copy = g_strdup(path); /* the listing may move */
    walk_folder(walk, fd, copy);
    g_free(copy);
    walk->depth--;
  } else if (S_ISREG(st.st_mode)) {
    gboolean readable = faccessat(folder, name, R_OK, AT_EACCESS) == 0;
    nw_listing_add(listing, readable ? NW_FOUND_FILE : NW_FOUND_DENIED, path, (guint64)st.st_size, 0);
  } else {
    listing->ignored++; /* sockets, devices */
    g_free(path);
  }
  if (listing->found->len % 256 == 0 && !nw_listing_goes_on(listing))
    walk->cancelled = TRUE;
}

/* Takes fd. */
static void walk_folder(Walk *walk, int fd, const char *path)
{
  DIR *dir = fdopendir(fd);
  struct dirent *entry;
  if (!dir) {
    close(fd);
    return;
  }
  while (!walk->cancelled && (entry = readdir(dir))) {
    const char *name = entry->d_name;
    if (!strcmp(name, ".") || !strcmp(name, ".."))
      continue;
    if (nw_is_junk(name))
      walk->listing->ignored++;
    else
      visit(walk, dirfd(dir), name, *path ? g_strconcat(path, "/", name, NULL) : g_strdup(name));
  }
  closedir(dir);
}

NwStatus nw_walk(const char *root, NwListing *listing, NwError *error)
{
  Walk walk = {.listing = listing};
  struct stat st;
  int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0 || fstat(fd, &st) != 0) {
    int code = errno;
    char *shown = g_filename_display_name(root);
    NwStatus status = nw_fail_errno(error, code, _("The folder %s cannot be opened"), shown);
    g_free(shown);
    if (fd >= 0)
      close(fd);
    return status;
  }
  walk.above[0].device = st.st_dev;
  walk.above[0].inode = st.st_ino;
  walk.depth = 1;
  walk_folder(&walk, fd, "");
  return walk.cancelled ? nw_fail(error, NW_CANCELLED, _("The scan was stopped.")) : NW_OK;
}
