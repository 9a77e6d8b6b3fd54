/* The canvas: what lies under a point, what a wire may not do, and every command by its key. */
#include <string.h>

#include "tests/ui/nw-ui-test.h"
#include "ui/canvas/nw-canvas.h"
#include "ui/canvas/nw-geometry.h"
#include "ui/paint/nw-paint.h"

static NwProject *project;
static GtkWidget *window;
static NwCanvas *canvas;
static char *refusal;

static const NwNetwork *network(void)
{
  return nw_project_network(project);
}

static guint32 add(const char *op, double x, double y)
{
  NwError error = {0};
  guint32 block = 0;
  if (nw_project_add_block(project, nw_op_find(op), x, y, &block, &error) != NW_OK)
    g_error("%s", error.text);
  return block;
}

static guint32 source(guint32 block)
{
  const NwBlock *found = nw_network_find(network(), block);
  return found != NULL && found->n_from > 0 ? found->from[0] : 0;
}

static void test_geometry(void)
{
  NwProject *plain = nw_project_new();
  NwError error = {0};
  guint32 conv = 0, sum = 0;
  g_assert_cmpint(nw_project_add_block(plain, nw_op_find("conv2d"), 100, 100, &conv, &error), ==, NW_OK);
  g_assert_cmpint(nw_project_add_block(plain, nw_op_find("add"), 100, 300, &sum, &error), ==, NW_OK);
  const NwNetwork *net = nw_project_network(plain);
  NwHit hit = nw_network_hit(net, 100 + NW_BLOCK_WIDTH / 2.0, 100 + NW_BLOCK_HEIGHT / 2.0, 1);
  g_assert_cmpint(hit.kind, ==, NW_HIT_BLOCK);
  g_assert_cmpuint(hit.block, ==, conv);
  hit = nw_network_hit(net, 100 + NW_BLOCK_WIDTH / 2.0 + 8, 100 + NW_BLOCK_HEIGHT + 6, 1);
  g_assert_cmpint(hit.kind, ==, NW_HIT_OUTPUT);
  hit = nw_network_hit(net, 100 + NW_BLOCK_WIDTH / 2.0, 92, 1);
  g_assert_cmpint(hit.kind, ==, NW_HIT_INPUT);
  g_assert_cmpint(nw_network_hit(net, 20, 20, 1).kind, ==, NW_HIT_NOTHING);
  /* Zoomed out, ports are as large on the screen as before. */
  g_assert_cmpint(nw_network_hit(net, 100 + NW_BLOCK_WIDTH / 2.0, 80, 1).kind, ==, NW_HIT_NOTHING);
  g_assert_cmpint(nw_network_hit(net, 100 + NW_BLOCK_WIDTH / 2.0, 80, 2).kind, ==, NW_HIT_INPUT);
  double x0, y0, x1, y1;
  g_assert_true(nw_network_bounds(net, &x0, &y0, &x1, &y1));
  g_assert_cmpfloat(x0, ==, 100);
  g_assert_cmpfloat(y0, ==, 100);
  g_assert_cmpfloat(x1, ==, 100 + NW_BLOCK_WIDTH);
  g_assert_cmpuint(nw_network_neighbour(net, conv, 0, 1), ==, sum);
  g_assert_cmpuint(nw_network_neighbour(net, conv, 0, -1), ==, 0);
  /* Two sockets from the start, apart. */
  double ax, ay, bx, by;
  const NwBlock *block = nw_network_find(net, sum);
  g_assert_cmpint(nw_block_sockets(block), >=, 2);
  nw_block_input_at(block, 0, &ax, &ay);
  nw_block_input_at(block, 1, &bx, &by);
  g_assert_cmpfloat(bx - ax, >, 2 * NW_PORT_RADIUS);
  g_object_unref(plain);
}

