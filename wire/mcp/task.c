/* task.c - checks tasks. For the extension io.modelcontextprotocol/tasks of 2026-07-28: the
 * creation and the members of tasks, and the keys of their requests for input. For 2025-11-25: the
 * states of tasks. */
#include "wire/mcp/revisions.h"

#include "wire/json/text.h"
#include "wire/rpc_id.h"

enum task_status {
    TASK_NONE,
    TASK_WORKING,
    TASK_INPUT,
    TASK_COMPLETED,
    TASK_FAILED,
    TASK_CANCELLED
};

static enum task_status read_task_status(struct json_value task)
{
    static const char *const names[] = {"working", "input_required", "completed", "failed",
                                        "cancelled"};
    struct slice name = json_string_raw(json_get(task, "status"));
    for (unsigned i = 0; i < MI_COUNT(names); i++)
        if (json_key_is(name, names[i]))
            return (enum task_status)(i + 1);
    return TASK_NONE;
}

/* ---- the tasks of the connection ------------------------------------------------------------ */

static struct protocol_task *find_task(struct protocol *p, uint64_t id)
{
    unsigned n = p->next_task < PROTOCOL_TASKS ? p->next_task : PROTOCOL_TASKS;
    for (unsigned i = 0; id != 0 && i < n; i++)
        if (p->task[i].id == id)
            return &p->task[i];
    return NULL;
}

/* Finds the task with this id. If there is none, adds it. */
static struct protocol_task *find_or_add_task(struct protocol *p, uint64_t id)
{
    struct protocol_task *t = find_task(p, id);
    if (t != NULL)
        return t;
    t = &p->task[p->next_task++ % PROTOCOL_TASKS];
    *t = (struct protocol_task){.id = id};
    return t;
}

void protocol_forget_request(struct protocol *p, uint64_t id)
{
    for (unsigned i = 0; i < PROTOCOL_TASKS && i < p->next_task; i++)
        if (p->task[i].request == id)
            p->task[i].request = 0;
}

bool protocol_request_has_open_task(const struct protocol *p, uint64_t id)
{
    for (unsigned i = 0; i < PROTOCOL_TASKS && i < p->next_task; i++)
        if (id != 0 && p->task[i].request == id && p->task[i].is_known &&
            p->task[i].status < TASK_COMPLETED)
            return true;
    return false;
}

/* ---- shape ---------------------------------------------------------------------------------- */

/* Returns the name of a member that is missing or has a wrong value, or NULL. detailed: true: also
 * checks the members that the status requires. */
static const char *find_task_flaw(struct json_value task, bool detailed)
{
    static const char *const texts[] = {"taskId", "createdAt", "lastUpdatedAt"};
    struct json_value ttl = json_get(task, "ttlMs"), poll = json_get(task, "pollIntervalMs");
    enum task_status status = read_task_status(task);
    for (size_t i = 0; i < MI_COUNT(texts); i++)
        if (json_get(task, texts[i]).type != JSON_STRING)
            return texts[i];
    if (status == TASK_NONE)
        return "status";
    if (ttl.type != JSON_NULL && !json_is_integer(ttl))
        return "ttlMs";
    if (poll.type != JSON_NONE && !json_is_integer(poll))
        return "pollIntervalMs";
    if (!detailed)
        return NULL;
    if (status == TASK_INPUT && json_get(task, "inputRequests").type != JSON_OBJECT)
        return "inputRequests";
    if (status == TASK_COMPLETED && json_get(task, "result").type != JSON_OBJECT)
        return "result";
    struct json_value error = json_get(task, "error");
    bool error_is_valid =
        json_is_integer(json_get(error, "code")) && json_get(error, "message").type == JSON_STRING;
    return status == TASK_FAILED && !error_is_valid ? "error" : NULL;
}

static breaches fail_invalid_task(struct protocol *p, const char *member)
{
    p->blame = member;
    return RULE(RULE_INVALID_TASK);
}

/* ---- keys of inputRequests ------------------------------------------------------------------ */

/* Returns the hash of a key of inputRequests. key: the text between the quotes of the key, which is
 * a JSON string. */
static uint64_t hash_input_key(struct slice key)
{
    return rpc_id_hash_json((struct json_value){JSON_STRING, {key.p - 1, key.n + 2}});
}

static struct protocol_key *find_input_key(struct protocol *p, uint64_t task, uint64_t key)
{
    unsigned n = p->next_key < PROTOCOL_KEYS ? p->next_key : PROTOCOL_KEYS;
    for (unsigned i = 0; i < n; i++)
        if (p->key[i].task == task && p->key[i].key == key)
            return &p->key[i];
    return NULL;
}

/* Stores the keys of inputRequests. A key identifies one request as long as the task exists; the
 * server repeats the key until the request is answered. */
static breaches task_store_input_keys(struct protocol *p, struct protocol_task *t,
                                      struct json_value requests)
{
    breaches r = 0;
    struct slice key;
    struct json_value one;
    struct json_walk w = json_walk_begin(requests);
    t->asked = true;
    for (int i = 0; i < PROTOCOL_KEYS && json_walk_next(&w, &key, &one); i++) {
        uint64_t hash = hash_input_key(key), request = protocol_hash_scalars_of_value(one);
        struct protocol_key *known = find_input_key(p, t->id, hash);
        if (known == NULL)
            p->key[p->next_key++ % PROTOCOL_KEYS] = (struct protocol_key){t->id, hash, request};
        else if (known->request != request && known->request != 0 && request != 0)
            r |= RULE(RULE_REUSED_INPUT_KEY);
    }
    return r;
}

