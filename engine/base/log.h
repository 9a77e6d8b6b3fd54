/* The engine prints nothing. It hands sentences to a sink that the program sets. */
#pragma once

typedef enum NwLogLevel { NW_LOG_DEBUG, NW_LOG_INFO, NW_LOG_WARNING } NwLogLevel;

/* Called on any thread; must be quick. NULL (the default): log lines are dropped. Set once at start. */
typedef void (*NwLogSink)(NwLogLevel level, const char *text, void *owner);
void nw_log_set_sink(NwLogSink sink, void *owner);
void nw_log(NwLogLevel level, const char *format, ...) __attribute__((format(printf, 2, 3)));