/* Between two blocks of a chain lies their own wire, not the shortcut that passes beside them. */
static void test_wire_at(void)
{
  NwProject *plain = nw_project_new();
  NwError error = {0};
  guint32 input, conv, norm, sum;
  g_assert_cmpint(nw_project_add_block(plain, nw_op_find("input"), 100, 0, &input, &error), ==, NW_OK);
  g_assert_cmpint(nw_project_add_block(plain, nw_op_find("conv2d"), 100, 100, &conv, &error), ==, NW_OK);
  g_assert_cmpint(nw_project_add_block(plain, nw_op_find("batch_norm2d"), 100, 200, &norm, &error), ==,
                  NW_OK);
  g_assert_cmpint(nw_project_add_block(plain, nw_op_find("add"), 100, 300, &sum, &error), ==, NW_OK);
  g_assert_cmpint(nw_project_connect(plain, input, conv, 0, &error), ==, NW_OK);
  g_assert_cmpint(nw_project_connect(plain, conv, norm, 0, &error), ==, NW_OK);
  g_assert_cmpint(nw_project_connect(plain, norm, sum, 0, &error), ==, NW_OK);
  g_assert_cmpint(nw_project_connect(plain, input, sum, 1, &error), ==, NW_OK);
  const NwNetwork *net = nw_project_network(plain);
  double x, y;
  nw_block_output_at(nw_network_find(net, conv), &x, &y);
  NwHit hit = nw_network_wire_at(net, x, y + 12, 20);
  g_assert_cmpint(hit.kind, ==, NW_HIT_INPUT);
  g_assert_cmpuint(hit.block, ==, norm);
  hit = nw_network_wire_at(net, x + NW_BLOCK_WIDTH / 2.0 + 18, 200, 20);
  g_assert_cmpuint(hit.block, ==, sum);
  g_assert_cmpint(hit.socket, ==, 1);
  g_assert_cmpint(nw_network_wire_at(net, x - NW_BLOCK_WIDTH, 200, 20).kind, ==, NW_HIT_NOTHING);
  g_object_unref(plain);
}

/* ---- with a window ---- */

static void on_refused(NwCanvas *source_canvas, const char *sentence, gpointer data)
{
  g_free(refusal);
  refusal = g_strdup(sentence);
}

static void open_canvas(void)
{
  project = nw_project_new();
  window = gtk_window_new();
  canvas = NW_CANVAS(nw_canvas_new(project));
  g_signal_connect(canvas, "refused", G_CALLBACK(on_refused), NULL);
  gtk_window_set_default_size(GTK_WINDOW(window), 900, 700);
  gtk_window_set_child(GTK_WINDOW(window), GTK_WIDGET(canvas));
  gtk_window_present(GTK_WINDOW(window));
  nwt_wait(gtk_widget_get_mapped(GTK_WIDGET(canvas)) && gtk_widget_get_width(GTK_WIDGET(canvas)) > 500);
  nwt_spin(100);
  g_clear_pointer(&refusal, g_free);
}

static void close_canvas(void)
{
  gtk_window_destroy(GTK_WINDOW(window));
  nwt_spin(30);
  g_object_unref(project);
  g_clear_pointer(&refusal, g_free);
}

/* input → conv → relu → flatten, wired, in one column. */
static void chain(guint32 ids[4])
{
  static const char *const ops[] = {"input", "conv2d", "relu", "flatten"};
  NwError error = {0};
  for (guint i = 0; i < 4; i++) {
    ids[i] = add(ops[i], 200, 60 + 120 * i);
    if (i > 0)
      g_assert_cmpint(nw_project_connect(project, ids[i - 1], ids[i], 0, &error), ==, NW_OK);
  }
  nw_canvas_fit(canvas);
  nwt_spin(80);
}

static void on_widget(double x, double y, double *wx, double *wy)
{
  nw_canvas_to_widget(canvas, x, y, wx, wy);
}

