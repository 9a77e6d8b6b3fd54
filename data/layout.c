/* From a list of files to classes and splits: which folder is the root of the set, what its classes are, what
 * lies where it should not. One list of classes for all splits, by name. */
#include <string.h>

#include "data/scan.h"
#include "data/words.h"

#define WRAPPERS_MAX 6

typedef struct Place {
  char *name; /* the folder's, under the prefix */
  guint deep; /* pictures in folders of it */
  guint flat; /* pictures directly in it */
} Place;

typedef struct Layout {
  NwManifest *manifest;
  NwListing *listing;
  const char *shown_root;
  GString *prefix;           /* "" or "wrapper/" */
  GHashTable *ignored_types; /* ".txt" → count */
} Layout;

static void place_free(gpointer data)
{
  Place *place = data;
  g_free(place->name);
  g_free(place);
}

static gboolean is_picture(const NwFound *found)
{
  return found->kind != NW_FOUND_FOLDER && found->kind != NW_FOUND_UNSAFE && found->kind != NW_FOUND_LOOP &&
         nw_has_picture_name(found->path);
}

/* What is behind prefix, NULL when path lies elsewhere. */
static const char *under(const char *path, const char *prefix)
{
  return g_str_has_prefix(path, prefix) ? path + strlen(prefix) : NULL;
}

/* The folders directly under prefix. *loose: pictures directly under it. */
static GHashTable *places_under(const NwListing *listing, const char *prefix, guint *loose)
{
  GHashTable *places = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, place_free);
  *loose = 0;
  for (guint i = 0; i < listing->found->len; i++) {
    const NwFound *found = &g_array_index(listing->found, NwFound, i);
    const char *rest = found->kind == NW_FOUND_UNSAFE ? NULL : under(found->path, prefix);
    if (!rest || !*rest)
      continue;
    const char *slash = strchr(rest, '/');
    if (!slash && found->kind != NW_FOUND_FOLDER && found->kind != NW_FOUND_DENIED) {
      *loose += is_picture(found);
      continue;
    }
    if (!slash && found->kind == NW_FOUND_DENIED && nw_has_picture_name(rest)) {
      ++*loose;
      continue;
    }
    char *name = slash ? g_strndup(rest, (gsize)(slash - rest)) : g_strdup(rest);
    Place *place = g_hash_table_lookup(places, name);
    if (place) {
      g_free(name);
    } else {
      place = g_new0(Place, 1);
      place->name = name;
      g_hash_table_insert(places, name, place);
    }
    if (slash && is_picture(found)) {
      if (strchr(slash + 1, '/'))
        place->deep++;
      else
        place->flat++;
    }
  }
  return places;
}

static Place *find_place(GHashTable *places, const char *const *names)
{
  GHashTableIter iter;
  gpointer value;
  for (guint i = 0; names[i]; i++) {
    g_hash_table_iter_init(&iter, places);
    while (g_hash_table_iter_next(&iter, NULL, &value))
      if (!g_ascii_strcasecmp(((Place *)value)->name, names[i]) && ((Place *)value)->deep > 0)
        return value;
  }
  return NULL;
}

typedef struct Splits {
  char *train, *val, *test; /* prefixes; train NULL: none of its own */
} Splits;

