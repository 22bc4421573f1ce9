/* tool_cost.c - the MCP tool `context_cost`. */
#include "cli/mcp/tool_rows.h"

#include "cli/frame/cost_line.h"
#include "cli/lists/list.h"

#include <stdlib.h>

static int cost_add_tools(struct rows *r, const struct cost_server *s)
{
    struct cost_tool_line *l;
    int st = cost_make_tool_lines(s, &l);
    if (st < 0)
        return st;
    bool more = true;
    for (size_t i = (size_t)r->first.n; more && i < s->tool_n; i++)
        /* A cursor needs a session and a number. A row of this list does not belong to one session,
         * so it gets session 1 and its index `i`. */
        more = rows_add_row(r, 1, (int64_t)i, &cost_tools, &l[i]);
    free(l);
    return 0;
}

int answer_context_cost(struct tool_call *c)
{
    struct rows r;
    struct cost x = {.server = tool_get_text_argument(c, "server"),
                     .imported = tool_get_flag_argument(c, "imported"),
                     .filter = c->filter};
    x.filter.server = NULL; /* the argument is a name, not a glob */
    int st = rows_open(&r, c, "costs", ROWS_LIMIT);
    if (st < 0)
        return st;
    bool more = true;
    st = cost_read_sessions(&x, c->q);
    if (st == 0 && x.server != NULL && x.n > 0)
        st = cost_add_tools(&r, &x.list[0]);
    for (size_t i = (size_t)r.first.n; st == 0 && x.server == NULL && more && i < x.n; i++)
        more = rows_add_row(&r, 1, (int64_t)i, &list_cost.shown, &x.list[i]);
    rows_close(&r, x.left_out ? "No matching session, except imported ones (pass `imported`), and "
                                "sessions made by `send`"
                              : "No matching session is recorded");
    cost_close(&x);
    return st;
}
