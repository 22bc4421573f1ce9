/* toml.c - TOML 1.0 with the escapes of 1.1 (toml.io). Literals are skipped without being
 * interpreted. */
#include "cli/wrap/mcpfile/collect.h"
#include "cli/wrap/mcpfile/languages.h"
#include "cli/wrap/mcpfile/string.h"

#include <ctype.h>

static bool mcpfile_toml_scan_pair(struct mcpfile_scan *s, bool on_line);

static void skip_toml_blanks(struct mcpfile_scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
        s->p++;
}

static bool is_at_line_end(const struct mcpfile_scan *s)
{
    return s->p == s->end || *s->p == '\n' ||
           (*s->p == '\r' && s->p + 1 < s->end && s->p[1] == '\n');
}

/* Skips blanks, and a comment after them. */
static void skip_toml_comment(struct mcpfile_scan *s)
{
    skip_toml_blanks(s);
    if (mcpfile_next_char_is(s, '#'))
        while (!is_at_line_end(s))
            s->p++;
}

/* Skips blanks, comments and line ends. */
static bool mcpfile_toml_skip_blank(struct mcpfile_scan *s)
{
    for (;;) {
        skip_toml_comment(s);
        if (s->p == s->end || !is_at_line_end(s))
            return true;
        s->p += *s->p == '\r' ? 2 : 1;
    }
}

/* ---- strings ---- */

static bool mcpfile_toml_escape(struct mcpfile_scan *s, bool many_lines)
{
    const char *from = s->p++;
    if (s->p == s->end)
        return mcpfile_fail(s, from, "unterminated string");
    size_t hex = *s->p == 'u' ? 4 : *s->p == 'U' ? 8 : *s->p == 'x' ? 2 : 0;
    bool line_end = many_lines && isspace((unsigned char)*s->p);
    if (hex == 0 && !line_end && strchr("\"\\bfnrte", *s->p) == NULL)
        return mcpfile_fail(s, from, "invalid escape in a string");
    s->p++;
    for (size_t i = 0; i < hex; i++, s->p++)
        if (s->p == s->end || !isxdigit((unsigned char)*s->p))
            return mcpfile_fail(s, from,
                                "invalid \\u, \\U or \\x escape: too few hexadecimal digits");
    return true;
}

static bool mcpfile_toml_scan_string(struct mcpfile_scan *s, struct span *ret)
{
    const char *from = s->p;
    char quote = *s->p;
    bool many = s->end - s->p >= 3 && s->p[1] == quote && s->p[2] == quote;
    s->p += many ? 3 : 1;
    for (;; s->p++) {
        while (quote == '"' && mcpfile_next_char_is(s, '\\'))
            if (!mcpfile_toml_escape(s, many))
                return false;
        if (s->p == s->end || (!many && is_at_line_end(s)))
            return mcpfile_fail(s, from, "unterminated string");
        if (*s->p == quote && !many)
            break;
        if (*s->p == quote && s->end - s->p >= 3 && s->p[1] == quote && s->p[2] == quote) {
            s->p += 2;
            /* The text may end with one or two quotes, directly before the three closing quotes. */
            for (int i = 0; i < 2 && s->p + 1 < s->end && s->p[1] == quote; i++)
                s->p++;
            break;
        }
    }
    s->p++;
    *ret = mcpfile_span_from_pointer(s, from);
    return true;
}

/* ---- keys ---- */

static bool scan_toml_key_part(struct mcpfile_scan *s)
{
    struct span part = {0};
    if (mcpfile_next_char_is(s, '"') || mcpfile_next_char_is(s, '\'')) {
        if (!mcpfile_toml_scan_string(s, &part))
            return false;
    } else {
        const char *from = s->p;
        while (s->p < s->end && (isalnum((unsigned char)*s->p) || strchr("_-", *s->p) != NULL))
            s->p++;
        if (s->p == from)
            return mcpfile_fail(s, from, "expected a key");
        part = mcpfile_span_from_pointer(s, from);
    }
    mcpfile_push_key(s, part);
    return true;
}

/* Scans a key such as a.b."c d". Each part becomes a level of the path. */
static bool scan_toml_key(struct mcpfile_scan *s, struct span *ret)
{
    const char *from = s->p;
    for (;;) {
        if (!scan_toml_key_part(s))
            return false;
        *ret = mcpfile_span_from_pointer(s, from);
        skip_toml_blanks(s);
        if (!mcpfile_next_char_is(s, '.'))
            return true;
        s->p++;
        skip_toml_blanks(s);
    }
}

/* ---- values ---- */

