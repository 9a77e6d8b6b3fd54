/* Where things lie on the canvas: pure arithmetic over the network, so that hits can be tested without a
 * display. Coordinates are the network's own (zoom 1). */
#pragma once

#include "app/project.h"

int nw_block_height(const NwBlock *block);
/* Sockets shown: those in use, and for a variadic block one more to connect to. */
int nw_block_sockets(const NwBlock *block);
gboolean nw_block_has_output(const NwBlock *block);
void nw_block_input_at(const NwBlock *block, int socket, double *x, double *y);
void nw_block_output_at(const NwBlock *block, double *x, double *y);

typedef enum NwHitKind { NW_HIT_NOTHING, NW_HIT_BLOCK, NW_HIT_INPUT, NW_HIT_OUTPUT } NwHitKind;
typedef struct NwHit {
  NwHitKind kind;
  guint32 block;
  int socket;
} NwHit;
/* What lies under a point; ports win over blocks within NW_HIT_RADIUS, later blocks over earlier ones. slack:
 * 1 / zoom. */
enum { NW_HIT_RADIUS = 12 };
NwHit nw_network_hit(const NwNetwork *network, double x, double y, double slack);
/* The wire that passes within `reach` of a point, as the input it ends in. */
NwHit nw_network_wire_at(const NwNetwork *network, double x, double y, double reach);
/* Does nothing hang on the block, and it on nothing? */
gboolean nw_block_is_loose(const NwNetwork *network, const NwBlock *block);
/* Box around all blocks; FALSE: there are none. */
gboolean nw_network_bounds(const NwNetwork *network, double *x0, double *y0, double *x1, double *y1);
/* The block whose middle lies nearest in a direction (dx, dy of -1, 0, 1) from a block; 0: none. */
guint32 nw_network_neighbour(const NwNetwork *network, guint32 block, int dx, int dy);