static void drag_wire(guint32 from, guint32 to)
{
  double x, y, ax, ay, bx, by;
  nw_block_output_at(nw_network_find(network(), from), &x, &y);
  on_widget(x, y, &ax, &ay);
  nw_block_input_at(nw_network_find(network(), to), 0, &x, &y);
  on_widget(x, y, &bx, &by);
  nwt_drag(GTK_WIDGET(canvas), ax, ay, GTK_WIDGET(canvas), bx, by);
}

static void test_cycle(void)
{
  guint32 ids[4];
  open_canvas();
  chain(ids);
  drag_wire(ids[2], ids[1]);
  nwt_wait(refusal != NULL);
  g_test_message("%s", refusal);
  g_assert_cmpuint(source(ids[1]), ==, ids[0]);
  close_canvas();
}

static void click_block(guint32 id, guint modifiers)
{
  const NwBlock *block = nw_network_find(network(), id);
  double x, y;
  on_widget(block->x + 110, block->y + 14, &x, &y);
  nwt_click_at(GTK_WIDGET(canvas), x, y, modifiers);
}

/* A loose block laid on a wire belongs into it, finds room there, and one undo takes all of it back. */
static void test_splice(void)
{
  guint32 ids[4];
  open_canvas();
  chain(ids);
  guint32 loose = add("batch_norm2d", 520, 200);
  nw_canvas_fit(canvas);
  nwt_spin(80);
  const NwBlock *block = nw_network_find(network(), loose), *conv = nw_network_find(network(), ids[1]);
  double ax, ay, bx, by, out_x, out_y, relu_y = nw_network_find(network(), ids[2])->y;
  on_widget(block->x + 110, block->y + 14, &ax, &ay);
  nw_block_output_at(conv, &out_x, &out_y);
  on_widget(out_x - NW_BLOCK_WIDTH / 2.0 + 110, out_y + 16 + 14 - nw_block_height(block) / 2.0, &bx, &by);
  nwt_drag(GTK_WIDGET(canvas), ax, ay, GTK_WIDGET(canvas), bx, by);
  nwt_wait(source(ids[2]) == loose);
  g_assert_cmpuint(source(loose), ==, ids[1]);
  block = nw_network_find(network(), loose);
  conv = nw_network_find(network(), ids[1]);
  const NwBlock *relu = nw_network_find(network(), ids[2]);
  g_assert_cmpfloat(block->y, >, conv->y + nw_block_height(conv));
  g_assert_cmpfloat(relu->y, >, block->y + nw_block_height(block));
  nw_project_undo(project);
  nwt_spin(50);
  g_assert_cmpuint(source(ids[2]), ==, ids[1]);
  g_assert_cmpuint(source(loose), ==, 0);
  g_assert_cmpfloat(nw_network_find(network(), ids[2])->y, ==, relu_y);
  close_canvas();
}

static guint chosen(void)
{
  g_autoptr(GArray) blocks = nw_canvas_selection(canvas);
  return blocks->len;
}

static void test_delete(void)
{
  guint32 ids[4];
  open_canvas();
  chain(ids);
  click_block(ids[2], 0);
  nwt_wait(nw_canvas_selected(canvas) == ids[2]);
  nwt_key(GDK_KEY_Delete, GDK_SHIFT_MASK);
  nwt_wait(nw_network_find(network(), ids[2]) == NULL);
  g_assert_cmpuint(source(ids[3]), ==, 0);
  nw_project_undo(project);
  nwt_spin(50);
  g_assert_cmpuint(source(ids[3]), ==, ids[2]);
  click_block(ids[2], 0);
  nwt_key(GDK_KEY_Delete, 0);
  nwt_wait(nw_network_find(network(), ids[2]) == NULL);
  /* The neighbours are joined. */
  g_assert_cmpuint(source(ids[3]), ==, ids[1]);
  close_canvas();
}