/* Walks through wrapper folders until classes or splits stand there. */
static Splits find_root(Layout *layout)
{
  static const char *const trains[] = {"train", "training", NULL};
  static const char *const vals[] = {"val", "valid", "validation", NULL};
  static const char *const tests[] = {"test", "testing", NULL};
  Splits splits = {NULL, NULL, NULL};
  for (guint depth = 0; depth < WRAPPERS_MAX; depth++) {
    guint loose = 0;
    GHashTable *places = places_under(layout->listing, layout->prefix->str, &loose);
    Place *train = find_place(places, trains), *val = find_place(places, vals),
          *test = find_place(places, tests);
    if (train && (val || test)) {
      splits.train = g_strconcat(layout->prefix->str, train->name, "/", NULL);
      if (val)
        splits.val = g_strconcat(layout->prefix->str, val->name, "/", NULL);
      if (test)
        splits.test = g_strconcat(layout->prefix->str, test->name, "/", NULL);
      g_hash_table_unref(places);
      break;
    }
    Place *only = NULL;
    guint filled = 0;
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, places);
    while (g_hash_table_iter_next(&iter, NULL, &value))
      if (((Place *)value)->deep + ((Place *)value)->flat > 0) {
        filled++;
        only = value;
      }
    gboolean wrapper = filled == 1 && only->deep > 0 && only->flat == 0 && loose == 0;
    if (wrapper) {
      g_string_append(layout->prefix, only->name);
      g_string_append_c(layout->prefix, '/');
    }
    g_hash_table_unref(places);
    if (!wrapper)
      break;
  }
  return splits;
}

/* --- classes --- */

static char *class_name(const char *bytes, gsize n)
{
  char *name = g_strndup(bytes, n), *valid = g_utf8_make_valid(name, -1);
  g_free(name);
  return valid;
}

static int by_bytes(gconstpointer a, gconstpointer b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static GPtrArray *classes_under(const NwListing *listing, const char *prefix)
{
  guint loose;
  GHashTable *places = places_under(listing, prefix, &loose);
  GPtrArray *classes = g_ptr_array_new_with_free_func(g_free);
  GHashTableIter iter;
  gpointer key;
  g_hash_table_iter_init(&iter, places);
  while (g_hash_table_iter_next(&iter, &key, NULL))
    g_ptr_array_add(classes, class_name(key, strlen(key)));
  g_ptr_array_sort(classes, by_bytes);
  g_hash_table_unref(places);
  return classes;
}

static int class_index(const GPtrArray *classes, const char *name)
{
  guint low = 0, high = classes->len;
  while (low < high) {
    guint mid = (low + high) / 2;
    int order = strcmp(name, g_ptr_array_index(classes, mid));
    if (order == 0)
      return (int)mid;
    if (order < 0)
      high = mid;
    else
      low = mid + 1;
  }
  return -1;
}

/* --- what cannot be used, before anybody looks inside --- */

static gboolean refuse(Layout *layout, const NwFound *found)
{
  NwManifest *m = layout->manifest;
  switch (found->kind) {
  case NW_FOUND_DANGLING:
    nw_problem_add(m, "dangling-link", TRUE, 1, found->path,
                   _("the link leads nowhere. It is left out; restore what it points to, or delete it."));
    break;
  case NW_FOUND_DENIED:
    nw_problem_add(m, "unreadable", TRUE, 1, found->path,
                   _("you may not read this. It is left out; change its permissions to use it."));
    break;
  case NW_FOUND_ENCRYPTED:
    nw_problem_add(
        m, "encrypted", TRUE, 1, found->path,
        _("this entry of the archive is encrypted. It is left out; unpack the archive with its password."));
    break;
  case NW_FOUND_UNKNOWN_METHOD:
    nw_problem_add(
        m, "unsupported", TRUE, 1, found->path,
        _("this entry of the archive is compressed in an unusual way, or larger than 2 GB. It is left out; "
          "unpack the archive and choose the folder."));
    break;
  default:
    return FALSE;
  }
  m->left_out++;
  return TRUE;
}

static void note_type(Layout *layout, const char *path)
{
  const char *base = strrchr(path, '/'), *dot = strrchr(base ? base : path, '.');
  char *type = dot ? g_ascii_strdown(dot, -1) : g_strdup(_("no extension"));
  guint n = GPOINTER_TO_UINT(g_hash_table_lookup(layout->ignored_types, type));
  g_hash_table_replace(layout->ignored_types, type, GUINT_TO_POINTER(n + 1));
}

typedef struct Strays {
  guint count;
  char *first;
} Strays;

static void stray(Strays *strays, const char *path)
{
  if (strays->count++ == 0)
    strays->first = g_strdup(path);
}

/* Takes the pictures under prefix. Returns the names of classes that are not in the list, with counts. */
static GHashTable *take_split(Layout *layout, const char *prefix, NwSplit split, Strays *wrong_level)
{
  NwManifest *m = layout->manifest;
  GHashTable *unknown = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < layout->listing->found->len; i++) {
    const NwFound *found = &g_array_index(layout->listing->found, NwFound, i);
    const char *rest =
        found->kind == NW_FOUND_UNSAFE || found->kind == NW_FOUND_LINK ? NULL : under(found->path, prefix);
    if (!rest || found->kind == NW_FOUND_FOLDER || found->kind == NW_FOUND_LOOP)
      continue;
    const char *slash = strchr(rest, '/');
    if (!nw_has_picture_name(rest)) {
      if (found->kind == NW_FOUND_FILE)
        note_type(layout, rest);
      else
        refuse(layout, found); /* a folder that may not be read, a link to nothing */
      continue;
    }
    if (!slash) {
      stray(wrong_level, found->path);
      continue;
    }
    char *name = class_name(rest, (gsize)(slash - rest));
    int label = class_index(m->classes, name);
    if (label < 0) {
      guint n = GPOINTER_TO_UINT(g_hash_table_lookup(unknown, name));
      g_hash_table_replace(unknown, name, GUINT_TO_POINTER(n + 1));
      continue;
    }
    g_free(name);
    if (refuse(layout, found))
      continue;
    NwPictureEntry entry = {
        g_strdup(found->path), (guint32)label, found->record, split, 0, 0, 0, found->size};
    g_array_append_val(m->pictures, entry);
  }
  return unknown;
}

