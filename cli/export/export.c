#include "cli/export/export.h"

#define WRITE_SIZE ((size_t)64 << 10)

int export_open(struct export *x, struct query *q, const struct query_session *s, struct save *file,
                const struct filter *f, bool requests)
{
    *x = (struct export){.q = q, .s = s, .file = file, .filter = f};
    int st = session_read_view(q, s, false, &x->view);
    return st == 0 ? calls_read(&x->calls, q, s, x->view.summary.last_seq, f, requests) : st;
}

void export_close(struct export *x)
{
    calls_close(&x->calls);
    session_close(&x->view);
    buf_close(&x->b);
    buf_close(&x->body);
    buf_close(&x->text);
}

static bool export_write_buffer(struct export *x)
{
    if (x->b.failed || x->text.failed)
        x->status = MI_ENOMEM;
    else if (!save_write_bytes(x->file, buf_slice(&x->b)))
        x->status = MI_EIO;
    buf_clear(&x->b);
    return x->status == 0;
}

bool export_flush(struct export *x)
{
    return x->status == 0 && (x->b.n < WRITE_SIZE || export_write_buffer(x));
}

int export_finish_writing(struct export *x)
{
    if (x->status == 0)
        (void)export_write_buffer(x);
    return x->status;
}

struct slice export_read_body(struct export *x, const struct query_message *m, size_t max,
                              const char **ret_error)
{
    struct slice body;
    int st = session_read_body(x->q, x->s->uid, m, max, &x->body, &body, ret_error);
    x->status = x->status == 0 ? st : x->status;
    return body;
}

int export_read_rows(struct export *x, query_message_fn on_message, query_event_fn on_event,
                     void *ctx)
{
    int st = query_timeline(x->q, x->s->id, 0, x->view.summary.last_seq, on_message, on_event, ctx);
    return st == 0 ? x->status : st;
}

bool export_skips_message(const struct export *x, const struct query_message *m)
{
    return x->no_stderr && m->kind == KIND_STDERR;
}

const struct exported_call *export_find_selected_call(const struct export *x,
                                                      const struct query_message *m)
{
    const struct exported_call *c =
        m->kind == KIND_REQUEST ? calls_find_request(&x->calls, m->seq) : NULL;
    return c != NULL && c->selected ? c : NULL;
}

bool export_selects_message(const struct export *x, const struct query_message *m)
{
    int64_t seq = m->request_seq != 0 ? m->request_seq : m->seq;
    const struct exported_call *c = calls_find_request(&x->calls, seq);
    return c != NULL ? c->selected : filter_matches_message(x->filter, x->s->started_at_us, m);
}

bool export_selects_event(const struct export *x, const struct query_event *e)
{
    return filter_matches_event(x->filter, x->s->started_at_us, e);
}
