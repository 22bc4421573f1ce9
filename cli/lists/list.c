#include "cli/lists/list.h"

#include "base/log.h"
#include "cli/frame/session.h"

#include <stdlib.h>

const struct opt list_options[] = {LIST_OPTS("row"), COMMAND_OPT_VAULT, COMMAND_OPTS};

struct asking {
    const struct list *list;
    struct list_reading *r;
    void *row; /* owned */
};

static bool list_on_row_of_cells(void *ctx, const struct cell *cell, size_t n)
{
    struct asking *a = ctx;
    for (size_t i = 0; i < n && i < a->list->shown.n; i++)
        field_set(&a->list->shown.column[i].field, a->row, cell[i]);
    return a->r->row(a->r->ctx, a->row);
}

int list_read_rows(const struct list *l, struct list_reading *r)
{
    if (l->sql == NULL)
        return l->read(r);
    struct asking a = {l, r, calloc(1, l->shown.size)};
    struct filter any = FILTER_ANY;
    struct call_question x = {.filter = &any, .around = l->sql};
    int st =
        a.row != NULL ? query_read_calls_as_cells(r->q, &x, list_on_row_of_cells, &a) : MI_ENOMEM;
    free(a.row);
    return st;
}

int list_print(const struct list *l, const struct settings *s, struct list_reading *r)
{
    struct list_out o;
    int status = list_out_open(&o, s, &l->shown);
    if (status != EXIT_FINE)
        return status;
    r->row = list_out_add_row;
    r->ctx = &o;
    int st = list_read_rows(l, r);
    if (r->older)
        buf_adds(&o.more, "Older rows are not shown; -n 0 lists all.");
    bool none = st == 0 && o.n == 0 && o.form == LIST_TABLE && r->note.n == 0;
    bool terminal = o.out.is_terminal;
    status = list_out_close(&o);
    if (st < 0)
        log_error("%s", st == MI_ENOMEM  ? "out of memory"
                        : r->error.n > 0 ? buf_str(&r->error)
                                         : query_error(r->q));
    else if (r->note.n > 0)
        log_warn("%s", buf_str(&r->note));
    else if (none && r->q != NULL && (terminal || !query_is_stored(r->q)))
        session_warn_empty_list(r->q, r->none != NULL ? r->none : l->none);
    else if (none && r->q == NULL)
        log_note("%s", l->none);
    buf_close(&r->note);
    buf_close(&r->error);
    return st < 0 || (r->incomplete && status == EXIT_FINE) ? EXIT_TROUBLE : status;
}

static int list_print_rows_of_query(struct query *q, const struct settings *s)
{
    struct list_reading r = {.q = q, .vault = query_vault(q)};
    /* the command is the first member of the list, so both have the same address */
    return list_print((const struct list *)s->command, s, &r);
}

int list_run(const struct settings *s)
{
    return session_run_command(s, list_print_rows_of_query);
}
