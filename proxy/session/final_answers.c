#include "proxy/session/final_answers.h"

#include "proxy/session/answer.h"
#include "proxy/session/request.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"

void final_answers_send_errors(struct traffic *t, enum call_status status, const char *cause,
                               const char *why, uint64_t read)
{
    for (struct pending *p; (p = t->open[ROW_C2S].open.oldest) != NULL;) {
        (void)request_was_read_by_server(p, read);
        answer_request_of_ended_server(t, p, status, cause, why);
    }
}

void final_answers_end_subscriptions(struct traffic *t)
{
    for (struct pending *p = t->open[ROW_C2S].open.oldest, *next; p != NULL; p = next) {
        next = p->next;
        if (p->flags & METHOD_LISTENS)
            answer_subscription_with_end(t, p);
    }
}

/* ---- dropping unrecorded messages ----------------------------------------------------------- */

/* Appends the ids of the answers in these complete lines, one per line. */
static void collect_answer_ids(struct buf *ids, struct slice lines)
{
    while (lines.n > 0) {
        const char *nl = memchr(lines.p, '\n', lines.n);
        size_t n = nl != NULL ? (size_t)(nl - lines.p) : lines.n;
        struct rpc m;
        struct slice key;
        struct json_value v;
        if (rpc_read((struct slice){lines.p, n}, &m) < 0)
            m = (struct rpc){0};
        if (m.kind == RPC_BATCH) {
            struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, m.text});
            while (json_walk_next(&w, &key, &v))
                collect_answer_ids(ids, v.type == JSON_OBJECT ? v.text : (struct slice){0});
        } else if ((m.kind == RPC_RESULT || m.kind == RPC_ERROR) && m.id.text.p != NULL &&
                   m.id.type != JSON_NULL) {
            buf_slice_add(ids, m.id.text);
            buf_addc(ids, '\n');
        }
        lines.p += n + (nl != NULL);
        lines.n -= n + (nl != NULL);
    }
}

static void answer_requests_with_error(struct traffic *t, struct slice ids, const char *cause,
                                       const char *why)
{
    int code = strcmp(t->version, "2026-07-28") == 0 ? REPLY_SERVER_GONE_MODERN : RPC_SERVER_GONE;
    while (ids.n > 0) {
        size_t n = (size_t)((const char *)memchr(ids.p, '\n', ids.n) - ids.p);
        answer_send_error(t, ROW_S2C, (struct slice){ids.p, n}, 0, code, why, cause);
        ids.p += n + 1;
        ids.n -= n + 1;
    }
}

void final_answers_drop_unrecorded(struct traffic *t, const char *cause, const char *why)
{
    struct buf ids = {0};
    struct slice piece;
    for (size_t at = 0; outbox_next_staged_piece(&t->out[ROW_S2C], &at, &piece);)
        collect_answer_ids(&ids, piece);
    outbox_discard_staged_bytes(&t->out[ROW_S2C]);
    if (ids.failed) /* out of memory: end the stream, so that the client does not wait */
        outbox_discard_after_error(&t->out[ROW_S2C]);
    else
        answer_requests_with_error(t, buf_slice(&ids), cause, why);
    buf_close(&ids);
}

void final_answers_send_record_errors(struct traffic *t, const char *cause, const char *why)
{
    while (t->open[ROW_C2S].open.oldest != NULL)
        answer_for_missing_server(t, t->open[ROW_C2S].open.oldest, CALL_INTERRUPTED, cause, why);
}
