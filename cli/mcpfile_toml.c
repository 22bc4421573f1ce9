/* mcpfile_toml.c - TOML (toml.io: 1.0, and the escapes of 1.1), as far as a list of places needs it: what a literal
 * means is not looked at. */
#include "base/text.h"
#include "cli/mcpfile_inner.h"

#include <ctype.h>

static bool pair(struct mcpfile_scan *s, bool on_line);

static void blanks(struct mcpfile_scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
        s->p++;
}

static bool at_line_end(const struct mcpfile_scan *s)
{
    return s->p == s->end || *s->p == '\n' ||
           (*s->p == '\r' && s->p + 1 < s->end && s->p[1] == '\n');
}

/* Blanks, and a comment behind them. */
static void rest_of_line(struct mcpfile_scan *s)
{
    blanks(s);
    if (mcpfile_sees(s, '#'))
        while (!at_line_end(s))
            s->p++;
}

/* Blanks, comments and line ends. */
static bool skip(struct mcpfile_scan *s)
{
    for (;;) {
        rest_of_line(s);
        if (s->p == s->end || !at_line_end(s))
            return true;
        s->p += *s->p == '\r' ? 2 : 1;
    }
}

/* ---- strings ---- */

static bool escape(struct mcpfile_scan *s, bool many_lines)
{
    const char *from = s->p++;
    if (s->p == s->end)
        return mcpfile_fail(s, from, "this string has no end");
    size_t hex = *s->p == 'u' ? 4 : *s->p == 'U' ? 8 : *s->p == 'x' ? 2 : 0;
    bool line_end = many_lines && isspace((unsigned char)*s->p);
    if (hex == 0 && !line_end && strchr("\"\\bfnrte", *s->p) == NULL)
        return mcpfile_fail(s, from, "a backslash with nothing that TOML knows behind it");
    s->p++;
    for (size_t i = 0; i < hex; i++, s->p++)
        if (s->p == s->end || !isxdigit((unsigned char)*s->p))
            return mcpfile_fail(s, from, "a \\u, \\U or \\x without its hexadecimal digits");
    return true;
}

static bool string(struct mcpfile_scan *s, struct span *ret)
{
    const char *from = s->p;
    char quote = *s->p;
    bool many = s->end - s->p >= 3 && s->p[1] == quote && s->p[2] == quote;
    s->p += many ? 3 : 1;
    for (;; s->p++) {
        while (quote == '"' && mcpfile_sees(s, '\\'))
            if (!escape(s, many))
                return false;
        if (s->p == s->end || (!many && at_line_end(s)))
            return mcpfile_fail(s, from, "this string has no end");
        if (*s->p == quote && !many)
            break;
        if (*s->p == quote && s->end - s->p >= 3 && s->p[1] == quote && s->p[2] == quote) {
            s->p += 2;
            /* up to two quotes more are the last characters of the text */
            for (int i = 0; i < 2 && s->p + 1 < s->end && s->p[1] == quote; i++)
                s->p++;
            break;
        }
    }
    s->p++;
    *ret = mcpfile_since(s, from);
    return true;
}

/* p is behind the backslash; the result is behind the escape. */
static const char *unescape(struct buf *b, const char *p, const char *end)
{
    static const char plain[256] = {['b'] = '\b', ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r',
                                    ['t'] = '\t', ['"'] = '"',  ['\\'] = '\\', ['e'] = '\x1b'};
    if (isspace((unsigned char)*p)) { /* the line goes on at the next text */
        while (p < end && isspace((unsigned char)*p))
            p++;
        return p;
    }
    size_t hex = *p == 'u' ? 4 : *p == 'U' ? 8 : *p == 'x' ? 2 : 0;
    if (hex == 0) {
        buf_addc(b, plain[(unsigned char)*p]);
        return p + 1;
    }
    uint32_t c = 0;
    p++;
    for (size_t i = 0; i < hex; i++, p++)
        c = c << 4 | (uint32_t)(isdigit((unsigned char)*p) ? *p - '0' : (*p | 0x20) - 'a' + 10);
    if (c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) /* no character: as in JSON */
        c = 0xFFFD;
    char utf8[4];
    buf_add(b, utf8, text_utf8_put(c, utf8));
    return p;
}

