#include "replay/mock/forwarder_queue.h"

#include "replay/mock/answer.h"
#include "wire/rpc_id.h"
#include "wire/rpc_out.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- sending ---- */

struct slice forwarder_format_number(uint64_t number, char text[32])
{
    return (struct slice){text, (size_t)snprintf(text, 32, "%llu", (unsigned long long)number)};
}

int forwarder_send_message(struct forwarder *f, struct slice message,
                           const struct slice with[REWRITE_COUNT])
{
    buf_clear(&f->out);
    int st = rewrite_message(&f->out, message, with);
    if (st == MI_EPROTO || st == MI_ENOENT)
        return 0; /* This cannot happen: the message was read before, and has this member. */
    return st < 0 ? st : f->calls->send(f->ctx, buf_slice(&f->out));
}

static int forwarder_send_message_with_id(struct forwarder *f, struct slice message,
                                          uint64_t number)
{
    char text[32];
    struct slice with[REWRITE_COUNT] = {0};
    with[REWRITE_ID] = forwarder_format_number(number, text);
    return forwarder_send_message(f, message, with);
}

int forwarder_send_own_request(struct forwarder *f, struct slice message)
{
    f->own = ++f->number;
    return forwarder_send_message_with_id(f, message, f->own);
}

int forwarder_record_message(struct conversation *s, bool from_client, struct slice message)
{
    struct forwarder *f = s->forwarder;
    struct slice form;
    if (f->calls->keep == NULL)
        return 0;
    int st = source_sanitize_message(s->source, message, &form);
    return st < 0 ? st : f->calls->keep(f->ctx, from_client, form, s->now_us);
}

/* ---- the client's requests ---- */

static struct slice append_text_to_request_data(char **to, struct slice text)
{
    struct slice kept = {*to, text.n};
    if (text.n > 0)
        memcpy(*to, text.p, text.n);
    *to += text.n;
    return kept;
}

struct forwarder_request *forwarder_add_request_to_list(struct conversation *s,
                                                        const struct rpc *live,
                                                        struct mock_batch *batch)
{
    struct forwarder *f = s->forwarder;
    struct slice id = live->id.text;
    struct slice form;
    struct rpc stored; /* use the sanitized request, because reports must not contain secrets */
    if (source_sanitize_message(s->source, live->text, &form) < 0 || rpc_read(form, &stored) < 0)
        return NULL;
    struct rpc_name name = rpc_name(&stored, &f->out);
    buf_clear(&s->key);
    rpc_id_append_key(&s->key, live->id);
    struct forwarder_request *p = NULL;
    if (!s->key.failed && !f->out.failed)
        p = calloc(1, sizeof *p + id.n + s->key.n + name.method.n + name.target.n);
    if (p == NULL)
        return NULL;
    char *to = p->data;
    p->id = append_text_to_request_data(&to, id);
    p->key = append_text_to_request_data(&to, buf_slice(&s->key));
    p->method = append_text_to_request_data(&to, name.method);
    p->target = append_text_to_request_data(&to, name.target);
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

static void free_pending_request(struct forwarder_request *p)
{
    buf_close(&p->text);
    free(p);
}

void forwarder_free_all_requests(struct forwarder *f)
{
    for (struct forwarder_request *p = f->pending, *next; p != NULL; p = next) {
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

struct forwarder_request *forwarder_remove_request_by_number(struct forwarder *f, uint64_t number)
{
    struct forwarder_request *before = NULL, *p = f->pending;
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

int forwarder_free_request(struct conversation *s, struct forwarder_request *p)
{
    struct mock_batch *batch = p->batch;
    free_pending_request(p);
    return batch != NULL ? mock_batch_complete_answer(s, batch) : 0;
}

int forwarder_send_queued_request(struct conversation *s, struct forwarder_request *p,
                                  struct slice text)
{
    struct forwarder *f = s->forwarder;
    p->number = ++f->number;
    int st = forwarder_record_message(s, true, text);
    return st < 0 ? st : forwarder_send_message_with_id(f, text, p->number);
}

int forwarder_send_all_queued_requests(struct conversation *s)
{
    struct forwarder *f = s->forwarder;
    int st = 0;
    f->phase = FORWARDER_READY;
    for (struct forwarder_request *p = f->pending; p != NULL && st == 0; p = p->next) {
        st = forwarder_send_queued_request(s, p, buf_slice(&p->text));
        buf_close(&p->text);
    }
    return st;
}

void forwarder_report_unanswered(struct conversation *s, const struct forwarder_request *p)
{
    struct miss f = {.kind = MISS_UNANSWERED, .method = p->method, .target = p->target};
    if (!p->cancelled)
        misses_add_and_log_miss(s->misses, &f, NULL);
}

static int refuse_pending_request(struct conversation *s, struct forwarder_request *p)
{
    struct buf why = {0};
    forwarder_report_unanswered(s, p);
    buf_printf(&why, "%s; this request was not recorded", buf_str(&s->forwarder->over));
    int st = why.failed ? MI_ENOMEM
                        : mock_send_error(s, p->batch, p->id, RPC_SERVER_GONE, buf_str(&why),
                                          "live-server", NULL);
    buf_close(&why);
    int ended = forwarder_free_request(s, p);
    return st < 0 ? st : ended;
}

int forwarder_refuse_all_requests(struct conversation *s)
{
    struct forwarder *f = s->forwarder;
    f->phase = FORWARDER_OVER;
    int st = 0;
    while (st == 0 && f->pending != NULL)
        st = refuse_pending_request(s, forwarder_remove_request_by_number(f, f->pending->number));
    return st;
}
