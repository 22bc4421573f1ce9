#include "cli/frame/list_out.h"

static void add_csv(struct list_out *o, const void *row)
{
    show_row_as_csv(&o->out.b, o->list, row);
    buf_addc(&o->out.b, '\r');
    out_end_line(&o->out);
}

int list_out_open(struct list_out *o, const struct settings *s, const struct show_list *list)
{
    bool json = settings_is_on(s, "json"), csv = settings_is_on(s, "csv");
    size_t n = 0;
    *o = (struct list_out){.list = list, .form = json ? LIST_JSON : csv ? LIST_CSV : LIST_TABLE};
    if (json && csv)
        return settings_fail_usage(s, "--json and --csv: give only one of them");
    for (const struct show_column *c = list->column; c < list->column + list->n; c++)
        if (c->table.title != NULL && show_list_has_column(list, c))
            o->columns[n++] = (struct table_column){c->table.title, show_column_is_number(c),
                                                    c->table.max, c->table.spare};
    table_open(&o->table, o->columns, n);
    out_open(&o->out);
    if (csv)
        add_csv(o, NULL);
    return EXIT_FINE;
}

bool list_out_add_row(void *list_out, const void *row)
{
    struct list_out *o = list_out;
    struct json_out j = json_out_to(&o->out.b);
    o->n++;
    if (o->form == LIST_TABLE) {
        for (const struct show_column *c = o->list->column; c < o->list->column + o->list->n; c++)
            if (c->table.title != NULL && show_list_has_column(o->list, c)) {
                enum out_style style = show_cell(&o->text, c, row);
                table_add_buf(&o->table, &o->text, style);
            }
    } else if (o->form == LIST_CSV) {
        add_csv(o, row);
    } else {
        show_row_as_json(&j, o->list, row);
        out_end_line(&o->out);
    }
    return !out_has_ended(&o->out);
}

int list_out_close(struct list_out *o)
{
    bool table = o->form == LIST_TABLE && o->n > 0;
    o->out.b.failed |= table && !table_print(&o->table, &o->out);
    if (table && o->more.n > 0 && o->out.is_terminal) {
        out_print_styled_words(&o->out, OUT_DIM, buf_str(&o->more));
        out_end_line(&o->out);
    }
    table_close(&o->table);
    buf_close(&o->text);
    buf_close(&o->more);
    return out_close(&o->out);
}
