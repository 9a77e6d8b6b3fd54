/* Figures as people read them, in one place so that every page says them alike. All give texts for g_free. */
#pragma once

#include <glib.h>

char *nw_text_count(gint64 n);           /* "1 240" with no-break spaces */
char *nw_text_share(double share);       /* "91.2 %"; "–" for NaN */
char *nw_text_number(double value);      /* "0.343"; "–" for NaN */
char *nw_text_duration(double seconds);  /* "4 m 51 s" */
char *nw_text_clock(double seconds);     /* "9:40", "1:02:07" */
char *nw_text_bytes(double bytes);       /* "25.7 MB" */
char *nw_text_scaled(double n);          /* "147.5 K", "115.6 M" */
char *nw_text_when(gint64 unix_seconds); /* "Today 15:27", "Yesterday", "28 Nov" */
