#include "cli/export.h"

#include "cli/record_json.h"

#define BLOCK ((size_t)64 << 10)

int export_open(struct export *x, struct query *q, const struct query_session *s, struct save *file)
{
    *x = (struct export){.q = q, .s = s, .file = file};
    int st = session_look(q, s, false, &x->view);
    return st == 0 ? calls_read(&x->calls, q, s->id, x->view.summary.last_seq) : st;
}

void export_close(struct export *x)
{
    calls_close(&x->calls);
    session_close(&x->view);
    buf_close(&x->b);
    buf_close(&x->body);
    buf_close(&x->text);
}

static bool write_out(struct export *x)
{
    if (x->b.failed || x->text.failed)
        x->status = MI_ENOMEM;
    else if (!save_write(x->file, buf_slice(&x->b)))
        x->status = MI_EIO;
    buf_clear(&x->b);
    return x->status == 0;
}

bool export_flush(struct export *x)
{
    return x->status == 0 && (x->b.n < BLOCK || write_out(x));
}

int export_end(struct export *x)
{
    if (x->status == 0)
        (void)write_out(x);
    return x->status;
}

struct slice export_body(struct export *x, const struct query_message *m, size_t max,
                         const char **ret_error)
{
    struct slice body = session_body(x->q, x->s->uid, m, max, &x->body, ret_error);
    if (x->body.failed) /* what is missing for want of memory makes no file */
        x->status = MI_ENOMEM;
    return body;
}

int export_each(struct export *x, query_message_fn on_message, query_event_fn on_event, void *ctx)
{
    int st = query_timeline(x->q, x->s->id, 0, x->view.summary.last_seq, on_message, on_event, ctx);
    return st == 0 ? x->status : st;
}

bool export_skips(const struct export *x, const struct query_message *m)
{
    return x->no_stderr && slice_is(m->kind, "stderr");
}

/* ---- jsonl: as `show --json` prints it ---- */

static bool json_message(void *ctx, const struct query_message *m)
{
    struct export *x = ctx;
    const char *error;
    if (export_skips(x, m))
        return true;
    struct slice body = export_body(x, m, SIZE_MAX, &error);
    record_json_message(&x->b, x->s, m, body, error);
    buf_addc(&x->b, '\n');
    return export_flush(x);
}

static bool json_event(void *ctx, const struct query_event *e)
{
    struct export *x = ctx;
    record_json_event(&x->b, x->s, e);
    buf_addc(&x->b, '\n');
    return export_flush(x);
}

int export_jsonl(struct export *x)
{
    record_json_session(&x->b, x->s, &x->view);
    buf_addc(&x->b, '\n');
    int st = export_each(x, json_message, json_event, x);
    return st == 0 ? export_end(x) : st;
}
