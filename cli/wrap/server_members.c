#include "cli/wrap/server_members.h"

#include "base/text.h"

#include <ctype.h>

void member_append_file_bytes(struct edits *e, const struct mcpfile *f, struct span s)
{
    buf_add(&e->text, f->text.p + s.at, s.n);
}

void member_add_quoted_words(struct edits *e, const char *const *words, struct slice sep)
{
    for (; *words != NULL; words++) {
        text_append_json(&e->text,
                         slice_of(*words)); /* a JSON string is also valid in TOML and YAML */
        buf_slice_add(&e->text, sep);
    }
}

void member_add_args(struct edits *e, const struct wrap_with *with, const char *const *end,
                     struct slice sep)
{
    static const char *const proxy[] = {"proxy", NULL};
    member_add_quoted_words(e, with->command + 1, sep);
    member_add_quoted_words(e, proxy, sep);
    member_add_quoted_words(e, with->options, sep);
    member_add_quoted_words(e, end, sep);
}

size_t member_find_line_start(const struct mcpfile *f, size_t at)
{
    size_t from = at;
    while (from > 0 && strchr(" \t-", f->text.p[from - 1]) != NULL)
        from--;
    return from == 0 || f->text.p[from - 1] == '\n' ? from : at;
}

/* Returns the line end of the line before `at`. */
static const char *find_previous_line_end(const struct mcpfile *f, size_t at)
{
    while (at > 0 && f->text.p[at - 1] != '\n')
        at--;
    return at > 1 && f->text.p[at - 2] == '\r' ? "\r\n" : "\n";
}

void member_begin_indented_line(struct buf *b, const struct mcpfile *f, size_t at)
{
    size_t from = member_find_line_start(f, at);
    buf_adds(b, find_previous_line_end(f, at));
    buf_add(b, f->text.p + from, at - from);
}

bool member_set_string(struct edits *e, const struct mcpfile_member *m, const char *text)
{
    if (!edits_begin_replacement(e, m->value.at, m->value.n))
        return false;
    text_append_json(&e->text, slice_of(text));
    edits_end_replacement(e);
    return true;
}

void member_add_key(struct edits *e, const struct mcpfile *f, const struct mcpfile_member *beside,
                    const char *name)
{
    struct span key = beside->key;
    /* A dotted key such as servers.x.command has a prefix: the new key gets the same prefix. */
    if (f->format == MCPFILE_TOML) {
        size_t n = key.n;
        while (n > 0 && f->text.p[key.at + n - 1] != '.')
            n--;
        buf_add(&e->text, f->text.p + key.at, n);
    }
    buf_printf(&e->text,
               f->format == MCPFILE_JSON   ? "\"%s\": "
               : f->format == MCPFILE_TOML ? "%s = "
                                           : "%s: ",
               name);
}

void member_add_separator(struct edits *e, const struct mcpfile *f,
                          const struct mcpfile_member *before)
{
    size_t key = before->key.at, from = member_find_line_start(f, key);
    if (!before->on_line)
        buf_addc(&e->text, ',');
    if (!before->on_line && (from == key || from == 0)) {
        buf_addc(&e->text, ' '); /* the key is not the first token of its line */
        return;
    }
    buf_adds(&e->text, find_previous_line_end(f, key));
    /* Indents the new member like the member `before`. A dash becomes a blank, because the new
     * member belongs to the same list element. */
    for (; from < key; from++)
        buf_addc(&e->text, f->text.p[from] == '-' ? ' ' : f->text.p[from]);
}

bool members_are_adjacent(const struct mcpfile *f, const struct mcpfile_member *first,
                          const struct mcpfile_member *second)
{
    size_t at = first->end;
    const char *text = f->text.p;
    if (second->key.at < at)
        return false;
    if (!first->on_line && text[at++] != ',')
        return false;
    while (at < second->key.at && isspace((unsigned char)text[at]))
        at++;
    return at == second->key.at;
}
