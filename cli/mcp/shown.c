#include "cli/mcp/shown.h"

#include "base/text.h"

void append_quoted_text_or_dash(struct buf *b, struct slice text, size_t max)
{
    if (text.p != NULL)
        text_append_shortened_json(b, text, max);
    else
        buf_addc(b, '-');
}

void append_quoted_method_and_target(struct buf *b, struct slice method, struct slice target)
{
    buf_addc(b, ' ');
    append_quoted_text_or_dash(b, method, SHOWN_NAME);
    if (target.n == 0)
        return;
    buf_addc(b, ' ');
    append_quoted_text_or_dash(b, target, SHOWN_NAME);
}

void append_lines_with_prefix(struct buf *b, struct slice text, const char *prefix)
{
    buf_adds(b, prefix);
    for (const char *end; (end = memchr(text.p, '\n', text.n)) != NULL;) {
        struct slice line = {text.p, (size_t)(end - text.p)};
        text_append_visible(b, line);
        buf_addc(b, '\n');
        buf_adds(b, prefix);
        text = (struct slice){end + 1, text.n - line.n - 1};
    }
    text_append_visible(b, text);
}
