/* log.h - log lines for people: `mcp-interposer: warn: what key=value`.
 *
 * Levels    error: the user must act; warn: a problem that the program handled; note: what a
 *           command chose or wrote; info: life cycle; debug: each message.
 *           Bodies of messages are not logged. Control characters are made visible.
 *           On a terminal a long line is broken between words; a sink calls log_wrap_line() for
 *           this.
 * Owns      nothing; a line is built on the stack and truncated to LOG_LINE_MAX bytes.
 * Blocks    the default sink writes to stderr and may block; `proxy` sets one that does not. */
#ifndef MI_BASE_LOG_H
#define MI_BASE_LOG_H

#include "base/base.h"

#define LOG_LINE_MAX 2048
#define LOG_FILLED_MAX (4 * LOG_LINE_MAX + 64) /* a control byte becomes at most four bytes */

enum log_level { LOG_ERROR, LOG_WARN, LOG_NOTE, LOG_INFO, LOG_DEBUG };

typedef void (*log_sink_fn)(void *ctx, struct slice line); /* line ends with '\n' */

/* drops lines that are less severe than `most`; default: LOG_NOTE */
void log_set_level(enum log_level most);
void log_set_sink(log_sink_fn sink, void *ctx); /* if `sink` is NULL, lines go to stderr again */
/* For a sink that writes to stderr. If stderr is a terminal and the line is too long for it, writes
 * the line to `filled`, broken between words into several lines, and returns that text. Otherwise
 * returns the line itself. */
struct slice log_wrap_line(struct slice line, char filled[LOG_FILLED_MAX]);
/* Returns the text of a line, changed if necessary, for example without secrets. The result is
 * valid until the next call. */
typedef struct slice (*log_filter_fn)(void *ctx, struct slice text);
void log_set_filter(log_filter_fn filter, void *ctx); /* filter NULL: lines are not changed */
void log_line(enum log_level level, const char *fmt, ...) MI_FORMAT(2, 3);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_note(...) log_line(LOG_NOTE, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
