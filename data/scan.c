/* The scan: what a path is, what it lists, and a look into every picture on all cores. */
#include "data/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/words.h"
#include "engine/base/threads.h"

void nw_scan_options_init(NwScanOptions *options)
{
  *options = (NwScanOptions){.seed = 0, .val_share = 0.2};
}

/* --- looking into pictures --- */

typedef struct Look {
  const NwStore *store;
  const GArray *pictures;
  NwFinding *findings;
  const NwScanOptions *options;
  gint next, cancelled, bad; /* atomic */
} Look;

static gpointer look_thread(gpointer data)
{
  Look *look = data;
  NwInspector inspector = {0};
  for (;;) {
    guint i = (guint)g_atomic_int_add(&look->next, 1);
    if (i >= look->pictures->len || g_atomic_int_get(&look->cancelled))
      break;
    nw_inspect(&inspector, look->store, &g_array_index(look->pictures, NwPictureEntry, i),
               look->options->decode_all, &look->findings[i]);
    if (look->findings[i].kind)
      g_atomic_int_inc(&look->bad);
    if (i % 64 == 0 && look->options->progress &&
        !look->options->progress(look->options->owner, i, (guint)g_atomic_int_get(&look->bad)))
      g_atomic_int_set(&look->cancelled, 1);
  }
  nw_decoder_free(inspector.decoder);
  nw_bytes_clear(&inspector.head);
  nw_bytes_clear(&inspector.tail);
  return NULL;
}

static const char *what_to_do(const char *kind)
{
  if (!strcmp(kind, "unreadable"))
    return _("It is left out; make it readable to use it.");
  if (!strcmp(kind, NW_FAULT_LARGE))
    return _("It is left out; make it smaller to use it.");
  if (!strcmp(kind, "not-a-picture"))
    return _("It is left out.");
  return _("It is left out; replace the file to use it.");
}

static void report_notes(NwManifest *m, const NwFinding *findings, const GArray *pictures)
{
  static const struct {
    guint bit;
    const char *kind;
    const char *one, *many;
  } rows[] = {
      {NW_NOTE_EXTENSION, "wrong-extension",
       N_("%u picture is of another format than its name says. It is used: the content decides."),
       N_("%u pictures are of another format than their names say. They are used: the content decides.")},
      {NW_NOTE_NO_END, "no-end-marker",
       N_("%u JPEG lacks its end marker, but all its rows are there. It is used (Pillow would refuse it)."),
       N_("%u JPEG files lack their end markers, but all their rows are there. They are used (Pillow would "
          "refuse them).")},
      {NW_NOTE_ROTATED, "exif-rotated",
       N_("%u picture carries a rotation for viewers (EXIF). It is trained as stored, as torchvision does."),
       N_("%u pictures carry a rotation for viewers (EXIF). They are trained as stored, as torchvision "
          "does.")},
      {NW_NOTE_ALPHA, "transparent",
       N_("%u picture has transparency. It is dropped, as torchvision does, so hidden colours may show."),
       N_("%u pictures have transparency. It is dropped, as torchvision does, so hidden colours may show.")},
      {NW_NOTE_SIXTEEN, "sixteen-bit",
       N_("%u grey picture has 16 bits. It is scaled to 8 bits; torchvision would clip it to white."),
       N_("%u grey pictures have 16 bits. They are scaled to 8 bits; torchvision would clip them to white.")},
      {NW_NOTE_ANIMATED, "animated", N_("%u picture is an animation. Its first frame is used."),
       N_("%u pictures are animations. Their first frames are used.")},
  };
  for (guint r = 0; r < G_N_ELEMENTS(rows); r++) {
    guint n = 0;
    const char *first = NULL;
    for (guint i = 0; i < pictures->len; i++)
      if (!findings[i].kind && (findings[i].notes & rows[r].bit) && n++ == 0)
        first = g_array_index(pictures, NwPictureEntry, i).path;
    if (n) {
      char count[16], **parts = g_strsplit(NW_N_(rows[r].one, rows[r].many, n), "%u", 2);
      g_snprintf(count, sizeof count, "%u", n);
      char *text = g_strconcat(parts[0], count, parts[1], NULL);
      nw_problem_add(m, rows[r].kind, FALSE, n, first, "%s", text);
      g_strfreev(parts);
      g_free(text);
    }
  }
}

