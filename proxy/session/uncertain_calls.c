#include "proxy/session/uncertain_calls.h"

#include "base/clock.h"
#include "base/log.h"
#include "wire/json/text.h"

/* Returns the key of a request. The text of a request over PENDING_WHOLE_MAX is not kept, so
 * repeat.c computes its key when the request arrives. */
static uint64_t uncertain_calls_compute_key(const struct traffic *t, const struct pending *p)
{
    struct rpc request;
    if (p->call_key != 0 || p->text.p == NULL || rpc_read(p->text, &request) < 0)
        return p->call_key;
    return repeats_compute_call_key(&t->repeats, &request);
}

void uncertain_calls_add_call(struct traffic *t, const struct pending *p, const char *cause)
{
    if (!json_key_is(p->method, "tools/call") || p->target.p == NULL || t->repeats.window_us == 0 ||
        p->written_at == PENDING_NOT_STAGED || handshake_request_is_repeatable(&t->handshake, p))
        return;
    int64_t now_us = journal_now_us(t->journal);
    struct uncertain_call u = {
        .key = uncertain_calls_compute_key(t, p),
        .seq = p->request_seq,
        .called_us = p->t_us,
        .called_at_us = clock_wall_us() - (now_us - p->t_us),
        .at_us = now_us,
        .cause = cause,
        .written_at = p->written_at,
        .task = p->asks_for_task,
    };
    if (u.key == 0 && p->text.p == NULL) {
        log_warn("this call may have run, but a repeat would not be noticed: its tool was marked "
                 "read-only or idempotent when the call arrived, and the call was too long to be "
                 "kept for a comparison: server=%s seq=%llu",
                 t->server, (unsigned long long)p->request_seq);
        return;
    }
    enum repeats_added added = repeats_add_call(&t->repeats, &u);
    if (added == REPEATS_NOT) {
        log_warn("out of memory: this call may have run, but a repeat would not be noticed: "
                 "server=%s seq=%llu",
                 t->server, (unsigned long long)p->request_seq);
    } else if (added == REPEATS_IN_PLACE && t->repeats.dropped <= 1) { /* reported once */
        journal_append_event(t->journal, "repeats-full", NULL);
        log_warn(
            "more than %d calls may have run without an answer: repeats of the oldest ones are "
            "not noticed: server=%s",
            REPEATS_MAX, t->server);
    }
}

void uncertain_calls_store_late_answer(struct traffic *t, const struct pending *p,
                                       const struct rpc *m, late_sound_fn sound, struct message *x)
{
    struct slice text;
    if (t->repeats.n == 0 || !json_key_is(p->method, "tools/call"))
        return;
    enum late_answer a = classify_late_answer(m, &text);
    bool whole = a != LATE_CANCELLED && a != LATE_UNFINISHED;
    if (t->repeats.mode == ON_REPEAT_ANSWER && whole && !sound(t, x, p))
        text = (struct slice){0};
    (void)repeats_store_late_answer(&t->repeats, p->request_seq, a, text,
                                    journal_now_us(t->journal));
}

/* Only a result ends the uncertainty: an error, or a request for input, does not tell what happened
 * to the first call. */
void uncertain_calls_forget_answered(struct traffic *t, const struct pending *p,
                                     const struct rpc *m)
{
    struct slice text;
    if (!p->repeats || t->repeats.n == 0)
        return;
    enum late_answer a = classify_late_answer(m, &text);
    if (a == LATE_RESULT || a == LATE_TOOL_ERROR)
        repeats_remove_key(&t->repeats, p->call_key);
}
