#include "replay/mock/forward_queue.h"

#include "replay/mock/answer.h"
#include "wire/rpc_id.h"
#include "wire/rpc_out.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- sending ---- */

struct slice forward_format_number(uint64_t number, char text[32])
{
    return (struct slice){text, (size_t)snprintf(text, 32, "%llu", (unsigned long long)number)};
}

int forward_send_message(struct forward *f, struct slice message,
                         const struct slice with[REWRITE_COUNT])
{
    buf_clear(&f->out);
    int st = rewrite_message(&f->out, message, with);
    if (st == MI_EPROTO || st == MI_ENOENT)
        return 0; /* This cannot happen: the message was read before, and has this member. */
    return st < 0 ? st : f->calls->send(f->ctx, buf_slice(&f->out));
}

static int forward_send_numbered_message(struct forward *f, struct slice message, uint64_t number)
{
    char text[32];
    struct slice with[REWRITE_COUNT] = {0};
    with[REWRITE_ID] = forward_format_number(number, text);
    return forward_send_message(f, message, with);
}

int forward_send_own_request(struct forward *f, struct slice message)
{
    f->own = ++f->number;
    return forward_send_numbered_message(f, message, f->own);
}

int forward_record_message(struct conversation *s, bool from_client, struct slice message)
{
    struct forward *f = s->forward;
    struct slice form;
    if (f->calls->keep == NULL)
        return 0;
    int st = source_sanitize_message(s->source, message, &form);
    return st < 0 ? st : f->calls->keep(f->ctx, from_client, form, s->now_us);
}

/* ---- the client's requests ---- */

static struct slice copy_pending_text(char **to, struct slice text)
{
    struct slice kept = {*to, text.n};
    if (text.n > 0)
        memcpy(*to, text.p, text.n);
    *to += text.n;
    return kept;
}

struct forward_pending *forward_add_request(struct conversation *s, const struct rpc *live,
                                            struct mock_batch *batch)
{
    struct forward *f = s->forward;
    struct slice id = live->id.text;
    struct slice form;
    struct rpc stored; /* use the sanitized request, because reports must not contain secrets */
    if (source_sanitize_message(s->source, live->text, &form) < 0 || rpc_read(form, &stored) < 0)
        return NULL;
    struct rpc_name name = rpc_name(&stored, &f->out);
    buf_clear(&s->key);
    rpc_id_key(&s->key, live->id);
    struct forward_pending *p = NULL;
    if (!s->key.failed && !f->out.failed)
        p = calloc(1, sizeof *p + id.n + s->key.n + name.method.n + name.target.n);
    if (p == NULL)
        return NULL;
    char *to = p->data;
    p->id = copy_pending_text(&to, id);
    p->key = copy_pending_text(&to, buf_slice(&s->key));
    p->method = copy_pending_text(&to, name.method);
    p->target = copy_pending_text(&to, name.target);
    p->batch = batch;
    if (batch != NULL)
        batch->waiting++;
    if (f->newest != NULL)
        f->newest->next = p;
    else
        f->pending = p;
    f->newest = p;
    f->pending_n++;
    return p;
}

static void free_pending_request(struct forward_pending *p)
{
    buf_close(&p->text);
    free(p);
}

void forward_drop_pending_requests(struct forward *f)
{
    for (struct forward_pending *p = f->pending, *next; p != NULL; p = next) {
        next = p->next;
        if (p->batch != NULL && --p->batch->waiting == 0) {
            buf_close(&p->batch->text);
            free(p->batch);
        }
        free_pending_request(p);
    }
    f->pending = f->newest = NULL;
    f->pending_n = 0;
}

struct forward_pending *forward_take_pending_request(struct forward *f, uint64_t number)
{
    struct forward_pending *before = NULL, *p = f->pending;
    while (p != NULL && p->number != number) {
        before = p;
        p = p->next;
    }
    if (p == NULL)
        return NULL;
    if (before != NULL)
        before->next = p->next;
    else
        f->pending = p->next;
    if (f->newest == p)
        f->newest = before;
    f->pending_n--;
    return p;
}

int forward_free_request(struct conversation *s, struct forward_pending *p)
{
    struct mock_batch *batch = p->batch;
    free_pending_request(p);
    return batch != NULL ? mock_batch_complete_answer(s, batch) : 0;
}

int forward_send_pending_request(struct conversation *s, struct forward_pending *p,
                                 struct slice text)
{
    struct forward *f = s->forward;
    p->number = ++f->number;
    int st = forward_record_message(s, true, text);
    return st < 0 ? st : forward_send_numbered_message(f, text, p->number);
}

int forward_send_waiting_requests(struct conversation *s)
{
    struct forward *f = s->forward;
    int st = 0;
    f->phase = FORWARD_READY;
    for (struct forward_pending *p = f->pending; p != NULL && st == 0; p = p->next) {
        st = forward_send_pending_request(s, p, buf_slice(&p->text));
        buf_close(&p->text);
    }
    return st;
}

void forward_report_unanswered(struct conversation *s, const struct forward_pending *p)
{
    struct miss f = {.kind = MISS_UNANSWERED, .method = p->method, .target = p->target};
    if (!p->cancelled)
        misses_add_and_log_miss(s->misses, &f, NULL);
}

static int refuse_pending_request(struct conversation *s, struct forward_pending *p)
{
    struct buf why = {0};
    forward_report_unanswered(s, p);
    buf_printf(&why, "%s; this request was not recorded", buf_str(&s->forward->over));
    int st = why.failed ? MI_ENOMEM
                        : mock_send_error(s, p->batch, p->id, RPC_SERVER_GONE, buf_str(&why),
                                          "live-server", NULL);
    buf_close(&why);
    int ended = forward_free_request(s, p);
    return st < 0 ? st : ended;
}

int forward_refuse_all_requests(struct conversation *s)
{
    struct forward *f = s->forward;
    f->phase = FORWARD_OVER;
    int st = 0;
    while (st == 0 && f->pending != NULL)
        st = refuse_pending_request(s, forward_take_pending_request(f, f->pending->number));
    return st;
}
