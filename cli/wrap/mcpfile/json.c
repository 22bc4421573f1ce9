/* json.c - JSON as clients write it, with comments, and commas before a closing bracket; also JSON5
 * (spec.json5.org), which includes these extensions. A client that does not accept all of JSON5
 * reports that itself. */
#include "cli/wrap/mcpfile/collect.h"
#include "cli/wrap/mcpfile/languages.h"

#include <ctype.h>

/* Returns the length of the white space character at the current position; 0 if there is none.
 * JSON5 has more white space characters than JSON. */
static size_t json5_space_len(const struct mcpfile_scan *s)
{
    static const char *const wide[] = {
        "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9",
        "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\xEF\xBB\xBF",
    };
    struct slice rest = {s->p, (size_t)(s->end - s->p)};
    if (rest.n > 0 && memchr(" \t\r\n\v\f", rest.p[0], 6) != NULL)
        return 1;
    if (slice_begins(rest, "\xE2\x80") && rest.n > 2 && (unsigned char)rest.p[2] >= 0x80 &&
        (unsigned char)rest.p[2] <= 0x8A)
        return 3; /* UTF-8 length of the space characters U+2000 to U+200A */
    for (size_t i = 0; i < MI_COUNT(wide); i++)
        if (slice_begins(rest, wide[i]))
            return strlen(wide[i]);
    return 0;
}

/* Skips white space and comments. */
static bool mcpfile_json_skip_blank(struct mcpfile_scan *s)
{
    for (;;) {
        for (size_t n; (n = json5_space_len(s)) > 0;)
            s->p += n;
        if (s->end - s->p < 2 || s->p[0] != '/')
            return true;
        const char *from = s->p;
        if (s->p[1] == '/') {
            while (s->p < s->end && *s->p != '\n' && *s->p != '\r')
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

/* Skips an escape. In JSON5 any character may follow the backslash, even a line end. */
static bool mcpfile_json_escape(struct mcpfile_scan *s)
{
    const char *from = s->p++;
    if (s->p == s->end)
        return mcpfile_fail(s, from, "unterminated string");
    int hex = *s->p == 'u' ? 4 : *s->p == 'x' ? 2 : 0;
    if (isdigit((unsigned char)*s->p) && *s->p != '0')
        return mcpfile_fail(s, from, "invalid escape in a string");
    if (s->p[0] == '\r' && s->end - s->p > 1 && s->p[1] == '\n')
        s->p++;
    s->p++;
    for (int i = 0; i < hex; i++, s->p++)
        if (s->p == s->end || !isxdigit((unsigned char)*s->p))
            return mcpfile_fail(s, from, "invalid \\u or \\x escape: too few hexadecimal digits");
    return true;
}

static bool mcpfile_json_scan_string(struct mcpfile_scan *s, struct span *ret)
{
    const char *from = s->p++;
    while (s->p < s->end && *s->p != *from) {
        if ((unsigned char)*s->p < 0x20 && *s->p != '\t')
            return mcpfile_fail(s, from, "control character or end of line in a string");
        if (*s->p != '\\')
            s->p++;
        else if (!mcpfile_json_escape(s))
            return false;
    }
    if (s->p == s->end)
        return mcpfile_fail(s, from, "unterminated string");
    s->p++;
    *ret = mcpfile_span_from_pointer(s, from);
    return true;
}

/* Scans a key without quotes. Escapes in the key are not supported. */
static bool scan_bare_name(struct mcpfile_scan *s, struct span *ret)
{
    const char *from = s->p;
    while (s->p < s->end && json5_space_len(s) == 0 &&
           (isalnum((unsigned char)*s->p) || memchr("_$", *s->p, 2) != NULL ||
            (unsigned char)*s->p >= 0x80))
        s->p++;
    *ret = mcpfile_span_from_pointer(s, from);
    return s->p > from && !isdigit((unsigned char)*from);
}

static bool mcpfile_json_scan_member(struct mcpfile_scan *s)
{
    struct mcpfile_value v = {0};
    bool quoted = mcpfile_next_char_is(s, '"') || mcpfile_next_char_is(s, '\'');
    if (quoted ? !mcpfile_json_scan_string(s, &v.key) : !scan_bare_name(s, &v.key))
        return mcpfile_fail(s, s->p, "expected a name, in quotes or of letters, digits, _ and $");
    if (!mcpfile_json_skip_blank(s))
        return false;
    if (!mcpfile_next_char_is(s, ':'))
        return mcpfile_fail(s, s->p, "expected a colon");
    s->p++;
    size_t depth = s->depth;
    mcpfile_push_key(s, v.key);
    bool good = mcpfile_json_skip_blank(s) && mcpfile_scan_value(s, &v);
    if (good) {
        v.end = mcpfile_get_offset(s);
        mcpfile_collect(s, &v);
    }
    mcpfile_pop_to_depth(s, depth);
    return good;
}

static bool scan_json_object(struct mcpfile_scan *s)
{
    size_t outer = s->object;
    s->object = mcpfile_get_offset(s);
    s->p++;
    bool good = mcpfile_json_skip_blank(s);
    while (good && !mcpfile_next_char_is(s, '}'))
        good = mcpfile_json_scan_member(s) && mcpfile_end_element(s, '}');
    if (!good)
        return false;
    s->object = outer;
    s->p++;
    return true;
}

static bool mcpfile_json_scan_literal(struct mcpfile_scan *s)
{
    const char *from = s->p;
    while (s->p < s->end && (isalnum((unsigned char)*s->p) || strchr("+-.", *s->p) != NULL))
        s->p++;
    return s->p > from || mcpfile_fail(s, from, "expected a value");
}

bool mcpfile_scan_json(struct mcpfile_scan *s)
{
    static const struct mcpfile_language json = {"\"'", mcpfile_json_skip_blank,
                                                 mcpfile_json_scan_string, scan_json_object,
                                                 mcpfile_json_scan_literal};
    struct mcpfile_value v = {0};
    s->language = &json;
    if (!mcpfile_json_skip_blank(s))
        return false;
    if (s->p == s->end)
        return true; /* an empty file has no servers */
    if (*s->p != '{')
        return mcpfile_fail(s, s->p, "expected { at the beginning");
    if (!mcpfile_scan_value(s, &v) || !mcpfile_json_skip_blank(s))
        return false;
    return s->p == s->end || mcpfile_fail(s, s->p, "unexpected text after the last }");
}
