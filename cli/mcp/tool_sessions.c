/* tool_sessions.c - the MCP tool `list_sessions`. */
#include "cli/mcp/tool_rows.h"

#include "cli/frame/session_line.h"

struct listing {
    struct rows rows;
    bool failed, live;
    int status;
};

static bool mcp_sessions_on_session(void *ctx, const struct query_session *s)
{
    struct listing *l = ctx;
    struct rows *r = &l->rows;
    struct session_view v = {0};
    bool more = true;
    if (l->live && !session_is_running(r->c->q, s))
        return true;
    if (rows_should_end_page(r, s->id, 0))
        return false;
    if (l->failed || !rows_page_is_full(r))
        l->status = session_read_view(r->c->q, s, false, &v);
    if (l->status < 0)
        return false;
    if (!l->failed || session_has_failed(s, &v)) {
        struct session_line line = session_line(s, &v);
        struct show_list list = session_list_columns(false, false);
        more = rows_add_row(r, s->id, 0, &list, &line);
    }
    session_close(&v);
    return more;
}

int tool_list_sessions(struct tool_call *c)
{
    struct listing l = {.failed = tool_get_flag_argument(c, "failed"),
                        .live = tool_get_flag_argument(c, "live")};
    int st = rows_open(&l.rows, c, "sessions", ROWS_LIMIT);
    if (st < 0)
        return st;
    c->filter.up_to_id = l.rows.first.session;
    st = query_matching_sessions(c->q, &c->filter, FILTER_BEGAN, 0, mcp_sessions_on_session, &l);
    rows_close(&l.rows, "No matching session is recorded");
    return st < 0 ? st : l.status;
}
