#include "base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

struct pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

/* \C would split a character. */
#define BOTH (PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C)
#define ECMA (PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS)
#define OWN (PCRE2_MATCH_INVALID_UTF | PCRE2_USE_OFFSET_LIMIT)

static int refuse(int code, size_t at, struct buf *error)
{
    PCRE2_UCHAR why[160];
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return MI_ENOMEM;
    if (error != NULL && pcre2_get_error_message(code, why, sizeof why) > 0)
        buf_printf(error, "%s, at character %zu of the expression", (const char *)why, at + 1);
    return MI_EINVAL;
}

static int compile(struct pattern *p, const struct pattern_rules *rules, struct slice regex,
                   struct buf *error)
{
    int code;
    PCRE2_SIZE at;
    pcre2_compile_context *cc = pcre2_compile_context_create(NULL);
    if (cc == NULL)
        return MI_ENOMEM;
    (void)pcre2_set_max_pattern_length(cc, PATTERN_MAX);
    if (rules->ecma)
        (void)pcre2_set_compile_extra_options(cc, PCRE2_EXTRA_ALT_BSUX);
    p->code = pcre2_compile((PCRE2_SPTR)regex.p, regex.n, BOTH | (rules->ecma ? ECMA : OWN), &code,
                            &at, cc);
    pcre2_compile_context_free(cc);
    if (p->code == NULL)
        return refuse(code, at, error);
    if (rules->jit) /* may be forbidden: the limits are the same without it, the search slower */
        (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE);
    return 0;
}

int pattern_open(struct pattern **ret, const struct pattern_rules *rules, struct slice regex,
                 struct buf *error)
{
    struct pattern *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    int st = compile(p, rules, regex, error);
    if (st < 0)
        goto fail;
    st = MI_ENOMEM;
    p->data = pcre2_match_data_create_from_pattern(p->code, NULL);
    p->context = pcre2_match_context_create(NULL);
    if (p->data == NULL || p->context == NULL)
        goto fail;
    (void)pcre2_set_match_limit(p->context, rules->steps);
    (void)pcre2_set_depth_limit(p->context, rules->depth);
    (void)pcre2_set_heap_limit(p->context, rules->heap_kib);
    *ret = p;
    return 0;

fail:
    pattern_close(p);
    return st;
}

void pattern_close(struct pattern *p)
{
    if (p == NULL)
        return;
    pcre2_match_context_free(p->context);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    free(p);
}

static enum pattern_result result_of(int rc)
{
    if (rc == PCRE2_ERROR_NOMATCH)
        return PATTERN_NO;
    return rc >= 0 ? PATTERN_YES : PATTERN_GAVE_UP;
}

enum pattern_result pattern_search(struct pattern *p, struct slice text)
{
    return result_of(pcre2_match(p->code, (PCRE2_SPTR)(text.p != NULL ? text.p : ""), text.n, 0, 0,
                                 p->data, p->context));
}

enum pattern_result pattern_find(struct pattern *p, const struct pattern_piece *piece,
                                 struct slice *ret)
{
    struct slice text = piece->text;
    uint32_t options = PCRE2_NOTEMPTY | (piece->more_front ? PCRE2_NOTBOL : 0) |
                       (piece->more_end ? PCRE2_NOTEOL : 0);
    (void)pcre2_set_offset_limit(p->context, piece->limit - 1);
    int rc =
        pcre2_match(p->code, (PCRE2_SPTR)text.p, text.n, piece->from, options, p->data, p->context);
    if (rc < 0)
        return result_of(rc);
    const PCRE2_SIZE *v = pcre2_get_ovector_pointer(p->data);
    size_t group = rc > 1 && v[2] != PCRE2_UNSET && v[3] > v[2] ? 1 : 0;
    size_t a = v[2 * group], b = v[2 * group + 1];
    if (b <= a || a < piece->from) /* possible with lookbehind */
        return PATTERN_NO;
    *ret = (struct slice){text.p + a, b - a};
    return PATTERN_YES;
}

void pattern_library(struct buf *b)
{
    char text[64]; /* "10.42 2022-12-11" */
    int n = pcre2_config(PCRE2_CONFIG_VERSION, NULL);
    if (n > 0 && (size_t)n <= sizeof text && pcre2_config(PCRE2_CONFIG_VERSION, text) > 0)
        buf_add(b, text, strcspn(text, " "));
    else
        buf_adds(b, "(unknown version)");
}
