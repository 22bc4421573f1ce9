/* call.c - the tool get_call. */
#include "cli/mcp/body.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/frame/preview.h"
#include "cli/frame/session.h"

#define BODY_MAX ((size_t)16 << 20) /* bytes of a large body that can be shown */
#define SHOWN_BYTES 4000
#define RELATED_MAX 20
#define LOOK_UP 1000 /* messages, after which the client is asked whether it still waits */

enum { PART_REQUEST = 1, PART_ANSWER = 2, PART_BOTH = PART_REQUEST | PART_ANSWER };

struct reading {
    struct tool_call *c;
    struct query_session session;
    struct body_view view;
    int parts;   /* that are shown */
    int64_t seq; /* of the request, or of the only message */
    bool is_call;
    int64_t read;          /* messages */
    struct buf json, text; /* owned; related messages and events */
    struct json_out related;
    int64_t related_n, left_out;
    struct buf large, brief; /* owned; scratch */
    struct buf token;        /* owned; the progress token of the request, JSON text; empty: none */
    enum call_status status;
    int64_t duration_us; /* -1: open */
    int error;
};

/* ---- one message ---- */

static const char *sender(const struct query_message *m)
{
    return m->origin == ROW_INTERPOSER ? "interposer"
           : m->direction == ROW_C2S   ? "client"
                                       : "server";
}

static void add_findings(struct tool_call *c, struct slice names)
{
    if (names.n == 0)
        return;
    json_out_array(&c->j, "findings");
    buf_adds(&c->text, ", findings:");
    while (names.n > 0) {
        const char *comma = memchr(names.p, ',', names.n);
        struct slice name = {names.p, comma != NULL ? (size_t)(comma - names.p) : names.n};
        shown_member(&c->j, NULL, name, SHOWN_NAME);
        buf_addc(&c->text, ' ');
        shown_quoted(&c->text, name, SHOWN_NAME);
        names.p += name.n + (comma != NULL);
        names.n -= name.n + (comma != NULL);
    }
    json_out_end(&c->j);
}

static int add_message(struct reading *r, const char *part, const struct query_message *m)
{
    struct tool_call *c = r->c;
    const char *error;
    char at[CLOCK_TEXT_MAX];
    struct slice body;
    int st = session_body(c->q, r->session.uid, m, BODY_MAX, &r->large, &body, &error);
    if (st < 0)
        return st;
    clock_utc_text(r->session.started_at_us + m->t_us, at);
    json_out_object(&c->j, part);
    json_out_int(&c->j, "seq", m->seq);
    json_out_str(&c->j, "at", at);
    json_out_str(&c->j, "from", sender(m));
    json_out_str(&c->j, "kind", row_kind_name(m->kind));
    shown_member(&c->j, "method", m->method, SHOWN_NAME);
    shown_member(&c->j, "target", m->target, SHOWN_NAME);
    json_out_str(&c->j, "action", row_action_name(m->action));
    json_out_int(&c->j, "size", m->size);
    buf_printf(&c->text, "%s: seq %lld, %s, from the %s, %s, %lld bytes", part, (long long)m->seq,
               at, sender(m), row_kind_name(m->kind), (long long)m->size);
    if (m->redactions > 0) {
        json_out_int(&c->j, "redactions", m->redactions);
        buf_printf(&c->text, ", %lld secrets redacted", (long long)m->redactions);
    }
    add_findings(c, m->finding);
    buf_addc(&c->text, '\n');
    if (body.p == NULL) {
        struct slice why = slice_of(error != NULL ? error : "no body was recorded");
        shown_member(&c->j, "missing", why, SHOWN_BRIEF);
        buf_adds(&c->text, "no text: ");
        shown_quoted(&c->text, why, SHOWN_BRIEF);
        buf_addc(&c->text, '\n');
    } else {
        r->view.part = r->is_call ? part : NULL;
        r->error = body_add(c, &r->view, body);
        if (m->is_large && (uint64_t)m->body_length > BODY_MAX)
            json_out_str(&c->j, "missing", "only the first 16 MiB can be read here");
    }
    json_out_end(&c->j);
    return r->error;
}

/* ---- what happened meanwhile ---- */

static bool has_room(struct reading *r)
{
    if (r->related_n == RELATED_MAX) {
        r->left_out++;
        return false;
    }
    r->related_n++;
    return true;
}

