/* Translation: every text a person reads goes through _() or, in static rows, N_(). */
#pragma once

#include <glib/gi18n.h>

/* Sets the locale and finds the catalogues: beside the program when it runs from its build folder, else under
 * the prefix. Once, first in main. */
void nw_i18n_init(void);
