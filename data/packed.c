/* MNIST's IDX files and CIFAR-10's binary files, read whole into memory. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "data/scan.h"
#include "data/words.h"

#define BYTES_MAX ((guint64)1 << 32)

typedef struct Blob {
  guint8 *bytes;
  gsize n;
} Blob;

/* Reads a file, unpacked when it is gzip. */
static NwStatus read_file(const char *path, Blob *blob, NwError *error)
{
  char *name = g_path_get_basename(path);
  gzFile file = gzopen(path, "rb");
  gsize room = 0;
  NwStatus status = NW_OK;
  blob->bytes = NULL;
  blob->n = 0;
  if (!file)
    status = nw_fail_errno(error, errno, _("%s cannot be opened"), name);
  else
    gzbuffer(file, 1 << 18);
  while (status == NW_OK) {
    if (blob->n == room) {
      room = room ? room * 2 : 1 << 20;
      guint8 *bytes = room <= BYTES_MAX ? g_try_realloc(blob->bytes, room) : NULL;
      if (!bytes) {
        status = nw_fail(error, NW_NO_MEMORY, _("%s does not fit into memory."), name);
        break;
      }
      blob->bytes = bytes;
    }
    int got = gzread(file, blob->bytes + blob->n, (unsigned)MIN(room - blob->n, 1u << 28));
    if (got < 0)
      status = nw_fail(error, NW_BAD_DATA, _("%s is cut or broken. Download it again."), name);
    if (got <= 0)
      break;
    blob->n += (gsize)got;
  }
  if (file && gzclose(file) != Z_OK && status == NW_OK)
    status = nw_fail(error, NW_BAD_DATA, _("%s is cut or broken. Download it again."), name);
  if (status != NW_OK)
    g_clear_pointer(&blob->bytes, g_free);
  g_free(name);
  return status;
}

/* --- MNIST --- */

typedef struct IdxPair {
  char *images, *labels; /* paths */
} IdxPair;

static gboolean ends_with(const char *name, const char *dash, const char *dot)
{
  return g_str_has_suffix(name, dash) || g_str_has_suffix(name, dot);
}

/* File of a name like train-images-idx3-ubyte, with 7-zip's dot, with or without .gz. */
static char *find_idx(const char *folder, const char *const *begins, const char *dash, const char *dot)
{
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;
  char *best = NULL;
  while (dir && (name = g_dir_read_name(dir))) {
    char *lower = g_ascii_strdown(name, -1);
    if (g_str_has_suffix(lower, ".gz"))
      lower[strlen(lower) - 3] = '\0';
    gboolean fits = FALSE;
    for (guint i = 0; begins[i]; i++)
      fits |= strstr(lower, begins[i]) != NULL;
    /* Of a raw and a packed one the raw one, which comes first by name. */
    if (fits && name[0] != '.' && ends_with(lower, dash, dot) && (!best || strcmp(name, best) < 0)) {
      g_free(best);
      best = g_strdup(name);
    }
    g_free(lower);
  }
  if (dir)
    g_dir_close(dir);
  char *path = best ? g_build_filename(folder, best, NULL) : NULL;
  g_free(best);
  return path;
}

static IdxPair find_pair(const char *folder, const char *const *begins)
{
  return (IdxPair){find_idx(folder, begins, "images-idx3-ubyte", "images.idx3-ubyte"),
                   find_idx(folder, begins, "labels-idx1-ubyte", "labels.idx1-ubyte")};
}

static guint32 big32(const guint8 *p)
{
  return (guint32)p[0] << 24 | (guint32)p[1] << 16 | (guint32)p[2] << 8 | p[3];
}

static NwStatus check_idx(const char *path, const Blob *blob, guint32 magic, guint dims, guint64 *need,
                          NwError *error)
{
  char *name = g_path_get_basename(path);
  NwStatus status = NW_OK;
  if (blob->n < 4 + 4 * (gsize)dims || big32(blob->bytes) != magic) {
    status = nw_fail(error, NW_BAD_DATA,
                     _("%s is not an IDX file of the MNIST kind; it looks like %s. Download it again."), name,
                     blob->n == 0 ? _("an empty file") : nw_looks_like(blob->bytes, blob->n));
  } else {
    guint64 product = 1;
    for (guint d = 0; d < dims; d++)
      product = product > BYTES_MAX ? product : product * big32(blob->bytes + 4 + 4 * d);
    *need = 4 + 4 * dims + product;
    if (product > BYTES_MAX || blob->n < *need)
      status =
          nw_fail(error, NW_BAD_DATA, _("%s is cut: it needs %llu bytes and has %zu. Download it again."),
                  name, (unsigned long long)*need, blob->n);
  }
  g_free(name);
  return status;
}

