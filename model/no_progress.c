#include "model/no_progress.h"

#include "wire/json/text.h"
#include "wire/value_hash.h"

void no_progress_open(struct no_progress *p, const struct hash_key *key)
{
    *p = (struct no_progress){0};
    if (key != NULL)
        p->key = *key;
}

void no_progress_append_reason(struct buf *b, unsigned times, bool failed)
{
    buf_printf(b, failed ? "failed %u times" : "the same result %u times in a row", times);
}

static void no_progress_begin_call(struct no_progress *p, int64_t seq, const struct rpc *call)
{
    struct json_value arguments = call->arguments;
    if (call->kind != RPC_REQUEST || call->name.type != JSON_STRING)
        return;
    if (arguments.type == JSON_NONE)
        arguments = (struct json_value){JSON_OBJECT, slice_of("{}")};
    uint64_t name = value_hash(&p->key, call->name), hash = value_hash(&p->key, arguments);
    hash = name != 0 && hash != 0 ? keyed_hash_pair(&p->key, name, hash) : 0;
    p->open[p->open_next].call = hash;
    p->open[p->open_next].seq = seq;
    p->open_next = (p->open_next + 1) % NO_PROGRESS_OPEN;
}

/* Returns the index of the call with this seq; NO_PROGRESS_OPEN if there is no such call. Searches
 * from `open_first` on, because most answers come in the order of their calls. */
static size_t no_progress_find_open_call(const struct no_progress *p, int64_t seq)
{
    for (size_t k = 0; k < NO_PROGRESS_OPEN; k++) {
        size_t i = (p->open_first + k) % NO_PROGRESS_OPEN;
        if (p->open[i].seq == seq)
            return i;
    }
    return NO_PROGRESS_OPEN;
}

/* Returns whether a call with this count is reported: at NO_PROGRESS_TIMES, and each time the count
 * has doubled. */
static bool should_report_call_with_count(unsigned times)
{
    while (times > NO_PROGRESS_TIMES && times % 2 == 0)
        times /= 2;
    return times == NO_PROGRESS_TIMES;
}

/* Longer results are hashed with their members in the order in which they were written. Sorting the
 * members takes ten times as long as the hash. */
#define NO_PROGRESS_SORTED_MAX (64 << 10)

static uint64_t no_progress_hash_result(const struct no_progress *p, const struct rpc *answer)
{
    bool error = answer->kind == RPC_ERROR;
    struct json_value v = error ? answer->error : answer->result;
    if (v.text.n > NO_PROGRESS_SORTED_MAX)
        return keyed_mix_bytes(&p->key, error, v.text) | 1;
    uint64_t hash = value_hash_without_meta(&p->key, v);
    return hash != 0 ? keyed_hash_pair(&p->key, error, hash) : 0;
}

/* Returns how many equal answers came in a row; 0: this answer is not counted. */
static unsigned no_progress_count_same_answers(struct no_progress *p,
                                               const struct no_progress_message *m, uint64_t call,
                                               const struct rpc *answer)
{
    uint64_t result = no_progress_hash_result(p, answer);
    bool same = result != 0 && call == p->last_call && result == p->last_result;
    if (same && m->request_seq < p->same_seq)
        return 0;
    p->same = same ? p->same + 1 : 1;
    p->same_seq = m->seq;
    p->last_call = call;
    p->last_result = result;
    return p->same;
}

/* Returns how often the call has failed since its last success; 0: the call has succeeded, or this
 * failure is not counted. */
static unsigned no_progress_count_failures(struct no_progress *p,
                                           const struct no_progress_message *m, uint64_t call,
                                           bool failed)
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

bool no_progress_needs_body(const struct no_progress *p, const struct no_progress_message *m)
{
    if (m->kind == KIND_REQUEST)
        return m->direction == ROW_C2S && json_key_is(m->method, "tools/call");
    return (m->kind == KIND_RESULT || m->kind == KIND_ERROR) && m->direction == ROW_S2C &&
           m->action == ROW_FORWARDED && m->request_seq != 0 &&
           no_progress_find_open_call(p, m->request_seq) < NO_PROGRESS_OPEN;
}

static struct no_progress_found no_progress_handle_answer(struct no_progress *p,
                                                          const struct no_progress_message *m,
                                                          const struct rpc *answer)
{
    struct no_progress_found found = {.request = m->request_seq};
    size_t at = no_progress_find_open_call(p, m->request_seq);
    if (at == NO_PROGRESS_OPEN)
        return found;
    uint64_t call = p->open[at].call;
    p->open[at].seq = 0;
    p->open_first = (at + 1) % NO_PROGRESS_OPEN;
    if (call == 0 || (answer->kind != RPC_RESULT && answer->kind != RPC_ERROR))
        return found;
    bool failed = answer->kind == RPC_ERROR || answer->is_error.type == JSON_TRUE;
    unsigned same = no_progress_count_same_answers(p, m, call, answer);
    unsigned fails = no_progress_count_failures(p, m, call, failed);
    if (should_report_call_with_count(fails)) {
        found.times = fails;
        found.failed = true;
    } else if (should_report_call_with_count(same) && !failed) {
        found.times = same;
    }
    return found;
}

struct no_progress_found no_progress_add_message(struct no_progress *p,
                                                 const struct no_progress_message *m,
                                                 const struct rpc *read)
{
    if (read == NULL || !no_progress_needs_body(p, m))
        return (struct no_progress_found){0};
    if (m->kind != KIND_REQUEST)
        return no_progress_handle_answer(p, m, read);
    no_progress_begin_call(p, m->seq, read);
    return (struct no_progress_found){0};
}
