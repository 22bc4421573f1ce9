#include "cli/calls.h"

#include "base/room.h"
#include "cli/session.h"
#include "wire/json_text.h"

#include <stdlib.h>

static struct call *find(const struct calls *c, int64_t seq)
{
    size_t from = 0;
    size_t to = c->n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (c->call[middle].seq < seq)
            from = middle + 1;
        else
            to = middle;
    }
    return from < c->n && c->call[from].seq == seq ? &c->call[from] : NULL;
}

const struct call *calls_find(const struct calls *c, int64_t seq)
{
    return find(c, seq);
}

static bool add(struct calls *c, const struct query_message *m)
{
    if (!ROOM(c->call, c->n, c->cap))
        return false;
    c->call[c->n++] = (struct call){
        .seq = m->seq,
        .t_us = m->t_us,
        .end_us = -1,
        .status = slice_is(m->action, "refused") ? CALL_REFUSED : CALL_OPEN,
        .from_server = slice_is(m->direction, "s2c"),
    };
    return true;
}

static char *error_message(const struct query_message *m)
{
    struct json_scan scan;
    if (m->body.p == NULL || json_scan(m->body, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        return NULL;
    struct json_value error = json_get((struct json_value){scan.type, scan.root}, "error");
    if (error.type != JSON_OBJECT)
        return NULL;
    struct json_value text = json_get(error, "message");
    if (text.type != JSON_STRING)
        return NULL;
    struct buf b = {0};
    json_unescape(&b, json_string_head(text.text.p, CALL_MESSAGE_MAX));
    char *copy = b.failed ? NULL : strndup(buf_str(&b), b.n);
    buf_close(&b);
    return copy;
}

static enum query_status status_named(const char *name)
{
    enum query_status s = CALL_OK;
    while (s < CALL_STATUSES && strcmp(query_status_name(s), name) != 0)
        s++;
    return s < CALL_STATUSES ? s : CALL_OK;
}

static void finish(struct call *call, const struct query_message *m)
{
    bool cancelled = slice_is(m->kind, "notification");
    if (call->status != CALL_REFUSED)
        call->status = cancelled ? CALL_CANCELLED : status_named(session_answer_status(m));
    call->end_us = m->t_us;
    if (cancelled)
        return;
    call->answer_seq = m->seq;
    call->answer_size = m->size;
    call->has_error_code = m->has_error_code;
    call->error_code = m->error_code;
    if (slice_is(m->kind, "error"))
        call->error_message = error_message(m);
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct calls *c = ctx;
    c->last_t_us = m->t_us;
    if (slice_is(m->kind, "request")) {
        c->no_memory = slice_is(m->origin, "peer") && !add(c, m);
        return !c->no_memory;
    }
    if (m->request_seq == 0 || !slice_is(m->action, "forwarded"))
        return true;
    struct call *call = find(c, m->request_seq);
    if (call == NULL || call->end_us >= 0)
        return true;
    bool from_server = slice_is(m->direction, "s2c");
    bool answers = session_is_answer(m) && from_server != call->from_server;
    bool cancels = slice_is(m->kind, "notification") && from_server == call->from_server;
    if (answers || cancels)
        finish(call, m);
    return true;
}

int calls_read(struct calls *c, struct query *q, int64_t session_id, int64_t last_seq)
{
    *c = (struct calls){0};
    int st = query_timeline(q, session_id, 0, last_seq, on_message, NULL, c);
    return st == 0 && c->no_memory ? MI_ENOMEM : st;
}

void calls_close(struct calls *c)
{
    for (size_t i = 0; i < c->n; i++)
        free(c->call[i].error_message);
    free(c->call);
    *c = (struct calls){0};
}
