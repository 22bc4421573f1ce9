#include "vault/upkeep/scrub/scrub_text.h"

#define NAMES_MAX 32 /* maximum number of rules whose marks are counted in one text */

struct names {
    struct slice name[NAMES_MAX];
    long count[NAMES_MAX];
    size_t n;
};

/* Finds the marks of redaction in the text, and adds `by` to the count of each mark's rule. */
static void count_redaction_marks(struct names *names, struct slice text, long by)
{
    static const char mark[] = "[redacted:";
    const char *p = text.p, *end = text.p + text.n;
    while (p < end && (p = memmem(p, (size_t)(end - p), mark, sizeof mark - 1)) != NULL) {
        p += sizeof mark - 1;
        size_t n = 0, i = 0;
        while (p + n < end && n < REDACT_MARK_MAX && p[n] != ']')
            n++;
        struct slice name = {p, n};
        if (p + n == end || p[n] != ']')
            continue;
        while (i < names->n && !slice_eq(names->name[i], name))
            i++;
        if (i == NAMES_MAX)
            continue;
        if (i == names->n) {
            names->name[names->n] = name;
            names->count[names->n++] = 0;
        }
        names->count[i] += by;
    }
}

void scrub_write_rules(struct buf *b, struct slice before, struct slice after)
{
    struct names names = {.n = 0};
    bool first = true;
    count_redaction_marks(&names, after, 1);
    count_redaction_marks(&names, before, -1);
    for (size_t i = 0; i < names.n; i++) {
        if (names.count[i] <= 0)
            continue;
        buf_adds(b, first ? "" : ", ");
        buf_slice_add(b, names.name[i]);
        if (names.count[i] > 1)
            buf_printf(b, " %ld", names.count[i]);
        first = false;
    }
}

/* Sanitizes a line. A line that begins like JSON is searched as a message first, then as text. */
static int sanitize_log_line(struct scrub *s, struct slice text, struct redact_lines *lines,
                             size_t *ret_n)
{
    size_t n = 0, more = 0;
    int st = 0;
    if (text.n > 0 && text.p[0] == '{')
        st = redact_message(s->rules, text, REDACT_SECRETS, &s->second, &n);
    if (n > 0)
        text = buf_slice(&s->second);
    if (st == 0)
        st = redact_line(s->rules, lines, text, &s->clean, &more);
    if (st == 0 && more == 0 && n > 0) {
        buf_clear(&s->clean);
        buf_slice_add(&s->clean, text);
        st = s->clean.failed ? MI_ENOMEM : 0;
    }
    *ret_n = n + more;
    return st;
}

int scrub_text(struct scrub *s, struct slice text, enum scrub_kind kind, struct redact_lines *lines,
               struct scrub_hit hit, struct slice *ret, size_t *ret_n)
{
    size_t n = 0;
    int st = 0;
    *ret = (struct slice){0};
    *ret_n = 0;
    if (text.n == 0)
        return 0;
    if (kind == SCRUB_MESSAGE)
        st = redact_message(s->rules, text, REDACT_SECRETS, &s->clean, &n);
    else if (kind == SCRUB_VALUE)
        st = redact_value(s->rules, text, &s->clean, &n);
    else if (kind == SCRUB_TEXT)
        st = redact_text(s->rules, text, &s->clean, &n);
    else
        st = sanitize_log_line(s, text, lines, &n);
    if (st < 0 || n == 0)
        return st;
    buf_clear(&s->names);
    scrub_write_rules(&s->names, text, buf_slice(&s->clean));
    if (s->names.failed)
        return MI_ENOMEM;
    hit.rules = buf_slice(&s->names);
    hit.n = n;
    s->found += n;
    s->fn(s->ctx, &hit);
    *ret = buf_slice(&s->clean);
    *ret_n = n;
    return 0;
}
