#include "replay/plan/load.h"

/* Sanitizes a recorded request again if another version of the sanitizer recorded it. */
static int sanitize_old_recorded_request(struct source *s, struct slice *body)
{
    return source_sanitizer_is_old(s) ? source_sanitize_message(s, *body, body) : 0;
}

static int plan_load_add_message(struct plan *p, struct source *s, const struct source_message *m,
                                 struct buf *scratch)
{
    struct slice body = m->body;
    bool answer = m->kind == RPC_RESULT || m->kind == RPC_ERROR;
    if (body.p == NULL && !m->lost && !m->is_stderr && !answer) {
        buf_clear(scratch);
        int st = source_read_body(s, m->place, scratch);
        if (st < 0 && st != MI_ENOENT)
            return st;
        if (st == 0)
            body = buf_slice(scratch);
    }
    if (m->from_client && m->kind == RPC_REQUEST && body.p != NULL) {
        int st = sanitize_old_recorded_request(s, &body);
        if (st < 0)
            return st;
    }
    return plan_add_message(p, m, body);
}

int plan_load(struct plan *p, struct source *s, size_t messages, struct buf *scratch)
{
    for (size_t i = 0; i < messages && !plan_is_finished(p); i++) {
        struct source_message m;
        int st = source_read_next_message(s, &m);
        if (st == MI_ENOENT)
            st = plan_finish(p, source_info(s)->server_ended);
        else if (st == 0)
            st = plan_load_add_message(p, s, &m, scratch);
        if (st < 0)
            return st;
    }
    return 0;
}

int plan_read_request(struct plan *p, struct source *s, uint32_t exchange, struct buf *scratch,
                      struct rpc *ret)
{
    buf_clear(scratch);
    int st = source_read_body(s, plan_get_exchange(p, exchange)->place, scratch);
    struct slice body = buf_slice(scratch);
    if (st == 0)
        st = sanitize_old_recorded_request(s, &body);
    if (st < 0)
        return st;
    return rpc_read(body, ret) == 0 && ret->kind == RPC_REQUEST ? 0 : MI_ENOENT;
}
