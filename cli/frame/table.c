#include "cli/frame/table.h"

#include "base/grow.h"

#include <assert.h>
#include <stdlib.h>

#define GAP 2
#define SQUEEZED_MIN 8

void table_open(struct table *t, const struct table_column *columns, size_t n)
{
    assert(n > 0 && n <= TABLE_COLUMNS_MAX);
    *t = (struct table){.columns = columns, .columns_n = n};
}

void table_close(struct table *t)
{
    buf_close(&t->text);
    free(t->cells);
    t->cells = NULL;
}

void table_add_cell(struct table *t, struct slice text, enum out_style style)
{
    if (!GROW(t->cells, t->cells_n, t->cells_cap)) {
        t->failed = true;
        return;
    }
    t->cells[t->cells_n++] = (struct table_cell){t->text.n, text.n, style};
    buf_slice_add(&t->text, text);
}

void table_add_buf(struct table *t, struct buf *text, enum out_style style)
{
    table_add_cell(t, buf_slice(text), style);
    t->failed |= text->failed;
    buf_clear(text);
}

void table_add_int(struct table *t, int64_t n, enum out_style style)
{
    struct buf b = {0};
    buf_int(&b, n);
    table_add_buf(t, &b, style);
    buf_close(&b);
}

static struct slice table_get_cell_text(const struct table *t, const struct table_cell *c)
{
    return (struct slice){buf_slice(&t->text).p + c->at, c->n};
}

static void table_measure_columns(const struct table *t, struct out *o, size_t *width)
{
    for (size_t i = 0; i < t->columns_n; i++)
        width[i] = strlen(t->columns[i].title);
    for (size_t i = 0; i < t->cells_n; i++) {
        size_t column = i % t->columns_n;
        size_t max = o->columns != OUT_UNLIMITED ? t->columns[column].max : OUT_UNLIMITED;
        size_t w = size_min(out_width(o, table_get_cell_text(t, &t->cells[i])), max);
        if (w > width[column])
            width[column] = w;
    }
}

/* Returns the widest text column that can be narrowed; columns_n if there is none. If `narrowed` is
 * true, considers only columns with a negative `spare`, otherwise only the other columns. */
static size_t find_widest_text_column(const struct table *t, const size_t *width, bool narrowed)
{
    size_t widest = t->columns_n;
    for (size_t i = 0; i < t->columns_n; i++)
        if (!t->columns[i].right && (t->columns[i].spare < 0) == narrowed &&
            width[i] > SQUEEZED_MIN && (widest == t->columns_n || width[i] > width[widest]))
            widest = i;
    return widest;
}

static bool column_has_value(const struct table *t, size_t column)
{
    for (size_t i = column; i < t->cells_n; i += t->columns_n)
        if (t->cells[i].n > 0 && !slice_is(table_get_cell_text(t, &t->cells[i]), "-"))
            return true;
    return false;
}

/* Returns the column to hide first: a column without values, else the column with the highest
 * `spare`; columns_n if none may be hidden. */
static size_t choose_column_to_hide(const struct table *t, const size_t *width)
{
    size_t least = t->columns_n;
    int highest = 0;
    for (size_t i = 0; i < t->columns_n; i++) {
        int spare = t->columns[i].spare;
        if (spare <= 0 || width[i] == 0)
            continue;
        spare = column_has_value(t, i) ? spare : INT_MAX;
        if (spare > highest) {
            least = i;
            highest = spare;
        }
    }
    return least;
}

/* Makes the row at most `columns` wide: narrows columns with a negative `spare`, then hides other
 * columns (width 0). */
