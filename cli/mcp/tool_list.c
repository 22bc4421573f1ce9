/* tool_list.c - the MCP tools that show lists (cli/lists/list.h). */
#include "cli/mcp/tool_rows.h"

#include "base/text.h"
#include "cli/lists/list.h"

struct paging {
    struct rows rows;
    int64_t i; /* index of the row that the list passes next */
};

static bool mcp_list_on_row(void *ctx, const void *row)
{
    struct paging *p = ctx;
    int64_t i = p->i++;
    if (i < p->rows.first.n)
        return tool_should_continue(p->rows.c);
    return rows_add_row(&p->rows, 1, i, &p->rows.c->list->shown, row);
}

int answer_list_tool(struct tool_call *c)
{
    struct paging p = {.i = 0};
    struct list_reading r = {
        .q = c->q, .vault = query_vault(c->q), .row = mcp_list_on_row, .ctx = &p};
    int st = rows_open(&p.rows, c, c->list->name, ROWS_LIMIT_MAX);
    if (st < 0)
        return st;
    st = list_read_rows(c->list, &r);
    rows_close(&p.rows, c->list->none);
    if (r.note.n > 0)
        buf_printf(&c->text, "%s.\n", buf_str(&r.note));
    text_append_visible(&c->error, buf_slice(&r.error));
    st = st < 0 && r.error.n > 0 ? MI_EINVAL : st;
    buf_close(&r.note);
    buf_close(&r.error);
    return st;
}
