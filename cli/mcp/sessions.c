/* sessions.c - the tool list_sessions. */
#include "cli/mcp/rows.h"

#include "base/clock.h"
#include "cli/frame/record_json.h"

struct listing {
    struct rows rows;
    struct buf end; /* owned; scratch */
    bool failed, live;
    int status;
};

/* session 7 "files" 2026-01-31T23:59:59.000Z, client "claude", calls 12, failed 1, ended: "client-closed" */
static void add_text(struct listing *l, const struct query_session *s, const struct session_view *v)
{
    struct buf *b = &l->rows.c->text;
    char started[CLOCK_TEXT_MAX];
    clock_utc_text(s->started_at_us, started);
    buf_printf(b, "session %lld ", (long long)s->id);
    shown_quoted(b, s->name, SHOWN_NAME);
    buf_printf(b, " %s, client ", started);
    shown_quoted(b, s->client_name, SHOWN_NAME);
    buf_printf(b, ", calls %lld, failed %lld, %s", (long long)v->summary.calls,
               (long long)session_errors(&v->summary), session_state_name(v->state));
    buf_clear(&l->end);
    session_end_text(&l->end, s, v->state);
    if (v->state == SESSION_ENDED) {
        buf_adds(b, ": ");
        shown_quoted(b, buf_slice(&l->end), SHOWN_NAME);
    }
    buf_adds(b, v->summary.tools_changed ? ", tools changed" : "");
    buf_adds(b, query_is_imported(s) ? ", imported" : "");
    buf_adds(b, v->sent ? ", made by send" : "");
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct listing *l = ctx;
    struct rows *r = &l->rows;
    struct session_view v = {0};
    bool more = true;
    if (l->live && !session_runs(r->c->q, s))
        return true;
    if (rows_is_late(r, s->id, 0))
        return false;
    if (l->failed || !rows_is_full(r))
        l->status = session_look(r->c->q, s, false, &v);
    if (l->status < 0)
        return false;
    if (!l->failed || session_has_failed(s, &v)) {
        if (rows_begin(r, s->id, 0)) {
            members_of_session(&r->c->j, s, &v);
            add_text(l, s, &v);
        }
        more = rows_end(r);
    }
    session_close(&v);
    return more;
}

int tool_list_sessions(struct tool_call *c)
{
    struct listing l = {.failed = tool_flag(c, "failed"), .live = tool_flag(c, "live")};
    int st = rows_open(&l.rows, c, "sessions", ROWS_LIMIT);
    if (st < 0)
        return st;
    c->filter.up_to_id = l.rows.first.session;
    st = query_sessions_of(c->q, &c->filter, FILTER_BEGAN, 0, on_session, &l);
    rows_close(&l.rows, "No matching session is recorded");
    buf_close(&l.end);
    return st < 0 ? st : l.status;
}
