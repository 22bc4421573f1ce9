#include "cli/ui/detail/view.h"

#include "base/grow.h"
#include "cli/ui/detail/token.h"

#include <stdlib.h>

#define MARK_BYTES ((size_t)32 << 10)
#define FAR 4096 /* the end of a shorter value is found again each time */

void view_open(struct view *v, enum view_kind kind, struct slice text)
{
    *v = (struct view){.kind = kind, .text = text, .folded_from = SIZE_MAX};
}

void view_close(struct view *v)
{
    for (size_t i = 0; i < v->inner_n; i++) {
        view_close(v->inner[i].view);
        free(v->inner[i].view);
    }
    free(v->inner);
    free(v->exception);
    free(v->note);
    free(v->mark);
    buf_close(&v->own);
    *v = (struct view){0};
}

/* ---- the index ------------------------------------------------------------------------------ */

void view_changed(struct view *v, size_t at)
{
    while (v->marks_n > 0 && v->mark[v->marks_n - 1].at > at)
        v->marks_n--;
    v->whole = false;
    v->last = (struct view_place){0};
}

size_t view_inner_width(const struct view *v, size_t indent)
{
    if (v->width == 0)
        return 0;
    return v->width > indent + VIEW_WIDTH_MIN ? v->width - indent : VIEW_WIDTH_MIN;
}

void view_layout(struct view *v, size_t width, bool ascii)
{
    if (v->width == width && v->ascii == ascii)
        return;
    v->width = width;
    v->ascii = ascii;
    for (size_t i = 0; i < v->inner_n; i++) {
        const struct inner *in = &v->inner[i];
        view_layout(in->view, view_inner_width(v, in->indent), ascii);
    }
    if (v->kind == VIEW_TEXT || v->inner_n > 0)
        view_changed(v, 0);
}

static void remember(struct view *v, const struct view_place *p)
{
    size_t last = v->marks_n > 0 ? v->mark[v->marks_n - 1].at : 0;
    if (p->below == 0 && p->at > last && p->at - last >= MARK_BYTES &&
        GROW(v->mark, v->marks_n, v->marks_cap))
        v->mark[v->marks_n++] = *p;
}

bool view_step(struct view *v, struct view_place *p)
{
    bool more = v->kind == VIEW_JSON ? view_json_step(v, p) : view_text_step(v, p);
    if (more) {
        remember(v, p);
    } else if (!v->whole) {
        v->whole = true;
        v->lines = p->line + 1;
    }
    return more;
}

/* The last remembered place up to this line. */
static struct view_place start_for(const struct view *v, size_t line)
{
    struct view_place p = {0};
    size_t from = 0, to = v->marks_n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (v->mark[middle].line <= line)
            from = middle + 1;
        else
            to = middle;
    }
    if (from > 0)
        p = v->mark[from - 1];
    if (v->last.line <= line && v->last.line > p.line)
        p = v->last;
    return p;
}

/* In the lines of an unfolded string: goes to the line, or to the last one of the string. */
static void skip_inner(struct view *v, struct view_place *p, size_t line)
{
    struct view_place ignored;
    struct inner *in;
    if (v->kind != VIEW_JSON || v->inner_n == 0 || (in = view_inner(v, view_at(v, p))) == NULL)
        return;
    size_t notes = view_notes(v, in->at);
    size_t want = line - (p->line - p->below); /* as `below` */
    if (want <= notes)
        return;
    if (!view_seek(in->view, want - notes - 1, &ignored))
        want = notes + view_count(in->view);
    if (want > p->below) {
        p->line += want - p->below;
        p->below = want;
    }
}

bool view_seek(struct view *v, size_t line, struct view_place *ret)
{
    if (v->whole && line >= v->lines)
        return false;
    struct view_place p = start_for(v, line);
    for (;;) {
        if (p.line < line)
            skip_inner(v, &p, line);
        if (p.line >= line)
            break;
        if (!view_step(v, &p))
            return false;
    }
    v->last = p;
    *ret = p;
    return true;
}

size_t view_lines(struct view *v, bool *exact)
{
    struct view_place p = v->marks_n > 0 ? v->mark[v->marks_n - 1] : (struct view_place){0};
    *exact = v->whole;
    if (v->whole)
        return v->lines;
    if (v->last.at > p.at)
        p = v->last;
    if (p.at == 0)
        return 1 + v->text.n / 32;
    return p.line + 1 + (size_t)((double)(v->text.n - p.at) * (double)p.line / (double)p.at);
}

size_t view_count(struct view *v)
{
    struct view_place p;
    while (!v->whole) {
        bool found = view_seek(v, SIZE_MAX, &p);
        (void)found; /* false: there are fewer lines */
    }
    return v->lines;
}

void view_draw(struct view *v, const struct view_place *p, size_t indent, struct cells *c)
{
    cells_blank(c, indent);
    if (v->kind == VIEW_JSON)
        view_json_draw(v, p, c);
    else
        view_text_draw(v, p, c);
}

/* ---- the ends of values --------------------------------------------------------------------- */

size_t view_value_end(struct view *v, size_t at, size_t *ret_children)
{
    struct view_end *e = &v->end[at % VIEW_CACHE];
    if (e->end == 0 || e->at != at) {
        size_t children, end = token_skip(v->text, at, &children);
        if (end - at < FAR) {
            *ret_children = children;
            return end;
        }
        *e = (struct view_end){at, end, children};
    }
    *ret_children = e->children;
    return e->end;
}

/* ---- where bytes are ------------------------------------------------------------------------ */

/* The place that the byte belongs to. */
static struct view_place place_of(struct view *v, size_t at)
{
    struct view_place p = {0};
    for (size_t i = v->marks_n; i > 0 && p.at == 0; i--)
        if (v->mark[i - 1].at <= at)
            p = v->mark[i - 1];
    for (struct view_place next = p; view_step(v, &next) && next.at <= at;)
        p = next;
    if (p.below > 0) { /* lines below a place belong to it */
        p.line -= p.below;
        p.below = 0;
    }
    return p;
}

/* The columns of a part of a line. */
static size_t columns(const struct view *v, size_t from, size_t to)
{
    struct cells c = {.from = SIZE_MAX, .ascii = v->ascii, .tabs = v->kind == VIEW_TEXT};
    cells_add(&c, CELLS_PLAIN, (struct slice){v->text.p + from, to > from ? to - from : 0});
    return c.column;
}

void view_locate(struct view *v, size_t at, size_t *ret_line, size_t *ret_column)
{
    struct view_place p = place_of(v, at);
    *ret_line = p.line;
    if (v->kind == VIEW_TEXT) {
        *ret_column = columns(v, p.at, at);
        return;
    }
    size_t key = token_next(v->text, p.at), value = view_at(v, &p);
    struct inner *in = view_inner(v, value);
    bool closes = key < v->text.n && token_closes(v->text.p[key]);
    *ret_column = view_indent(p.depth - (closes && p.depth > 0)) + 2;
    if (in != NULL && at > value) {
        size_t line, column;
        view_locate(in->view, view_unescaped_n(v, value, at), &line, &column);
        *ret_line += 1 + view_notes(v, value) + line;
        *ret_column = in->indent + column;
    } else if (at < value || value == key) {
        *ret_column += columns(v, key, at);
    } else {
        *ret_column += columns(v, key, token_end(v->text, key)) + 2 + columns(v, value, at);
    }
}
