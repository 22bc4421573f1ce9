#include "redact/shape/pattern.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/pattern.h"
#include "redact/shape/shape_table.h"

/* Typical patterns for tokens need a few dozen steps. */
static const struct pattern_rules rules = {
    .jit = true, .steps = 2000, .depth = 200, .heap_kib = 256};
#define LOOK_BACK 64 /* bytes before a piece that a lookbehind or \b may see */

struct shape_pattern {
    char name[SHAPE_NAME_MAX + 1];
    struct pattern *pattern; /* owned */
    bool warned;
};

static int shape_pattern_refuse(struct buf *error, const char *name, const char *why)
{
    buf_printf(error, "pattern.%s: %s", name, why);
    return MI_EINVAL;
}

int shape_pattern_open(struct shape_pattern **ret, const char *name, const char *regex,
                       struct buf *error)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (!shape_is_alnum(name[i]) && strchr("._-", name[i]) == NULL)
            return shape_pattern_refuse(error, name,
                                        "invalid name: use letters, digits, '.', '_' and '-'");
    if (n == 0 || n > SHAPE_NAME_MAX)
        return shape_pattern_refuse(error, name, "invalid name: use 1 to 48 characters");
    if (*regex == '\0')
        return shape_pattern_refuse(error, name, "the expression is empty");
    struct shape_pattern *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    memcpy(p->name, name, n);
    struct buf why = {0};
    int st = pattern_open(&p->pattern, &rules, slice_of(regex), &why);
    if (st == MI_EINVAL)
        st = why.failed ? MI_ENOMEM : shape_pattern_refuse(error, name, buf_str(&why));
    buf_close(&why);
    if (st < 0) {
        shape_pattern_close(p);
        return st;
    }
    *ret = p;
    return 0;
}

void shape_pattern_close(struct shape_pattern *p)
{
    if (p == NULL)
        return;
    pattern_close(p->pattern);
    free(p);
}

/* Searches for a match that begins in [from, limit). */
static enum pattern_result shape_pattern_search(struct shape_pattern *p, struct slice text,
                                                size_t from, size_t limit, struct shape_hit *ret)
{
    struct slice found;
    size_t base = from > LOOK_BACK ? from - LOOK_BACK : 0;
    size_t end = size_min(text.n, limit + SHAPE_REACH);
    while (base > 0 && ((unsigned char)text.p[base] & 0xC0) == 0x80)
        base--;
    struct pattern_piece piece = {
        .text = {text.p + base, end - base},
        .from = from - base,
        .limit = limit - base,
        .more_front = base > 0,
        .more_end = end < text.n,
    };
    shape_work += end - from;
    enum pattern_result r = pattern_find_match(p->pattern, &piece, &found);
    if (r == PATTERN_YES)
        *ret = (struct shape_hit){(size_t)(found.p - text.p), found.n, p->name};
    return r;
}

bool shape_pattern_find_next_hit(struct shape_pattern *p, struct slice text, size_t from,
                                 struct shape_hit *ret)
{
    unsigned passed = 0;
    while (from < text.n) {
        size_t limit = size_min(text.n, from + SHAPE_REACH);
        enum pattern_result r = shape_pattern_search(p, text, from, limit, ret);
        if (r == PATTERN_YES)
            return true;
        if (r == PATTERN_GAVE_UP && ++passed == SHAPE_GIVE_UP) {
            if (!p->warned)
                log_warn(
                    "pattern.%s takes too many steps on a text of %zu bytes, and the rest of the "
                    "text is not searched for it; simplify the expression",
                    p->name, text.n);
            p->warned = true;
            return false;
        }
        from = limit;
        while (from < text.n && ((unsigned char)text.p[from] & 0xC0) == 0x80)
            from++; /* a piece must begin with a whole character */
    }
    return false;
}
