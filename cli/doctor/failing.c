/* failing.c - checks of `doctor`: servers whose newest sessions failed.
 *
 * A session failed if the server could not be started, answered none of the client's requests, or
 * ended the session: it crashed more often than it is restarted, it hung, it closed its output, or
 * it answered `initialize` differently after a restart.
 * A session that the client left within FAILING_WAIT_US did not fail, although no request was
 * answered. A session that did not fail, but in which the server answered nothing, is skipped.
 * The check reads the sessions of the last FAILING_DAYS days, except imported ones. For each
 * server, it counts the failed sessions after the last session in which the server answered and
 * that did not fail.
 *
 * Blocks    on the vault. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/intern.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/frame/session.h"
#include "proxy/session/stderr_reason.h"
#include "wire/json/text.h"

#include <stdlib.h>

#define FAILING_DAYS 7
#define FAILING_WAIT_US 5000000
#define NAMED_MAX 8    /* maximum number of servers reported by name */
#define NAME_SHOWN 128 /* maximum number of bytes shown of a name */
#define WHAT_MAX 96    /* size of the description of a failure */
#define ERROR_MAX 600  /* maximum number of bytes shown of the last error */
/* number of messages at the end of a session in which the last error is searched */
#define ERROR_MESSAGES 64
#define DAY_US (INT64_C(86400) * 1000000)

struct failing_server {
    bool done;      /* a session that worked was found, so older sessions do not count */
    int64_t failed; /* number of failed sessions after that session */
    int64_t id, last_seq, at_us; /* session id, last seq and time of the newest failed session */
    char what[WHAT_MAX];         /* description of the newest failure */
};

struct failing {
    struct query *q;
    struct intern names; /* owned */
    /* owned; server[i] is the server whose name has the number i in `names` */
    struct failing_server *server;
    size_t n, cap;
    int status;
};

/* ---- one session ---- */

static bool server_ended_session(const struct query_session *s)
{
    static const char *const reasons[] = {"server-closed", "server-hung", "restart-changed"};
    if (slice_is(s->end_reason, "server-exited"))
        return s->exit_status != 0;
    for (size_t i = 0; i < MI_COUNT(reasons); i++)
        if (slice_is(s->end_reason, reasons[i]))
            return true;
    return false;
}

static bool server_has_answered(const struct session_view *v)
{
    const int64_t *by = v->summary.by_status;
    return by[CALL_OK] + by[CALL_TOOL_ERROR] + by[CALL_ERROR] > 0;
}

static bool server_gave_no_answer(const struct session_view *v)
{
    const int64_t *by = v->summary.by_status;
    if (server_has_answered(v))
        return false;
    if (by[CALL_TIMEOUT] + by[CALL_SERVER_GONE] > 0)
        return true;
    return v->state != SESSION_LIVE && by[CALL_INTERRUPTED] + by[CALL_OPEN] > 0 &&
           v->lasted_us >= FAILING_WAIT_US;
}

/* Appends how the session failed. Appends nothing if the session did not fail. */
static void failing_append_session_failure(struct buf *b, const struct query_session *s,
                                           const struct session_view *v)
{
    if (slice_is(s->end_reason, "server-failed")) {
        buf_adds(b, "could not be started");
    } else if (server_gave_no_answer(v)) {
        buf_adds(b, "answered no request");
    } else if (server_ended_session(s)) {
        buf_adds(b, "ended the session (");
        session_append_end_reason(b, s, v->state);
        buf_addc(b, ')');
    }
}

static void failing_count_session(struct failing_server *server, const struct query_session *s,
                                  const struct session_view *v)
{
    struct buf what = {0};
    failing_append_session_failure(&what, s, v);
    if (what.n > 0 && server->failed++ == 0) {
        server->id = s->id;
        server->at_us = s->started_at_us;
        server->last_seq = v->summary.last_seq;
        memcpy(server->what, buf_str(&what), size_min(what.n, WHAT_MAX - 1));
    }
    server->done = what.n == 0 && server_has_answered(v);
    buf_close(&what);
}

static bool failing_on_session(void *ctx, const struct query_session *s)
{
    struct failing *f = ctx;
    struct session_view v;
    uint32_t i;
    if (query_session_is_imported(s))
        return true;
    if (intern_add(&f->names, s->name, &i) < 0 || !GROW(f->server, f->n, f->cap)) {
        f->status = MI_ENOMEM;
        return false;
    }
    if (i == f->n)
        f->server[f->n++] = (struct failing_server){.done = false};
    struct failing_server *server = &f->server[i];
    if (server->done)
        return true;
    f->status = session_read_view(f->q, s, false, &v);
    if (f->status < 0)
        return false;
    failing_count_session(server, s, &v);
    session_close(&v);
    return true;
}

