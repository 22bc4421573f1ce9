#include "cli/wrap/wrap_edit.h"

#include "base/text.h"
#include "cli/wrap/remote.h"

#include <ctype.h>

/* Appends the separator of two strings in `args`. In a YAML list with dashes, the separator is the
 * line end, the indentation and the dash before the string at `at`. In other lists, the separator
 * is a comma. */
static void append_argument_separator(struct buf *sep, const struct mcpfile *f,
                                      const struct mcpfile_server *s, size_t at)
{
    if (s->dashes)
        member_begin_indented_line(sep, f, at);
    else
        buf_adds(sep, ", ");
}

bool wrap_edit_redirect_server(struct edits *e, const struct mcpfile *f,
                               const struct mcpfile_server *s, const struct wrap_view *v,
                               const char *const *command)
{
    const struct span *word = &f->arg[s->first_arg];
    struct buf sep = {0};
    if (!member_set_string(e, &s->command, command[0]))
        return false;
    if (v->launch == 0 && command[1] == NULL)
        return true;
    if (!edits_begin_replacement(e, word[0].at, word[v->launch].at - word[0].at))
        return false;
    append_argument_separator(&sep, f, s, word[0].at);
    member_add_quoted_words(e, command + 1, buf_slice(&sep));
    edits_end_replacement(e);
    e->text.failed |= sep.failed;
    buf_close(&sep);
    return true;
}

bool wrap_edit_wrap_server(struct edits *e, const struct mcpfile *f, const struct mcpfile_server *s,
                           const struct wrap_with *with)
{
    /* The words that `wrap` inserts directly before the server's command. `--original` and its
     * value are inserted only if the server has no `args`. */
    static const char *const end_words[] = {"--original", MEMBER_NO_ARGS, "--", NULL};
    const char *const *dashes = end_words + 2;
    if (s->one_array) {
        /* changes ["npx", "-y"] to ["mcp-interposer", "proxy", "--", "npx", "-y"] */
        if (!edits_begin_replacement(e, s->command.value.at, 0))
            return false;
        text_append_json(&e->text, slice_of(with->command[0]));
        buf_adds(&e->text, ", ");
        member_add_args(e, with, dashes, slice_of(", "));
        edits_end_replacement(e);
        return true;
    }
    bool has_args = s->args.key.n > 0;
    size_t at = !has_args        ? s->command.end
                : s->args_n == 0 ? s->args.value.at + 1
                                 : f->arg[s->first_arg].at;
    if (!member_set_string(e, &s->command, with->command[0]) || !edits_begin_replacement(e, at, 0))
        return false;
    /* Insert the interposer's words and the server's command before the first string of `args`. */
    if (has_args) {
        struct buf sep = {0};
        append_argument_separator(&sep, f, s, at);
        member_add_args(e, with, dashes, buf_slice(&sep));
        member_append_file_bytes(e, f, s->command.value);
        if (s->args_n > 0)
            buf_slice_add(&e->text, buf_slice(&sep));
        e->text.failed |= sep.failed;
        buf_close(&sep);
    } else { /* add a new member `args` after `command` */
        member_add_separator(e, f, &s->command);
        member_add_key(e, f, &s->command, "args");
        buf_addc(&e->text, '[');
        member_add_args(e, with, end_words, slice_of(", "));
        member_append_file_bytes(e, f, s->command.value);
        buf_addc(&e->text, ']');
    }
    edits_end_replacement(e);
    return true;
}

/* Returns the end of the last arg, including a trailing comma. */
static size_t find_end_of_last_arg(const struct mcpfile *f, const struct mcpfile_server *s)
{
    struct span last = f->arg[s->first_arg + s->args_n - 1];
    size_t at = last.at + last.n;
    size_t close = s->args.value.at + s->args.value.n - 1;
    size_t comma = at;
    while (comma < close && isspace((unsigned char)f->text.p[comma]))
        comma++;
    return comma < close && f->text.p[comma] == ',' ? comma + 1 : at;
}

/* Replaces a YAML list with dashes by an empty list. */
static bool replace_yaml_list_by_empty(struct edits *e, const struct mcpfile *f,
                                       const struct mcpfile_server *s)
{
    size_t at = s->args.key.at + s->args.key.n;
    while (at < s->args.value.at && f->text.p[at] != ':')
        at++;
    at += at < s->args.value.at;
    if (!edits_begin_replacement(e, at, s->args.value.at + s->args.value.n - at))
        return false;
    buf_adds(&e->text, " []");
    edits_end_replacement(e);
    return true;
}

bool wrap_edit_unwrap_server(struct edits *e, const struct mcpfile *f,
                             const struct mcpfile_server *s, const struct wrap_view *v)
{
    const struct span *word = &f->arg[s->first_arg];
    size_t at = word[0].at;
    size_t to;
    if (v->originals > 0)
        return remote_add_unwrap_edits(e, f, s, v);
    if (s->one_array) {
        at = s->command.value.at;
        return edits_begin_replacement(e, at, word[v->own].at - at);
    }
    bool all = v->own + 1 == s->args_n;
    if (!all) {
        to = word[v->own + 1].at;
    } else if (v->had_no_args && members_are_adjacent(f, &s->command, &s->args)) {
        at = s->command.end;
        to = s->args.value.at + s->args.value.n;
    } else {
        to = find_end_of_last_arg(f, s);
    }
    if (!edits_begin_replacement(e, s->command.value.at, s->command.value.n))
        return false;
    member_append_file_bytes(e, f, word[v->own]);
    edits_end_replacement(e);
    return all && s->dashes ? replace_yaml_list_by_empty(e, f, s)
                            : edits_begin_replacement(e, at, to - at);
}
