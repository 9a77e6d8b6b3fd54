#include "ui/widgets/nw-class-balance.h"

#include <glib/gi18n.h>

#include "ui/widgets/nw-text.h"

typedef struct Count {
  guint train, val, most;
} Count;

static void set_color(cairo_t *cr, GtkWidget *widget, const char *name)
{
  GdkRGBA rgba = {0.5f, 0.5f, 0.5f, 1};
  gtk_style_context_lookup_color(gtk_widget_get_style_context(widget), name, &rgba);
  cairo_set_source_rgba(cr, rgba.red, rgba.green, rgba.blue, rgba.alpha * 0.9);
}

static void draw(GtkDrawingArea *area, cairo_t *cr, int w, int h, gpointer data)
{
  const Count *count = data;
  double scale = count->most > 0 ? (double)w / count->most : 0, train = count->train * scale,
         val = count->val * scale;
  double top = (h - 12) / 2.0;
  cairo_rectangle(cr, 0, top, train, 12);
  set_color(cr, GTK_WIDGET(area), "nw_train");
  cairo_fill(cr);
  cairo_rectangle(cr, train + (val > 0 ? 1 : 0), top, MAX(val - 1, 0), 12);
  set_color(cr, GTK_WIDGET(area), "nw_val");
  cairo_fill(cr);
}

static int by_number(gconstpointer a, gconstpointer b)
{
  guint x = *(const guint *)a, y = *(const guint *)b;
  return x < y ? -1 : x > y;
}

static GtkWidget *row_new(const char *name, Count count, guint usual)
{
  GtkWidget *row = gtk_box_new(GTK_ORIENTATION_HORIZONTAL, 10);
  GtkWidget *label = gtk_label_new(name), *bar = gtk_drawing_area_new();
  guint all = count.train + count.val;
  g_autofree char *text = nw_text_count(all);
  GtkWidget *figure = gtk_label_new(text);
  gtk_label_set_xalign(GTK_LABEL(label), 1);
  gtk_label_set_width_chars(GTK_LABEL(label), 9);
  gtk_label_set_max_width_chars(GTK_LABEL(label), 9);
  gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
  gtk_widget_set_tooltip_text(label, name);
  gtk_widget_add_css_class(label, "caption-text");
  gtk_drawing_area_set_content_height(GTK_DRAWING_AREA(bar), 14);
  gtk_drawing_area_set_draw_func(GTK_DRAWING_AREA(bar), draw, g_memdup2(&count, sizeof count), g_free);
  gtk_widget_set_hexpand(bar, TRUE);
  gtk_widget_set_size_request(bar, 60, 22);
  gtk_widget_add_css_class(figure, "caption-text");
  gtk_widget_add_css_class(figure, "numeric");
  gtk_label_set_xalign(GTK_LABEL(figure), 1);
  gtk_label_set_width_chars(GTK_LABEL(figure), 5);
  if (all * 2 < usual) {
    gtk_widget_add_css_class(label, "warn");
    gtk_widget_add_css_class(figure, "warn");
  }
  g_autofree char *tip = g_strdup_printf(_("%s: %u to train, %u to validate"), name, count.train, count.val);
  gtk_widget_set_tooltip_text(row, tip);
  gtk_accessible_update_property(GTK_ACCESSIBLE(row), GTK_ACCESSIBLE_PROPERTY_LABEL, tip, -1);
  gtk_box_append(GTK_BOX(row), label);
  gtk_box_append(GTK_BOX(row), bar);
  gtk_box_append(GTK_BOX(row), figure);
  return row;
}

GtkWidget *nw_class_balance_new(void)
{
  GtkWidget *scroll = gtk_scrolled_window_new();
  gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scroll), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
  gtk_widget_set_vexpand(scroll, TRUE);
  return scroll;
}

void nw_class_balance_fill(GtkWidget *balance, const NwManifest *manifest)
{
  GtkWidget *box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 4);
  guint n = manifest != NULL ? manifest->classes->len : 0;
  g_autofree Count *counts = g_new0(Count, n + 1);
  g_autofree guint *sorted = g_new0(guint, n + 1);
  guint most = 0;
  for (guint i = 0; manifest != NULL && i < manifest->pictures->len; i++) {
    const NwPictureEntry *entry = &g_array_index(manifest->pictures, NwPictureEntry, i);
    if (entry->label < n && entry->split == NW_SPLIT_TRAIN)
      counts[entry->label].train++;
    else if (entry->label < n && entry->split == NW_SPLIT_VAL)
      counts[entry->label].val++;
  }
  for (guint k = 0; k < n; k++) {
    sorted[k] = counts[k].train + counts[k].val;
    most = MAX(most, sorted[k]);
  }
  qsort(sorted, n, sizeof *sorted, by_number);
  /* Some classes share the height of the card; two or three would lie far apart. */
  gtk_box_set_homogeneous(GTK_BOX(box), n > 5);
  for (guint k = 0; k < n; k++) {
    counts[k].most = most;
    gtk_box_append(GTK_BOX(box), row_new(g_ptr_array_index(manifest->classes, k), counts[k], sorted[n / 2]));
  }
  gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(balance), box);
}
