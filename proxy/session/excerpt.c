#include "proxy/session/excerpt.h"

#include "redact/sanitizer.h"
#include "wire/lenient.h"

#define START_READ 1024 /* bytes at the start of a line that excerpt_add_start() sanitizes */

/* Sanitizes the text like a text that is stored. *ret_n: number of secrets replaced; if it is 0, the text is unchanged
 * and was not copied. */
static int sanitize_excerpt(struct slice text, struct buf *clean, size_t *ret_n)
{
    struct redact *r = redact_current();
    struct buf first = {0};
    size_t more = 0;
    if (r == NULL)
        return MI_ENOMEM;
    int st = redact_message(r, text, REDACT_SECRETS, &first, ret_n);
    if (st == 0)
        st = redact_text(r, *ret_n > 0 ? buf_slice(&first) : text, clean, &more);
    if (st == 0 && more == 0) {
        buf_close(clean);
        *clean = first;
    } else {
        buf_close(&first);
    }
    *ret_n += more;
    return st;
}

void excerpt_add(struct buf *b, struct slice text, size_t at)
{
    struct buf clean = {0}, excerpt = {0};
    size_t n = 0;
    int st = sanitize_excerpt(text, &clean, &n);
    if (st == 0 && n > 0) {
        size_t head = 0, tail = 0; /* bytes that the two texts share */
        size_t shorter = size_min(text.n, clean.n);
        while (head < shorter && text.p[head] == clean.p[head])
            head++;
        while (tail < shorter - head && text.p[text.n - 1 - tail] == clean.p[clean.n - 1 - tail])
            tail++;
        size_t tail_at = text.n - tail;
        if (at + LENIENT_EXCERPT <= head) {
            text.n = head;
        } else if (at >= tail_at + LENIENT_EXCERPT) {
            text = (struct slice){text.p + tail_at, tail};
            at -= tail_at;
        } else {
            st = MI_ENOENT;
        }
    }
    if (st == 0)
        lenient_append_excerpt(text, at, &excerpt);
    if (excerpt.n > 0 && !excerpt.failed)
        buf_printf(b, ": %s", buf_str(&excerpt));
    buf_close(&excerpt);
    buf_close(&clean);
}

void excerpt_add_start(struct buf *b, struct slice text)
{
    struct buf clean = {0};
    size_t n = 0;
    if (text.n > START_READ)
        text.n = redact_whole_words((struct slice){text.p, START_READ}, START_READ);
    if (sanitize_excerpt(text, &clean, &n) == 0)
        lenient_append_excerpt(n > 0 ? buf_slice(&clean) : text, 0, b);
    buf_close(&clean);
}
