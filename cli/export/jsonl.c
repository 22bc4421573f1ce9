/* jsonl.c - writes JSON lines, like `show --json`. */
#include "cli/export/formats.h"

#include "cli/frame/record_json.h"

static bool jsonl_write_message(void *ctx, const struct query_message *m)
{
    struct export *x = ctx;
    const char *error;
    if (export_skips_message(x, m))
        return true;
    struct slice body = export_read_body(x, m, SIZE_MAX, &error);
    record_json_append_message(&x->b, x->s, m, &x->calls.operations, body, error);
    buf_addc(&x->b, '\n');
    return export_flush(x);
}

static bool jsonl_write_event(void *ctx, const struct query_event *e)
{
    struct export *x = ctx;
    record_json_append_event(&x->b, x->s, e);
    buf_addc(&x->b, '\n');
    return export_flush(x);
}

int export_jsonl(struct export *x)
{
    record_json_append_session(&x->b, x->s, &x->view);
    buf_addc(&x->b, '\n');
    struct message_question selected = {x->filter, x->s->id, x->s->started_at_us, 0,
                                        x->view.summary.last_seq};
    int st = query_messages_and_events(x->q, &selected, jsonl_write_message, jsonl_write_event, x);
    return st == 0 ? export_finish_writing(x) : st;
}