static void table_narrow_or_hide_columns(const struct table *t, size_t columns, size_t *width)
{
    size_t wanted[TABLE_COLUMNS_MAX];
    for (size_t i = 0; i < t->columns_n; i++) {
        wanted[i] = width[i];
        if (t->columns[i].spare < 0)
            width[i] = size_min(width[i], (size_t)-t->columns[i].spare);
    }
    size_t sum;
    for (;;) {
        size_t least = choose_column_to_hide(t, width);
        sum = 0;
        for (size_t i = 0; i < t->columns_n; i++)
            if (width[i] > 0)
                sum += width[i] + (sum > 0 ? GAP : 0);
        if (sum <= columns || least == t->columns_n)
            break;
        width[least] = 0;
        if (t->columns[least].spare == TABLE_ABOVE)
            /* this column becomes a line above its rows, and those rows are indented */
            columns = columns > GAP ? columns - GAP : 0;
    }
    /* if the row is still too wide, narrows its widest text columns */
    for (; sum > columns; sum--) {
        size_t widest = find_widest_text_column(t, width, false);
        if (widest == t->columns_n)
            widest = find_widest_text_column(t, width, true);
        if (widest == t->columns_n)
            return;
        width[widest]--;
    }
    /* if the row is not full, widens its narrowed columns */
    for (size_t i = 0; i < t->columns_n; i++) {
        size_t more = width[i] > 0 ? size_min(wanted[i] - width[i], columns - sum) : 0;
        width[i] += more;
        sum += more;
    }
}

/* Returns the column that is printed above its rows; columns_n if there is none. */
static size_t find_column_above_rows(const struct table *t, const size_t *width)
{
    size_t i = 0;
    while (i < t->columns_n && (t->columns[i].spare != TABLE_ABOVE || width[i] > 0))
        i++;
    return i;
}

/* Prints the cell as a line, unless the previous row has the same text. */
static void print_cell_above_row(const struct table *t, struct out *o, size_t column, size_t row)
{
    const struct table_cell *cell = &t->cells[row * t->columns_n + column];
    if (row > 0 &&
        slice_eq(table_get_cell_text(t, cell), table_get_cell_text(t, cell - t->columns_n)))
        return;
    out_write_styled(o, cell->style, table_get_cell_text(t, cell));
    out_end_line(o);
}

static void print_row(const struct table *t, struct out *o, const size_t *width, size_t row)
{
    size_t last = 0;
    for (size_t i = 0; i < t->columns_n; i++)
        last = width[i] > 0 ? i : last;
    if (find_column_above_rows(t, width) < t->columns_n)
        out_printf(o, "%*s", GAP, "");
    for (size_t i = 0; i <= last; i++) {
        const struct table_column *c = &t->columns[i];
        const struct table_cell *cell = &t->cells[row * t->columns_n + i];
        if (width[i] == 0)
            continue;
        if (i == last && !c->right) /* a line must not end with blanks */
            out_add_fitting_text(o, cell->style, table_get_cell_text(t, cell), width[i]);
        else
            out_add_fixed_cell(o, cell->style, table_get_cell_text(t, cell), width[i], c->right);
        if (i < last)
            out_printf(o, "%*s", GAP, "");
    }
    out_end_line(o);
}

bool table_print(struct table *t, struct out *o)
{
    size_t width[TABLE_COLUMNS_MAX] = {0};
    assert(t->columns_n > 0);
    if (t->failed || t->text.failed)
        return false;
    table_measure_columns(t, o, width);
    table_narrow_or_hide_columns(t, o->columns, width);
    struct table head;
    table_open(&head, t->columns, t->columns_n);
    for (size_t i = 0; i < t->columns_n; i++)
        table_add_cell(&head, slice_of(t->columns[i].title), OUT_BOLD);
    bool ok = !head.failed && !head.text.failed;
    if (ok)
        print_row(&head, o, width, 0);
    table_close(&head);
    size_t above = find_column_above_rows(t, width);
    for (size_t row = 0; ok && row < t->cells_n / t->columns_n && !out_has_ended(o); row++) {
        if (above < t->columns_n)
            print_cell_above_row(t, o, above, row);
        print_row(t, o, width, row);
    }
    return ok;
}
