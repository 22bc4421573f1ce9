#include "cli/send/input_required.h"

#include "base/json_out.h"
#include "base/text.h"
#include "replay/source/marks.h"
#include "wire/json/set.h"
#include "wire/json/text.h"

bool input_is_required(const struct rpc *answer)
{
    return answer->kind == RPC_RESULT &&
           json_key_is(json_string_raw(answer->result_type), "input_required");
}

void input_append_question_list(struct buf *b, const struct rpc *answer)
{
    struct slice key;
    struct json_value one;
    struct buf method = {0};
    size_t at = b->n;
    struct json_walk w = json_walk_begin(json_get(answer->result, "inputRequests"));
    while (json_walk_next(&w, &key, &one)) {
        buf_clear(&method);
        json_unescape(&method, json_string_raw(json_get(one, "method")));
        buf_adds(b, b->n > at ? ", " : "");
        text_append_visible(b, buf_slice(&method));
    }
    buf_close(&method);
}

/* Do the responses answer all questions? */
static bool responses_answer_all_questions(struct json_value responses, struct json_value questions)
{
    struct slice key;
    struct json_value one;
    if (responses.type != JSON_OBJECT || marks_find_in_text(responses.text) != MARKS_NONE)
        return false;
    for (struct json_walk w = json_walk_begin(questions); json_walk_next(&w, &key, &one);)
        if (json_get_by_raw_name(responses, key).type == JSON_NONE)
            return false;
    return true;
}

/* Finds the client's first recorded request after number *item (LIVE_SESSION_NONE: the first of all) that
 * has the method of `sent` and answers these questions. Sets *item to its number, reads it into
 * t->request, and sets *ret to its responses. If there is no such request, *ret has type
 * JSON_NONE. */
static int find_recorded_responses(struct live_session *t, const struct rpc *sent,
                                   struct json_value questions, uint32_t *item,
                                   struct json_value *ret)
{
    struct rpc m;
    for (uint32_t i = *item == LIVE_SESSION_NONE ? 0 : *item + 1; i < t->n; i++) {
        const struct recorded_message *it = &t->items[i];
        if (it->kind != RPC_REQUEST || !it->from_client || it->lost)
            continue;
        int st = live_session_read_recorded_body(t, i, &t->request);
        if (st < 0)
            return st;
        if (rpc_read(buf_slice(&t->request), &m) < 0 || !slice_eq(m.method, sent->method))
            continue;
        *ret = json_get(m.params, "inputResponses");
        if (!responses_answer_all_questions(*ret, questions))
            continue;
        *item = i;
        return 0;
    }
    *ret = (struct json_value){0};
    return 0;
}

/* Sets a member of params. If value is {NULL, 0}, does nothing. */
static int set_member_of_params(struct buf *params, const char *pointer, struct slice value)
{
    struct buf changed = {0}, error = {0};
    int st = value.p == NULL ? 0
                             : json_set_value_at_pointer(&changed, buf_slice(params),
                                                         slice_of(pointer), value, &error);
    if (value.p != NULL && st == 0) {
        buf_close(params);
        *params = changed;
    } else {
        buf_close(&changed);
    }
    buf_close(&error);
    return st;
}

int input_write_next_request(struct live_session *t, const struct rpc *sent,
                             const struct rpc *answer, uint32_t *item, struct buf *message,
                             bool *ret_found)
{
    struct json_value questions = json_get(answer->result, "inputRequests"), responses = {0};
    struct buf params = {0};
    *ret_found = false;
    int st = questions.type == JSON_OBJECT
                 ? find_recorded_responses(t, sent, questions, item, &responses)
                 : 0;
    if (st < 0 || (questions.type == JSON_OBJECT && responses.type == JSON_NONE))
        return st;
    buf_slice_add(&params, sent->params.text);
    st = set_member_of_params(&params, "/inputResponses", responses.text);
    if (st == 0)
        st = set_member_of_params(&params, "/requestState", answer->request_state.text);
    if (st == 0) {
        struct json_out j = json_out_to(message);
        buf_clear(message);
        json_out_object(&j, NULL);
        json_out_str(&j, "jsonrpc", "2.0");
        json_out_int(&j, "id", 0);
        json_out_quoted(&j, "method", sent->method);
        json_out_raw(&j, "params", buf_slice(&params));
        json_out_end(&j);
    }
    if (st < 0 || params.failed || message->failed)
        st = live_session_set_no_memory_error(t);
    *ret_found = st == 0;
    buf_close(&params);
    return st;
}
