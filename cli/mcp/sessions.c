/* sessions.c - the tool list_sessions. */
#include "cli/mcp/rows.h"

#include "base/clock.h"
#include "cli/frame/session.h"

struct listing {
    struct rows rows;
    struct buf end; /* owned; scratch */
    bool failed, live;
    int status;
};

static void add_json(struct listing *l, const struct query_session *s, const struct session_view *v)
{
    struct json_out *j = &l->rows.c->j;
    json_out_int(j, "session", s->id);
    shown_member(j, "uid", s->uid, SHOWN_NAME);
    shown_member(j, "server", s->name.n > 0 ? s->name : slice_of("-"), SHOWN_NAME);
    shown_member(j, "client", s->client_name, SHOWN_NAME);
    shown_member(j, "protocol", s->protocol_version, SHOWN_NAME);
    shown_member(j, "cwd", s->cwd, SHOWN_NAME);
    shown_time(j, "started_at", s->started_at_us);
    if (s->ended_at_us != 0)
        shown_time(j, "ended_at", s->ended_at_us);
    json_out_str(j, "state", session_state_name(v->state));
    shown_member(j, "end_reason", s->end_reason, SHOWN_NAME);
    if (s->has_exit_status)
        json_out_int(j, "exit_status", s->exit_status);
    shown_ms(j, "duration_ms", v->lasted_us);
    json_out_int(j, "messages", v->summary.last_seq);
    json_out_int(j, "calls", v->summary.calls);
    json_out_int(j, "failed_calls", session_errors(&v->summary));
    if (query_is_imported(s))
        json_out_bool(j, "imported", true);
    if (v->sent)
        json_out_bool(j, "sent", true);
    if (v->summary.tools_changed)
        json_out_bool(j, "tools_changed", true);
}

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

static bool add_row(struct listing *l, const struct query_session *s)
{
    struct session_view v;
    l->status = session_look(l->rows.c->q, s, false, &v);
    if (l->status < 0)
        return false;
    bool more = true;
    if (!l->failed || session_has_failed(s, &v)) {
        if (rows_begin(&l->rows, s->id, 0)) {
            add_json(l, s, &v);
            add_text(l, s, &v);
        }
        more = rows_end(&l->rows);
    }
    session_close(&v);
    return more;
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct listing *l = ctx;
    struct rows *r = &l->rows;
    if (l->live && !session_runs(l->rows.c->q, s))
        return true;
    if (rows_is_late(r, s->id, 0))
        return false;
    return tool_goes_on(r->c) && add_row(l, s);
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