/* torchvision's order: class, folder as a whole string, name. */
static int by_torchvision(gconstpointer a, gconstpointer b)
{
  const NwPictureEntry *p = a, *q = b;
  if (p->split != q->split)
    return p->split < q->split ? -1 : 1;
  if (p->label != q->label)
    return p->label < q->label ? -1 : 1;
  const char *pn = strrchr(p->path, '/'), *qn = strrchr(q->path, '/');
  gsize pd = pn ? (gsize)(pn - p->path) : 0, qd = qn ? (gsize)(qn - q->path) : 0;
  int order = memcmp(p->path, q->path, MIN(pd, qd));
  if (order == 0)
    order = pd < qd ? -1 : pd > qd ? 1 : strcmp(p->path + pd, q->path + qd);
  return order;
}

/* --- remarks on the whole --- */

static void report_archive_tricks(Layout *layout)
{
  Strays unsafe = {0}, links = {0};
  for (guint i = 0; i < layout->listing->found->len; i++) {
    const NwFound *found = &g_array_index(layout->listing->found, NwFound, i);
    if (found->kind == NW_FOUND_UNSAFE)
      stray(&unsafe, found->path);
    else if (found->kind == NW_FOUND_LINK)
      stray(&links, found->path);
    else if (found->kind == NW_FOUND_LOOP)
      nw_problem_add(layout->manifest, "link-loop", TRUE, 1, found->path,
                     _("this link leads back into a folder above it. It is not followed."));
  }
  if (unsafe.count)
    nw_problem_add(
        layout->manifest, "unsafe-name", TRUE, unsafe.count, unsafe.first,
        NW_N_("%u entry of the archive has a name that leads outside of it. It is left out, nothing was "
              "written.",
              "%u entries of the archive have names that lead outside of it. They are left out, nothing was "
              "written.",
              unsafe.count),
        unsafe.count);
  if (links.count)
    nw_problem_add(layout->manifest, "link", TRUE, links.count, links.first,
                   NW_N_("%u link or device in the archive is left out.",
                         "%u links or devices in the archive are left out.", links.count),
                   links.count);
  layout->manifest->left_out += unsafe.count;
  g_free(unsafe.first);
  g_free(links.first);
}