static NwStatus add_pair(NwManifest *m, const IdxPair *pair, NwSplit split, GChecksum *sum, NwError *error)
{
  Blob images = {0}, labels = {0};
  guint64 need;
  NwPacked *packed = &m->store->packed;
  NwStatus status = read_file(pair->images, &images, error);
  if (status == NW_OK)
    status = read_file(pair->labels, &labels, error);
  if (status == NW_OK)
    status = check_idx(pair->images, &images, 0x803, 3, &need, error);
  if (status == NW_OK)
    status = check_idx(pair->labels, &labels, 0x801, 1, &need, error);
  if (status == NW_OK) {
    guint32 n = big32(images.bytes + 4), height = big32(images.bytes + 8), width = big32(images.bytes + 12);
    guint64 before = packed->count, plane = (guint64)width * height;
    guint8 *pixels = NULL;
    if (big32(labels.bytes + 4) != n)
      status =
          nw_fail(error, NW_BAD_DATA, _("The MNIST files do not belong together: %u pictures, %u labels."), n,
                  big32(labels.bytes + 4));
    else if (plane == 0 || width > 4096 || height > 4096 ||
             (before && (packed->width != width || packed->height != height)))
      status =
          nw_fail(error, NW_BAD_DATA, _("The MNIST files have pictures of different or impossible sizes."));
    else if (!(pixels = g_try_realloc(packed->pixels, (before + n) * plane + 64)))
      status = nw_fail(error, NW_NO_MEMORY, _("The pictures do not fit into memory."));
    if (status == NW_OK) {
      packed->pixels = pixels;
      memcpy(pixels + before * plane, images.bytes + 16, n * plane);
      packed->width = width;
      packed->height = height;
      packed->channels = 1;
      packed->count = before + n;
      for (guint32 i = 0; i < n; i++) {
        NwPictureEntry entry = {
            NULL, labels.bytes[8 + i], (guint32)(before + i), split, NW_FORMAT_RAW, width, height, plane};
        g_array_append_val(m->pictures, entry);
      }
      g_checksum_update(sum, labels.bytes, (gssize)labels.n);
    }
  }
  g_free(images.bytes);
  g_free(labels.bytes);
  return status;
}

static void name_mnist_classes(NwManifest *m, const char *folder)
{
  static const char *const fashion[10] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                          "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  static const char *const kuzushiji[10] = {"o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"};
  char *lower = g_ascii_strdown(folder, -1);
  const char *const *names = strstr(lower, "fashion") ? fashion : strstr(lower, "kmnist") ? kuzushiji : NULL;
  guint highest = 9;
  for (guint i = 0; i < m->pictures->len; i++)
    highest = MAX(highest, g_array_index(m->pictures, NwPictureEntry, i).label);
  for (guint i = 0; i <= highest; i++)
    g_ptr_array_add(m->classes, names && highest == 9 ? g_strdup(names[i]) : g_strdup_printf("%u", i));
  g_free(lower);
}

NwStatus nw_packed_mnist(const char *folder, NwManifest *m, gboolean *found, NwError *error)
{
  static const char *const train_names[] = {"train-", NULL}, *const val_names[] = {"t10k-", "test-", NULL};
  IdxPair train = find_pair(folder, train_names), val = find_pair(folder, val_names);
  NwStatus status = NW_OK;
  *found = train.images != NULL || (val.images != NULL && val.labels != NULL);
  if (*found && (!train.images || !train.labels))
    status = nw_fail(error, NW_BAD_DATA, _("%s is missing beside the other MNIST files in %s."),
                     train.images ? "train-labels-idx1-ubyte" : "train-images-idx3-ubyte", folder);
  if (*found && status == NW_OK) {
    GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
    m->kind = NW_DATA_MNIST;
    m->all_gray = TRUE;
    status = add_pair(m, &train, NW_SPLIT_TRAIN, sum, error);
    m->own_split = val.images && val.labels;
    if (status == NW_OK && m->own_split)
      status = add_pair(m, &val, NW_SPLIT_VAL, sum, error);
    if (status == NW_OK)
      name_mnist_classes(m, folder);
    g_checksum_free(sum);
  }
  g_free(train.images);
  g_free(train.labels);
  g_free(val.images);
  g_free(val.labels);
  return status;
}

/* --- CIFAR-10 --- */

