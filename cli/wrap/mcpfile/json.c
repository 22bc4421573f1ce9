/* json.c - JSON as clients write it: with comments, and commas before a closing bracket. */
#include "cli/wrap/mcpfile/collect.h"
#include "cli/wrap/mcpfile/languages.h"

#include <ctype.h>

/* White space and comments. */
static bool skip(struct mcpfile_scan *s)
{
    for (;;) {
        while (s->p < s->end && strchr(" \t\r\n", *s->p) != NULL)
            s->p++;
        if (s->end - s->p < 2 || s->p[0] != '/')
            return true;
        const char *from = s->p;
        if (s->p[1] == '/') {
            while (s->p < s->end && *s->p != '\n')
                s->p++;
        } else if (s->p[1] == '*') {
            const char *close = memmem(s->p + 2, (size_t)(s->end - s->p) - 2, "*/", 2);
            if (close == NULL)
                return mcpfile_fail(s, from, "unterminated comment");
            s->p = close + 2;
        } else {
            return true;
        }
    }
}

static bool escape(struct mcpfile_scan *s)
{
    const char *from = s->p++;
    if (s->p == s->end || strchr("\"\\/bfnrtu", *s->p) == NULL)
        return mcpfile_fail(s, from, "invalid escape in a string");
    if (*s->p++ != 'u')
        return true;
    for (int i = 0; i < 4; i++, s->p++)
        if (s->p == s->end || !isxdigit((unsigned char)*s->p))
            return mcpfile_fail(s, from, "invalid \\u escape: expected four hexadecimal digits");
    return true;
}

static bool string(struct mcpfile_scan *s, struct span *ret)
{
    const char *from = s->p++;
    while (s->p < s->end && *s->p != '"') {
        if ((unsigned char)*s->p < 0x20 && *s->p != '\t')
            return mcpfile_fail(s, from, "control character or end of line in a string");
        if (*s->p != '\\')
            s->p++;
        else if (!escape(s))
            return false;
    }
    if (s->p == s->end)
        return mcpfile_fail(s, from, "unterminated string");
    s->p++;
    *ret = mcpfile_since(s, from);
    return true;
}

static bool member(struct mcpfile_scan *s)
{
    struct mcpfile_value v = {0};
    if (!mcpfile_sees(s, '"'))
        return mcpfile_fail(s, s->p, "expected a name in double quotes");
    if (!string(s, &v.key) || !skip(s))
        return false;
    if (!mcpfile_sees(s, ':'))
        return mcpfile_fail(s, s->p, "expected a colon");
    s->p++;
    size_t depth = s->depth;
    mcpfile_push(s, v.key);
    bool good = skip(s) && mcpfile_value(s, &v);
    if (good) {
        v.end = mcpfile_at(s);
        mcpfile_collect(s, &v);
    }
    mcpfile_pop(s, depth);
    return good;
}

static bool object(struct mcpfile_scan *s)
{
    size_t outer = s->object;
    s->object = mcpfile_at(s);
    s->p++;
    bool good = skip(s);
    while (good && !mcpfile_sees(s, '}'))
        good = member(s) && mcpfile_next(s, '}');
    if (!good)
        return false;
    s->object = outer;
    s->p++;
    return true;
}

static bool literal(struct mcpfile_scan *s)
{
    const char *from = s->p;
    while (s->p < s->end && (isalnum((unsigned char)*s->p) || strchr("+-.", *s->p) != NULL))
        s->p++;
    return s->p > from || mcpfile_fail(s, from, "expected a value");
}

bool mcpfile_scan_json(struct mcpfile_scan *s)
{
    static const struct mcpfile_language json = {"\"", skip, string, object, literal};
    struct mcpfile_value v = {0};
    s->language = &json;
    if (!skip(s))
        return false;
    if (s->p == s->end)
        return true; /* an empty file: no servers */
    if (*s->p != '{')
        return mcpfile_fail(s, s->p, "expected { at the beginning");
    if (!mcpfile_value(s, &v) || !skip(s))
        return false;
    return s->p == s->end || mcpfile_fail(s, s->p, "unexpected text after the last }");
}
