#include "cli/frame/record_json.h"

#include "show/show.h"

static void record_json_add_number(struct json_out *j, const char *name, bool known, int64_t value)
{
    if (known)
        json_out_int(j, name, value);
    else
        json_out_null(j, name);
}

void record_json_add_message_members(struct json_out *j, const struct query_session *s,
                                     const struct query_message *m)
{
    json_out_str(j, "type", "message");
    json_out_int(j, "session_id", s->number);
    show_add_json_fields(j, &fields_of_message, m, s->started_at_us);
    if (query_message_ended_call(m)) {
        json_out_text(j, "request_method", m->request_method);
        json_out_text(j, "request_target", m->request_target);
        json_out_str(j, "status", call_status_name(query_get_call_status(m)));
        json_out_int(j, "duration_us", m->t_us - m->request_t_us);
    }
    record_json_add_number(j, "body_offset", m->is_large, m->body_offset);
    record_json_add_number(j, "body_length", m->is_large, m->body_length);
}

void record_json_add_event_members(struct json_out *j, const struct query_session *s,
                                   const struct query_event *e)
{
    json_out_str(j, "type", "event");
    json_out_int(j, "session_id", s->number);
    show_add_json_fields(j, &fields_of_event, e, s->started_at_us);
}

void record_json_add_call_members(struct json_out *j, const struct query_call *c)
{
    json_out_str(j, "type", "call");
    json_out_int(j, "session_id", c->session_id);
    json_out_text(j, "server", c->server);
    json_out_int(j, "seq", c->request_seq);
    show_add_json_fields(j, &fields_of_call, c, c->started_at_us - c->t_us);
    if (c->operation_seq != 0)
        json_out_int(j, "operation_seq", c->operation_seq);
}

/* ---- for --json ---- */

static struct json_out record_json_begin_object(struct buf *b)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    return j;
}

void record_json_append_session(struct buf *b, const struct query_session *s,
                                const struct session_view *v)
{
    struct session_line line = session_line(s, v);
    struct json_out j = json_out_to(b);
    struct show_list list = session_list_columns(false, false);
    show_row_as_json(&j, &list, &line);
}

void record_json_append_message(struct buf *b, const struct query_session *s,
                                const struct query_message *m,
                                const struct operation_list *operations, struct slice body,
                                const char *body_error)
{
    struct json_out j = record_json_begin_object(b);
    record_json_add_message_members(&j, s, m);
    if (body_error != NULL)
        json_out_str(&j, "body_error", body_error);
    show_text_as_json_member(&j, "body", body);
    if (operations != NULL && (m->kind == KIND_REQUEST || query_message_is_answer(m))) {
        /* seq of the first request of the operation to which this request or answer belongs */
        int64_t first = operation_list_find_continued_seq(
            operations, m->kind == KIND_REQUEST ? m->seq : m->request_seq);
        record_json_add_number(&j, "operation_seq", first != 0, first);
    }
    json_out_end(&j);
}

void record_json_append_event(struct buf *b, const struct query_session *s,
                              const struct query_event *e)
{
    struct json_out j = record_json_begin_object(b);
    record_json_add_event_members(&j, s, e);
    json_out_end(&j);
}