/* seq 0: an event. */
static void add_related(struct reading *r, int64_t seq, int64_t t_us, struct slice kind,
                        struct slice method, struct slice text)
{
    struct json_out *j = &r->related;
    char at[CLOCK_TEXT_MAX];
    clock_utc_text(r->session.started_at_us + t_us, at);
    json_out_object(j, NULL);
    if (seq != 0)
        json_out_int(j, "seq", seq);
    json_out_str(j, "at", at);
    shown_member(j, "kind", kind, SHOWN_NAME);
    shown_member(j, "method", method, SHOWN_NAME);
    shown_member(j, "text", text.n > 0 ? text : slice_of("-"), SHOWN_BRIEF);
    json_out_end(j);
    if (seq != 0)
        buf_printf(&r->text, "seq %lld ", (long long)seq);
    buf_printf(&r->text, "%s ", at);
    shown_quoted(&r->text, kind, SHOWN_NAME);
    if (method.n > 0) {
        buf_addc(&r->text, ' ');
        shown_quoted(&r->text, method, SHOWN_NAME);
    }
    buf_addc(&r->text, ' ');
    shown_quoted(&r->text, text, SHOWN_BRIEF);
    buf_addc(&r->text, '\n');
}

static struct slice params_member(struct slice body, bool in_meta, const char *name)
{
    struct rpc m;
    if (body.p == NULL || rpc_read(body, &m) < 0)
        return (struct slice){0};
    struct json_value in = in_meta ? m.meta : m.params;
    return in.type == JSON_OBJECT ? json_get(in, name).text : (struct slice){0};
}

/* Progress of other calls, and everything else that belongs to other requests, is not listed. */
static bool is_related(struct reading *r, const struct query_message *m)
{
    if (m->request_seq == r->seq || m->batch_seq == r->seq || m->kind == KIND_STDERR ||
        m->kind == KIND_NOISE)
        return true;
    if (m->kind != KIND_NOTIFICATION || m->direction != ROW_S2C || m->method.p == NULL)
        return false;
    if (!slice_is(m->method, "notifications/progress"))
        return true;
    return r->token.n > 0 &&
           slice_eq(params_member(m->body, false, "progressToken"), buf_slice(&r->token));
}

static void add_related_message(struct reading *r, const struct query_message *m)
{
    if (!is_related(r, m) || !has_room(r))
        return;
    buf_clear(&r->brief);
    if (m->body.p != NULL)
        preview_add(&r->brief, m, m->body, SHOWN_BRIEF);
    add_related(r, m->seq, m->t_us, slice_of(row_kind_name(m->kind)), m->method,
                buf_slice(&r->brief));
}

static bool on_event(void *ctx, const struct query_event *e)
{
    struct reading *r = ctx;
    if (r->read == 0 || !r->is_call || !has_room(r)) /* before the request */
        return true;
    add_related(r, 0, e->t_us, e->kind, (struct slice){0}, e->detail);
    return true;
}

/* ---- the call ---- */

static bool closes(const struct reading *r, const struct query_message *m)
{
    return m->request_seq == r->seq && m->action == ROW_FORWARDED &&
           (session_is_answer(m) || (m->kind == KIND_NOTIFICATION && m->method.p != NULL &&
                                     slice_is(m->method, "notifications/cancelled")));
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct reading *r = ctx;
    if (++r->read % LOOK_UP == 0 && !tool_goes_on(r->c))
        return false;
    if (m->seq == r->seq) {
        if (m->action == ROW_REFUSED)
            r->status = CALL_REFUSED;
        buf_slice_add(&r->token, params_member(m->body, true, "progressToken"));
        if (!r->is_call)
            r->error = add_message(r, "message", m);
        else if ((r->parts & PART_REQUEST) != 0)
            r->error = add_message(r, "request", m);
        return r->is_call && r->error == 0;
    }
    if (!closes(r, m)) {
        add_related_message(r, m);
        return true;
    }
    r->status = query_status(m);
    r->duration_us = m->has_request ? m->t_us - m->request_t_us : -1;
    if ((r->parts & PART_ANSWER) != 0)
        r->error = add_message(r, "answer", m);
    return false;
}

struct target {
    bool found, is_call;
    int64_t request_seq;
    struct buf method, target; /* owned */
};

static bool find_target(void *ctx, const struct query_message *m)
{
    struct target *t = ctx;
    t->found = true;
    t->request_seq = m->request_seq;
    t->is_call = m->kind == KIND_REQUEST || m->request_seq > 0;
    buf_slice_add(&t->method, m->request_seq > 0 ? m->request_method : m->method);
    buf_slice_add(&t->target, m->request_seq > 0 ? m->request_target : m->target);
    return false;
}

