/* view_text.c - plain text, wrapped between words. */
#include "cli/ui/detail/view.h"

/* Returns the end of the line at `at`. *ret_next: the beginning of the next line, or the length of
 * the text. */
static size_t view_text_find_line_end(const struct view *v, size_t at, size_t *ret_next)
{
    struct slice rest = {v->text.p + at, v->text.n - at};
    if (v->width == 0) {
        const char *newline = rest.n > 0 ? memchr(rest.p, '\n', rest.n) : NULL;
        size_t n = newline != NULL ? (size_t)(newline - rest.p) : rest.n;
        *ret_next = at + n + (newline != NULL);
        return at + n;
    }
    size_t end = at + cells_line_len(rest, v->ascii, v->width, ret_next);
    *ret_next += at;
    return end;
}

bool view_text_step_line(struct view *v, struct view_place *p)
{
    size_t next;
    (void)view_text_find_line_end(v, p->at, &next);
    if (next >= v->text.n)
        return false;
    p->at = next;
    p->line++;
    return true;
}

void view_text_draw(struct view *v, const struct view_place *p, struct cells *c)
{
    size_t next;
    size_t end = view_text_find_line_end(v, p->at, &next);
    c->tabs = true;
    c->origin = c->column;
    cells_add_text(c, v->nested > 0 ? CELLS_STRING : CELLS_PLAIN,
                   (struct slice){v->text.p + p->at, end - p->at});
    c->tabs = false;
}
