/* tool_call.c - the MCP tool `get_call`. */
#include "cli/mcp/body.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/check/recording_check.h"
#include "cli/frame/event_words.h"
#include "cli/frame/preview.h"
#include "cli/frame/record_json.h"
#include "cli/mcp/tool_findings.h"

#define BODY_MAX ((size_t)16 << 20) /* maximum bytes of a body; a larger body is not shown at all */
#define SHOWN_BYTES 4000
#define RELATED_MAX 20
/* number of messages after which `get_call` checks whether the client still waits */
#define LOOK_UP 1000
/* maximum time, in microseconds, of checking messages to explain the findings */
#define CHECK_US ((int64_t)500000)

enum { PART_REQUEST = 1, PART_ANSWER = 2, PART_BOTH = PART_REQUEST | PART_ANSWER };

struct reading {
    struct tool_call *c;
    struct query_session session;
    struct body_view view;
    int parts;   /* bits PART_…: which of request and answer are shown */
    int64_t seq; /* seq of the request; if the message belongs to no call, seq of the message */
    /* the message that closes the call; 0: the call is open, or the message belongs to no call */
    int64_t closing_seq;
    bool is_call;
    int64_t operation_seq; /* the operation that the call continues; 0: none */
    int64_t read;          /* the number of messages that were read */
    struct buf json, text; /* owned; related messages and events */
    struct json_out related;
    int64_t related_n, left_out;
    struct check_report report; /* owned; the findings of the request and the answer */
    int64_t first_us, last_us;  /* times of the request and the answer on the wall clock */
    int64_t check_until_us;     /* monotonic clock */
    bool late;                  /* not all messages were checked */
    struct buf large, brief;    /* owned; scratch */
    /* owned; the progress token of the request as JSON text; empty if there is none */
    struct buf token;
    int error;
};

/* ---- one message ---- */

static int mcp_call_add_message(struct reading *r, const char *part, const struct query_message *m)
{
    struct tool_call *c = r->c;
    const char *error;
    struct slice body;
    int st = session_read_body(c->q, r->session.uid, m, BODY_MAX, &r->large, &body, &error);
    if (st < 0)
        return st;
    json_out_object(&c->j, part);
    record_json_add_message_members(&c->j, &r->session, m);
    buf_printf(&c->text, "%s: seq %lld, %s, from the %s, %s, %lld bytes", part, (long long)m->seq,
               clock_format_utc(r->session.started_at_us + m->t_us).s,
               m->origin == ROW_INTERPOSER ? "interposer"
               : m->direction == ROW_C2S   ? "client"
                                           : "server",
               row_kind_name(m->kind), (long long)m->size);
    if (m->redactions > 0)
        buf_printf(&c->text, ", %lld secrets redacted", (long long)m->redactions);
    buf_addc(&c->text, '\n');
    if (body.p == NULL) {
        buf_adds(&c->text, "no text: ");
        append_quoted_text_or_dash(
            &c->text, slice_of(error != NULL ? error : "no body was recorded"), SHOWN_BRIEF);
        buf_addc(&c->text, '\n');
    } else {
        r->view.part = r->is_call ? part : NULL;
        json_out_object(&c->j, "body");
        st = body_add_members(c, &r->view, body);
        json_out_end(&c->j);
        if (m->is_large && (uint64_t)m->body_length > BODY_MAX)
            error = "get_call reads only the first 16 MiB of a body";
    }
    json_out_str(&c->j, "body_error", error);
    json_out_end(&c->j);
    return st;
}

/* ---- what happened meanwhile ---- */

/* Counts a related message or event. Returns false if there is no room to show it. */
static bool has_room_for_related_message(struct reading *r)
{
    if (r->related_n == RELATED_MAX) {
        r->left_out++;
        return false;
    }
    r->related_n++;
    return true;
}

/* Adds the line of a message or an event. */
static void mcp_call_add_line(struct reading *r, int64_t t_us, struct slice kind,
                              struct slice method, struct slice text)
{
    buf_printf(&r->text, "%s ", clock_format_utc(r->session.started_at_us + t_us).s);
    append_quoted_text_or_dash(&r->text, kind, SHOWN_NAME);
    if (method.n > 0)
        append_quoted_method_and_target(&r->text, method, (struct slice){0});
    buf_addc(&r->text, ' ');
    append_quoted_text_or_dash(&r->text, text, SHOWN_BRIEF);
    buf_addc(&r->text, '\n');
}