void mcpfile_toml_string(struct slice token, struct buf *b)
{
    char quote = token.n > 0 ? token.p[0] : '\0';
    if (quote != '"' && quote != '\'') {
        buf_slice_add(b, token); /* a bare key */
        return;
    }
    bool many = token.n >= 6 && token.p[1] == quote && token.p[2] == quote;
    const char *p = token.p + (many ? 3 : 1);
    const char *end = token.p + token.n - (many ? 3 : 1);
    if (many && p < end && *p == '\r')
        p++;
    if (many && p < end && *p == '\n')
        p++;
    while (p < end) {
        if (*p != '\\' || quote == '\'')
            buf_addc(b, *p++);
        else
            p = unescape(b, p + 1, end);
    }
}

/* ---- keys ---- */

static bool key_part(struct mcpfile_scan *s)
{
    struct span part = {0};
    if (mcpfile_sees(s, '"') || mcpfile_sees(s, '\'')) {
        if (!string(s, &part))
            return false;
    } else {
        const char *from = s->p;
        while (s->p < s->end && (isalnum((unsigned char)*s->p) || strchr("_-", *s->p) != NULL))
            s->p++;
        if (s->p == from)
            return mcpfile_fail(s, from, "a key is expected here");
        part = mcpfile_since(s, from);
    }
    mcpfile_push(s, part);
    return true;
}

/* a.b."c d": each part is a level of the path. */
static bool key(struct mcpfile_scan *s, struct span *ret)
{
    const char *from = s->p;
    for (;;) {
        if (!key_part(s))
            return false;
        *ret = mcpfile_since(s, from);
        blanks(s);
        if (!mcpfile_sees(s, '.'))
            return true;
        s->p++;
        blanks(s);
    }
}

/* ---- values ---- */

static bool inline_table(struct mcpfile_scan *s)
{
    s->p++;
    bool good = skip(s);
    while (good && !mcpfile_sees(s, '}'))
        good = pair(s, false) && mcpfile_next(s, '}');
    if (good)
        s->p++;
    return good;
}

/* A number, a boolean, a date (which may have a blank in it). */
static bool literal(struct mcpfile_scan *s)
{
    const char *from = s->p;
    while (!at_line_end(s) && strchr(",]}#\"'=", *s->p) == NULL)
        s->p++;
    while (s->p > from && (s->p[-1] == ' ' || s->p[-1] == '\t'))
        s->p--;
    return s->p > from || mcpfile_fail(s, from, "a value is expected here");
}

static bool pair(struct mcpfile_scan *s, bool on_line)
{
    struct mcpfile_value v = {.on_line = on_line};
    size_t depth = s->depth;
    if (!key(s, &v.key))
        return false;
    if (!mcpfile_sees(s, '='))
        return mcpfile_fail(s, s->p, "a = is expected here");
    s->p++;
    blanks(s);
    if (!mcpfile_value(s, &v))
        return false;
    v.end = mcpfile_at(s);
    if (on_line) {
        rest_of_line(s);
        v.end = mcpfile_at(s);
    }
    mcpfile_note(s, &v);
    mcpfile_pop(s, depth);
    return true;
}

/* [a.b] or [[a.b]]: where the pairs that follow belong. */
static bool header(struct mcpfile_scan *s)
{
    struct span whole;
    mcpfile_pop(s, 0);
    s->p++;
    bool element = mcpfile_sees(s, '[');
    s->p += element;
    blanks(s);
    if (!key(s, &whole))
        return false;
    if (!mcpfile_sees(s, ']') || (element && (s->end - s->p < 2 || s->p[1] != ']')))
        return mcpfile_fail(s, s->p, "a ] is expected here");
    s->p += element ? 2 : 1;
    if (element)
        mcpfile_push(s, (struct span){0});
    return true;
}

bool mcpfile_scan_toml(struct mcpfile_scan *s)
{
    static const struct mcpfile_language toml = {"\"'", skip, string, inline_table, literal};
    s->language = &toml;
    while (skip(s) && s->p < s->end) {
        if (!(*s->p == '[' ? header(s) : pair(s, true)))
            return false;
        rest_of_line(s);
        if (!at_line_end(s))
            return mcpfile_fail(s, s->p, "something follows on this line");
    }
    return true;
}
