/* view_fold.c - folding and unfolding; notes. */
#include "cli/ui/detail/token.h"
#include "cli/ui/detail/view.h"

#include "base/grow.h"

#include <stdlib.h>

#define OVERVIEW_BYTES 4096
#define OVERVIEW_LINES 100

int view_add_note(struct view *v, const struct view_note *n)
{
    if (v->notes_n == VIEW_NOTES_MAX)
        return MI_EFULL;
    if (!GROW(v->note, v->notes_n, v->notes_cap))
        return MI_ENOMEM;
    size_t i = view_find_first_value_note(v, n->at + 1);
    memmove(&v->note[i + 1], &v->note[i], (v->notes_n - i) * sizeof *n);
    v->note[i] = *n;
    v->notes_n++;
    view_forget_lines(v, n->at);
    return 0;
}

/* ---- unfolded strings ----------------------------------------------------------------------- */

static void view_fold_string(struct view *v, struct inner *in)
{
    size_t i = (size_t)(in - v->inner);
    view_close(in->view);
    free(in->view);
    memmove(in, in + 1, (v->inner_n - i - 1) * sizeof *in);
    v->inner_n--;
}

void view_fold_from_depth(struct view *v, size_t depth)
{
    while (v->inner_n > 0)
        view_fold_string(v, &v->inner[v->inner_n - 1]);
    v->exceptions_n = 0;
    v->folded_from = depth;
    view_forget_lines(v, 0);
}

void view_fold_for_first_display(struct view *v)
{
    static const size_t depths[] = {SIZE_MAX, 4, 3};
    struct view_place ignored;
    if (v->kind == VIEW_TEXT || v->text.n <= OVERVIEW_BYTES)
        return;
    for (size_t i = 0; i < MI_COUNT(depths); i++) {
        view_fold_from_depth(v, depths[i]);
        if (!view_find_line_by_number(v, OVERVIEW_LINES, &ignored))
            return;
    }
    view_fold_from_depth(v, 2);
}

/* Opens a view of the text of the string at [at, end), to unfold the string. */
static int open_inner_view(const struct view *v, size_t at, size_t end, struct view *ret)
{
    struct buf text = {0};
    if (!view_unescape_string(v, at, end, &text)) {
        int st = text.failed ? MI_ENOMEM : MI_ENOENT;
        buf_close(&text);
        return st;
    }
    struct slice s = buf_slice(&text);
    view_open(ret, view_is_json(s) ? VIEW_JSON : VIEW_TEXT, s);
    ret->own = text;
    ret->nested = v->nested + 1;
    view_fold_for_first_display(ret);
    return 0;
}

static int view_unfold_string(struct view *v, size_t at, size_t depth, size_t room)
{
    size_t children, end = view_find_value_end(v, at, &children);
    if (end - at > room)
        return MI_EFULL;
    struct inner in = {.at = at, .indent = view_count_indent_columns(depth) + 4, .view = NULL};
    if (!GROW(v->inner, v->inner_n, v->inner_cap) || (in.view = malloc(sizeof *in.view)) == NULL)
        return MI_ENOMEM;
    int st = open_inner_view(v, at, end, in.view);
    if (st < 0) {
        free(in.view);
        return st;
    }
    view_set_width(in.view, view_inner_width(v, in.indent), v->ascii);
    size_t i = view_find_first_unfolded_string(v, at);
    memmove(&v->inner[i + 1], &v->inner[i], (v->inner_n - i) * sizeof in);
    v->inner[i] = in;
    v->inner_n++;
    return 0;
}

size_t view_count_unfolded_bytes(const struct view *v)
{
    size_t n = 0;
    for (size_t i = 0; i < v->inner_n; i++)
        n += v->inner[i].view->own.n + view_count_unfolded_bytes(v->inner[i].view);
    return n;
}

/* ---- folding -------------------------------------------------------------------------------- */

static int view_toggle_fold_exception(struct view *v, size_t at)
{
    size_t i = view_find_first_exception(v, at);
    if (i < v->exceptions_n && v->exception[i] == at) {
        memmove(&v->exception[i], &v->exception[i + 1],
                (v->exceptions_n - i - 1) * sizeof *v->exception);
        v->exceptions_n--;
    } else if (v->exceptions_n == VIEW_EXCEPTIONS_MAX) {
        return MI_EFULL;
    } else if (!GROW(v->exception, v->exceptions_n, v->exceptions_cap)) {
        return MI_ENOMEM;
    } else {
        memmove(&v->exception[i + 1], &v->exception[i],
                (v->exceptions_n - i) * sizeof *v->exception);
        v->exception[i] = at;
        v->exceptions_n++;
    }
    view_forget_lines(v, at);
    return 0;
}

