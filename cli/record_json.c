#include "cli/record_json.h"

#include "base/text.h"
#include "wire/json.h"

static void add_name(struct buf *b, const char *name)
{
    buf_adds(b, ",\""); /* `type` always stands first */
    buf_adds(b, name);
    buf_adds(b, "\":");
}

static void add_null(struct buf *b, const char *name)
{
    add_name(b, name);
    buf_adds(b, "null");
}

static void add_text(struct buf *b, const char *name, struct slice text)
{
    if (text.p == NULL) {
        add_null(b, name);
        return;
    }
    add_name(b, name);
    text_json(b, text);
}

static void add_number(struct buf *b, const char *name, int64_t value)
{
    add_name(b, name);
    buf_int(b, value);
}

static void add_count(struct buf *b, const char *name, bool there, int64_t value)
{
    if (there)
        add_number(b, name, value);
    else
        add_null(b, name);
}

/* White space between tokens may be line ends: blanks do as well. */
static void add_value(struct buf *b, const char *name, struct slice text)
{
    struct json_scan scan;
    if (text.p == NULL || json_scan(text, NULL, NULL, &scan) < 0) {
        add_text(b, name, text);
        return;
    }
    add_name(b, name);
    size_t from = b->n;
    text_json_again(b, scan.root);
    for (size_t i = from; i < b->n; i++)
        if ((unsigned char)b->p[i] < 0x20)
            b->p[i] = ' ';
}

static void begin(struct buf *b, const char *type)
{
    buf_adds(b, "{\"type\":\"");
    buf_adds(b, type);
    buf_addc(b, '"');
}

void record_json_session(struct buf *b, const struct query_session *s, const struct session_view *v)
{
    begin(b, "session");
    add_number(b, "id", s->id);
    add_text(b, "uid", s->uid);
    add_text(b, "name", s->name);
    add_value(b, "command", s->command);
    add_text(b, "client_name", s->client_name);
    add_text(b, "client_version", s->client_version);
    add_text(b, "server_name", s->server_name);
    add_text(b, "server_version", s->server_version);
    add_text(b, "protocol_version", s->protocol_version);
    add_number(b, "started_at_us", s->started_at_us);
    add_count(b, "ended_at_us", s->ended_at_us != 0, s->ended_at_us);
    add_text(b, "end_reason", s->end_reason);
    add_count(b, "exit_status", s->has_exit_status, s->exit_status);
    add_number(b, "pid", s->pid);
    add_text(b, "host", s->host);
    add_text(b, "record_level", s->record_level);
    add_text(b, "interposer_version", s->interposer_version);
    add_value(b, "redact_rules", s->redact_rules);
    add_text(b, "state", slice_of(session_state_name(v->state)));
    add_number(b, "duration_us", v->lasted_us);
    add_number(b, "messages", v->summary.last_seq);
    add_number(b, "calls", v->summary.calls);
    add_number(b, "ok", v->summary.ok);
    add_number(b, "tool_errors", v->summary.tool_errors);
    add_number(b, "errors", v->summary.errors);
    add_number(b, "refused", v->summary.refused);
    add_number(b, "cancelled", v->summary.cancelled);
    add_number(b, "server_gone", v->summary.server_gone);
    add_number(b, "timeouts", v->summary.timeouts);
    add_number(b, "open", v->summary.open);
    buf_adds(b, v->summary.tools_changed ? ",\"tools_changed\":true" : ",\"tools_changed\":false");
    buf_adds(b, v->summary.unfinished ? ",\"unfinished\":true}" : ",\"unfinished\":false}");
}

void record_json_message(struct buf *b, const struct query_session *s,
                         const struct query_message *m, struct slice body, const char *body_error)
{
    begin(b, "message");
    add_number(b, "session_id", s->id);
    add_number(b, "seq", m->seq);
    add_number(b, "t_us", m->t_us);
    add_number(b, "at_us", s->started_at_us + m->t_us);
    add_text(b, "direction", m->direction);
    add_text(b, "origin", m->origin);
    add_text(b, "kind", m->kind);
    add_value(b, "rpc_id", m->rpc_id);
    add_text(b, "method", m->method);
    add_text(b, "target", m->target);
    add_number(b, "size", m->size);
    add_number(b, "redactions", m->redactions);
    add_text(b, "action", m->action);
    add_count(b, "request_seq", m->request_seq != 0, m->request_seq);
    add_count(b, "error_code", m->has_error_code, m->error_code);
    add_count(b, "batch_seq", m->batch_seq != 0, m->batch_seq);
    add_text(b, "finding", m->finding);
    if (session_is_answer(m) && m->has_request && slice_is(m->action, "forwarded")) {
        add_text(b, "request_method", m->request_method);
        add_text(b, "request_target", m->request_target);
        add_text(b, "status", slice_of(session_answer_status(m)));
        add_number(b, "duration_us", m->t_us - m->request_t_us);
    }
    add_count(b, "body_offset", m->is_large, m->body_offset);
    add_count(b, "body_length", m->is_large, m->body_length);
    if (body_error != NULL)
        add_text(b, "body_error", slice_of(body_error));
    add_value(b, "body", body);
    buf_addc(b, '}');
}

void record_json_event(struct buf *b, const struct query_session *s, const struct query_event *e)
{
    begin(b, "event");
    add_number(b, "session_id", s->id);
    add_number(b, "id", e->id);
    add_number(b, "t_us", e->t_us);
    add_number(b, "at_us", s->started_at_us + e->t_us);
    add_text(b, "kind", e->kind);
    add_value(b, "detail", e->detail);
    buf_addc(b, '}');
}
