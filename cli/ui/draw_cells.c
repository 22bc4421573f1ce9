/* draw_cells.c - parts of lines: fields, captions. */
#include "cli/ui/ui.h"

#include <stdarg.h>
#include <stdio.h>

void draw_line(struct ui *u, const struct area *a, size_t line, enum screen_line kind)
{
    screen_put(a->x, a->y + line, a->width, kind, &u->cells);
}

void draw_field(struct ui *u, enum cells_style style, struct slice text, size_t width,
                enum draw_align align)
{
    const char *dots = u->ascii ? "." : "\xE2\x80\xA6";
    if (text.p == NULL)
        text = slice_of("");
    size_t n = cells_columns(text, u->ascii, width + 1);
    if (n > width) {
        if (width > 0) {
            size_t kept = width > 1 ? cells_fit(text, u->ascii, width - 1) : 0;
            struct slice head = {text.p, kept};
            size_t columns = cells_columns(head, u->ascii, width);
            if (columns <= width - 1) { /* else one character is wider */
                cells_add(&u->cells, style, head);
                cells_blank(&u->cells, width - 1 - columns);
            } else {
                cells_blank(&u->cells, width - 1);
            }
            cells_adds(&u->cells, CELLS_DIM, dots);
        }
        return;
    }
    if (align == DRAW_RIGHT)
        cells_blank(&u->cells, width - n);
    cells_add(&u->cells, style, text);
    if (align == DRAW_LEFT)
        cells_blank(&u->cells, width - n);
}

void draw_caption(struct ui *u, const struct area *a, enum pane pane, const char *fmt, ...)
{
    va_list ap;
    char text[400];
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    bool active = pane == u->focus;
    cells_begin(&u->cells, 0, a->width, u->ascii);
    cells_adds(&u->cells, active ? CELLS_TITLE : CELLS_DIM,
               u->ascii ? "-- " : "\xE2\x94\x80\xE2\x94\x80 ");
    if (n > 0)
        cells_adds(&u->cells, active ? CELLS_TITLE : CELLS_LABEL, text);
    cells_adds(&u->cells, CELLS_PLAIN, " ");
    while (!cells_full(&u->cells))
        cells_adds(&u->cells, active ? CELLS_TITLE : CELLS_DIM, u->ascii ? "-" : "\xE2\x94\x80");
    draw_line(u, a, 0, active ? SCREEN_ACTIVE : SCREEN_CAPTION);
}
