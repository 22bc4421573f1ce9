#include "base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#define DEPTH_LIMIT 1000
#define HEAP_LIMIT_KIB 1024

struct pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *context;
};

static int compile(struct pattern *p, struct slice regex)
{
    int code;
    PCRE2_SIZE at;
    pcre2_compile_context *cc = pcre2_compile_context_create(NULL);
    if (cc == NULL)
        return MI_ENOMEM;
    (void)pcre2_set_compile_extra_options(cc, PCRE2_EXTRA_ALT_BSUX);
    p->code = pcre2_compile((PCRE2_SPTR)regex.p, regex.n,
                            PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
                                PCRE2_ALLOW_EMPTY_CLASS | PCRE2_NEVER_BACKSLASH_C,
                            &code, &at, cc);
    pcre2_compile_context_free(cc);
    return p->code != NULL ? 0 : code == PCRE2_ERROR_HEAP_FAILED ? MI_ENOMEM : MI_EINVAL;
}

int pattern_open(struct pattern **ret, struct slice regex)
{
    if (regex.n > PATTERN_MAX)
        return MI_EINVAL;
    struct pattern *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    int st = compile(p, regex);
    if (st < 0)
        goto fail;
    st = MI_ENOMEM;
    p->data = pcre2_match_data_create(1, NULL);
    p->context = pcre2_match_context_create(NULL);
    if (p->data == NULL || p->context == NULL)
        goto fail;
    (void)pcre2_set_match_limit(p->context, PATTERN_STEPS);
    (void)pcre2_set_depth_limit(p->context, DEPTH_LIMIT);
    (void)pcre2_set_heap_limit(p->context, HEAP_LIMIT_KIB);
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

enum pattern_result pattern_search(struct pattern *p, struct slice text)
{
    int rc = pcre2_match(p->code, (PCRE2_SPTR)(text.p != NULL ? text.p : ""), text.n, 0, 0, p->data,
                         p->context);
    if (rc == PCRE2_ERROR_NOMATCH)
        return PATTERN_NO;
    return rc >= 0 ? PATTERN_YES : PATTERN_GAVE_UP;
}
