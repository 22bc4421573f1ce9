#include "proxy/session/repeat.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/units.h"
#include "proxy/session/answer.h"
#include "wire/json/text.h"

/* Returns a text that says why the first call may or may not have run. cause: `cause` in the error
 * that answered the first call. */
static const char *explain_why_call_may_have_run(const char *cause)
{
    static const struct {
        const char *cause, *words;
    } table[] = {
        {"timeout", "the call was not answered before its deadline"},
        {"hang", "the server hung on the call and was killed"},
        {"server-exited", "the server exited before it answered"},
        {"server-killed", "the server was killed before it answered"},
        {"server-closed", "the server closed its output before it answered"},
        {"cancelled", "the client cancelled the call"},
        {"rejected-answer", "the server answered the call, and the answer was rejected as invalid"},
    };
    for (size_t i = 0; i < MI_COUNT(table); i++)
        if (strcmp(table[i].cause, cause) == 0)
            return table[i].words;
    return "the call was not answered";
}

static const char *explain_late_answer(enum late_answer a)
{
    switch (a) {
    case LATE_RESULT:
        return "the server has meanwhile answered the call with a result";
    case LATE_TOOL_ERROR:
        return "the server has meanwhile answered the call: the tool reports an error";
    case LATE_ERROR:
        return "the server has meanwhile answered the call with an error";
    case LATE_CANCELLED:
        return "the server has meanwhile confirmed the cancellation, which does not say whether "
               "the call ran";
    case LATE_UNFINISHED:
        return "the server has meanwhile answered that the call has begun and continues";
    case LATE_NONE:
        break;
    }
    return "no answer to the call has arrived so far";
}

static void repeat_record_event(struct traffic *t, const struct message *x, uint64_t seq)
{
    const struct repeat *r = &x->again;
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    json_out_object(&j, NULL);
    json_out_uint(&j, "seq", seq);
    json_out_quoted(&j, "tool", rpc_target(&x->m));
    json_out_str(&j, "decision", repeat_decision_name(r->decision));
    json_out_uint(&j, "first", r->first_seq);
    json_out_int(&j, "age_ms", r->age_ms);
    json_out_str(&j, "cause", r->cause);
    json_out_str(&j, "late_answer", late_answer_name(r->late));
    json_out_end(&j);
    journal_append_event(t->journal, "repeat", b.failed ? NULL : buf_str(&b));
    buf_close(&b);
    b = (struct buf){0};
    message_append_name(&b, x->m.method, rpc_target(&x->m));
    log_warn("a call equals an earlier call that may have run: server=%s request=\"%s\" seq=%llu "
             "first=%llu "
             "decision=%s",
             t->server, buf_str(&b), (unsigned long long)seq, (unsigned long long)r->first_seq,
             repeat_decision_name(r->decision));
    buf_close(&b);
}

static void repeat_refuse_call(struct traffic *t, struct message *x, struct uncertain_call *first)
{
    struct buf why = {0};
    const struct repeat *r = &x->again;
    buf_printf(
        &why,
        "Not sent: the same call was sent %s ago (message %llu) and may have run: %s; %s. Check "
        "whether that call took effect. To run it again, send the same call once more.",
        units_format_duration(r->age_ms * 1000).s, (unsigned long long)r->first_seq,
        explain_why_call_may_have_run(r->cause), explain_late_answer(r->late));
    uint64_t seq = answer_reject_repeat(t, x, why.failed ? "this call may have run" : buf_str(&why),
                                        &x->again);
    if (first->refused_at == 0)
        first->refused_at = t->out[ROW_S2C].staged;
    repeat_record_event(t, x, seq);
    buf_close(&why);
}

/* Returns true for a call of a tool that must not run twice, if such calls are remembered at
 * all. */
static bool call_can_become_uncertain(const struct traffic *t, const struct message *x,
                                      const struct protocol_asked *asked)
{
    return asked->method != NULL && strcmp(asked->method->name, "tools/call") == 0 &&
           x->m.name.type == JSON_STRING && t->repeats.window_us > 0 &&
           !handshake_tool_may_run_twice(&t->handshake, json_string_raw(x->m.name));
}

bool repeat_check_request(struct traffic *t, struct message *x, const struct protocol_asked *asked)
{
    struct uncertain_call *first;
    struct repeat *r = &x->again;
    if (t->repeats.n == 0 && x->text.n <= PENDING_WHOLE_MAX)
        return true;
    if (!call_can_become_uncertain(t, x, asked))
        return true;
    int64_t now_us = journal_now_us(t->journal);
    r->key = repeats_compute_call_key(&t->repeats, &x->m);
    uint64_t client_read = t->client_has_read != NULL
                               ? t->client_has_read(t->owner)
                               : outbox_count_accepted_bytes(&t->out[ROW_S2C]);
    r->decision = repeats_decide_about_call(
        &t->repeats, r->key, x->m.in_params[FIELD_TASK] != JSON_NONE,
        x->batch_seq == 0 && t->validate != VALIDATE_NONE, now_us, client_read, &first);
    if (r->decision == REPEAT_NONE)
        return true;
    r->first_seq = first->seq;
    r->age_ms = (now_us - first->called_us) / 1000;
    r->first_at_us = first->called_at_us;
    r->cause = first->cause;
    r->late = first->late;
    x->m.findings |= FINDING(FIND_REPEAT_OF_UNCERTAIN);
    if (r->decision == REPEAT_REFUSED) {
        repeat_refuse_call(t, x, first);
    } else if (r->decision == REPEAT_ANSWERED) {
        struct slice late = {first->text, first->text_n};
        repeat_record_event(t, x, answer_repeat_with_late_result(t, x, late, r));
        repeats_remove_key(&t->repeats, r->key);
    }
    return r->decision == REPEAT_WARNED || r->decision == REPEAT_INSISTED;
}

void repeat_handle_forwarded_call(struct traffic *t, const struct message *x, struct pending *p)
{
    const struct repeat *r = &x->again;
    struct buf happened = {0};
    p->call_key = r->key;
    p->repeats = r->decision != REPEAT_NONE;
    if (!p->repeats)
        return;
    repeat_record_event(t, x, p->request_seq);
    if (t->on_repeat == NULL || strcmp(r->cause, "cancelled") == 0)
        return; /* a user who cancels a call may intentionally repeat it */
    buf_printf(&happened, "this call (");
    message_append_name(&happened, x->m.method, rpc_target(&x->m));
    buf_printf(&happened,
               ") equals request %llu, which was received %s ago, at %s, and may have run: %s; %s",
               (unsigned long long)r->first_seq, units_format_duration(r->age_ms * 1000).s,
               clock_format_utc(r->first_at_us).s, explain_why_call_may_have_run(r->cause),
               explain_late_answer(r->late));
    t->on_repeat(t->owner, p, happened.failed ? "A call may have run twice." : buf_str(&happened));
    buf_close(&happened);
}
