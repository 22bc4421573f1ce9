#include "cli/ui/detail/view.h"

#include "base/grow.h"

#include <stdlib.h>

#define MARK_BYTES ((size_t)32 << 10)

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

void view_forget_lines(struct view *v, size_t at)
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

void view_set_width(struct view *v, size_t width, bool ascii)
{
    if (v->width == width && v->ascii == ascii)
        return;
    v->width = width;
    v->ascii = ascii;
    for (size_t i = 0; i < v->inner_n; i++) {
        const struct inner *in = &v->inner[i];
        view_set_width(in->view, view_inner_width(v, in->indent), ascii);
    }
    if (v->kind == VIEW_TEXT || v->inner_n > 0)
        view_forget_lines(v, 0);
}

/* Moves p to the next note or line of an unfolded string that belongs to the same line of JSON.
 * Returns false if there is none. */
static bool view_move_to_next_inner_line(struct view *v, struct view_place *p, size_t value)
{
    struct view_place ignored;
    size_t notes = view_count_notes(v, value);
    struct inner *in = p->below < notes ? NULL : view_find_unfolded_string(v, value);
    if (p->below >= notes &&
        (in == NULL || !view_find_line_by_number(in->view, p->below - notes, &ignored)))
        return false;
    p->below++;
    p->line++;
    return true;
}

bool view_step_to_next_line(struct view *v, struct view_place *p)
{
    bool more = false;
    if (v->kind == VIEW_JSON && (v->notes_n > 0 || v->inner_n > 0))
        more = view_move_to_next_inner_line(v, p, view_value_offset(v, p));
    if (!more)
        more = v->kind == VIEW_TEXT ? view_text_step_line(v, p) : view_json_step_line(v, p);
    if (!more) {
        v->lines = v->whole ? v->lines : p->line + 1;
        v->whole = true;
        return false;
    }
    size_t last = v->marks_n > 0 ? v->mark[v->marks_n - 1].at : 0;
    if (p->below == 0 && p->at > last && p->at - last >= MARK_BYTES &&
        GROW(v->mark, v->marks_n, v->marks_cap))
        v->mark[v->marks_n++] = *p;
    return true;
}

/* Returns the nearest remembered line at or before this line. */
static struct view_place find_remembered_line(const struct view *v, size_t line)
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

/* If p is at an unfolded string, moves p to line number `line` of the view. If that line is below
 * the string, moves p to the last line of the string. */
static void view_move_to_line_of_string(struct view *v, struct view_place *p, size_t line)
{
    struct view_place ignored;
    struct inner *in;
    if (v->kind != VIEW_JSON || v->inner_n == 0 ||
        (in = view_find_unfolded_string(v, view_value_offset(v, p))) == NULL)
        return;
    size_t notes = view_count_notes(v, in->at);
    /* what p->below will be at line number `line`, if the unfolded string has so many lines */
    size_t want = line - (p->line - p->below);
    if (want <= notes)
        return;
    if (!view_find_line_by_number(in->view, want - notes - 1, &ignored))
        want = notes + view_count_lines(in->view);
    if (want > p->below) {
        p->line += want - p->below;
        p->below = want;
    }
}

bool view_find_line_by_number(struct view *v, size_t line, struct view_place *ret)
{
    if (v->whole && line >= v->lines)
        return false;
    struct view_place p = find_remembered_line(v, line);
    for (;;) {
        if (p.line < line)
            view_move_to_line_of_string(v, &p, line);
        if (p.line >= line)
            break;
        if (!view_step_to_next_line(v, &p))
            return false;
    }
    v->last = p;
    *ret = p;
    return true;
}

size_t view_estimate_lines(struct view *v, bool *exact)
{
    struct view_place p = v->marks_n > 0 ? v->mark[v->marks_n - 1] : (struct view_place){0};
    /* the text is too short for an estimate, so its lines are counted */
    if (v->text.n <= MARK_BYTES)
        (void)view_count_lines(v);
    *exact = v->whole;
    if (v->whole)
        return v->lines;
    if (v->last.at > p.at)
        p = v->last;
    if (p.at == 0)
        return 1 + v->text.n / 32;
    return p.line + 1 + (size_t)((double)(v->text.n - p.at) * (double)p.line / (double)p.at);
}

size_t view_count_lines(struct view *v)
{
    struct view_place p;
    while (!v->whole) {
        bool found = view_find_line_by_number(v, SIZE_MAX, &p);
        /* view_find_line_by_number() returns false, because no view has SIZE_MAX lines */
        (void)found;
    }
    return v->lines;
}

static void draw_line_below_value(struct view *v, const struct view_place *p, size_t value,
                                  struct cells *c)
{
    size_t notes = view_count_notes(v, value);
    cells_add_blanks(c, view_count_indent_columns(p->depth) + 2);
    if (p->below <= notes) {
        const struct view_note *n = &v->note[view_find_first_value_note(v, value) + p->below - 1];
        cells_add_str(c, n->style, v->ascii ? "^ " : "↑ ");
        cells_add_text(c, n->style, n->text);
        return;
    }
    struct inner *in = view_find_unfolded_string(v, value);
    struct view_place inside;
    cells_add_str(c, CELLS_FOLD, v->ascii ? "| " : "│ ");
    if (in != NULL && view_find_line_by_number(in->view, p->below - notes - 1, &inside))
        view_draw_line(in->view, &inside, 0, c);
}

void view_draw_line(struct view *v, const struct view_place *p, size_t indent, struct cells *c)
{
    cells_add_blanks(c, indent);
    if (v->kind == VIEW_TEXT)
        view_text_draw(v, p, c);
    else if (p->below > 0)
        draw_line_below_value(v, p, view_value_offset(v, p), c);
    else
        view_json_draw(v, p, c);
}