/* ---- the last error ---- */

struct last_error {
    struct buf answer;           /* owned: the message of an error that the client received */
    struct stderr_reason reason; /* what the server wrote to stderr */
};

static bool failing_on_message(void *ctx, const struct query_message *m)
{
    struct last_error *e = ctx;
    struct rpc rpc;
    if (m->kind == KIND_STDERR && m->body.p != NULL) {
        stderr_reason_read_line(&e->reason, m->body);
    } else if (m->kind == KIND_ERROR && m->direction == ROW_S2C && m->body.p != NULL &&
               query_get_call_status(m) != CALL_INTERRUPTED && rpc_read(m->body, &rpc) == 0) {
        buf_clear(&e->answer);
        json_unescape(&e->answer, json_string_raw(rpc.error_message));
    }
    return true;
}

/* Appends `; the last error was: ` and the error. Appends nothing if no error was recorded. */
static int failing_add_error(struct buf *b, struct query *q, const struct failing_server *server)
{
    struct last_error e = {.answer = {0}};
    struct buf reason = {0};
    int64_t from = server->last_seq > ERROR_MESSAGES ? server->last_seq - ERROR_MESSAGES : 1;
    int st = query_timeline(q, server->id, from, server->last_seq, failing_on_message, NULL, &e);
    (void)stderr_reason_append(&e.reason, &reason);
    struct slice text = buf_slice(e.answer.n > 0 ? &e.answer : &reason);
    if (st == 0 && text.n > 0) {
        buf_adds(b, "; the last error was: ");
        buf_slice_add(b, text_prefix(text, ERROR_MAX));
        buf_adds(b, text.n > ERROR_MAX ? " ..." : "");
    }
    buf_close(&e.answer);
    buf_close(&reason);
    stderr_reason_close(&e.reason);
    return st;
}

/* ---- the report ---- */

static int report_failing_server(struct doctor *d, const struct failing *f, size_t i)
{
    const struct failing_server *server = &f->server[i];
    struct slice name = intern_get_text(&f->names, (uint32_t)i);
    struct buf text = {0}, remedy = {0};
    int64_t age_us = clock_wall_us() - server->at_us;
    buf_printf(&text, "%.*s: in its last ", (int)size_min(name.n, NAME_SHOWN), name.p);
    if (server->failed > 1)
        buf_printf(&text, "%lld sessions, the newest ", (long long)server->failed);
    else
        buf_adds(&text, "session, ");
    buf_printf(&text, "%s ago, the server %s", units_format_duration(age_us > 0 ? age_us : 0).s,
               server->what);
    int st = failing_add_error(&text, f->q, server);
    buf_printf(
        &remedy,
        "see: mcp-interposer show %lld; correct the command, the environment or the deadline "
        "of this server in the file of its client",
        (long long)server->id);
    doctor_report_fault(d, "servers", buf_str(&remedy), "%s", buf_str(&text));
    buf_close(&text);
    buf_close(&remedy);
    return st;
}

static int failing_report_servers(struct doctor *d, struct failing *f)
{
    size_t found = 0;
    for (size_t i = 0; i < f->n && f->status == 0; i++)
        if (f->server[i].failed > 0 && found++ < NAMED_MAX)
            f->status = report_failing_server(d, f, i);
    if (found > NAMED_MAX)
        doctor_report_fault(d, "servers", "mcp-interposer sessions --failed lists their sessions",
                            "%zu more servers failed in their last sessions", found - NAMED_MAX);
    if (found == 0)
        doctor_report_passed(
            d, "servers", "no server failed in its last session of the last %d days", FAILING_DAYS);
    return f->status;
}

void doctor_check_failing_servers(struct doctor *d)
{
    struct failing f = {.q = NULL};
    struct filter recent = FILTER_ANY;
    struct buf error = {0};
    recent.since_us = clock_wall_us() - FAILING_DAYS * DAY_US;
    int st = query_open(&f.q, d->vault, &error);
    if (st == 0)
        st = query_matching_sessions(f.q, &recent, FILTER_BEGAN, 0, failing_on_session, &f);
    if (st == 0 && f.status == 0)
        st = failing_report_servers(d, &f);
    /* an error of a query is not reported here: the check of the database reports it */
    query_close(f.q);
    intern_close(&f.names);
    free(f.server);
    buf_close(&error);
}
