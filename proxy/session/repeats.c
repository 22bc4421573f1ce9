#include "proxy/session/repeats.h"

#include "base/grow.h"
#include "wire/canon.h"
#include "wire/json/text.h"

#include <stdlib.h>

#define LSP_REQUEST_CANCELLED (-32800)

const char *late_answer_name(enum late_answer a)
{
    static const char *const names[] = {
        [LATE_NONE] = "none",   [LATE_RESULT] = "result",       [LATE_TOOL_ERROR] = "tool-error",
        [LATE_ERROR] = "error", [LATE_CANCELLED] = "cancelled", [LATE_UNFINISHED] = "unfinished"};
    return names[a];
}

const char *repeat_decision_name(enum repeat_decision d)
{
    static const char *const names[] = {[REPEAT_NONE] = "none",
                                        [REPEAT_WARNED] = "forwarded",
                                        [REPEAT_INSISTED] = "insisted",
                                        [REPEAT_ANSWERED] = "answered",
                                        [REPEAT_REFUSED] = "refused"};
    return names[d];
}

/* Returns true if an error confirms a cancellation. The Python SDK sends code 0, "Request
 * cancelled". */
static bool error_confirms_cancellation(const struct rpc *m)
{
    int64_t code;
    struct slice text = json_string_raw(m->error_message);
    return (json_int(m->error_code, &code) && code == LSP_REQUEST_CANCELLED) ||
           (text.n <= 64 && (memmem(text.p, text.n, "ancelled", 8) != NULL ||
                             memmem(text.p, text.n, "anceled", 7) != NULL));
}

enum late_answer classify_late_answer(const struct rpc *m, struct slice *ret_text)
{
    *ret_text = m->kind == RPC_ERROR ? m->error.text : m->result.text;
    if (m->kind == RPC_ERROR)
        return error_confirms_cancellation(m) ? LATE_CANCELLED : LATE_ERROR;
    if (m->in_result[FIELD_TASK] == JSON_OBJECT ||
        (m->result_type.type == JSON_STRING &&
         !json_key_is(json_string_raw(m->result_type), "complete")))
        return LATE_UNFINISHED;
    return m->is_error.type == JSON_TRUE ? LATE_TOOL_ERROR : LATE_RESULT;
}

void repeats_open(struct repeats *r, enum on_repeat mode, int64_t window_us,
                  const struct hash_key *key)
{
    *r = (struct repeats){.mode = mode, .window_us = window_us, .key = *key};
}

static void free_uncertain_call_text(struct repeats *r, struct uncertain_call *u)
{
    r->bytes -= u->text_n;
    free(u->text);
    u->text = NULL;
    u->text_n = 0;
}

/* Removes the calls that are marked by a seq of 0. */
static void repeats_remove_marked_calls(struct repeats *r)
{
    size_t kept = 0;
    for (size_t i = 0; i < r->n; i++) {
        if (r->list[i].seq != 0)
            r->list[kept++] = r->list[i];
        else
            free_uncertain_call_text(r, &r->list[i]);
    }
    r->n = kept;
}

void repeats_close(struct repeats *r)
{
    for (size_t i = 0; i < r->n; i++)
        r->list[i].seq = 0;
    repeats_remove_marked_calls(r);
    free(r->list);
    r->list = NULL;
    r->cap = 0;
}

/* Appends a member of params to the text of a call's key; the character `mark` identifies the
 * member. */
static void add_member_to_call_key(struct buf *b, char mark, struct json_value v, bool as_written)
{
    if (v.type == JSON_NONE)
        return;
    buf_addc(b, '\n');
    buf_addc(b, mark);
    if (as_written)
        buf_slice_add(b, v.text);
    else
        canon_write_value(b, v);
}

uint64_t repeats_compute_call_key(const struct repeats *r, const struct rpc *call)
{
    struct buf text = {0};
    struct json_value responses = json_get(call->params, "inputResponses");
    bool as_written =
        call->name.text.n + call->arguments.text.n + responses.text.n + call->request_state.text.n >
        REPEATS_CANONICAL_MAX;
    if (as_written) {
        add_member_to_call_key(&text, 'n', call->name, true);
        add_member_to_call_key(&text, 'a', call->arguments, true);
    } else {
        canon_write_tool_call(&text, call->name, call->arguments);
    }
    add_member_to_call_key(&text, 'r', responses, as_written);
    add_member_to_call_key(&text, 's', call->request_state, as_written);
    uint64_t h = text.failed ? 0 : keyed_hash(&r->key, buf_slice(&text));
    h += !text.failed && h == 0;
    buf_close(&text);
    return h;
}

