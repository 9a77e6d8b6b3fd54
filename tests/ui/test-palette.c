/* Every layer of the op table is in the palette, can be searched for and chosen; also one that was added as a
 * file ($NETWRIGHT_EXPECT_LAYER). */
#include <string.h>

#include "tests/ui/nw-ui-test.h"
#include "ui/panels/nw-palette.h"

static GtkWidget *open_palette(GtkWidget **window)
{
  GtkWidget *palette = nw_palette_new();
  *window = gtk_window_new();
  gtk_window_set_default_size(GTK_WINDOW(*window), 260, 900);
  gtk_window_set_child(GTK_WINDOW(*window), palette);
  gtk_window_present(GTK_WINDOW(*window));
  nwt_wait(gtk_widget_get_mapped(palette));
  nwt_spin(100);
  return palette;
}

static void test_every_layer(void)
{
  GtkWidget *window, *palette = open_palette(&window);
  const char *expected = g_getenv("NETWRIGHT_EXPECT_LAYER");
  const NwOp *op;
  guint offered = 0;
  gboolean met = expected == NULL;
  for (size_t i = 0; (op = nw_op_at(i)) != NULL; i++) {
    GtkWidget *row = nw_palette_row(NW_PALETTE(palette), op->id);
    g_assert_true((row != NULL) == nw_palette_offers(op));
    if (row == NULL)
      continue;
    offered++;
    g_assert_nonnull(nwt_find_label(row, op->label));
    gtk_test_accessible_assert_property(GTK_ACCESSIBLE(row), GTK_ACCESSIBLE_PROPERTY_LABEL, op->label);
    met = met || g_strcmp0(op->label, expected) == 0;
  }
  g_test_message("%u layers", offered);
  g_assert_cmpuint(offered, >=, 18);
  if (!met)
    g_error("%s is not in the palette", expected);
  gtk_window_destroy(GTK_WINDOW(window));
}

static guint shown(GtkWidget *palette)
{
  const NwOp *op;
  guint n = 0;
  for (size_t i = 0; (op = nw_op_at(i)) != NULL; i++) {
    GtkWidget *row = nw_palette_row(NW_PALETTE(palette), op->id);
    n += row != NULL && gtk_widget_get_child_visible(row);
  }
  return n;
}

static void on_chosen(NwPalette *palette, gpointer op, gpointer data)
{
  *(const NwOp **)data = op;
}

static void test_search(void)
{
  GtkWidget *window, *palette = open_palette(&window);
  const NwOp *chosen = NULL;
  guint all = shown(palette);
  g_signal_connect(palette, "chosen", G_CALLBACK(on_chosen), &chosen);
  nw_palette_focus_search(NW_PALETTE(palette));
  nwt_spin(50);
  nwt_type("batchnorm2");
  nwt_wait(shown(palette) == 1);
  nwt_key(GDK_KEY_Return, 0);
  nwt_wait(chosen != NULL);
  g_assert_cmpstr(chosen->id, ==, "batch_norm2d");
  nwt_key('a', GDK_CONTROL_MASK);
  nwt_type("zzz");
  nwt_wait(shown(palette) == 0);
  nwt_key(GDK_KEY_Escape, 0);
  nwt_wait(shown(palette) == all);
  chosen = NULL;
  nwt_double_click(nw_palette_row(NW_PALETTE(palette), "input"));
  nwt_wait(chosen != NULL);
  g_assert_cmpstr(chosen->id, ==, "input");
  gtk_window_destroy(GTK_WINDOW(window));
}

int main(int argc, char **argv)
{
  nwt_ui_init(&argc, &argv);
  nwt_add("/ui/palette/every-layer", test_every_layer);
  nwt_add("/ui/palette/search", test_search);
  return nwt_run();
}
