/* Where blocks stand on the canvas: the flow goes down, branches stand beside each other. */
#include "engine/nn/network-internal.h"

#include <math.h>

#include "engine/base/memory.h"
#include "engine/nn/template.h"

enum { LEFT = 40, TOP = 40, COLUMN = 276, GAP = 20, HEIGHT = 58, SLIM = 32 };

typedef struct Place {
  int row, column;
  int below; /* blocks on the longest way down from here */
} Place;

typedef struct Arrange {
  const NwNetwork *network;
  int *order;
  Place *places;  /* by block index */
  int *free_from; /* by column: the first row that is free */
  int columns;
} Arrange;

static int above(const Arrange *arrange, int index, int socket)
{
  uint32_t from = arrange->network->blocks[index]->from[socket];
  return from != 0 ? nw_network_index(arrange->network, from) : -1;
}

static void measure(Arrange *arrange)
{
  int n = arrange->network->n;
  for (int i = 0; i < n; i++) {
    int index = arrange->order[i];
    for (int k = 0; k < arrange->network->blocks[index]->n_from; k++) {
      int a = above(arrange, index, k);
      if (a >= 0 && arrange->places[a].row + 1 > arrange->places[index].row)
        arrange->places[index].row = arrange->places[a].row + 1;
    }
  }
  for (int i = n - 1; i >= 0; i--) {
    int index = arrange->order[i];
    for (int k = 0; k < arrange->network->blocks[index]->n_from; k++) {
      int a = above(arrange, index, k);
      if (a >= 0 && arrange->places[index].below + 1 > arrange->places[a].below)
        arrange->places[a].below = arrange->places[index].below + 1;
    }
  }
}

/* The column of the block above that lies furthest left. A merge returns to the main line this way. */
static int wanted_column(const Arrange *arrange, int index)
{
  int column = -1;
  for (int k = 0; k < arrange->network->blocks[index]->n_from; k++) {
    int a = above(arrange, index, k);
    if (a >= 0 && (column < 0 || arrange->places[a].column < column))
      column = arrange->places[a].column;
  }
  return column < 0 ? 0 : column;
}

/* Of the blocks of one row, those with the longer way down choose first, so that the main line stays
 * straight. */
static void place_row(Arrange *arrange, int row)
{
  int n = arrange->network->n;
  for (;;) {
    int next = -1;
    for (int i = 0; i < n; i++) {
      const Place *p = &arrange->places[i];
      if (p->row == row && p->column < 0 && (next < 0 || p->below > arrange->places[next].below))
        next = i;
    }
    if (next < 0)
      return;
    int column = wanted_column(arrange, next);
    while (arrange->free_from[column] > row)
      column++;
    arrange->places[next].column = column;
    arrange->free_from[column] = row + 1;
    if (column + 1 > arrange->columns)
      arrange->columns = column + 1;
  }
}

static void put(Arrange *arrange, int rows)
{
  double y = TOP;
  for (int row = 0; row < rows; row++) {
    int height = 0;
    for (int i = 0; i < arrange->network->n; i++) {
      const Place *p = &arrange->places[i];
      if (p->row != row)
        continue;
      NwBlock *block = arrange->network->blocks[i];
      int own = block->op->flags & NW_OP_KEEPS_SHAPE ? SLIM : HEIGHT;
      block->x = LEFT + (double)COLUMN * p->column;
      block->y = y;
      if (own > height)
        height = own;
    }
    y += height + GAP;
  }
}

NwStatus nw_network_arrange(NwNetwork *network, NwError *error)
{
  size_t n = (size_t)network->n;
  Arrange arrange = {.network = network};
  arrange.order = nw_alloc0(sizeof *arrange.order * n);
  arrange.places = nw_alloc0(sizeof *arrange.places * n);
  arrange.free_from = nw_alloc0(sizeof *arrange.free_from * (n + 1));
  NwStatus status;
  if (arrange.order == NULL || arrange.places == NULL || arrange.free_from == NULL)
    status = nw_fail(error, NW_NO_MEMORY, "There is no memory to arrange the network.");
  else
    status = nw_network_order(network, arrange.order, error);
  if (status == NW_OK) {
    measure(&arrange);
    int rows = 0;
    for (size_t i = 0; i < n; i++) {
      arrange.places[i].column = -1;
      if (arrange.places[i].row + 1 > rows)
        rows = arrange.places[i].row + 1;
    }
    for (int row = 0; row < rows; row++)
      place_row(&arrange, row);
    put(&arrange, rows);
  }
  nw_free(arrange.order);
  nw_free(arrange.places);
  nw_free(arrange.free_from);
  return status;
}
