/* draw_cells.c - draws parts of lines: fields, columns, captions. */
#include "cli/ui/ui.h"

#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>

void draw_line(struct ui *u, const struct area *a, size_t line, enum screen_line kind)
{
    cells_cut_with_ellipsis(&u->cells);
    screen_put_cells(a->x, a->y + line, a->width, kind, &u->cells);
}

void draw_line_with_matches(struct ui *u, const struct area *a, size_t line, enum screen_line kind)
{
    if (u->search[0] != '\0')
        cells_mark_matches(&u->cells, slice_of(u->search));
    draw_line(u, a, line, kind);
}

struct slice draw_get_scratch_text(struct ui *u)
{
    u->cells.failed |= u->scratch.failed;
    return buf_slice(&u->scratch);
}

void draw_field(struct ui *u, enum cells_style style, struct slice text, size_t width,
                enum draw_align align)
{
    const char *dots = u->ascii ? "." : "\xE2\x80\xA6";
    if (text.p == NULL)
        text = slice_of("");
    size_t n = cells_count_text_columns(text, u->ascii, width + 1);
    if (n > width) {
        if (width > 0) {
            size_t kept = width > 1 ? cells_count_fitting_bytes(text, u->ascii, width - 1) : 0;
            struct slice head = {text.p, kept};
            size_t columns = cells_count_text_columns(head, u->ascii, width);
            /* false only if the first character alone has more than width - 1 columns */
            if (columns <= width - 1) {
                cells_add_text(&u->cells, style, head);
                cells_add_blanks(&u->cells, width - 1 - columns);
            } else {
                cells_add_blanks(&u->cells, width - 1);
            }
            cells_add_str(&u->cells, CELLS_DIM, dots);
        }
        return;
    }
    if (align == DRAW_RIGHT)
        cells_add_blanks(&u->cells, width - n);
    cells_add_text(&u->cells, style, text);
    if (align == DRAW_LEFT)
        cells_add_blanks(&u->cells, width - n);
}

void draw_duration(struct ui *u, enum cells_style style, int64_t us, size_t width)
{
    draw_field(u, us >= 0 ? style : CELLS_DIM,
               slice_of(us >= 0 ? units_format_duration(us).s : "-"), width, DRAW_RIGHT);
}

enum cells_style cells_convert_out_style(enum out_style style)
{
    static const enum cells_style styles[] = {
        [OUT_PLAIN] = CELLS_PLAIN, [OUT_DIM] = CELLS_DIM,    [OUT_BOLD] = CELLS_PLAIN,
        [OUT_RED] = CELLS_BAD,     [OUT_GREEN] = CELLS_GOOD, [OUT_YELLOW] = CELLS_WAIT,
        [OUT_CYAN] = CELLS_LABEL,
    };
    return styles[style];
}

static bool column_is_shown(const struct ui *u, const struct show_list *l,
                            const struct show_column *c)
{
    return show_list_has_column(l, c) && c->ui.title != NULL && u->cells.width >= c->ui.from;
}

void draw_row_cells(struct ui *u, const struct show_list *l, const void *row)
{
    const struct show_column *end = l->column + l->n;
    size_t left = u->cells.width - size_min(u->cells.column, u->cells.width);
    /* true for the first column, which gets the space that the other columns leave */
    bool first = true;
    for (const struct show_column *c = l->column; c < end; c++)
        left -= column_is_shown(u, l, c) ? size_min(c->ui.width, left) : 0;
    for (const struct show_column *c = l->column; c < end; c++) {
        if (!column_is_shown(u, l, c))
            continue;
        buf_clear(&u->scratch);
        enum out_style style = row != NULL ? show_cell(&u->scratch, c, row) : OUT_CYAN;
        struct slice text = row != NULL ? draw_get_scratch_text(u) : slice_of(c->ui.title);
        bool none = slice_is(text, "-") || slice_is(text, "0");
        size_t gap = first || show_column_is_number(c) ? 0 : 2;
        cells_add_blanks(&u->cells, gap);
        draw_field(u, none ? CELLS_DIM : cells_convert_out_style(style), text,
                   c->ui.width - gap + (first ? left : 0), first ? DRAW_LEFT : DRAW_RIGHT);
        first = false;
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
    cells_begin_line(&u->cells, 0, a->width, u->ascii);
    cells_add_str(&u->cells, active ? CELLS_TITLE : CELLS_DIM,
                  u->ascii ? "-- " : "\xE2\x94\x80\xE2\x94\x80 ");
    if (n > 0)
        cells_add_str(&u->cells, active ? CELLS_TITLE : CELLS_LABEL, text);
    cells_add_str(&u->cells, CELLS_PLAIN, " ");
    while (!cells_are_full(&u->cells))
        cells_add_str(&u->cells, active ? CELLS_TITLE : CELLS_DIM, u->ascii ? "-" : "\xE2\x94\x80");
    draw_line(u, a, 0, active ? SCREEN_ACTIVE : SCREEN_CAPTION);
}
