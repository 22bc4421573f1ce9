#include "cli/frame/record_json.h"

#include "base/json_out.h"
#include "wire/json/scan.h"

static void add_count(struct json_out *j, const char *name, bool known, int64_t value)
{
    if (known)
        json_out_int(j, name, value);
    else
        json_out_null(j, name);
}

/* White space between tokens can be newlines, which become blanks. Other parsers reject deep JSON, and its line with it. */
static void add_value(struct json_out *j, const char *name, struct slice text)
{
    struct json_scan scan;
    if (text.p == NULL || json_scan(text, NULL, NULL, &scan) < 0 || scan.deep)
        json_out_text(j, name, text);
    else
        json_out_visible(j, name, scan.root);
}

static struct json_out begin(struct buf *b, const char *type)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "type", type);
    return j;
}

/* The fields that --json shows. A time in the session is followed by the time of day. */
static void add_fields(struct json_out *j, const struct record_fields *s, const void *record,
                       int64_t started_at_us)
{
    for (const struct record_field *f = s->list; f < s->list + s->n; f++) {
        struct cell c = field_get(f, record);
        if (!f->json)
            continue;
        if (f->type == VALUE_JSON)
            add_value(j, f->name, c.text);
        else if (c.type == CELL_INT)
            json_out_int(j, f->name, c.number);
        else
            json_out_text(j, f->name, c.text); /* null, if it is CELL_NULL */
        if (f->type == VALUE_SINCE)
            json_out_int(j, "at_us", started_at_us + c.number);
    }
}

void record_json_session(struct buf *b, const struct query_session *s, const struct session_view *v)
{
    struct json_out j = begin(b, "session");
    json_out_int(&j, "id", s->number);
    add_fields(&j, &fields_of_session, s, 0);
    json_out_bool(&j, "imported", query_is_imported(s));
    json_out_bool(&j, "sent", v->sent);
    json_out_str(&j, "evidence", session_evidence_name(s->evidence));
    json_out_str(&j, "state", session_state_name(v->state));
    json_out_int(&j, "duration_us", v->lasted_us);
    json_out_int(&j, "messages", v->summary.last_seq);
    json_out_int(&j, "calls", v->summary.calls);
    json_out_int(&j, "ok", v->summary.by_status[CALL_OK]);
    json_out_int(&j, "tool_errors", v->summary.by_status[CALL_TOOL_ERROR]);
    json_out_int(&j, "errors", v->summary.by_status[CALL_ERROR]);
    json_out_int(&j, "refused", v->summary.by_status[CALL_REFUSED]);
    json_out_int(&j, "cancelled", v->summary.by_status[CALL_CANCELLED]);
    json_out_int(&j, "server_gone", v->summary.by_status[CALL_SERVER_GONE]);
    json_out_int(&j, "interrupted", v->summary.by_status[CALL_INTERRUPTED]);
    json_out_int(&j, "timeouts", v->summary.by_status[CALL_TIMEOUT]);
    json_out_int(&j, "open", v->summary.by_status[CALL_OPEN]);
    json_out_bool(&j, "tools_changed", v->summary.tools_changed);
    json_out_bool(&j, "unfinished", v->summary.unfinished);
    json_out_end(&j);
}

void record_json_message(struct buf *b, const struct query_session *s,
                         const struct query_message *m, struct slice body, const char *body_error)
{
    struct json_out j = begin(b, "message");
    json_out_int(&j, "session_id", s->number);
    add_fields(&j, &fields_of_message, m, s->started_at_us);
    if (session_is_answer(m) && m->has_request && m->action == ROW_FORWARDED) {
        json_out_text(&j, "request_method", m->request_method);
        json_out_text(&j, "request_target", m->request_target);
        json_out_str(&j, "status", call_status_name(query_status(m)));
        json_out_int(&j, "duration_us", m->t_us - m->request_t_us);
    }
    add_count(&j, "body_offset", m->is_large, m->body_offset);
    add_count(&j, "body_length", m->is_large, m->body_length);
    if (body_error != NULL)
        json_out_str(&j, "body_error", body_error);
    add_value(&j, "body", body);
    json_out_end(&j);
}

void record_json_event(struct buf *b, const struct query_session *s, const struct query_event *e)
{
    struct json_out j = begin(b, "event");
    json_out_int(&j, "session_id", s->number);
    add_fields(&j, &fields_of_event, e, s->started_at_us);
    json_out_end(&j);
}
