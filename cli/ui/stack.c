/* stack.c - the stack of views, and cursor motions. */
#include "cli/ui/ui.h"

#include <assert.h>

struct layer *stack_top(struct ui *u)
{
    return &u->layer[u->layers_n - 1];
}

void stack_close(struct ui *u)
{
    const struct layer *l = stack_top(u);
    u->layers_n--;
    u->focus = l->focus;
    if (l->view->close != NULL)
        l->view->close(u);
}

void stack_close_view_and_above(struct ui *u, const struct view_ops *v)
{
    size_t i = 1;
    while (i < u->layers_n && u->layer[i].view != v)
        i++;
    while (u->layers_n > i)
        stack_close(u);
}

struct layer *stack_open(struct ui *u, const struct view_ops *v)
{
    if (u->layers_n > 0)
        stack_close_view_and_above(u, v);
    assert(u->layers_n < VIEWS_MAX);
    u->layer[u->layers_n++] = (struct layer){.view = v, .focus = u->focus};
    return stack_top(u);
}

void stack_open_main(struct ui *u, enum pane pane)
{
    stack_open(u, u->layer[0].view)->floor = pane;
    u->focus = pane;
}

/* ---- moving ---- */

size_t move_cursor(struct cursor *c, size_t n, size_t at, enum motion m, int by)
{
    switch (m) {
    case MOVE_ROWS:
        return cursor_move(c, n, at, by);
    case MOVE_PAGE:
        return cursor_move_pages(c, n, at, by);
    case MOVE_SCROLL:
        return cursor_scroll_rows(c, n, at, by);
    case MOVE_FIRST:
        c->line = 0;
        return 0;
    case MOVE_LAST:
        c->line = c->height;
        return n > 0 ? n - 1 : 0;
    }
    return at;
}

void move_top_line(size_t *top, enum motion m, int by, size_t page)
{
    size_t step = (m == MOVE_PAGE ? page : 1) * (size_t)(by < 0 ? -by : by);
    if (m == MOVE_FIRST)
        *top = 0;
    else if (m == MOVE_LAST)
        *top = SIZE_MAX / 2;
    else if (by < 0)
        *top -= size_min(*top, step);
    else
        *top += step;
}
