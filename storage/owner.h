/* Which process a running run belongs to: pid, when it started, and which boot, so that a number used again
 * by another process is not mistaken for it. Private to storage/. */
#pragma once

#include <glib.h>

char *nw_owner_self(void);                  /* g_free */
gboolean nw_owner_alive(const char *owner); /* NULL: no */
