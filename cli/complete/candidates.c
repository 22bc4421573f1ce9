#include "cli/complete/candidates.h"

#include <ctype.h>

static void candidates_add_line(struct candidates *c, struct slice text, const char *about)
{
    buf_slice_add(&c->lines, c->before);
    buf_slice_add(&c->lines, text);
    if (about != NULL)
        buf_printf(&c->lines, "\t%s", about);
    buf_addc(&c->lines, '\n');
}

static void candidates_add_slice(struct candidates *c, struct slice text, const char *about)
{
    if (slice_begins(text, c->word))
        candidates_add_line(c, text, about);
}

void candidates_add(struct candidates *c, const char *text, const char *about)
{
    candidates_add_slice(c, slice_of(text), about);
}

void candidates_add_words(struct candidates *c, const char *words)
{
    for (const char *at = words; *at != '\0'; at += strspn(at, "|, ")) {
        size_t n = strcspn(at, "|, ");
        candidates_add_slice(c, (struct slice){at, n}, NULL);
        at += n;
    }
}

/* Whether the text has only characters that no shell interprets. It must not begin with a colon,
 * because the completion scripts read such a line as an instruction. */
static bool is_safe_for_shells(struct slice text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!isalnum((unsigned char)text.p[i]) && strchr("_-.:/@+%,", text.p[i]) == NULL)
            return false;
    return text.n > 0 && text.p[0] != ':' && text.p[0] != '-' &&
           memchr(text.p, '\0', text.n) == NULL;
}

static bool candidates_contain_text(const struct candidates *c, struct slice text)
{
    struct slice lines = buf_slice(&c->lines);
    size_t n = c->before.n + text.n;
    while (lines.n > 0) {
        struct slice line = slice_take_line(&lines);
        if (line.n >= n && memcmp(line.p + c->before.n, text.p, text.n) == 0 &&
            (line.n == n || line.p[n] == '\t'))
            return true;
    }
    return false;
}

void candidates_add_recorded_word(struct candidates *c, struct slice text, const char *about)
{
    if (c->recorded == CANDIDATES_MAX || text.p == NULL || !slice_begins(text, c->word) ||
        !is_safe_for_shells(text) || candidates_contain_text(c, text))
        return;
    c->recorded++;
    candidates_add_line(c, text, about);
}

void candidates_request_from_shell(struct candidates *c, const char *what)
{
    buf_printf(&c->lines, ":%s\n", what);
}