static breaches check_response_keys(struct protocol *p, const struct rpc *m,
                                    const struct protocol_task *t)
{
    struct slice key;
    struct json_value one, responses = json_get(m->params, "inputResponses");
    if (t == NULL || !t->asked || p->next_key >= PROTOCOL_KEYS)
        return 0;
    struct json_walk w = json_walk_begin(responses);
    for (int i = 0; i < PROTOCOL_KEYS && json_walk_next(&w, &key, &one); i++)
        if (find_input_key(p, t->id, hash_input_key(key)) == NULL)
            return RULE(RULE_UNKNOWN_INPUT_KEY);
    return 0;
}

/* ---- messages ------------------------------------------------------------------------------- */

breaches protocol_check_created_task(struct protocol *p, const struct rpc *m,
                                     const struct protocol_asked *a)
{
    breaches r =
        (a->capabilities & 1u << CAP_TASKS_EXTENSION) != 0 ? 0 : RULE(RULE_UNDECLARED_CAPABILITY);
    const char *flaw = find_task_flaw(m->result, false);
    uint64_t id = rpc_id_hash_json(json_get(m->result, "taskId"));
    if (flaw != NULL)
        r |= fail_invalid_task(p, flaw);
    if (id == 0)
        return r;
    struct protocol_task *t = find_or_add_task(p, id);
    /* A restarted server may use the id of an earlier task again: forget the earlier task and its
     * keys. */
    for (unsigned i = 0; i < PROTOCOL_KEYS; i++)
        if (p->key[i].task == id)
            p->key[i] = (struct protocol_key){0};
    *t = (struct protocol_task){.id = id,
                                .request = a->id,
                                .capabilities = a->capabilities,
                                .status = (uint8_t)read_task_status(m->result)};
    return r;
}

breaches protocol_check_task_request(struct protocol *p, const struct rpc *m,
                                     struct protocol_asked *a)
{
    a->target = rpc_id_hash_json(m->uri);
    struct protocol_task *t = find_task(p, a->target);
    if (t != NULL) {
        t->is_known = true;
        a->task_over = t->status >= TASK_COMPLETED;
    }
    return m->in_params[FIELD_INPUT_RESPONSES] == JSON_OBJECT ? check_response_keys(p, m, t) : 0;
}

/* Checks the state of a task in a result of tasks/get or in a notification. */
static breaches check_task_state(struct protocol *p, struct json_value task, uint32_t capabilities)
{
    const char *flaw = find_task_flaw(task, true);
    uint64_t id = rpc_id_hash_json(json_get(task, "taskId"));
    struct json_value requests = json_get(task, "inputRequests");
    breaches r = flaw != NULL ? fail_invalid_task(p, flaw) : 0;
    if (id == 0)
        return r;
    struct protocol_task *t = find_or_add_task(p, id);
    /* an older state may arrive after the final state, because two answers to tasks/get may arrive
     * in any order */
    if (t->status < TASK_COMPLETED)
        t->status = (uint8_t)read_task_status(task);
    if (requests.type == JSON_OBJECT) {
        r |= protocol_check_inputs(p, requests, capabilities | t->capabilities);
        r |= task_store_input_keys(p, t, requests);
    }
    return r;
}

breaches protocol_check_task_answer(struct protocol *p, const struct rpc *m,
                                    const struct protocol_asked *a)
{
    breaches r =
        (a->capabilities & 1u << CAP_TASKS_EXTENSION) != 0 ? 0 : RULE(RULE_UNDECLARED_CAPABILITY);
    /* the remaining methods are tasks/update and tasks/cancel */
    if (!slice_is(slice_of("tasks/get"), a->method->name)) {
        static const enum field fields[] = {FIELD_TASK_ID, FIELD_STATUS, FIELD_TASK};
        for (size_t i = 0; i < MI_COUNT(fields); i++)
            if (m->in_result[fields[i]] != JSON_NONE)
                return r | fail_invalid_task(p, field_name(fields[i]));
        return r;
    }
    const struct protocol_task *t = find_task(p, a->target);
    enum task_status before = t != NULL ? (enum task_status)t->status : TASK_NONE;
    r |= check_task_state(p, m->result, a->capabilities);
    if (a->target != rpc_id_hash_json(json_get(m->result, "taskId")))
        r |= fail_invalid_task(p, "taskId");
    else if (a->task_over && before >= TASK_COMPLETED && read_task_status(m->result) != before)
        r |= fail_invalid_task(p, "status");
    return r;
}

breaches protocol_check_task_notification(struct protocol *p, const struct rpc *m)
{
    return check_task_state(p, m->params, UINT32_MAX);
}

breaches protocol_check_legacy_task(struct protocol *p, struct json_value task)
{
    return json_get(task, "status").type == JSON_STRING && read_task_status(task) == TASK_NONE
               ? fail_invalid_task(p, "status")
               : 0;
}