/* Finds the request that the message with c->seq belongs to, and begins the result. */
static int begin(struct reading *r)
{
    struct tool_call *c = r->c;
    struct target t = {0};
    int64_t last = 0, event;
    int st = query_timeline(c->q, r->session.id, r->seq, r->seq, find_target, NULL, &t);
    if (st == 0 && !t.found) {
        st = query_last(c->q, r->session.id, &last, &event);
        buf_printf(&c->error, "session %lld has no message %lld; its messages are 1 to %lld",
                   (long long)r->session.id, (long long)r->seq, (long long)last);
        st = st == 0 ? MI_EINVAL : st;
    }
    r->is_call = t.is_call;
    r->seq = t.request_seq > 0 ? t.request_seq : r->seq;
    if (st == 0 && t.is_call && r->parts == PART_BOTH &&
        (r->view.offset > 0 || r->view.pointer[0] != '\0')) {
        buf_adds(&c->error, "pointer and offset need part: request or answer");
        st = MI_EINVAL;
    }
    struct slice method = buf_slice(&t.method), target = buf_slice(&t.target);
    json_out_int(&c->j, "session", r->session.id);
    shown_member(&c->j, "server", r->session.name.n > 0 ? r->session.name : slice_of("-"),
                 SHOWN_NAME);
    json_out_int(&c->j, "seq", r->seq);
    shown_member(&c->j, "method", method, SHOWN_NAME);
    shown_member(&c->j, "target", target, SHOWN_NAME);
    buf_printf(&c->text, "session %lld ", (long long)r->session.id);
    shown_quoted(&c->text, r->session.name, SHOWN_NAME);
    buf_printf(&c->text, ", %s %lld ", t.is_call ? "call" : "message", (long long)r->seq);
    shown_quoted(&c->text, method, SHOWN_NAME);
    if (target.n > 0) {
        buf_addc(&c->text, ' ');
        shown_quoted(&c->text, target, SHOWN_NAME);
    }
    buf_addc(&c->text, '\n');
    st = t.method.failed || t.target.failed ? MI_ENOMEM : st;
    buf_close(&t.method);
    buf_close(&t.target);
    return st;
}

static void end(struct reading *r)
{
    struct tool_call *c = r->c;
    if (!r->is_call)
        return;
    json_out_str(&c->j, "status", call_status_name(r->status));
    shown_ms(&c->j, "duration_ms", r->duration_us);
    buf_printf(&c->text, "status: %s", call_status_name(r->status));
    if (r->duration_us >= 0) {
        buf_adds(&c->text, " after ");
        units_show_duration(&c->text, r->duration_us);
    }
    buf_addc(&c->text, '\n');
    if (r->related_n == 0)
        return;
    json_out_array(&c->j, "related");
    json_out_members(&c->j, buf_slice(&r->json));
    json_out_end(&c->j);
    buf_adds(&c->text, "meanwhile:\n");
    buf_slice_add(&c->text, buf_slice(&r->text));
    if (r->left_out > 0) {
        json_out_int(&c->j, "related_left_out", r->left_out);
        buf_printf(&c->text, "and %lld more\n", (long long)r->left_out);
    }
}

static int parts_of(const char *part)
{
    if (part == NULL || strcmp(part, "both") == 0)
        return PART_BOTH;
    return strcmp(part, "request") == 0 ? PART_REQUEST : PART_ANSWER;
}

int tool_get_call(struct tool_call *c)
{
    const char *pointer = tool_text(c, "pointer");
    struct reading r = {
        .c = c,
        .parts = parts_of(tool_text(c, "part")),
        .seq = tool_number(c, "seq", 0),
        .view = {.pointer = pointer != NULL ? pointer : "",
                 .offset = tool_number(c, "offset", 0),
                 .max_bytes = tool_number(c, "max_bytes", SHOWN_BYTES)},
        .status = CALL_OPEN,
        .duration_us = -1,
    };
    r.related = json_out_to(&r.json);
    int st = tool_session(c, c->filter.session_id, &r.session);
    if (st == 0)
        st = begin(&r);
    if (st == 0)
        st = query_timeline(c->q, r.session.id, r.seq, INT64_MAX, on_message, on_event, &r);
    st = st == 0 ? r.error : st;
    if (st == 0)
        end(&r);
    if (r.json.failed || r.text.failed || r.token.failed || r.brief.failed)
        st = MI_ENOMEM;
    buf_close(&r.json);
    buf_close(&r.text);
    buf_close(&r.large);
    buf_close(&r.brief);
    buf_close(&r.token);
    return st;
}