static struct slice get_params_member(struct slice body, bool in_meta, const char *name)
{
    struct rpc m;
    if (body.p == NULL || rpc_read(body, &m) < 0)
        return (struct slice){0};
    struct json_value in = in_meta ? m.meta : m.params;
    return in.type == JSON_OBJECT ? json_get(in, name).text : (struct slice){0};
}

/* Whether the message is listed with the call. Messages that belong to other requests, such as
 * their progress notifications, are not listed. */
static bool message_is_listed_with_call(struct reading *r, const struct query_message *m)
{
    if (m->request_seq == r->seq || m->batch_seq == r->seq || m->kind == KIND_STDERR ||
        m->kind == KIND_NOISE)
        return true;
    if (m->kind != KIND_NOTIFICATION || m->direction != ROW_S2C || m->method.p == NULL)
        return false;
    if (!slice_is(m->method, "notifications/progress"))
        return true;
    return r->token.n > 0 &&
           slice_eq(get_params_member(m->body, false, "progressToken"), buf_slice(&r->token));
}

static void add_related_message(struct reading *r, const struct query_message *m)
{
    if (!message_is_listed_with_call(r, m) || !has_room_for_related_message(r))
        return;
    buf_clear(&r->brief);
    if (m->body.p != NULL)
        preview_add_message(&r->brief, m, m->body, SHOWN_BRIEF);
    json_out_object(&r->related, NULL);
    record_json_add_message_members(&r->related, &r->session, m);
    json_out_text(&r->related, "text", buf_slice(&r->brief));
    json_out_end(&r->related);
    buf_printf(&r->text, "seq %lld ", (long long)m->seq);
    mcp_call_add_line(r, m->t_us, slice_of(row_kind_name(m->kind)), m->method,
                      buf_slice(&r->brief));
}

static bool mcp_call_on_event(void *ctx, const struct query_event *e)
{
    struct reading *r = ctx;
    /* an event that comes before the request is not related */
    if (r->read == 0 || !r->is_call || !has_room_for_related_message(r))
        return true;
    json_out_object(&r->related, NULL);
    record_json_add_event_members(&r->related, &r->session, e);
    json_out_end(&r->related);
    buf_clear(&r->brief);
    event_words_append_event(&r->brief, e->kind, e->detail);
    mcp_call_add_line(r, e->t_us, e->kind, (struct slice){0}, buf_slice(&r->brief));
    return true;
}

/* ---- why there are findings ---- */

static void add_no_finding_detail(void *ctx, const struct finding_info *info, struct buf *b)
{
    (void)ctx, (void)info, (void)b;
}

static bool has_time_to_check_messages(void *ctx)
{
    struct reading *r = ctx;
    r->late = clock_mono_us() > r->check_until_us || !tool_should_continue(r->c);
    return !r->late;
}

/* Checks all messages up to the call again, because the details of a finding follow from these
 * messages. */
static int recheck_messages_up_to_call(struct reading *r)
{
    struct filter f = FILTER_ANY;
    struct recording_check_limit limit = {r->closing_seq > 0 ? r->closing_seq : r->seq,
                                          has_time_to_check_messages, r};
    struct check_report checked;
    f.since_us = r->first_us;
    f.until_us = r->last_us + 1;
    r->check_until_us = clock_mono_us() + CHECK_US;
    check_report_open(&checked);
    int st = recording_check_run_on_session(&checked, &f, r->c->q, &r->session, &limit);
    st = st == 0 && check_report_has_failed(&checked) ? MI_ENOMEM : st;
    struct check_report other = checked;
    if (st == 0 && !r->late) {
        other = r->report;
        r->report = checked;
    }
    check_report_close(&other);
    return st;
}

static void mcp_call_add_findings(struct reading *r)
{
    struct tool_call *c = r->c;
    const struct check_recording *x = r->report.recordings;
    bool any = false;
    for (size_t i = 0; r->report.n > 0 && i < x->n; i++) {
        const struct check_finding *f = &x->findings[i];
        if (f->seq != r->seq && f->seq != r->closing_seq)
            continue;
        if (!any)
            json_out_array(&c->j, "findings");
        any = true;
        json_out_object(&c->j, NULL);
        buf_adds(&c->text, "finding: ");
        findings_add_finding(c, &r->report, f);
        buf_addc(&c->text, '\n');
        json_out_end(&c->j);
    }
    if (any)
        json_out_end(&c->j);
}