static void test_keys(void)
{
  guint32 ids[4];
  open_canvas();
  chain(ids);
  click_block(ids[0], 0);
  nwt_wait(nw_canvas_selected(canvas) == ids[0]);
  nwt_key(GDK_KEY_Down, 0);
  nwt_wait(nw_canvas_selected(canvas) == ids[1]);
  nwt_key(GDK_KEY_Down, 0);
  nwt_wait(nw_canvas_selected(canvas) == ids[2]);
  nwt_key(GDK_KEY_Up, 0);
  nwt_wait(nw_canvas_selected(canvas) == ids[1]);
  double x = nw_network_find(network(), ids[1])->x;
  nwt_key(GDK_KEY_Right, GDK_CONTROL_MASK);
  nwt_wait(nw_network_find(network(), ids[1])->x > x);
  nwt_key('d', 0);
  nwt_wait(source(ids[1]) == 0);
  click_block(ids[0], 0);
  click_block(ids[1], GDK_SHIFT_MASK);
  nwt_wait(chosen() == 2);
  nwt_key('c', 0);
  nwt_wait(source(ids[1]) == ids[0]);
  nwt_key('a', GDK_CONTROL_MASK);
  nwt_wait(chosen() == 4);
  nwt_key('d', GDK_CONTROL_MASK);
  nwt_wait(nw_network_count(network()) == 7); /* a network has one input */
  nwt_key(GDK_KEY_Escape, 0);
  nwt_wait(chosen() == 0);
  close_canvas();
}

static void test_pointer(void)
{
  guint32 ids[4];
  double ax, ay, bx, by;
  open_canvas();
  chain(ids);
  const NwBlock *block = nw_network_find(network(), ids[1]);
  double x = block->x, y = block->y, zoom = nw_canvas_zoom(canvas);
  on_widget(x + 110, y + 14, &ax, &ay);
  nwt_drag(GTK_WIDGET(canvas), ax, ay, GTK_WIDGET(canvas), ax + 90, ay + 30);
  nwt_wait(nw_network_find(network(), ids[1])->x > x + 40);
  g_assert_cmpfloat_with_epsilon(nw_network_find(network(), ids[1])->x, x + 90 / zoom, 2 / zoom);
  g_assert_cmpfloat_with_epsilon(nw_network_find(network(), ids[1])->y, y + 30 / zoom, 2 / zoom);
  g_assert_true(nw_project_undo(project)); /* one step */
  g_assert_cmpfloat(nw_network_find(network(), ids[1])->x, ==, x);
  /* A band round the upper two. */
  nwt_spin(60);
  on_widget(nw_network_find(network(), ids[0])->x - 30, nw_network_find(network(), ids[0])->y - 30, &ax, &ay);
  on_widget(x + NW_BLOCK_WIDTH + 30, y + NW_BLOCK_HEIGHT + 20, &bx, &by);
  nwt_drag(GTK_WIDGET(canvas), ax, ay, GTK_WIDGET(canvas), bx, by);
  nwt_wait(chosen() == 2);
  /* A wire taken at its lower end and dropped on the ground is gone. */
  double px, py;
  nw_block_input_at(nw_network_find(network(), ids[3]), 0, &px, &py);
  on_widget(px, py, &ax, &ay);
  nwt_drag(GTK_WIDGET(canvas), ax, ay, GTK_WIDGET(canvas), ax - 200, ay - 20);
  nwt_wait(source(ids[3]) == 0);
  close_canvas();
}

int main(int argc, char **argv)
{
  nwt_ui_init(&argc, &argv);
  g_test_add_func("/ui/canvas/geometry", test_geometry);
  nwt_add("/ui/canvas/no-cycles", test_cycle);
  nwt_add("/ui/canvas/wire-at", test_wire_at);
  nwt_add("/ui/canvas/splice", test_splice);
  nwt_add("/ui/canvas/delete-and-heal", test_delete);
  nwt_add("/ui/canvas/keys", test_keys);
  nwt_add("/ui/canvas/pointer", test_pointer);
  return nwt_run();
}
