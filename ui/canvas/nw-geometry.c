#include "ui/canvas/nw-geometry.h"

#include <math.h>

#include "ui/paint/nw-paint.h"

int nw_block_height(const NwBlock *block)
{
  return block->op->flags & NW_OP_KEEPS_SHAPE ? NW_BLOCK_SLIM : NW_BLOCK_HEIGHT;
}

int nw_block_sockets(const NwBlock *block)
{
  int n = 0;
  gboolean variadic = FALSE;
  for (int i = 0; i < block->op->n_inputs; i++)
    if (block->op->inputs[i].role == NW_PORT_DATA) {
      n++;
      variadic = (block->op->inputs[i].flags & NW_PORT_VARIADIC) != 0;
    }
  n = MAX(n, block->n_from);
  gboolean full = n > 0 && block->n_from == n && block->from[n - 1] != 0;
  return variadic && full && n < NW_MAX_PORTS ? n + 1 : n;
}

gboolean nw_block_has_output(const NwBlock *block)
{
  return block->op->n_outputs > 0;
}

void nw_block_input_at(const NwBlock *block, int socket, double *x, double *y)
{
  int n = nw_block_sockets(block);
  *x = block->x + (double)NW_BLOCK_WIDTH * (socket + 1) / (n + 1);
  *y = block->y;
}

void nw_block_output_at(const NwBlock *block, double *x, double *y)
{
  *x = block->x + NW_BLOCK_WIDTH / 2.0;
  *y = block->y + nw_block_height(block);
}

static gboolean near(double x, double y, double px, double py, double radius)
{
  return hypot(x - px, y - py) <= radius;
}

static gboolean hit_ports(const NwBlock *block, double x, double y, double radius, NwHit *hit)
{
  double px, py;
  for (int k = 0; k < nw_block_sockets(block); k++) {
    nw_block_input_at(block, k, &px, &py);
    if (near(x, y, px, py, radius)) {
      *hit = (NwHit){NW_HIT_INPUT, block->id, k};
      return TRUE;
    }
  }
  nw_block_output_at(block, &px, &py);
  if (nw_block_has_output(block) && near(x, y, px, py, radius)) {
    *hit = (NwHit){NW_HIT_OUTPUT, block->id, 0};
    return TRUE;
  }
  return FALSE;
}

NwHit nw_network_hit(const NwNetwork *network, double x, double y, double slack)
{
  NwHit hit = {NW_HIT_NOTHING, 0, 0};
  for (int i = nw_network_count(network); i-- > 0;)
    if (hit_ports(nw_network_at(network, i), x, y, NW_HIT_RADIUS * slack, &hit))
      return hit;
  for (int i = nw_network_count(network); i-- > 0;) {
    const NwBlock *block = nw_network_at(network, i);
    if (x >= block->x && x <= block->x + NW_BLOCK_WIDTH && y >= block->y &&
        y <= block->y + nw_block_height(block))
      return (NwHit){NW_HIT_BLOCK, block->id, 0};
  }
  return hit;
}

gboolean nw_network_bounds(const NwNetwork *network, double *x0, double *y0, double *x1, double *y1)
{
  int n = nw_network_count(network);
  *x0 = *y0 = INFINITY;
  *x1 = *y1 = -INFINITY;
  for (int i = 0; i < n; i++) {
    const NwBlock *block = nw_network_at(network, i);
    *x0 = MIN(*x0, block->x);
    *y0 = MIN(*y0, block->y);
    *x1 = MAX(*x1, block->x + NW_BLOCK_WIDTH);
    *y1 = MAX(*y1, block->y + nw_block_height(block));
  }
  return n > 0;
}

guint32 nw_network_neighbour(const NwNetwork *network, guint32 id, int dx, int dy)
{
  const NwBlock *from = nw_network_find(network, id);
  guint32 best = 0;
  double nearest = INFINITY;
  for (int i = 0; from != NULL && i < nw_network_count(network); i++) {
    const NwBlock *block = nw_network_at(network, i);
    double x = block->x - from->x,
           y = block->y + nw_block_height(block) / 2.0 - from->y - nw_block_height(from) / 2.0;
    double ahead = x * dx + y * dy, aside = fabs(x * dy) + fabs(y * dx);
    if (block->id == id || ahead <= 1)
      continue;
    double distance = ahead + 3 * aside;
    if (distance < nearest) {
      nearest = distance;
      best = block->id;
    }
  }
  return best;
}

static double distance_to_segment(double x, double y, double x0, double y0, double x1, double y1)
{
  double dx = x1 - x0, dy = y1 - y0, square = dx * dx + dy * dy;
  double t = square > 0 ? CLAMP(((x - x0) * dx + (y - y0) * dy) / square, 0, 1) : 0;
  return hypot(x - x0 - t * dx, y - y0 - t * dy);
}

/* The wire as nw_paint_wire draws it: straight down, bent above its reader, or around the cards of its
 * column. */
static double distance_to_wire(double x, double y, double x0, double y0, double x1, double y1)
{
  double dx = fabs(x1 - x0), dy = y1 - y0, bend = MIN(dy, 90);
  if (dx > 140 && dy > 60)
    return MIN(distance_to_segment(x, y, x0, y0, x1, y0 + bend),
               distance_to_segment(x, y, x1, y0 + bend, x1, y1));
  if (dy <= 100 && dy >= 0)
    return distance_to_segment(x, y, x0, y0, x1, y1);
  double side = MAX(x0, x1) + NW_BLOCK_WIDTH / 2.0 + 18 - MAX(x1 - x0, 0);
  return distance_to_segment(x, y, side, y0 + 32, side, y1 - 32);
}

NwHit nw_network_wire_at(const NwNetwork *network, double x, double y, double reach)
{
  NwHit hit = {NW_HIT_NOTHING, 0, 0};
  for (int i = 0; i < nw_network_count(network); i++) {
    const NwBlock *to = nw_network_at(network, i);
    for (int k = 0; k < to->n_from; k++) {
      const NwBlock *from = to->from[k] != 0 ? nw_network_find(network, to->from[k]) : NULL;
      double x0, y0, x1, y1;
      if (from == NULL)
        continue;
      nw_block_output_at(from, &x0, &y0);
      nw_block_input_at(to, k, &x1, &y1);
      double distance = distance_to_wire(x, y, x0, y0, x1, y1);
      if (distance < reach) {
        reach = distance;
        hit = (NwHit){NW_HIT_INPUT, to->id, k};
      }
    }
  }
  return hit;
}

gboolean nw_block_is_loose(const NwNetwork *network, const NwBlock *block)
{
  for (int k = 0; k < block->n_from; k++)
    if (block->from[k] != 0)
      return FALSE;
  for (int i = 0; i < nw_network_count(network); i++)
    for (int k = 0; k < nw_network_at(network, i)->n_from; k++)
      if (nw_network_at(network, i)->from[k] == block->id)
        return FALSE;
  return TRUE;
}
