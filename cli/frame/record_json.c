#include "cli/frame/record_json.h"

#include "wire/json/scan.h"

static void add_number(struct json_out *j, const char *name, bool known, int64_t value)
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

void members_of_session(struct json_out *j, const struct query_session *s,
                        const struct session_view *v)
{
    const int64_t *calls = v->summary.by_status;
    json_out_str(j, "type", "session");
    json_out_int(j, "id", s->number);
    add_fields(j, &fields_of_session, s, 0);
    json_out_bool(j, "imported", query_is_imported(s));
    json_out_bool(j, "sent", v->sent);
    json_out_str(j, "evidence", session_evidence_name(s->evidence));
    json_out_str(j, "state", session_state_name(v->state));
    json_out_int(j, "duration_us", v->lasted_us);
    json_out_int(j, "messages", v->summary.last_seq);
    json_out_int(j, "calls", v->summary.calls);
    json_out_int(j, "ok", calls[CALL_OK]);
    json_out_int(j, "tool_errors", calls[CALL_TOOL_ERROR]);
    json_out_int(j, "errors", calls[CALL_ERROR]);
    json_out_int(j, "refused", calls[CALL_REFUSED]);
    json_out_int(j, "cancelled", calls[CALL_CANCELLED]);
    json_out_int(j, "server_gone", calls[CALL_SERVER_GONE]);
    json_out_int(j, "interrupted", calls[CALL_INTERRUPTED]);
    json_out_int(j, "timeouts", calls[CALL_TIMEOUT]);
    json_out_int(j, "open", calls[CALL_OPEN]);
    json_out_bool(j, "tools_changed", v->summary.tools_changed);
    json_out_bool(j, "unfinished", v->summary.unfinished);
}

void members_of_message(struct json_out *j, const struct query_session *s,
                        const struct query_message *m)
{
    json_out_str(j, "type", "message");
    json_out_int(j, "session_id", s->number);
    add_fields(j, &fields_of_message, m, s->started_at_us);
    if (query_ended_call(m)) {
        json_out_text(j, "request_method", m->request_method);
        json_out_text(j, "request_target", m->request_target);
        json_out_str(j, "status", call_status_name(query_status(m)));
        json_out_int(j, "duration_us", m->t_us - m->request_t_us);
    }
    add_number(j, "body_offset", m->is_large, m->body_offset);
    add_number(j, "body_length", m->is_large, m->body_length);
}

void members_of_event(struct json_out *j, const struct query_session *s,
                      const struct query_event *e)
{
    json_out_str(j, "type", "event");
    json_out_int(j, "session_id", s->number);
    add_fields(j, &fields_of_event, e, s->started_at_us);
}

void members_of_call(struct json_out *j, const struct query_call *c)
{
    json_out_str(j, "type", "call");
    json_out_int(j, "session_id", c->session_id);
    json_out_text(j, "server", c->server);
    json_out_int(j, "seq", c->request_seq);
    add_fields(j, &fields_of_call, c, c->started_at_us - c->t_us);
}

void members_of_escalation(struct json_out *j, const char *file, const struct escalation_head *h)
{
    json_out_str(j, "type", "escalation");
    json_out_str(j, "file", file);
    add_fields(j, &fields_of_escalation_head, h, 0);
}

void members_of_group(struct json_out *j, const struct count *c, const struct tally_group *g)
{
    static const struct {
        const char *name;
        int percent;
    } percentiles[] = {{"p50_us", 50}, {"p95_us", 95}, {"p99_us", 99}, {"max_us", 100}};
    struct slice key = intern_text(&c->tally.keys, g->key);
    json_out_str(j, "type", "stats");
    for (bool first = true; key.n > 0; first = false) {
        struct slice part = count_part(&key);
        const char *name = first && c->by == COUNT_TOOL ? "server" : count_by_name(c->by);
        json_out_text(j, name, part.n > 0 ? part : (struct slice){0});
    }
    json_out_int(j, "calls", g->calls);
    json_out_int(j, "errors", g->errors);
    json_out_int(j, "timeouts", g->timeouts);
    json_out_int(j, "cancelled", g->cancelled);
    json_out_int(j, "interrupted", g->interrupted);
    json_out_int(j, "open", g->open);
    for (size_t i = 0; i < MI_COUNT(percentiles); i++) {
        int64_t us = tally_percentile(g, percentiles[i].percent);
        add_number(j, percentiles[i].name, us >= 0, us);
    }
    json_out_int(j, "request_bytes", g->request_bytes);
    json_out_int(j, "response_bytes", g->response_bytes);
    json_out_int(j, "first_at_us", g->first_at_us);
    json_out_int(j, "last_at_us", g->last_at_us);
    json_out_array(j, "latency");
    for (size_t i = 0; i < TALLY_BUCKETS; i++) {
        json_out_array(j, NULL);
        add_number(j, NULL, tally_bucket_us(i) != INT64_MAX, tally_bucket_us(i));
        json_out_int(j, NULL, g->bucket[i]);
        json_out_end(j);
    }
    json_out_end(j);
}

/* ---- for --json ---- */

static struct json_out begin(struct buf *b)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    return j;
}

void record_json_session(struct buf *b, const struct query_session *s, const struct session_view *v)
{
    struct json_out j = begin(b);
    members_of_session(&j, s, v);
    json_out_end(&j);
}

void record_json_message(struct buf *b, const struct query_session *s,
                         const struct query_message *m, struct slice body, const char *body_error)
{
    struct json_out j = begin(b);
    members_of_message(&j, s, m);
    if (body_error != NULL)
        json_out_str(&j, "body_error", body_error);
    add_value(&j, "body", body);
    json_out_end(&j);
}

void record_json_event(struct buf *b, const struct query_session *s, const struct query_event *e)
{
    struct json_out j = begin(b);
    members_of_event(&j, s, e);
    json_out_end(&j);
}
