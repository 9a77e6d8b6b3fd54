#include "data/manifest.h"

#include <stdarg.h>
#include <string.h>

#include "data/scan.h"
#include "data/words.h"
#include "engine/base/philox.h"

void nw_entry_clear(gpointer entry)
{
  g_free(((NwPictureEntry *)entry)->path);
}

static void problem_free(gpointer data)
{
  NwProblem *problem = data;
  g_free(problem->path);
  g_free(problem->text);
  g_free(problem);
}

NwManifest *nw_manifest_new(const char *root)
{
  NwManifest *m = g_new0(NwManifest, 1);
  m->root = g_strdup(root);
  m->classes = g_ptr_array_new_with_free_func(g_free);
  m->pictures = g_array_new(FALSE, TRUE, sizeof(NwPictureEntry));
  g_array_set_clear_func(m->pictures, nw_entry_clear);
  m->problems = g_ptr_array_new_with_free_func(problem_free);
  return m;
}

void nw_manifest_free(NwManifest *manifest)
{
  if (!manifest)
    return;
  g_free(manifest->root);
  g_ptr_array_unref(manifest->classes);
  g_array_unref(manifest->pictures);
  g_ptr_array_unref(manifest->problems);
  nw_store_free(manifest->store);
  g_free(manifest);
}

NwManifest *nw_manifest_copy(const NwManifest *manifest)
{
  NwManifest *m = nw_manifest_new(manifest->root);
  GPtrArray *classes = m->classes, *problems = m->problems;
  GArray *pictures = m->pictures;
  char *root = m->root;
  *m = *manifest;
  m->root = root;
  m->classes = classes;
  m->pictures = pictures;
  m->problems = problems;
  m->store = nw_store_share(manifest->store);
  for (guint i = 0; i < manifest->classes->len; i++)
    g_ptr_array_add(classes, g_strdup(g_ptr_array_index(manifest->classes, i)));
  g_array_append_vals(pictures, manifest->pictures->data, manifest->pictures->len);
  for (guint i = 0; i < pictures->len; i++) {
    NwPictureEntry *entry = &g_array_index(pictures, NwPictureEntry, i);
    entry->path = g_strdup(entry->path);
  }
  for (guint i = 0; i < manifest->problems->len; i++) {
    NwProblem *problem = g_memdup2(g_ptr_array_index(manifest->problems, i), sizeof *problem);
    problem->path = g_strdup(problem->path);
    problem->text = g_strdup(problem->text);
    g_ptr_array_add(problems, problem);
  }
  return m;
}

void nw_problem_add(NwManifest *manifest, const char *kind, gboolean left_out, guint count, const char *path,
                    const char *format, ...)
{
  NwProblem *problem = g_new0(NwProblem, 1);
  va_list args;
  va_start(args, format);
  char *text = g_strdup_vprintf(format, args);
  va_end(args);
  problem->kind = kind;
  problem->left_out = left_out;
  problem->count = count;
  problem->path = path ? g_utf8_make_valid(path, -1) : NULL;
  problem->text = text;
  /* A sentence that does not begin with a capital letter is about the path. */
  if (path && !g_unichar_isupper(g_utf8_get_char(text)) && !g_ascii_isdigit(text[0])) {
    problem->text = g_strdup_printf(_("%s: %s"), problem->path, text);
    g_free(text);
  }
  g_ptr_array_add(manifest->problems, problem);
}

guint nw_manifest_count(const NwManifest *manifest, NwSplit split, int label)
{
  guint n = 0;
  for (guint i = 0; i < manifest->pictures->len; i++) {
    const NwPictureEntry *entry = &g_array_index(manifest->pictures, NwPictureEntry, i);
    n += entry->split == split && (label < 0 || entry->label == (guint32)label);
  }
  return n;
}

void nw_manifest_split(NwManifest *manifest, guint64 seed, double val_share)
{
  if (manifest->own_split)
    return;
  NwPhilox key = {seed, NW_STREAM_SPLIT};
  manifest->split_seed = seed;
  manifest->val_share = CLAMP(val_share, 0.0, 0.9);
  guint classes = manifest->classes->len;
  guint32 *members = g_new(guint32, manifest->pictures->len + 1), *first = g_new0(guint32, classes + 2);
  for (guint i = 0; i < manifest->pictures->len; i++)
    first[g_array_index(manifest->pictures, NwPictureEntry, i).label + 2]++;
  for (guint label = 2; label < classes + 2; label++)
    first[label] += first[label - 1];
  /* first[label + 1] moves to the end of the class while it is filled. */
  for (guint i = 0; i < manifest->pictures->len; i++)
    members[first[g_array_index(manifest->pictures, NwPictureEntry, i).label + 1]++] = i;
  for (guint label = 0; label < classes; label++) {
    guint32 *member = members + first[label], n = first[label + 1] - first[label];
    nw_shuffle(key, label, member, n);
    guint val = (guint)(n * manifest->val_share + 0.5);
    val = n >= 2 && manifest->val_share > 0 ? CLAMP(val, 1, n - 1) : 0;
    for (guint32 i = 0; i < n; i++)
      g_array_index(manifest->pictures, NwPictureEntry, member[i]).split =
          i < val ? NW_SPLIT_VAL : NW_SPLIT_TRAIN;
  }
  g_free(first);
  g_free(members);
}