static void report_types(Layout *layout)
{
  GString *list = g_string_new(NULL);
  guint total = 0;
  GList *keys = g_list_sort(g_hash_table_get_keys(layout->ignored_types), (GCompareFunc)strcmp);
  for (GList *k = keys; k; k = k->next) {
    guint n = GPOINTER_TO_UINT(g_hash_table_lookup(layout->ignored_types, k->data));
    total += n;
    g_string_append_printf(list, "%s%s %u", list->len ? ", " : "", (char *)k->data, n);
  }
  g_list_free(keys);
  char *valid = g_utf8_make_valid(list->str, -1);
  if (total)
    nw_problem_add(layout->manifest, "ignored-type", FALSE, total, NULL,
                   NW_N_("%u file is not a picture by its name and is ignored (%s).",
                         "%u files are not pictures by their names and are ignored (%s).", total),
                   total, valid);
  g_free(valid);
  g_string_free(list, TRUE);
}

static void report_unknown_classes(NwManifest *m, GHashTable *unknown)
{
  GList *names = g_list_sort(g_hash_table_get_keys(unknown), (GCompareFunc)strcmp);
  for (GList *k = names; k; k = k->next) {
    guint n = GPOINTER_TO_UINT(g_hash_table_lookup(unknown, k->data));
    nw_problem_add(
        m, "class-only-in-val", TRUE, n, k->data,
        NW_N_(
            "the class is only among the validation pictures. Its %u picture is left out; add the class to "
            "the training pictures, or rename the folder.",
            "the class is only among the validation pictures. Its %u pictures are left out; add the class to "
            "the training pictures, or rename the folder.",
            n),
        n);
    m->left_out += n;
  }
  g_list_free(names);
}

static void report_classes(NwManifest *m)
{
  gboolean numbers = m->classes->len > 1, in_order = TRUE;
  guint *train = g_new0(guint, m->classes->len + 1), *val = g_new0(guint, m->classes->len + 1);
  for (guint i = 0; i < m->pictures->len; i++) {
    const NwPictureEntry *entry = &g_array_index(m->pictures, NwPictureEntry, i);
    (entry->split == NW_SPLIT_VAL ? val : train)[entry->label]++;
  }
  for (guint i = 0; i < m->classes->len; i++) {
    const char *name = g_ptr_array_index(m->classes, i);
    char *index = g_strdup_printf("%u", i);
    numbers = numbers && *name && strspn(name, "0123456789") == strlen(name);
    in_order = in_order && !strcmp(index, name);
    g_free(index);
    if (train[i] + val[i] == 0)
      nw_problem_add(
          m, "empty-class", FALSE, 0, name,
          _("the folder of this class holds no picture. The class keeps its number; remove the folder to be "
            "rid of it."));
    else if (m->own_split && val[i] == 0)
      nw_problem_add(m, "class-missing-in-val", FALSE, 0, name,
                     _("the class has no validation picture. It is trained, but never checked."));
  }
  if (numbers && !in_order)
    nw_problem_add(m, "number-classes", FALSE, m->classes->len, NULL,
                   _("The class folders are numbers, but classes are counted in the order of their names: 10 "
                     "comes before "
                     "2. Compare names and numbers in the list of classes."));
  g_free(train);
  g_free(val);
}

