#include "cli/settings/config_edit.h"

#include <ctype.h>

static struct slice trim_slice(struct slice s)
{
    while (s.n > 0 && isspace((unsigned char)s.p[0]))
        s = (struct slice){s.p + 1, s.n - 1};
    while (s.n > 0 && isspace((unsigned char)s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Returns the part of a line before its comment. */
static struct slice cut_line_comment(struct slice line)
{
    for (size_t i = 0; i < line.n; i++)
        if (line.p[i] == ';' && (i == 0 || isspace((unsigned char)line.p[i - 1])))
            return (struct slice){line.p, i};
    return line;
}

/* Returns whether a section with this server name would be read back unchanged. */
static bool is_valid_server_name(const char *server)
{
    struct slice s = slice_of(server);
    return s.n > 0 && slice_eq(trim_slice(s), s) && strpbrk(server, "]\r\n") == NULL &&
           cut_line_comment(s).n == s.n;
}

/* Whether this line begins a section. For `[server NAME]`, sets *ret to NAME; for other sections,
 * ret->n is 0. */
static bool line_begins_section(struct slice line, struct slice *ret)
{
    struct slice s = trim_slice(cut_line_comment(line)), word = slice_of("server");
    if (s.n == 0 || s.p[0] != '[')
        return false;
    const char *end = memchr(s.p, ']', s.n);
    *ret = (struct slice){s.p, 0};
    if (end == NULL)
        return true;
    s = trim_slice((struct slice){s.p + 1, (size_t)(end - s.p - 1)});
    if (s.n > word.n && memcmp(s.p, word.p, word.n) == 0 && isspace((unsigned char)s.p[word.n]))
        *ret = trim_slice((struct slice){s.p + word.n, s.n - word.n});
    return true;
}

static bool line_has_key(struct slice line, const char *key)
{
    struct slice s = trim_slice(cut_line_comment(line));
    size_t n = 0;
    while (n < s.n && s.p[n] != '=' && s.p[n] != ':')
        n++;
    return n < s.n && slice_is(trim_slice((struct slice){s.p, n}), key);
}

/* Where a key is in the text, or where it can be added. */
struct setting_lines {
    /* the last line that has the key, without its newline; key.p is NULL if no line has it */
    struct slice key;
    size_t key_line; /* line number of `key` */
    /* position after the last non-empty line of the section; NULL if the section is missing */
    const char *end;
    size_t end_line; /* number of the last non-empty line of the section */
};

static struct setting_lines find_setting_lines(struct slice text, const char *server,
                                               const char *key)
{
    struct setting_lines p = {0};
    bool inside = false;
    size_t n = 0;
    if (slice_begins(text, "\xEF\xBB\xBF"))
        text = (struct slice){text.p + 3, text.n - 3};
    for (struct slice rest = text; rest.n > 0;) {
        struct slice name;
        const char *nl = memchr(rest.p, '\n', rest.n);
        struct slice line = {rest.p, nl != NULL ? (size_t)(nl - rest.p) : rest.n};
        size_t whole = line.n + (nl != NULL);
        n++;
        if (line_begins_section(line, &name))
            inside = slice_is(name, server);
        else if (inside && line_has_key(line, key))
            p.key = line, p.key_line = n;
        if (inside && trim_slice(line).n > 0)
            p.end = rest.p + whole, p.end_line = n;
        rest = (struct slice){rest.p + whole, rest.n - whole};
    }
    return p;
}

static void append_setting(struct buf *b, const char *key, const char *value)
{
    buf_printf(b, "%s = ", key);
    buf_adds(b, value);
}

int config_edit_server_setting(struct slice text, const char *server, const char *key,
                               const char *value, struct config_edit *ret)
{
    *ret = (struct config_edit){0};
    if (!is_valid_server_name(server))
        return MI_EINVAL;
    struct setting_lines p = find_setting_lines(text, server, key);
    const char *all_end = text.p + text.n;
    const char *nl = text.n > 0 ? memchr(text.p, '\n', text.n) : NULL;
    const char *eol = nl != NULL && nl > text.p && nl[-1] == '\r' ? "\r\n" : "\n";
    if (p.key.p != NULL) {
        struct slice head = cut_line_comment(p.key);
        struct slice comment = {head.p + head.n, p.key.n - head.n};
        size_t indent = 0;
        while (indent < head.n && isspace((unsigned char)head.p[indent]))
            indent++;
        buf_add(&ret->now, head.p, indent);
        append_setting(&ret->now, key, value);
        buf_adds(&ret->now, comment.n > 0 ? " " : p.key.p[p.key.n - 1] == '\r' ? "\r" : "");
        buf_slice_add(&ret->now, comment);
        ret->before = p.key;
        ret->line = p.key_line;
    } else {
        const char *at = p.end != NULL ? p.end : all_end;
        bool ended = at == text.p || at[-1] == '\n';
        buf_adds(&ret->now, ended ? "" : eol);
        if (p.end == NULL) {
            buf_adds(&ret->now, text.n > 0 ? eol : "");
            buf_printf(&ret->now, "[server %s]%s", server, eol);
        }
        append_setting(&ret->now, key, value);
        buf_adds(&ret->now, eol);
        ret->before = (struct slice){at, 0};
        ret->line = p.end != NULL ? p.end_line + 1 : 0;
    }
    return ret->now.failed ? MI_ENOMEM : 0;
}
