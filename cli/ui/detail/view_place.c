/* view_place.c - finds the line and column of a byte, and the values of lines. */
#include "cli/ui/detail/token.h"
#include "cli/ui/detail/view.h"

/* ---- where bytes are ------------------------------------------------------------------------ */

/* Returns the line that contains the byte at offset `at`, before its notes and the lines of its
 * unfolded string. */
static struct view_place view_find_line_at_offset(struct view *v, size_t at)
{
    struct view_place p = {0};
    for (size_t i = v->marks_n; i > 0 && p.at == 0; i--)
        if (v->mark[i - 1].at <= at)
            p = v->mark[i - 1];
    for (struct view_place next = p; view_step_to_next_line(v, &next) && next.at <= at;)
        p = next;
    /* p is a note or a line of an unfolded string: goes back to the line of JSON above it */
    if (p.below > 0) {
        p.line -= p.below;
        p.below = 0;
    }
    return p;
}

/* Returns how many columns the bytes [from, to) of a line take. */
static size_t view_count_columns_between(const struct view *v, size_t from, size_t to)
{
    struct slice text = {v->text.p + from, to > from ? to - from : 0};
    /* `c` counts the columns and draws nothing, because its first visible column is SIZE_MAX. */
    struct cells c = {.from = SIZE_MAX, .ascii = v->ascii};
    if (v->kind == VIEW_TEXT)
        return cells_count_columns_with_tabs(text, v->ascii);
    view_add_token(&c, CELLS_PLAIN, text);
    return c.column;
}

void view_find_line_and_column(struct view *v, size_t at, size_t *ret_line, size_t *ret_column)
{
    struct view_place p = view_find_line_at_offset(v, at);
    *ret_line = p.line;
    if (v->kind == VIEW_TEXT) {
        *ret_column = view_count_columns_between(v, p.at, at);
        return;
    }
    size_t key = token_skip_separators(v->text, p.at), value = view_value_offset(v, &p);
    struct inner *in = view_find_unfolded_string(v, value);
    bool closes = key < v->text.n && token_closes_container(v->text.p[key]);
    *ret_column = view_count_indent_columns(p.depth - (closes && p.depth > 0)) + 2;
    if (in != NULL && at > value) {
        size_t line, column;
        view_find_line_and_column(in->view, view_get_unescaped_offset(v, value, at), &line,
                                  &column);
        *ret_line += 1 + view_count_notes(v, value) + line;
        *ret_column = in->indent + column;
    } else if (at < value || value == key) {
        *ret_column += view_count_columns_between(v, key, at);
    } else {
        *ret_column += view_count_columns_between(v, key, token_find_end(v->text, key)) + 2 +
                       view_count_columns_between(v, value, at);
    }
}

/* ---- values --------------------------------------------------------------------------------- */

int view_copy_value(struct view *v, const struct view_place *p, struct buf *b)
{
    struct view_path path;
    struct view_place inside;
    size_t children;
    if (v->kind == VIEW_TEXT) {
        buf_slice_add(b, v->text);
        return b->failed ? MI_ENOMEM : 0;
    }
    size_t at = view_value_offset(v, p), notes = view_count_notes(v, at);
    if (at >= v->text.n)
        return MI_ENOENT;
    struct inner *in = p->below > notes ? view_find_unfolded_string(v, at) : NULL;
    if (in != NULL && view_find_line_by_number(in->view, p->below - notes - 1, &inside))
        return view_copy_value(in->view, &inside, b);
    if (token_closes_container(v->text.p[at])) {
        view_find_path_at_offset(v, at, &path);
        if (path.n == 0 || path.n > VIEW_LEVELS_MAX)
            return MI_ENOENT;
        at = path.level[path.n - 1].at;
    }
    size_t end = view_find_value_end(v, at, &children);
    if (v->text.p[at] != '"' || (!view_unescape_string(v, at, end, b) && !b->failed))
        buf_add(b, v->text.p + at, end - at);
    return b->failed ? MI_ENOMEM : 0;
}

int view_write_pointer(struct view *v, const struct view_place *p, struct buf *b)
{
    struct view_path path;
    size_t at = view_value_offset(v, p);
    if (v->kind != VIEW_JSON || at >= v->text.n)
        return MI_ENOENT;
    view_find_path_at_offset(v, at, &path);
    /* the pointer of a closing bracket is that of its object or array */
    if (token_closes_container(v->text.p[at])) {
        if (path.n == 0)
            return MI_ENOENT;
        view_find_path_at_offset(v, path.level[size_min(path.n, VIEW_LEVELS_MAX) - 1].at, &path);
    }
    view_write_path(v, &path, b);
    return b->failed ? MI_ENOMEM : 0;
}
