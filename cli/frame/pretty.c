#include "cli/frame/pretty.h"

#include "base/chars.h"
#include "wire/json/scan.h"

static void pretty_begin_line(struct out *o, size_t indent, size_t depth)
{
    out_end_line(o);
    /* indents at most 40 levels, because a deeper indent does not fit on a screen */
    out_printf(o, "%*s", (int)(indent + 2 * size_min(depth, 40)), "");
}

/* Returns the length in bytes of the string, number or word at `p`. */
static size_t json_token_len(const char *p, const char *end)
{
    const char *from = p;
    if (*p != '"') {
        while (p < end && strchr(",:]} \t\r\n", *p) == NULL)
            p++;
        return (size_t)(p - from);
    }
    for (p++; p < end && *p != '"'; p++)
        if (*p == '\\')
            p++;
    return (size_t)(p - from) + 1;
}

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && char_is_space(*p))
        p++;
    return p;
}

void pretty_print(struct out *o, struct slice valid, size_t indent)
{
    const char *p = valid.p;
    const char *end = valid.p + valid.n;
    size_t depth = 0;
    out_printf(o, "%*s", (int)indent, "");
    while ((p = skip_blank(p, end)) < end && !out_has_ended(o)) {
        char c = *p;
        const char *next = skip_blank(p + 1, end);
        if ((c == '{' || c == '[') && next < end && (*next == '}' || *next == ']')) {
            out_add_raw(o, c == '{' ? "{}" : "[]");
            p = next + 1;
        } else if (c == '{' || c == '[') {
            out_add_raw(o, c == '{' ? "{" : "[");
            pretty_begin_line(o, indent, ++depth);
            p++;
        } else if (c == '}' || c == ']') {
            pretty_begin_line(o, indent, --depth);
            out_add_raw(o, c == '}' ? "}" : "]");
            p++;
        } else if (c == ',') {
            out_add_raw(o, ",");
            pretty_begin_line(o, indent, depth);
            p++;
        } else if (c == ':') {
            out_add_raw(o, ": ");
            p++;
        } else {
            size_t n = json_token_len(p, end);
            const char *after = skip_blank(p + n, end);
            bool is_key = after < end && *after == ':';
            if (is_key)
                out_style(o, OUT_CYAN);
            out_add_text(o, (struct slice){p, n});
            if (is_key)
                out_style(o, OUT_PLAIN);
            p += n;
        }
    }
    out_end_line(o);
}
