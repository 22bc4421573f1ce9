/* cell.c - writes the values of a row for people, in one form for each type. */
#include "show/show.h"

#include "base/clock.h"
#include "base/units.h"

bool show_column_is_number(const struct show_column *c)
{
    enum value_type t = c->field.type;
    return t == VALUE_NUMBER || t == VALUE_SINCE || t == VALUE_TOOK || t == VALUE_SIZE;
}

static void cell_add_number(struct buf *b, enum value_type type, int64_t n)
{
    switch (type) {
    case VALUE_TIME:
        buf_adds(b, clock_format_local_time(n).s);
        break;
    case VALUE_SINCE:
    case VALUE_TOOK:
        buf_adds(b, n >= 0 ? units_format_duration(n).s : "-");
        break;
    case VALUE_SIZE:
        buf_adds(b, units_format_bytes(n).s);
        break;
    case VALUE_FLAG:
        buf_adds(b, n != 0 ? "yes" : "no");
        break;
    default:
        buf_int(b, n);
    }
}

enum out_style show_cell(struct buf *b, const struct show_column *c, const void *row)
{
    struct cell v = field_get(&c->field, row);
    if (c->text != NULL)
        c->text(b, row, v);
    else if (v.type == CELL_INT)
        cell_add_number(b, c->field.type, v.number);
    else
        buf_slice_add(b, v.text.n > 0 ? v.text : slice_of("-"));
    if (c->style_of != NULL)
        return c->style_of(row);
    return v.type == CELL_INT && v.number == 0 ? OUT_PLAIN : c->style;
}
