#include "cli/ui/model/cursor.h"

static size_t clamp_row_index(int64_t at, size_t n)
{
    if (at < 0 || n == 0)
        return 0;
    return size_min((size_t)at, n - 1);
}

size_t cursor_compute_top_row(struct cursor *c, size_t n, size_t at, size_t height)
{
    c->height = height;
    if (height == 0)
        return at;
    c->line = size_min(c->line, size_min(at, height - 1));
    size_t last = n > height ? n - height : 0;
    size_t top = size_min(at - c->line, last);
    c->line = at - top;
    return top;
}

size_t cursor_move(struct cursor *c, size_t n, size_t at, int64_t rows)
{
    size_t to = clamp_row_index((int64_t)at + rows, n);
    int64_t line = (int64_t)c->line + (int64_t)to - (int64_t)at;
    c->line = c->height > 0 ? clamp_row_index(line, c->height) : 0;
    return to;
}

size_t cursor_move_pages(struct cursor *c, size_t n, size_t at, int pages)
{
    int64_t rows = c->height > 1 ? (int64_t)c->height - 1 : 1;
    size_t to = clamp_row_index((int64_t)at + pages * rows, n);
    if (to == 0)
        c->line = 0;
    return to;
}

size_t cursor_scroll_rows(struct cursor *c, size_t n, size_t at, int64_t rows)
{
    size_t last = n > c->height ? n - c->height : 0;
    size_t top = at >= c->line ? at - c->line : 0;
    top = size_min(clamp_row_index((int64_t)top + rows, n), last);
    if (at < top)
        at = top;
    else if (c->height > 0 && at >= top + c->height)
        at = top + c->height - 1;
    c->line = at - top;
    return at;
}

size_t cursor_find_row_on_line(const struct cursor *c, size_t n, size_t at, size_t line)
{
    size_t top = at >= c->line ? at - c->line : 0;
    return top + line < n ? top + line : n;
}