/* Moves what can be used to a new list, in order, and reports the rest. */
static void sift(NwManifest *m, NwFinding *findings)
{
  GArray *all = m->pictures, *kept = g_array_sized_new(FALSE, TRUE, sizeof(NwPictureEntry), all->len);
  gboolean gray = TRUE;
  for (guint i = 0; i < all->len; i++) {
    NwPictureEntry *entry = &g_array_index(all, NwPictureEntry, i);
    NwFinding *finding = &findings[i];
    if (finding->kind) {
      nw_problem_add(m, finding->kind, TRUE, 1, entry->path, _("%s. %s"), finding->text,
                     what_to_do(finding->kind));
      m->left_out++;
      continue;
    }
    entry->format = (guint16)finding->info.format;
    entry->width = finding->info.width;
    entry->height = finding->info.height;
    gray = gray && finding->info.gray;
    g_array_append_val(kept, *entry);
  }
  report_notes(m, findings, all);
  for (guint i = 0; i < all->len; i++) {
    NwPictureEntry *entry = &g_array_index(all, NwPictureEntry, i);
    if (findings[i].kind)
      g_free(entry->path);
    entry->path = NULL; /* moved */
    g_free(findings[i].text);
  }
  g_array_unref(all);
  m->pictures = kept;
  g_array_set_clear_func(kept, nw_entry_clear);
  m->all_gray = gray && kept->len > 0;
}

static NwStatus look_at_all(NwManifest *m, const NwScanOptions *options, NwError *error)
{
  Look look = {m->store, m->pictures, g_new0(NwFinding, m->pictures->len + 1), options, 0, 0, 0};
  GThread *threads[64];
  guint n = options->threads ? options->threads : (guint)nw_threads_available();
  n = MIN(MIN(n, G_N_ELEMENTS(threads)), m->pictures->len / 32 + 1);
  for (guint i = 1; i < n; i++)
    threads[i] = g_thread_new("scan", look_thread, &look);
  look_thread(&look);
  for (guint i = 1; i < n; i++)
    g_thread_join(threads[i]);
  NwStatus status = NW_OK;
  if (look.cancelled) {
    for (guint i = 0; i < m->pictures->len; i++)
      g_free(look.findings[i].text);
    status = nw_fail(error, NW_CANCELLED, _("The scan was stopped."));
  } else {
    sift(m, look.findings);
  }
  g_free(look.findings);
  return status;
}

/* --- what the path is --- */

static NwStatus scan_listing(NwManifest *m, NwListing *listing, const NwScanOptions *options,
                             const char *shown, NwError *error)
{
  NW_TRY(nw_layout(m, listing, shown, error));
  NW_TRY(look_at_all(m, options, error));
  return nw_layout_check(m, shown, error);
}

static NwStatus scan_folder(NwManifest *m, const char *root, const NwScanOptions *options, const char *shown,
                            NwError *error)
{
  static const char *const mnist[] = {"", "raw", "MNIST/raw", "MNIST", "FashionMNIST/raw", "KMNIST/raw"};
  static const char *const cifar[] = {"", "cifar-10-batches-bin"};
  gboolean found = FALSE;
  NwStatus status = NW_OK;
  for (guint i = 0; i < G_N_ELEMENTS(mnist) + G_N_ELEMENTS(cifar) && !found && status == NW_OK; i++) {
    gboolean second = i >= G_N_ELEMENTS(mnist);
    char *path = g_build_filename(root, second ? cifar[i - G_N_ELEMENTS(mnist)] : mnist[i], NULL);
    status = second ? nw_packed_cifar(path, m, &found, error) : nw_packed_mnist(path, m, &found, error);
    g_free(path);
  }
  if (status != NW_OK || found)
    return status;
  NwListing listing;
  nw_listing_init(&listing);
  listing.progress = options->progress;
  listing.owner = options->owner;
  m->store->root = g_strdup(root);
  status = nw_walk(root, &listing, error);
  if (status == NW_OK)
    status = scan_listing(m, &listing, options, shown, error);
  nw_listing_clear(&listing);
  if (status != NW_BAD_DATA)
    return status;
  /* A better word for two sets that are known, but not in this form. */
  char *python = g_build_filename(root, "data_batch_1", NULL),
       *hundred = g_build_filename(root, "train.bin", NULL);
  char *below = g_build_filename(root, "cifar-10-batches-py", NULL);
  if (g_file_test(python, G_FILE_TEST_EXISTS) || g_file_test(below, G_FILE_TEST_EXISTS))
    nw_fail(error, NW_BAD_DATA, _("%s is the Python version of CIFAR-10. Download the binary version of it."),
            shown);
  else if (g_file_test(hundred, G_FILE_TEST_EXISTS))
    nw_fail(error, NW_BAD_DATA, _("%s looks like CIFAR-100, which is not read yet."), shown);
  g_free(python);
  g_free(hundred);
  g_free(below);
  return status;
}

