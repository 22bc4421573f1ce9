#include "cli/mcp/shown.h"

#include "base/clock.h"
#include "base/text.h"

static void add_head(struct buf *b, struct slice text, size_t max)
{
    text_visible(b, text_head(text, max));
    if (text.n > max)
        buf_adds(b, "…");
}

void shown_member(struct json_out *j, const char *name, struct slice text, size_t max)
{
    struct buf visible = {0};
    if (text.n == 0)
        return;
    add_head(&visible, text, max);
    if (visible.failed)
        j->b->failed = true;
    json_out_text(j, name, buf_slice(&visible));
    buf_close(&visible);
}

void shown_quoted(struct buf *b, struct slice text, size_t max)
{
    if (text.p != NULL)
        text_json_head(b, text, max);
    else
        buf_addc(b, '-');
}

void shown_lines(struct buf *b, struct slice text, const char *prefix)
{
    buf_adds(b, prefix);
    for (const char *end; (end = memchr(text.p, '\n', text.n)) != NULL;) {
        struct slice line = {text.p, (size_t)(end - text.p)};
        text_visible(b, line);
        buf_addc(b, '\n');
        buf_adds(b, prefix);
        text = (struct slice){end + 1, text.n - line.n - 1};
    }
    text_visible(b, text);
}

void shown_time(struct json_out *j, const char *name, int64_t wall_us)
{
    char text[CLOCK_TEXT_MAX];
    clock_utc_text(wall_us, text);
    json_out_str(j, name, text);
}

void shown_ms(struct json_out *j, const char *name, int64_t us)
{
    if (us < 0)
        return;
    json_out_name(j, name);
    buf_printf(j->b, "%lld.%03lld", (long long)(us / 1000), (long long)(us % 1000));
}
