/* tool_stats.c - the MCP tool `stats`. */
#include "cli/mcp/tool_rows.h"

#include "cli/frame/group_line.h"

#include <stdlib.h>

int answer_stats(struct tool_call *c)
{
    struct rows r;
    struct group_line *l = NULL;
    const char *by = tool_get_text_argument(c, "by"), *sort = tool_get_text_argument(c, "sort");
    struct count again = {0}, x = {
                                  .requests = true,
                                  .by = by != NULL ? count_parse_option_word(by) : COUNT_TOOL,
                                  .imported = tool_get_flag_argument(c, "imported"),
                                  .filter = c->filter,
                                  .goes_on = tool_should_continue,
                                  .ctx = c,
                              };
    json_out_str(&c->j, "by", count_get_option_word(x.by));
    int st = rows_open(&r, c, "groups", ROWS_LIMIT);
    if (st < 0)
        return st;
    st = count_groups(&x, &again, c->q);
    if (st == 0)
        st = make_group_lines(&x, &again, sort, &l);
    struct show_list list = group_line_get_columns(&x);
    bool more = st == 0;
    for (size_t i = (size_t)r.first.n; more && i < x.tally.n; i++)
        /* A cursor needs a session and a number. A row of this list does not belong to one session,
         * so it gets session 1 and its index `i`. */
        more = rows_add_row(&r, 1, (int64_t)i, &list, &l[i]);
    free(l);
    rows_close(&r, x.left_out ? "No matching call, except in imported sessions (pass `imported`), "
                                "or in sessions made by `send`"
                              : "No matching call is recorded");
    count_close(&again);
    count_close(&x);
    return st;
}
