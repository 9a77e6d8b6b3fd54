#include "engine/base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

static NwLogSink sink;
static void *sink_owner;

void nw_log_set_sink(NwLogSink new_sink, void *owner)
{
  sink = new_sink;
  sink_owner = owner;
}

void nw_log(NwLogLevel level, const char *format, ...)
{
  if (sink == NULL)
    return;
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  sink(level, text, sink_owner);
}