/* The sentences for sets that nobody can train on. loose: pictures outside of class folders. */
static NwStatus check_trainable(NwManifest *m, const char *shown_root, guint loose, NwError *error)
{
  guint filled = 0;
  const char *filled_name = NULL;
  gboolean *has = g_new0(gboolean, m->classes->len + 1);
  for (guint i = 0; i < m->pictures->len; i++) {
    const NwPictureEntry *entry = &g_array_index(m->pictures, NwPictureEntry, i);
    if (!has[entry->label]) {
      has[entry->label] = TRUE;
      filled++;
      filled_name = g_ptr_array_index(m->classes, entry->label);
    }
  }
  g_free(has);
  if (filled >= 2)
    return NW_OK;
  if (filled == 1)
    return nw_fail(error, NW_BAD_DATA,
                   _("%s holds pictures of one class only (%s). Put the pictures of each class into a folder "
                     "of its own; "
                     "two classes are the least."),
                   shown_root, filled_name);
  if (loose)
    return nw_fail(error, NW_BAD_DATA,
                   _("%s has no class folders: its %u pictures lie directly in it. Put the pictures of each "
                     "class into a "
                     "folder of its own."),
                   shown_root, loose);
  for (guint i = 0; i < m->problems->len; i++) {
    const NwProblem *problem = g_ptr_array_index(m->problems, i);
    if (problem->left_out)
      return nw_fail(error, NW_BAD_DATA,
                     _("%s holds no picture that can be used; %u were left out. The first: %s"), shown_root,
                     MAX(m->left_out, 1), problem->text);
  }
  return nw_fail(error, NW_BAD_DATA,
                 _("There are no pictures in %s. Choose a folder that has one folder for each class, with "
                   "JPEG, PNG, WebP, "
                   "BMP or GIF files in them."),
                 shown_root);
}

NwStatus nw_layout_check(NwManifest *manifest, const char *shown_root, NwError *error)
{
  report_classes(manifest);
  return check_trainable(manifest, shown_root, 0, error);
}

NwStatus nw_layout(NwManifest *manifest, NwListing *listing, const char *shown_root, NwError *error)
{
  Layout layout = {manifest, listing, shown_root, g_string_new(NULL),
                   g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
  Strays wrong_level = {0};
  Splits splits = find_root(&layout);
  const char *train = splits.train ? splits.train : layout.prefix->str;
  const char *val = splits.val ? splits.val : splits.test;
  g_ptr_array_unref(manifest->classes);
  manifest->classes = classes_under(listing, train);
  manifest->ignored = listing->ignored;
  report_archive_tricks(&layout);
  g_hash_table_unref(take_split(&layout, train, NW_SPLIT_TRAIN, &wrong_level));
  if (splits.train) {
    manifest->own_split = TRUE;
    GHashTable *unknown = take_split(&layout, val, NW_SPLIT_VAL, &wrong_level);
    report_unknown_classes(manifest, unknown);
    g_hash_table_unref(unknown);
  }
  if (splits.val && splits.test)
    nw_problem_add(
        manifest, "test-folder", FALSE, 0, splits.test,
        _("these pictures are not used for training. Evaluate a run on this folder when it is done."));
  if (wrong_level.count && manifest->pictures->len) {
    nw_problem_add(
        manifest, "wrong-level", TRUE, wrong_level.count, wrong_level.first,
        NW_N_("%u picture lies outside of any class folder. It is left out; move it into the folder of its "
              "class.",
              "%u pictures lie outside of any class folder. They are left out; move them into the folders of "
              "their classes.",
              wrong_level.count),
        wrong_level.count);
    manifest->left_out += wrong_level.count;
  }
  g_array_sort(manifest->pictures, by_torchvision);
  report_types(&layout);
  if (listing->recoded)
    nw_problem_add(
        manifest, "names-charset", FALSE, 0, NULL,
        _("Names in this archive are not in UTF-8. They were read as Chinese (GB18030); if they look wrong, "
          "unpack the archive and choose the folder."));
  if (listing->ignored)
    nw_problem_add(
        manifest, "ignored", FALSE, listing->ignored, NULL,
        NW_N_("%u hidden or system file or folder is ignored. (torchvision would count a hidden folder as a "
              "class.)",
              "%u hidden or system files and folders are ignored. (torchvision would count hidden folders as "
              "classes.)",
              listing->ignored),
        listing->ignored);
  NwStatus status = check_trainable(manifest, shown_root, wrong_level.count, error);
  g_free(wrong_level.first);
  g_free(splits.train);
  g_free(splits.val);
  g_free(splits.test);
  g_hash_table_unref(layout.ignored_types);
  g_string_free(layout.prefix, TRUE);
  return status;
}
