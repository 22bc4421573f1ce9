#include "model/link.h"

#include "model/asker.h"
#include "wire/json/text.h"
#include "wire/rpc_id.h"

#define ASKS_MAX 256 /* maximum number of requests for input that are counted in one message */

bool link_may_exist_in_message(const struct rpc *m)
{
    static const uint8_t in_params[] = {FIELD_TASK_ID, FIELD_INPUT_RESPONSES, FIELD_REQUEST_STATE};
    static const uint8_t in_result[] = {FIELD_TASK_ID, FIELD_TASK, FIELD_INPUT_REQUESTS,
                                        FIELD_REQUEST_STATE};
    if (m->kind == RPC_RESULT) {
        for (size_t i = 0; i < MI_COUNT(in_result); i++)
            if (m->in_result[in_result[i]] != JSON_NONE)
                return true;
        return false;
    }
    if (m->kind != RPC_REQUEST && m->kind != RPC_NOTIFICATION)
        return false;
    for (size_t i = 0; i < MI_COUNT(in_params); i++)
        if (m->in_params[in_params[i]] != JSON_NONE)
            return true;
    return m->kind == RPC_REQUEST && m->meta.type == JSON_OBJECT &&
           json_get(m->meta, "io.modelcontextprotocol/related-task").type == JSON_OBJECT;
}

static uint64_t hash_link_string(struct json_value v)
{
    return v.type == JSON_STRING ? rpc_id_hash_json(v) : 0;
}

static void count_input_requests(struct json_value requests, struct link *l)
{
    struct slice key;
    struct json_value one;
    struct json_walk w = json_walk_begin(requests);
    while (l->asks < ASKS_MAX && json_walk_next(&w, &key, &one)) {
        l->asks++;
        l->asks_person |=
            asker_classify_request(json_string_raw(json_get(one, "method"))) == ASKS_PERSON;
    }
}

/* The two MCP revisions that have tasks use the same words for `status` (mcp-wire.md 2.2). */
static enum call_status read_call_status_of_task(struct json_value task)
{
    struct slice status = json_string_raw(json_get(task, "status"));
    if (json_key_is(status, "completed"))
        return json_get(json_get(task, "result"), "isError").type == JSON_TRUE ? CALL_TOOL_ERROR
                                                                               : CALL_OK;
    if (json_key_is(status, "failed"))
        return CALL_ERROR;
    return json_key_is(status, "cancelled") ? CALL_CANCELLED : CALL_OPEN;
}

static struct link make_task_link(enum link_kind kind, struct json_value task)
{
    struct link l = {.kind = kind,
                     .key = hash_link_string(json_get(task, "taskId")),
                     .status = read_call_status_of_task(task)};
    if (json_key_is(json_string_raw(json_get(task, "status")), "input_required"))
        count_input_requests(json_get(task, "inputRequests"), &l);
    return l;
}

static struct link link_read_from_result(const struct rpc *m)
{
    struct json_value task = json_get(m->result, "task");
    struct slice type = json_string_raw(m->result_type);
    if (json_key_is(type, "input_required")) {
        struct link l = {.kind = LINK_ASKS, .key = hash_link_string(m->request_state)};
        count_input_requests(json_get(m->result, "inputRequests"), &l);
        return l;
    }
    if (m->in_result[FIELD_TASK_ID] != JSON_NONE)
        return make_task_link(json_key_is(type, "task") ? LINK_STARTS : LINK_TASK_STATE, m->result);
    if (json_get(task, "taskId").type == JSON_STRING)
        return make_task_link(LINK_STARTS, task);
    return (struct link){0};
}

static struct link make_link_of_request(const struct rpc *m)
{
    struct json_value id = json_get(m->params, "taskId");
    struct link l = {.key = hash_link_string(id),
                     .brings_input = m->in_params[FIELD_INPUT_RESPONSES] == JSON_OBJECT};
    if (slice_begins(m->method, "tasks/")) {
        l.kind = LINK_TASK;
    } else if (l.brings_input || m->request_state.type == JSON_STRING) {
        l.kind = LINK_RETRY;
        l.key = hash_link_string(m->request_state);
    } else {
        l.kind = LINK_FOR_TASK;
        l.asks = asker_classify_request(m->method) != ASKS_NOTHING;
        l.asks_person = asker_classify_request(m->method) == ASKS_PERSON;
        l.key = hash_link_string(
            json_get(json_get(m->meta, "io.modelcontextprotocol/related-task"), "taskId"));
    }
    return l.kind == LINK_RETRY || l.key != 0 ? l : (struct link){0};
}

struct link link_read_from_message(const struct rpc *m)
{
    if (!link_may_exist_in_message(m))
        return (struct link){0};
    if (m->kind == RPC_RESULT)
        return link_read_from_result(m);
    if (m->kind == RPC_REQUEST)
        return make_link_of_request(m);
    return slice_begins(m->method, "notifications/tasks")
               ? make_task_link(LINK_TASK_STATE, m->params)
               : (struct link){0};
}
