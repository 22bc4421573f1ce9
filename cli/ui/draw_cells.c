/* draw_cells.c - parts of lines: fields, captions. */
#include "cli/ui/ui.h"

#include "base/units.h"

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

void draw_duration(struct ui *u, enum cells_style style, int64_t us, size_t width)
{
    draw_field(u, us >= 0 ? style : CELLS_DIM, slice_of(us >= 0 ? units_took(us).s : "-"), width,
               DRAW_RIGHT);
}

static void draw_value(struct ui *u, const struct column *c, const struct column_value *v)
{
    switch (c->type) {
    case COLUMN_NUMBER:
        buf_clear(&u->scratch);
        if (v->n >= 0)
            buf_int(&u->scratch, v->n);
        draw_field(u, v->n > 0 ? c->style : CELLS_DIM, buf_slice(&u->scratch), c->width,
                   DRAW_RIGHT);
        break;
    case COLUMN_DURATION:
        draw_duration(u, c->style, v->n, c->width);
        break;
    case COLUMN_TEXT:
        draw_field(u, v->style, v->text, c->width, DRAW_RIGHT);
        break;
    }
}

void draw_columns(struct ui *u, const struct column *columns, struct slice name,
                  const struct column_value *values)
{
    size_t left = u->cells.width - size_min(u->cells.column, u->cells.width), taken = 0;
    for (const struct column *c = columns; c->title != NULL; c++)
        taken += u->cells.width >= c->from ? c->width : 0;
    draw_field(u, values != NULL ? CELLS_PLAIN : CELLS_LABEL, name, left > taken ? left - taken : 1,
               DRAW_LEFT);
    for (const struct column *c = columns; c->title != NULL; c++) {
        if (u->cells.width >= c->from && values != NULL)
            draw_value(u, c, &values[c - columns]);
        else if (u->cells.width >= c->from)
            draw_field(u, CELLS_LABEL, slice_of(c->title), c->width, DRAW_RIGHT);
    }
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
