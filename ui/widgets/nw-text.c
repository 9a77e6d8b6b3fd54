#include "ui/widgets/nw-text.h"

#include <glib/gi18n.h>
#include <math.h>

/* U+00A0 keeps a figure together, also in right-to-left text. */
#define NBSP "\u00a0"

char *nw_text_count(gint64 n)
{
  GString *out = g_string_new(NULL);
  g_string_append_printf(out, "%" G_GINT64_FORMAT, n);
  for (gssize i = (gssize)out->len - 3, first = n < 0 ? 1 : 0; i > first; i -= 3)
    g_string_insert(out, i, NBSP);
  return g_string_free(out, FALSE);
}

char *nw_text_share(double share)
{
  return isfinite(share) ? g_strdup_printf("%.1f\u00a0%%", share * 100) : g_strdup("–");
}

char *nw_text_number(double value)
{
  if (!isfinite(value))
    return g_strdup(isnan(value) ? "–" : "∞");
  if (value != 0 && (fabs(value) < 1e-3 || fabs(value) >= 1e5))
    return g_strdup_printf("%.3g", value);
  return g_strdup_printf(fabs(value) < 10 ? "%.3f" : "%.1f", value);
}

char *nw_text_duration(double seconds)
{
  if (!isfinite(seconds))
    return g_strdup("–");
  gint64 s = llround(seconds);
  if (s < 60)
    /* Translators: seconds, e.g. "14 s". */
    return g_strdup_printf(_("%d\u00a0s"), (int)s);
  if (s < 3600)
    return g_strdup_printf(_("%d\u00a0m %02d\u00a0s"), (int)(s / 60), (int)(s % 60));
  return g_strdup_printf(_("%d\u00a0h %02d\u00a0m"), (int)(s / 3600), (int)(s / 60 % 60));
}

char *nw_text_clock(double seconds)
{
  if (!isfinite(seconds) || seconds < 0)
    return g_strdup("–");
  gint64 s = llround(seconds);
  return s < 3600 ? g_strdup_printf("%d:%02d", (int)(s / 60), (int)(s % 60))
                  : g_strdup_printf("%d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
}

char *nw_text_bytes(double bytes)
{
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
  guint k = 0;
  for (; bytes >= 1000 && k + 1 < G_N_ELEMENTS(units); k++)
    bytes /= 1000;
  return g_strdup_printf(k == 0 || bytes >= 100 ? "%.0f\u00a0%s" : "%.1f\u00a0%s", bytes, units[k]);
}

char *nw_text_scaled(double n)
{
  static const char *const units[] = {"", "\u00a0K", "\u00a0M", "\u00a0G", "\u00a0T"};
  guint k = 0;
  for (; n >= 1000 && k + 1 < G_N_ELEMENTS(units); k++)
    n /= 1000;
  return g_strdup_printf(k == 0 ? "%.0f%s" : "%.1f%s", n, units[k]);
}

char *nw_text_when(gint64 unix_seconds)
{
  g_autoptr(GDateTime) then = g_date_time_new_from_unix_local(unix_seconds);
  g_autoptr(GDateTime) now = g_date_time_new_now_local();
  if (then == NULL)
    return g_strdup("–");
  g_autoptr(GDateTime) midnight = g_date_time_new_local(g_date_time_get_year(now), g_date_time_get_month(now),
                                                        g_date_time_get_day_of_month(now), 0, 0, 0);
  GTimeSpan ago = g_date_time_difference(midnight, then);
  if (ago <= 0)
    /* Translators: strftime form of a time of today. */
    return g_date_time_format(then, _("Today %H:%M"));
  if (ago <= G_TIME_SPAN_DAY)
    return g_date_time_format(then, _("Yesterday %H:%M"));
  if (g_date_time_get_year(then) == g_date_time_get_year(now))
    /* Translators: strftime form of a day of this year. */
    return g_date_time_format(then, _("%e %b"));
  return g_date_time_format(then, _("%e %b %Y"));
}
