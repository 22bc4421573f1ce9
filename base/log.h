/* log.h - one line for people: `mcp-interposer: warn: what key=value`.
 *
 * Words     error: somebody must act; warn: we coped; info: life cycle; debug: per message.
 *           No bodies of messages. Control characters are made visible before a line leaves.
 * Owns      nothing; a line is built on the stack and cut at LOG_LINE_MAX bytes.
 * Blocks    the default sink writes to stderr and may block; `proxy` sets one that does not. */
#ifndef MI_BASE_LOG_H
#define MI_BASE_LOG_H

#include "base/base.h"

#define LOG_LINE_MAX 2048

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

typedef void (*log_sink_fn)(void *ctx, struct slice line); /* line ends with '\n' */

void log_set_level(enum log_level most);        /* lines above it are dropped; starts at LOG_WARN */
void log_set_sink(log_sink_fn sink, void *ctx); /* NULL: back to stderr */
/* What a line says passes here before anything else; the result is good until the next call. */
typedef struct slice (*log_filter_fn)(void *ctx, struct slice text);
void log_set_filter(log_filter_fn filter, void *ctx); /* NULL: none */
void log_line(enum log_level level, const char *fmt, ...) MI_FORMAT(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
