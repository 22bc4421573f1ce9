#include "cli/table.h"

#include "base/room.h"

#include <assert.h>
#include <stdlib.h>

#define COLUMNS_MAX 16
#define GAP 2

void table_open(struct table *t, const struct table_column *columns, size_t n)
{
    assert(n > 0 && n <= COLUMNS_MAX);
    *t = (struct table){.columns = columns, .columns_n = n};
}

void table_close(struct table *t)
{
    buf_close(&t->text);
    free(t->cells);
    t->cells = NULL;
}

void table_add(struct table *t, struct slice text, enum out_style style)
{
    if (!ROOM(t->cells, t->cells_n, t->cells_cap)) {
        t->failed = true;
        return;
    }
    t->cells[t->cells_n++] = (struct table_cell){t->text.n, text.n, style};
    buf_slice_add(&t->text, text);
}

void table_add_buf(struct table *t, struct buf *text, enum out_style style)
{
    table_add(t, buf_slice(text), style);
    t->failed |= text->failed;
    buf_clear(text);
}

static struct slice text_of(const struct table *t, const struct table_cell *c)
{
    return (struct slice){buf_slice(&t->text).p + c->at, c->n};
}

static void measure(const struct table *t, struct out *o, size_t *width)
{
    for (size_t i = 0; i < t->columns_n; i++)
        width[i] = strlen(t->columns[i].title);
    for (size_t i = 0; i < t->cells_n; i++) {
        size_t column = i % t->columns_n;
        size_t w = size_min(out_width(o, text_of(t, &t->cells[i])), t->columns[column].max);
        if (w > width[column])
            width[column] = w;
    }
}

/* A column that does not fit gets the width 0. */
static void spare_columns(const struct table *t, size_t columns, size_t *width)
{
    for (;;) {
        size_t sum = 0, least = t->columns_n;
        for (size_t i = 0; i < t->columns_n; i++) {
            if (width[i] == 0)
                continue;
            sum += width[i] + (sum > 0 ? GAP : 0);
            if (t->columns[i].spare > 0 &&
                (least == t->columns_n || t->columns[i].spare > t->columns[least].spare))
                least = i;
        }
        if (sum <= columns || least == t->columns_n)
            return;
        width[least] = 0;
    }
}

static void print_row(const struct table *t, struct out *o, const size_t *width, size_t row)
{
    size_t last = 0;
    for (size_t i = 0; i < t->columns_n; i++)
        last = width[i] > 0 ? i : last;
    for (size_t i = 0; i <= last; i++) {
        const struct table_column *c = &t->columns[i];
        const struct table_cell *cell = &t->cells[row * t->columns_n + i];
        if (width[i] == 0)
            continue;
        if (cell->style != OUT_PLAIN)
            out_style(o, cell->style);
        if (i == last && !c->right)
            out_fit(o, text_of(t, cell), width[i]); /* no blanks at the end of a line */
        else
            out_cell(o, text_of(t, cell), width[i], c->right);
        if (cell->style != OUT_PLAIN)
            out_style(o, OUT_PLAIN);
        if (i < last)
            out_printf(o, "%*s", GAP, "");
    }
    out_end_line(o);
}

bool table_print(struct table *t, struct out *o)
{
    size_t width[COLUMNS_MAX] = {0};
    assert(t->columns_n > 0);
    if (t->failed || t->text.failed)
        return false;
    measure(t, o, width);
    spare_columns(t, o->columns, width);
    struct table head;
    table_open(&head, t->columns, t->columns_n);
    for (size_t i = 0; i < t->columns_n; i++)
        table_add(&head, slice_of(t->columns[i].title), OUT_BOLD);
    bool ok = !head.failed && !head.text.failed;
    if (ok)
        print_row(&head, o, width, 0);
    table_close(&head);
    for (size_t row = 0; ok && row < t->cells_n / t->columns_n && !out_ended(o); row++)
        print_row(t, o, width, row);
    return ok;
}
