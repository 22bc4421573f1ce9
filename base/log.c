#include "base/log.h"

#include "base/buf.h"
#include "base/terminal.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static enum log_level most_level = LOG_NOTE;
static log_sink_fn sink_fn;
static void *sink_ctx;
static log_filter_fn filter_fn;
static void *filter_ctx;

void log_set_level(enum log_level most)
{
    most_level = most;
}

void log_set_sink(log_sink_fn sink, void *ctx)
{
    sink_fn = sink;
    sink_ctx = ctx;
}

void log_set_filter(log_filter_fn filter, void *ctx)
{
    filter_fn = filter;
    filter_ctx = ctx;
}

static void write_stderr(struct slice line)
{
    while (line.n > 0) {
        ssize_t n = write(STDERR_FILENO, line.p, line.n);
        if (n <= 0)
            return; /* stderr is closed: the line is dropped */
        line.p += n;
        line.n -= (size_t)n;
    }
}

/* Continuation lines are indented, so that text inside a log line cannot look like a new log
 * line. */
struct slice log_wrap_line(struct slice line, char filled[LOG_FILLED_MAX])
{
    struct buf b = {.p = filled, .cap = LOG_FILLED_MAX, .max = LOG_FILLED_MAX - 1};
    size_t columns = terminal_columns(STDERR_FILENO);
    struct slice text = {line.p, line.n - 1};
    if (columns == 0 || text_count_columns(text) <= columns)
        return line;
    text_append_wrapped(&b, text, 2, columns);
    buf_addc(&b, '\n');
    return b.failed ? line : buf_slice(&b);
}

void log_line(enum log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"error", "warn", "note", "info", "debug"};
    if (level > most_level)
        return;
    char raw[LOG_LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(raw, sizeof raw, fmt, ap);
    va_end(ap);
    if (n < 0)
        return;
    char line[LOG_FILLED_MAX], filled[LOG_FILLED_MAX];
    struct buf b = {.p = line, .cap = sizeof line, .max = sizeof line - 1};
    buf_printf(&b, "mcp-interposer: %s: ", names[level]);
    struct slice text = {raw, size_min((size_t)n, sizeof raw - 1)};
    if (filter_fn != NULL)
        text = filter_fn(filter_ctx, text);
    text_append_visible(&b, text_prefix(text, sizeof raw - 1));
    buf_addc(&b, '\n');
    if (sink_fn != NULL)
        sink_fn(sink_ctx, buf_slice(&b));
    else
        write_stderr(log_wrap_line(buf_slice(&b), filled));
}
