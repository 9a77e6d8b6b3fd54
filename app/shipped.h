/* Files that come with the program: weights that others trained. */
#pragma once

#include <glib.h>

/* Where share/<name> lies: $NETWRIGHT_SHARE, the installed folder, or the source tree of a program that was
 * not installed; NULL: nowhere (g_free). */
char *nw_shipped_file(const char *name);