/* Returns the unfolded string of v whose view is w or contains w; NULL if there is none. */
static struct inner *find_unfolded_string_of_view(const struct view *v, const struct view *w)
{
    for (size_t i = 0; i < v->inner_n; i++)
        if (v->inner[i].view == w || find_unfolded_string_of_view(v->inner[i].view, w) != NULL)
            return &v->inner[i];
    return NULL;
}

int view_toggle_fold(struct view *v, const struct view_target *t, size_t room)
{
    int st = 0;
    if (t->view != v) {
        struct inner *in = find_unfolded_string_of_view(v, t->view);
        st = view_toggle_fold(in->view, t, room);
        view_forget_lines(v, in->at);
        return st;
    }
    if (token_opens_container(v->text.p[t->at]))
        return view_toggle_fold_exception(v, t->at);
    struct inner *in = view_find_unfolded_string(v, t->at);
    if (in != NULL)
        view_fold_string(v, in);
    else
        st = view_unfold_string(v, t->at, t->depth, room);
    view_forget_lines(v, t->at);
    return st;
}

int view_unfold_to_show_byte(struct view *v, size_t at)
{
    struct view_path path;
    view_find_path_at_offset(v, at, &path);
    for (size_t i = 0; i < size_min(path.n, VIEW_LEVELS_MAX); i++) {
        int st = view_is_folded(v, path.level[i].at, i)
                     ? view_toggle_fold_exception(v, path.level[i].at)
                     : 0;
        if (st < 0)
            return st;
    }
    /* Only the last unfolded string that begins before `at` can contain `at`. That string has the
     * index i - 1. */
    size_t i = view_find_first_unfolded_string(v, at);
    struct inner *in = i > 0 ? &v->inner[i - 1] : NULL;
    if (in == NULL || at >= token_find_end(v->text, in->at))
        return 0;
    view_forget_lines(v, in->at);
    return view_unfold_to_show_byte(in->view, view_get_unescaped_offset(v, in->at, at));
}

/* ---- targets -------------------------------------------------------------------------------- */

static struct view_target view_make_fold_target(struct view *v, size_t at, size_t depth)
{
    size_t column;
    bool container = token_opens_container(v->text.p[at]);
    struct view_target t = {.view = v, .at = at, .depth = depth};
    t.folded = container ? view_is_folded(v, at, depth) : view_find_unfolded_string(v, at) == NULL;
    view_find_line_and_column(v, at, &t.line, &column);
    return t;
}

/* Finds the innermost object or array that contains the byte at offset `at`. */
static bool view_find_container(struct view *v, size_t at, struct view_target *ret)
{
    struct view_path path;
    view_find_path_at_offset(v, at, &path);
    if (path.n == 0 || path.n > VIEW_LEVELS_MAX)
        return false;
    *ret = view_make_fold_target(v, path.level[path.n - 1].at, path.n - 1);
    return true;
}

/* Finds the object, array or string of a line that is not in an unfolded string. */
static bool view_find_fold_target(struct view *v, const struct view_place *p,
                                  struct view_target *ret)
{
    size_t at = view_value_offset(v, p), inside;
    if (at >= v->text.n)
        return false;
    if (token_opens_container(v->text.p[at])) {
        inside = token_skip_blank(v->text, at + 1);
        if (inside < v->text.n && !token_closes_container(v->text.p[inside])) {
            *ret = view_make_fold_target(v, at, p->depth);
            return true;
        }
    } else if (view_find_unfolded_string(v, at) != NULL || view_should_unfold_string(v, at)) {
        *ret = view_make_fold_target(v, at, p->depth);
        return true;
    }
    return view_find_container(v, at, ret);
}

bool view_find_innermost_fold_target(struct view *v, const struct view_place *p,
                                     struct view_target *ret)
{
    struct view_place inside;
    if (v->kind == VIEW_TEXT)
        return false;
    size_t at = view_value_offset(v, p), notes = view_count_notes(v, at);
    struct inner *in = p->below > notes ? view_find_unfolded_string(v, at) : NULL;
    if (in == NULL)
        return view_find_fold_target(v, p, ret);
    if (!view_find_line_by_number(in->view, p->below - notes - 1, &inside) ||
        !view_find_innermost_fold_target(in->view, &inside, ret)) {
        *ret = view_make_fold_target(v, at, p->depth);
        return true;
    }
    ret->line += p->line - p->below + notes + 1;
    return true;
}

bool view_find_enclosing_value(struct view *v, const struct view_target *t, struct view_target *ret)
{
    if (t->view == v)
        return view_find_container(v, t->at, ret);
    struct view_path path;
    struct inner *in = find_unfolded_string_of_view(v, t->view);
    view_find_path_at_offset(v, in->at, &path);
    struct view_target string = view_make_fold_target(v, in->at, path.n);
    if (!view_find_enclosing_value(in->view, t, ret))
        *ret = string;
    else
        ret->line += string.line + view_count_notes(v, in->at) + 1;
    return true;
}