/* ---- the call ---- */

static bool mcp_call_on_message(void *ctx, const struct query_message *m)
{
    struct reading *r = ctx;
    bool is_first = m->seq == r->seq, is_last = m->seq == r->closing_seq;
    if (++r->read % LOOK_UP == 0 && !tool_should_continue(r->c))
        return false;
    if (!is_first && !is_last) {
        add_related_message(r, m);
        return true;
    }
    bool added = check_report_add_message(&r->report, m, 0, add_no_finding_detail, NULL);
    r->error = added && !check_report_has_failed(&r->report) ? 0 : MI_ENOMEM;
    r->last_us = r->session.started_at_us + m->t_us;
    r->first_us = is_first ? r->last_us : r->first_us;
    if (is_first)
        buf_slice_add(&r->token, get_params_member(m->body, true, "progressToken"));
    const char *part = !r->is_call ? "message" : is_first ? "request" : "answer";
    bool shown = !r->is_call || (r->parts & (is_first ? PART_REQUEST : PART_ANSWER)) != 0;
    if (r->error == 0 && shown)
        r->error = mcp_call_add_message(r, part, m);
    return r->error == 0 && r->is_call && !is_last;
}

struct target {
    bool found;
    int64_t request_seq;
};

static bool find_target(void *ctx, const struct query_message *m)
{
    *(struct target *)ctx = (struct target){true, m->request_seq};
    return false;
}

static bool mcp_call_on_call(void *ctx, const struct query_call *x)
{
    struct reading *r = ctx;
    struct buf *b = &r->c->text;
    r->is_call = true;
    r->seq = x->request_seq;
    r->closing_seq = x->closing_seq;
    r->operation_seq = x->operation_seq;
    record_json_add_call_members(&r->c->j, x);
    buf_printf(b, "session %lld ", (long long)x->session_id);
    append_quoted_text_or_dash(b, x->server, SHOWN_NAME);
    buf_printf(b, ", call %lld", (long long)x->request_seq);
    append_quoted_method_and_target(b, x->method, x->target);
    buf_printf(b, ": %s", call_status_name(x->status));
    if (x->duration_us >= 0)
        buf_printf(b, " after %s", units_format_duration(x->duration_us).s);
    buf_addc(b, '\n');
    return false;
}

/* Adds the operation (a call of several requests) to which the request belongs. */
static bool mcp_call_on_operation(void *ctx, const struct query_call *x)
{
    struct reading *r = ctx;
    struct json_out *j = &r->c->j;
    struct buf *b = &r->c->text;
    json_out_object(j, "operation");
    json_out_int(j, "seq", x->request_seq);
    json_out_str(j, "status", call_status_name(x->status));
    if (x->closing_seq != 0)
        json_out_int(j, "closing_seq", x->closing_seq);
    if (x->duration_us >= 0)
        json_out_int(j, "duration_us", x->duration_us);
    json_out_int(j, "requests", x->requests);
    json_out_int(j, "asked", x->asked);
    json_out_int(j, "server_us", x->server_us);
    json_out_int(j, "person_us", x->person_us);
    json_out_end(j);
    buf_printf(b, "part of operation %lld: %s", (long long)x->request_seq,
               call_status_name(x->status));
    if (x->duration_us >= 0)
        buf_printf(b, " after %s", units_format_duration(x->duration_us).s);
    buf_printf(b, ", %lld requests, asked for input %lld times, server %s, person %s\n",
               (long long)x->requests, (long long)x->asked, units_format_duration(x->server_us).s,
               units_format_duration(x->person_us).s);
    return false;
}

static int mcp_call_add_operation(struct reading *r)
{
    int64_t id = query_call_id(r->session.id, r->operation_seq > 0 ? r->operation_seq : r->seq);
    struct call_question x = {.filter = &r->c->filter,
                              .side = CALLS_OF_ALL,
                              .operations = true,
                              .several = true,
                              .from = id,
                              .up_to = id};
    return query_is_store(r->c->q) ? 0 : query_calls_of(r->c->q, &x, mcp_call_on_operation, r);
}

