/* view_text.c - plain text, wrapped between words. */
#include "cli/ui/detail/view.h"

/* The end of the line at `at`. *ret_next: the next line; at the end of the text, its length. */
static size_t line_end(const struct view *v, size_t at, size_t *ret_next)
{
    struct slice rest = {v->text.p + at, v->text.n - at};
    if (v->width == 0) {
        const char *newline = rest.n > 0 ? memchr(rest.p, '\n', rest.n) : NULL;
        size_t n = newline != NULL ? (size_t)(newline - rest.p) : rest.n;
        *ret_next = at + n + (newline != NULL);
        return at + n;
    }
    size_t n = rest.n > 0 ? cells_fit(rest, v->ascii, v->width) : 0;
    size_t next = n;
    if (n < rest.n && (rest.p[n] == '\n' || rest.p[n] == ' ')) {
        next++;
    } else if (n < rest.n) { /* in a word: the line ends before it, unless it began the line */
        size_t blank = n;
        while (blank > 0 && rest.p[blank - 1] != ' ')
            blank--;
        if (blank > 1)
            next = blank;
    }
    *ret_next = at + next;
    return at + (next < n ? next - 1 : n);
}

bool view_text_step(struct view *v, struct view_place *p)
{
    size_t next;
    (void)line_end(v, p->at, &next);
    if (next >= v->text.n)
        return false;
    p->at = next;
    p->line++;
    return true;
}

void view_text_draw(struct view *v, const struct view_place *p, struct cells *c)
{
    size_t next;
    size_t end = line_end(v, p->at, &next);
    c->tabs = true;
    c->origin = c->column;
    cells_add(c, v->nested > 0 ? CELLS_STRING : CELLS_PLAIN,
              (struct slice){v->text.p + p->at, end - p->at});
    c->tabs = false;
}
