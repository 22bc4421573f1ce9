#include "model/no_progress.h"

#include "wire/canon.h"
#include "wire/json/text.h"

void no_progress_open(struct no_progress *p, const struct hash_key *key)
{
    *p = (struct no_progress){0};
    if (key != NULL)
        p->key = *key;
}

void no_progress_describe(struct buf *b, unsigned times, bool failed)
{
    buf_printf(b, failed ? "failed %u times" : "the same result %u times in a row", times);
}

/* Never 0. 0: out of memory. */
static uint64_t no_progress_hash(const struct no_progress *p, struct buf *text)
{
    uint64_t h = text->failed ? 0 : keyed_hash(&p->key, buf_slice(text));
    h += !text->failed && h == 0;
    buf_close(text);
    return h;
}

static void no_progress_begin(struct no_progress *p, const struct no_progress_message *m)
{
    struct rpc call;
    struct buf text = {0};
    if (rpc_read(m->body, &call) < 0 || call.kind != RPC_REQUEST || call.name.type != JSON_STRING)
        return;
    canon_call(&text, call.name, call.arguments);
    p->open[p->open_next].call = no_progress_hash(p, &text);
    p->open[p->open_next].seq = m->seq;
    p->open_next = (p->open_next + 1) % NO_PROGRESS_OPEN;
}

/* The hash of the call with this seq, which is forgotten; 0: none. */
static uint64_t no_progress_take(struct no_progress *p, int64_t seq)
{
    for (size_t i = 0; i < NO_PROGRESS_OPEN; i++) {
        if (p->open[i].seq != seq)
            continue;
        p->open[i].seq = 0;
        return p->open[i].call;
    }
    return 0;
}

/* NO_PROGRESS_TIMES, or that doubled. */
static bool is_reported(unsigned times)
{
    while (times > NO_PROGRESS_TIMES && times % 2 == 0)
        times /= 2;
    return times == NO_PROGRESS_TIMES;
}

/* Large results are compared as they are written: sorting their members takes ten times as long as hashing them. */
#define NO_PROGRESS_SORTED_MAX (64 << 10)

static uint64_t no_progress_result(const struct no_progress *p, const struct rpc *answer)
{
    struct json_value v = answer->kind == RPC_ERROR ? answer->error : answer->result;
    if (v.text.n > NO_PROGRESS_SORTED_MAX)
        return keyed_hash(&p->key, v.text) | 1;
    struct buf text = {0};
    buf_addc(&text, answer->kind == RPC_ERROR ? 'e' : 'r');
    canon_without_meta(&text, v);
    return no_progress_hash(p, &text);
}

/* Returns how often the answer has been the same; 0: it does not count. */
static unsigned no_progress_same(struct no_progress *p, const struct no_progress_message *m,
                                 uint64_t call, const struct rpc *answer)
{
    uint64_t result = no_progress_result(p, answer);
    bool same = result != 0 && call == p->last_call && result == p->last_result;
    if (same && m->request_seq < p->same_seq)
        return 0;
    p->same = same ? p->same + 1 : 1;
    p->same_seq = m->seq;
    p->last_call = call;
    p->last_result = result;
    return p->same;
}

/* Returns how often the call has failed since it last succeeded; 0: it does not count. */
static unsigned no_progress_failed(struct no_progress *p, const struct no_progress_message *m,
                                   uint64_t call, bool failed)
{
    size_t i = 0;
    while (i < NO_PROGRESS_FAILING && (p->failing[i].times == 0 || p->failing[i].call != call))
        i++;
    if (i == NO_PROGRESS_FAILING && !failed)
        return 0;
    if (i == NO_PROGRESS_FAILING) {
        i = p->failing_next;
        p->failing_next = (i + 1) % NO_PROGRESS_FAILING;
        p->failing[i].call = call;
        p->failing[i].times = 0;
    }
    if (failed && p->failing[i].times > 0 && m->request_seq < p->failing[i].seq)
        return 0;
    p->failing[i].times = failed ? p->failing[i].times + 1 : 0;
    p->failing[i].seq = m->seq;
    return p->failing[i].times;
}

static struct no_progress_found no_progress_answer(struct no_progress *p, const struct no_progress_message *m)
{
    struct no_progress_found found = {.request = m->request_seq};
    struct rpc answer;
    uint64_t call = no_progress_take(p, m->request_seq);
    if (call == 0 || rpc_read(m->body, &answer) < 0 ||
        (answer.kind != RPC_RESULT && answer.kind != RPC_ERROR))
        return found;
    bool failed = answer.kind == RPC_ERROR || answer.is_error.type == JSON_TRUE;
    unsigned same = no_progress_same(p, m, call, &answer);
    unsigned fails = no_progress_failed(p, m, call, failed);
    if (is_reported(fails)) {
        found.times = fails;
        found.failed = true;
    } else if (is_reported(same) && !failed) {
        found.times = same;
    }
    return found;
}

struct no_progress_found no_progress_look(struct no_progress *p, const struct no_progress_message *m)
{
    if (m->body.p == NULL)
        return (struct no_progress_found){0};
    if (m->kind == KIND_REQUEST && m->direction == ROW_C2S &&
        json_key_is(m->method, "tools/call"))
        no_progress_begin(p, m);
    else if ((m->kind == KIND_RESULT || m->kind == KIND_ERROR) && m->direction == ROW_S2C &&
             m->action == ROW_FORWARDED && m->request_seq != 0)
        return no_progress_answer(p, m);
    return (struct no_progress_found){0};
}