static bool scan_toml_inline_table(struct mcpfile_scan *s)
{
    size_t outer = s->object;
    s->object = mcpfile_get_offset(s);
    s->p++;
    bool good = mcpfile_toml_skip_blank(s);
    while (good && !mcpfile_next_char_is(s, '}'))
        good = mcpfile_toml_scan_pair(s, false) && mcpfile_end_element(s, '}');
    s->object = outer;
    if (good)
        s->p++;
    return good;
}

/* Scans a number, a boolean, or a date, which may contain a blank. */
static bool mcpfile_toml_scan_literal(struct mcpfile_scan *s)
{
    const char *from = s->p;
    while (!is_at_line_end(s) && strchr(",]}#\"'=", *s->p) == NULL)
        s->p++;
    while (s->p > from && (s->p[-1] == ' ' || s->p[-1] == '\t'))
        s->p--;
    return s->p > from || mcpfile_fail(s, from, "expected a value");
}

static bool mcpfile_toml_scan_pair(struct mcpfile_scan *s, bool on_line)
{
    struct mcpfile_value v = {.on_line = on_line};
    size_t depth = s->depth;
    if (!scan_toml_key(s, &v.key))
        return false;
    if (!mcpfile_next_char_is(s, '='))
        return mcpfile_fail(s, s->p, "expected =");
    s->p++;
    skip_toml_blanks(s);
    if (!mcpfile_scan_value(s, &v))
        return false;
    v.end = mcpfile_get_offset(s);
    if (on_line) {
        skip_toml_comment(s);
        v.end = mcpfile_get_offset(s);
    }
    mcpfile_collect(s, &v);
    mcpfile_pop_to_depth(s, depth);
    return true;
}

static bool toml_keys_are_equal(struct mcpfile_scan *s, struct span a, struct span b)
{
    struct buf x = {0}, y = {0};
    mcpfile_append_string(s->f, a, &x);
    mcpfile_append_string(s->f, b, &y);
    bool same = slice_eq(buf_slice(&x), buf_slice(&y));
    s->no_memory |= x.failed || y.failed;
    buf_close(&x);
    buf_close(&y);
    return same;
}

/* After [[a]], a table [a.b] belongs to the last element of `a`. Inserts that element into the
 * path. */
static void enter_last_toml_list_element(struct mcpfile_scan *s)
{
    struct span path[MCPFILE_LEVELS];
    size_t keys = 0;
    for (size_t i = 0; i < s->list_depth; i++) {
        bool key = s->list[i].n > 0;
        if (key && (keys == s->depth || !toml_keys_are_equal(s, s->list[i], s->level[keys])))
            return;
        keys += key;
    }
    size_t rest = s->depth - keys;
    if (s->list_depth == 0 || rest == 0 || s->list_depth + rest > MCPFILE_LEVELS)
        return;
    memcpy(path, s->list, s->list_depth * sizeof *path);
    memcpy(path + s->list_depth, s->level + keys, rest * sizeof *path);
    s->depth = s->list_depth + rest;
    memcpy(s->level, path, s->depth * sizeof *path);
    s->object = s->list_object;
}

/* Scans [a.b] or [[a.b]], which sets the table for the pairs that follow. */
static bool mcpfile_toml_scan_header(struct mcpfile_scan *s)
{
    struct span key;
    size_t at = mcpfile_get_offset(s);
    mcpfile_pop_to_depth(s, 0);
    s->object = 0;
    s->p++;
    bool element = mcpfile_next_char_is(s, '[');
    s->p += element;
    skip_toml_blanks(s);
    if (!scan_toml_key(s, &key))
        return false;
    if (!mcpfile_next_char_is(s, ']') || (element && (s->end - s->p < 2 || s->p[1] != ']')))
        return mcpfile_fail(s, s->p, "expected ]");
    s->p += element ? 2 : 1;
    if (s->depth <= MCPFILE_LEVELS)
        enter_last_toml_list_element(s);
    if (!element)
        return true;
    mcpfile_push_key(s, (struct span){0});
    if (mcpfile_path_is_server(s)) {
        s->object = s->list_object = at;
        s->list_depth = s->depth;
        memcpy(s->list, s->level, s->depth * sizeof *s->list);
    }
    return true;
}

bool mcpfile_scan_toml(struct mcpfile_scan *s)
{
    static const struct mcpfile_language toml = {"\"'", mcpfile_toml_skip_blank,
                                                 mcpfile_toml_scan_string, scan_toml_inline_table,
                                                 mcpfile_toml_scan_literal};
    s->language = &toml;
    while (mcpfile_toml_skip_blank(s) && s->p < s->end) {
        if (!(*s->p == '[' ? mcpfile_toml_scan_header(s) : mcpfile_toml_scan_pair(s, true)))
            return false;
        skip_toml_comment(s);
        if (!is_at_line_end(s))
            return mcpfile_fail(s, s->p, "expected the end of the line");
    }
    return true;
}