static NwStatus scan_file(NwManifest *m, const char *root, const NwScanOptions *options, const char *shown,
                          NwError *error)
{
  guint8 head[512] = {0};
  char *lower = g_ascii_strdown(root, -1);
  gboolean idx = strstr(lower, "idx3-ubyte") || strstr(lower, "idx1-ubyte"),
           batch = g_str_has_suffix(lower, ".bin");
  g_free(lower);
  if (idx || batch) { /* one of the files of a packed set: the folder is meant */
    char *folder = g_path_get_dirname(root);
    NwStatus status = scan_folder(m, folder, options, shown, error);
    g_free(folder);
    return status;
  }
  int fd = open(root, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return nw_fail_errno(error, errno, _("%s cannot be opened"), shown);
  ssize_t n = read(fd, head, sizeof head);
  close(fd);
  if (n <= 0)
    return nw_fail(error, NW_BAD_DATA,
                   _("%s is an empty file. Choose a folder of pictures or an archive of one."), shown);
  NwPictureFormat format = nw_picture_sniff(head, (gsize)n);
  if (format != NW_FORMAT_UNKNOWN)
    return nw_fail(error, NW_BAD_DATA,
                   _("%s is a single picture. Choose the folder that holds the folders of the classes."),
                   shown);
  gboolean zip = !memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4);
  gboolean packed = !memcmp(head, "\x1f\x8b", 2) || !memcmp(head, "BZh", 3) ||
                    !memcmp(head,
                            "\xfd"
                            "7zXZ",
                            5) ||
                    !memcmp(head, "\x28\xb5\x2f\xfd", 4);
  gboolean tar = n == 512 && !memcmp(head + 257, "ustar", 5);
  if (!zip && !tar && !packed)
    return nw_fail(error, NW_BAD_DATA,
                   _("%s is neither a folder nor a .zip or .tar archive; it looks like %s. Choose a folder "
                     "of pictures, or "
                     "unpack the archive."),
                   shown, nw_looks_like(head, (gsize)n));
  NwListing listing;
  nw_listing_init(&listing);
  listing.progress = options->progress;
  listing.owner = options->owner;
  m->kind = m->store->kind = NW_DATA_ARCHIVE;
  NwStatus status = zip ? nw_store_zip_open(root, &m->store->zip, &listing, error)
                        : nw_store_tar_open(root, &m->store->tar, &listing, error);
  if (status == NW_OK)
    status = scan_listing(m, &listing, options, shown, error);
  nw_listing_clear(&listing);
  return status;
}

static int left_out_first(gconstpointer a, gconstpointer b)
{
  return (*(NwProblem *const *)b)->left_out - (*(NwProblem *const *)a)->left_out;
}

NwStatus nw_manifest_scan(const char *root, const NwScanOptions *options, NwManifest **out, NwError *error)
{
  NwScanOptions defaults;
  struct stat st;
  *out = NULL;
  nw_scan_options_init(&defaults);
  if (!options)
    options = &defaults;
  char *shown = g_filename_display_name(root);
  NwStatus status;
  if (stat(root, &st) != 0) {
    status = nw_fail_errno(error, errno, _("%s cannot be opened"), shown);
    g_free(shown);
    return status;
  }
  char *absolute = g_canonicalize_filename(root, NULL);
  NwManifest *m = nw_manifest_new(absolute);
  m->store = g_new0(NwStore, 1);
  status = S_ISDIR(st.st_mode) ? scan_folder(m, absolute, options, shown, error)
                               : scan_file(m, absolute, options, shown, error);
  if (status == NW_OK) {
    gboolean vals = FALSE;
    for (guint i = 0; i < m->pictures->len && !vals; i++)
      vals = g_array_index(m->pictures, NwPictureEntry, i).split == NW_SPLIT_VAL;
    m->own_split = m->own_split && vals; /* an empty val folder is none */
    m->store->kind = m->kind;
    nw_manifest_split(m, options->seed, options->val_share);
    g_ptr_array_sort(m->problems, left_out_first);
    nw_manifest_finish(m);
    *out = m;
  } else {
    nw_manifest_free(m);
  }
  g_free(absolute);
  g_free(shown);
  return status;
}