#define CIFAR_PLANE 1024
#define CIFAR_RECORD (1 + 3 * CIFAR_PLANE)

static NwStatus add_cifar(NwManifest *m, const char *path, NwSplit split, NwError *error)
{
  Blob blob = {0};
  NwPacked *packed = &m->store->packed;
  char *name = g_path_get_basename(path);
  NwStatus status = read_file(path, &blob, error);
  guint64 n = blob.n / CIFAR_RECORD, before = packed->count;
  if (status == NW_OK && (n == 0 || blob.n % CIFAR_RECORD))
    status =
        nw_fail(error, NW_BAD_DATA,
                _("%s is cut: its %zu bytes are not a whole number of records of %d. Download it again."),
                name, blob.n, CIFAR_RECORD);
  guint8 *pixels =
      status == NW_OK ? g_try_realloc(packed->pixels, (before + n) * 3 * CIFAR_PLANE + 64) : NULL;
  if (status == NW_OK && !pixels)
    status = nw_fail(error, NW_NO_MEMORY, _("The pictures do not fit into memory."));
  guint bad = 0;
  for (guint64 i = 0; status == NW_OK && i < n; i++) {
    const guint8 *record = blob.bytes + i * CIFAR_RECORD;
    guint8 *out = pixels + packed->count * 3 * CIFAR_PLANE;
    packed->pixels = pixels;
    if (record[0] > 9) {
      bad++;
      continue;
    }
    for (guint p = 0; p < CIFAR_PLANE; p++)
      for (guint c = 0; c < 3; c++)
        out[3 * p + c] = record[1 + c * CIFAR_PLANE + p];
    NwPictureEntry entry = {NULL, record[0], (guint32)packed->count++, split, NW_FORMAT_RAW,
                            32,   32,        3 * CIFAR_PLANE};
    g_array_append_val(m->pictures, entry);
  }
  if (bad) {
    nw_problem_add(m, "bad-label", TRUE, bad, name,
                   NW_N_("%u record has a label above 9. It is left out.",
                         "%u records have labels above 9. They are left out.", bad),
                   bad);
    m->left_out += bad;
  }
  g_free(blob.bytes);
  g_free(name);
  return status;
}

static void name_cifar_classes(NwManifest *m, const char *folder)
{
  static const char *const names[10] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                        "dog",      "frog",       "horse", "ship", "truck"};
  char *path = g_build_filename(folder, "batches.meta.txt", NULL), *text = NULL;
  char **lines = g_file_get_contents(path, &text, NULL, NULL) ? g_strsplit(text, "\n", -1) : NULL;
  gboolean usable = lines && g_strv_length(lines) >= 10;
  for (guint i = 0; usable && i < 10; i++)
    usable = *g_strstrip(lines[i]) && g_utf8_validate(lines[i], -1, NULL);
  for (guint i = 0; i < 10; i++)
    g_ptr_array_add(m->classes, g_strdup(usable ? lines[i] : names[i]));
  g_strfreev(lines);
  g_free(text);
  g_free(path);
}

NwStatus nw_packed_cifar(const char *folder, NwManifest *m, gboolean *found, NwError *error)
{
  char *test = g_build_filename(folder, "test_batch.bin", NULL);
  GPtrArray *batches = g_ptr_array_new_with_free_func(g_free);
  for (int i = 1; i <= 5; i++) {
    char *path = g_strdup_printf("%s/data_batch_%d.bin", folder, i);
    if (g_file_test(path, G_FILE_TEST_EXISTS))
      g_ptr_array_add(batches, path);
    else
      g_free(path);
  }
  NwStatus status = NW_OK;
  *found = batches->len > 0;
  if (*found) {
    NwPacked *packed = &m->store->packed;
    m->kind = NW_DATA_CIFAR10;
    packed->width = packed->height = 32;
    packed->channels = 3;
    name_cifar_classes(m, folder);
    if (batches->len < 5)
      nw_problem_add(m, "missing-batch", FALSE, 5 - batches->len, NULL,
                     _("Only %u of the five training files of CIFAR-10 are here. They are used."),
                     batches->len);
    for (guint i = 0; status == NW_OK && i < batches->len; i++)
      status = add_cifar(m, g_ptr_array_index(batches, i), NW_SPLIT_TRAIN, error);
    m->own_split = g_file_test(test, G_FILE_TEST_EXISTS);
    if (status == NW_OK && m->own_split)
      status = add_cifar(m, test, NW_SPLIT_VAL, error);
  }
  g_ptr_array_unref(batches);
  g_free(test);
  return status;
}