/* Finds the call to which the message belongs, and begins the result. */
static int mcp_call_begin_result(struct reading *r)
{
    struct tool_call *c = r->c;
    struct target t = {0};
    int64_t last = 0, event;
    int st = query_timeline(c->q, r->session.id, r->seq, r->seq, find_target, NULL, &t);
    if (st == 0 && !t.found) {
        st = query_read_last_seq_and_event(c->q, r->session.id, &last, &event);
        buf_printf(&c->error, "session %lld has no message %lld; its messages are 1 to %lld",
                   (long long)r->session.id, (long long)r->seq, (long long)last);
        st = st == 0 ? MI_EINVAL : st;
    }
    int64_t id = query_call_id(r->session.id, t.request_seq > 0 ? t.request_seq : r->seq);
    struct call_question x = {.filter = &c->filter, .side = CALLS_OF_ALL, .from = id, .up_to = id};
    if (st == 0)
        st = query_calls_of(c->q, &x, mcp_call_on_call, r);
    if (st == 0 && r->is_call)
        st = mcp_call_add_operation(r);
    if (st == 0 && r->is_call && r->parts == PART_BOTH &&
        (r->view.offset > 0 || r->view.pointer[0] != '\0')) {
        buf_adds(&c->error, "pointer and offset require the argument part: request or answer");
        st = MI_EINVAL;
    }
    if (st < 0 || r->is_call)
        return st;
    json_out_int(&c->j, "session_id", r->session.id);
    json_out_text(&c->j, "server", r->session.name);
    json_out_int(&c->j, "seq", r->seq);
    buf_printf(&c->text, "session %lld ", (long long)r->session.id);
    append_quoted_text_or_dash(&c->text, r->session.name, SHOWN_NAME);
    buf_printf(&c->text, ", message %lld\n", (long long)r->seq);
    return 0;
}

static void mcp_call_finish_result(struct reading *r)
{
    struct tool_call *c = r->c;
    mcp_call_add_findings(r);
    if (r->related_n == 0)
        return;
    json_out_array(&c->j, "related");
    json_out_add_written_members(&c->j, buf_slice(&r->json));
    json_out_end(&c->j);
    buf_adds(&c->text, "meanwhile:\n");
    buf_slice_add(&c->text, buf_slice(&r->text));
    if (r->left_out > 0) {
        json_out_int(&c->j, "related_left_out", r->left_out);
        buf_printf(&c->text, "and %lld more\n", (long long)r->left_out);
    }
}

int tool_get_call(struct tool_call *c)
{
    const char *pointer = tool_get_text_argument(c, "pointer"),
               *part = tool_get_text_argument(c, "part");
    struct reading r = {
        .c = c,
        .parts = part == NULL || strcmp(part, "both") == 0 ? PART_BOTH
                 : strcmp(part, "request") == 0            ? PART_REQUEST
                                                           : PART_ANSWER,
        .seq = tool_get_number_argument(c, "seq", 0),
        .view = {.pointer = pointer != NULL ? pointer : "",
                 .offset = tool_get_number_argument(c, "offset", 0),
                 .max_bytes = tool_get_number_argument(c, "max_bytes", SHOWN_BYTES)},
    };
    r.related = json_out_to(&r.json);
    r.related.max_text = SHOWN_MAX;
    check_report_open(&r.report);
    check_report_add_recording(&r.report, (struct slice){0}, 0, 0);
    int st = tool_find_session(c, c->filter.session_id, &r.session);
    if (st == 0)
        st = mcp_call_begin_result(&r);
    if (st == 0)
        st = query_timeline(c->q, r.session.id, r.seq, INT64_MAX, mcp_call_on_message,
                            mcp_call_on_event, &r);
    st = st == 0 ? r.error : st;
    if (st == 0)
        st = recheck_messages_up_to_call(&r);
    if (st == 0)
        mcp_call_finish_result(&r);
    if (r.json.failed || r.text.failed || r.token.failed || r.brief.failed)
        st = MI_ENOMEM;
    check_report_close(&r.report);
    buf_close(&r.json);
    buf_close(&r.text);
    buf_close(&r.large);
    buf_close(&r.brief);
    buf_close(&r.token);
    return st;
}
