#include "vault/shape_pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "base/log.h"
#include "vault/shape_table.h"

/* Steps back of one match from one start. Patterns for tokens need some dozens. */
#define MATCH_LIMIT 2000
#define DEPTH_LIMIT 200
#define HEAP_LIMIT_KIB 256
/* Bytes before a piece that a lookbehind or \b may see. */
#define LOOK_BACK 64

struct shape_pattern {
    char name[SHAPE_NAME_MAX + 1];
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
    bool warned;
};

static int refuse(struct buf *error, const char *name, const char *why)
{
    buf_printf(error, "pattern.%s: %s", name, why);
    return MI_EINVAL;
}

static int compile(struct shape_pattern *p, const char *regex, struct buf *error)
{
    int code;
    PCRE2_SIZE at;
    pcre2_compile_context *cc = pcre2_compile_context_create(NULL);
    if (cc == NULL)
        return MI_ENOMEM;
    pcre2_set_max_pattern_length(cc, SHAPE_PATTERN_MAX);
    /* \C would cut a character in two */
    p->code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED,
                            PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                                PCRE2_USE_OFFSET_LIMIT,
                            &code, &at, cc);
    pcre2_compile_context_free(cc);
    if (p->code == NULL) {
        PCRE2_UCHAR why[160];
        if (code == PCRE2_ERROR_NOMEMORY || pcre2_get_error_message(code, why, sizeof why) < 0)
            return MI_ENOMEM;
        buf_printf(error, "pattern.%s: %s, at character %zu of the expression", p->name,
                   (const char *)why, (size_t)at + 1);
        return MI_EINVAL;
    }
    /* Without JIT (some machines forbid it) the same limits hold, more slowly. */
    (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
    return 0;
}

int shape_pattern_open(struct shape_pattern **ret, const char *name, const char *regex,
                       struct buf *error)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if (!shape_alnum(name[i]) && strchr("._-", name[i]) == NULL)
            return refuse(error, name,
                          "the name of a pattern has letters, digits, '.', '_' and '-'");
    if (n == 0 || n > SHAPE_NAME_MAX)
        return refuse(error, name, "the name of a pattern has 1 to 48 letters");
    if (*regex == '\0')
        return refuse(error, name, "the expression is empty");
    struct shape_pattern *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    memcpy(p->name, name, n);
    int st = compile(p, regex, error);
    if (st < 0)
        goto fail;
    uint32_t empty = 0;
    (void)pcre2_pattern_info(p->code, PCRE2_INFO_MATCHEMPTY, &empty);
    p->data = pcre2_match_data_create_from_pattern(p->code, NULL);
    p->context = pcre2_match_context_create(NULL);
    st = MI_ENOMEM;
    if (p->data == NULL || p->context == NULL)
        goto fail;
    (void)pcre2_set_match_limit(p->context, MATCH_LIMIT);
    (void)pcre2_set_depth_limit(p->context, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(p->context, HEAP_LIMIT_KIB);
    *ret = p;
    return 0;

fail:
    shape_pattern_close(p);
    return st;
}

void shape_pattern_close(struct shape_pattern *p)
{
    if (p == NULL)
        return;
    pcre2_match_context_free(p->context);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    free(p);
}

/* Search for matches that begin in [from, limit). 1 a hit, 0 none, -1 the limit was passed. */
static int search(struct shape_pattern *p, struct slice text, size_t from, size_t limit,
                  struct shape_hit *ret)
{
    size_t base = from > LOOK_BACK ? from - LOOK_BACK : 0;
    size_t end = size_min(text.n, limit + SHAPE_REACH);
    while (base > 0 && ((unsigned char)text.p[base] & 0xC0) == 0x80)
        base--;
    uint32_t options =
        PCRE2_NOTEMPTY | (base > 0 ? PCRE2_NOTBOL : 0) | (end < text.n ? PCRE2_NOTEOL : 0);
    (void)pcre2_set_offset_limit(p->context, limit - base - 1);
    int rc = pcre2_match(p->code, (PCRE2_SPTR)text.p + base, end - base, from - base, options,
                         p->data, p->context);
    shape_work += end - from;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc < 0)
        return -1;
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(p->data);
    size_t group = rc > 1 && v[2] != PCRE2_UNSET && v[3] > v[2] ? 1 : 0;
    size_t a = v[2 * group], b = v[2 * group + 1];
    if (b <= a || base + a < from) /* \K and lookbehinds can do this */
        return 0;
    *ret = (struct shape_hit){base + a, b - a, p->name};
    return 1;
}

bool shape_pattern_next(struct shape_pattern *p, struct slice text, size_t from,
                        struct shape_hit *ret)
{
    unsigned passed = 0;
    while (from < text.n) {
        size_t limit = size_min(text.n, from + SHAPE_REACH);
        int found = search(p, text, from, limit, ret);
        if (found > 0)
            return true;
        if (found < 0 && ++passed == SHAPE_GIVE_UP) {
            if (!p->warned)
                log_warn("pattern.%s takes too many steps on a text of %zu bytes: its rest is not "
                         "searched for it; make the expression simpler",
                         p->name, text.n);
            p->warned = true;
            return false;
        }
        from = limit;
        while (from < text.n && ((unsigned char)text.p[from] & 0xC0) == 0x80)
            from++; /* pieces begin with a character */
    }
    return false;
}
