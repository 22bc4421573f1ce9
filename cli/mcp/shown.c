#include "cli/mcp/shown.h"

#include "base/text.h"

void append_shown_quoted(struct buf *b, struct slice text, size_t max)
{
    if (text.p != NULL)
        text_json_cut(b, text, max);
    else
        buf_addc(b, '-');
}

void append_shown_subject(struct buf *b, struct slice method, struct slice target)
{
    buf_addc(b, ' ');
    append_shown_quoted(b, method, SHOWN_NAME);
    if (target.n == 0)
        return;
    buf_addc(b, ' ');
    append_shown_quoted(b, target, SHOWN_NAME);
}

void append_shown_lines(struct buf *b, struct slice text, const char *prefix)
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