/* Forgets the calls that became uncertain more than window_us ago; they are first in the list. */
static void repeats_remove_old_calls(struct repeats *r, int64_t now_us)
{
    if (r->n == 0 || now_us - r->list[0].at_us <= r->window_us)
        return;
    for (size_t i = 0; i < r->n && now_us - r->list[i].at_us > r->window_us; i++)
        r->list[i].seq = 0;
    repeats_remove_marked_calls(r);
}

enum repeats_added repeats_add_call(struct repeats *r, const struct uncertain_call *u)
{
    if (r->window_us <= 0 || u->key == 0)
        return u->key == 0 ? REPEATS_NOT : REPEATS_ADDED;
    repeats_remove_old_calls(r, u->at_us);
    enum repeats_added added = REPEATS_ADDED;
    if (r->n == REPEATS_MAX) {
        r->list[0].seq = 0;
        repeats_remove_marked_calls(r);
        r->dropped++;
        added = REPEATS_IN_PLACE;
    }
    if (!GROW(r->list, r->n, r->cap))
        return REPEATS_NOT;
    r->list[r->n++] = *u;
    return added;
}

static void repeats_copy_text(struct repeats *r, struct uncertain_call *u, struct slice text)
{
    if (text.p == NULL || text.n > REPEATS_LATE_MAX)
        return;
    for (size_t i = 0; i < r->n && r->bytes + text.n > REPEATS_BYTES_MAX; i++)
        free_uncertain_call_text(r, &r->list[i]);
    u->text = malloc(text.n + 1);
    if (u->text == NULL)
        return;
    memcpy(u->text, text.p, text.n);
    u->text_n = text.n;
    r->bytes += text.n;
}

const struct uncertain_call *repeats_store_late_answer(struct repeats *r, uint64_t seq,
                                                       enum late_answer a, struct slice text,
                                                       int64_t now_us)
{
    struct uncertain_call *u = NULL;
    for (size_t i = r->n; i > 0 && u == NULL; i--)
        if (r->list[i - 1].seq == seq)
            u = &r->list[i - 1];
    if (u == NULL || u->late != LATE_NONE)
        return NULL;
    u->late = a;
    u->late_us = now_us;
    if (r->mode == ON_REPEAT_ANSWER && a != LATE_CANCELLED && a != LATE_UNFINISHED)
        repeats_copy_text(r, u, text);
    return u;
}

void repeats_remove_key(struct repeats *r, uint64_t key)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->list[i].key == key)
            r->list[i].seq = 0;
    repeats_remove_marked_calls(r);
}

void repeats_handle_process_end(struct repeats *r, uint64_t read)
{
    for (size_t i = 0; i < r->n; i++) {
        struct uncertain_call *u = &r->list[i];
        if (!u->process_gone && u->written_at > read)
            u->seq = 0;
        u->process_gone = true;
    }
    repeats_remove_marked_calls(r);
}

void repeats_shift_written_offsets(struct repeats *r, uint64_t by)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->list[i].process_gone)
            r->list[i].written_at += by;
}

enum repeat_decision repeats_decide_about_call(struct repeats *r, uint64_t key, bool task,
                                               bool can_refuse, int64_t now_us,
                                               uint64_t client_read,
                                               struct uncertain_call **ret_first)
{
    struct uncertain_call *newest = NULL, *answer = NULL;
    repeats_remove_old_calls(r, now_us);
    for (size_t i = r->n; key != 0 && i > 0; i--) {
        struct uncertain_call *u = &r->list[i - 1];
        if (u->key != key)
            continue;
        newest = newest != NULL ? newest : u;
        answer = answer == NULL && u->text != NULL && u->task == task ? u : answer;
    }
    *ret_first = newest;
    if (newest == NULL)
        return REPEAT_NONE;
    if (!can_refuse || r->mode == ON_REPEAT_WARN)
        return REPEAT_WARNED;
    if (answer != NULL) {
        *ret_first = answer;
        return REPEAT_ANSWERED;
    }
    if (newest->refused_at == 0 || newest->refused_at > client_read)
        return REPEAT_REFUSED;
    newest->refused_at = 0;
    return REPEAT_INSISTED;
}
