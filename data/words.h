/* Translated sentences of this floor (it lies under app, so it cannot use app's header). */
#pragma once

#include <libintl.h>

#define _(text) dgettext("netwright", text)
#define NW_N_(one, many, n) dngettext("netwright", one, many, (unsigned long)(n))