static void add_string(GChecksum *sum, const char *text)
{
  g_checksum_update(sum, (const guchar *)(text ? text : ""), text ? (gssize)strlen(text) + 1 : 1);
}

static void add_number(GChecksum *sum, guint64 value)
{
  guint64 little = GUINT64_TO_LE(value);
  g_checksum_update(sum, (const guchar *)&little, sizeof little);
}

void nw_manifest_finish(NwManifest *m)
{
  GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
  m->min_width = m->min_height = G_MAXUINT32;
  m->max_width = m->max_height = 0;
  add_number(sum, m->classes->len);
  for (guint i = 0; i < m->classes->len; i++)
    add_string(sum, g_ptr_array_index(m->classes, i));
  for (guint i = 0; i < m->pictures->len; i++) {
    const NwPictureEntry *entry = &g_array_index(m->pictures, NwPictureEntry, i);
    m->min_width = MIN(m->min_width, entry->width);
    m->min_height = MIN(m->min_height, entry->height);
    m->max_width = MAX(m->max_width, entry->width);
    m->max_height = MAX(m->max_height, entry->height);
    add_string(sum, entry->path);
    add_number(sum, entry->label);
    add_number(sum, entry->bytes);
  }
  if (m->pictures->len == 0)
    m->min_width = m->min_height = 0;
  g_strlcpy(m->digest, g_checksum_get_string(sum), sizeof m->digest);
  g_checksum_free(sum);
}

static NwJson *problems_to_json(const NwManifest *m)
{
  NwJson *array = nw_json_array();
  for (guint i = 0; i < m->problems->len; i++) {
    const NwProblem *problem = g_ptr_array_index(m->problems, i);
    NwJson *o = nw_json_object();
    nw_json_set_string(o, "kind", problem->kind);
    nw_json_set_bool(o, "left_out", problem->left_out);
    nw_json_set_int(o, "count", problem->count);
    nw_json_set_string(o, "path", problem->path);
    nw_json_set_string(o, "text", problem->text);
    nw_json_append(array, o);
  }
  return array;
}

NwJson *nw_manifest_to_json(const NwManifest *m)
{
  static const char *const kinds[] = {"folder", "archive", "mnist", "cifar10"};
  NwJson *o = nw_json_object(), *classes = nw_json_array(), *split = nw_json_object(),
         *size = nw_json_object(), *formats = nw_json_object();
  char *root = g_filename_display_name(m->root);
  guint *train = g_new0(guint, m->classes->len + 1), *val = g_new0(guint, m->classes->len + 1), trains = 0,
        vals = 0;
  guint by_format[NW_FORMAT_RAW + 1] = {0};
  for (guint i = 0; i < m->pictures->len; i++) {
    const NwPictureEntry *entry = &g_array_index(m->pictures, NwPictureEntry, i);
    train[entry->label] += entry->split == NW_SPLIT_TRAIN;
    val[entry->label] += entry->split == NW_SPLIT_VAL;
    trains += entry->split == NW_SPLIT_TRAIN;
    vals += entry->split == NW_SPLIT_VAL;
    by_format[MIN(entry->format, NW_FORMAT_RAW)]++;
  }
  for (guint i = 0; i < m->classes->len; i++) {
    NwJson *c = nw_json_object();
    nw_json_set_int(c, "index", i);
    nw_json_set_string(c, "name", g_ptr_array_index(m->classes, i));
    nw_json_set_int(c, "train", train[i]);
    nw_json_set_int(c, "val", val[i]);
    nw_json_append(classes, c);
  }
  for (guint i = 0; i <= NW_FORMAT_RAW; i++)
    if (by_format[i])
      nw_json_set_int(formats, nw_picture_format_name((NwPictureFormat)i), by_format[i]);
  nw_json_set_int(size, "min_width", m->min_width);
  nw_json_set_int(size, "min_height", m->min_height);
  nw_json_set_int(size, "max_width", m->max_width);
  nw_json_set_int(size, "max_height", m->max_height);
  nw_json_set_bool(split, "own", m->own_split);
  nw_json_set_int(split, "seed", (int64_t)m->split_seed);
  nw_json_set_real(split, "val_share", m->val_share);
  nw_json_set_string(o, "root", root);
  nw_json_set_string(o, "kind", kinds[m->kind]);
  nw_json_set(o, "classes", classes);
  nw_json_set_int(o, "pictures", m->pictures->len);
  nw_json_set_int(o, "train", trains);
  nw_json_set_int(o, "val", vals);
  nw_json_set(o, "split", split);
  nw_json_set(o, "size", size);
  nw_json_set_bool(o, "all_gray", m->all_gray);
  nw_json_set(o, "formats", formats);
  nw_json_set_int(o, "ignored", m->ignored);
  nw_json_set_int(o, "left_out", m->left_out);
  nw_json_set_string(o, "digest", m->digest);
  nw_json_set(o, "problems", problems_to_json(m));
  g_free(train);
  g_free(val);
  g_free(root);
  return o;
}
