#include "replay/plan/index.h"

#include "wire/json/text.h"
#include "wire/mcp/method.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

/* ---- methods ---- */

static bool method_is_in_list(struct slice method, const char *const *names)
{
    for (; *names != NULL; names++)
        if (slice_is(method, *names))
            return true;
    return false;
}

/* Whether requests of this method only read. A client may poll with such requests, and may omit
 * them. */
static bool method_is_read_only(struct slice method)
{
    static const char *const reads[] = {
        "ping",         "server/discover", "tools/list",
        "prompts/list", "prompts/get",     "resources/list",
        "tasks/get",    "resources/read",  "resources/templates/list",
        "tasks/list",   "tasks/result",    "completion/complete",
        NULL,
    };
    return method_is_in_list(method, reads);
}

/* ---- topics ---- */

/* Returns the map key of the topic, even if the topic does not exist yet. A key is never 0. */
static uint64_t compute_method_target_key(const struct plan *p, struct slice method,
                                          struct slice target, uint32_t *ret)
{
    uint64_t h = rpc_id_hash(method) * 31 + rpc_id_hash(target);
    h = h != 0 ? h : 1;
    for (;; h = h + 1 != 0 ? h + 1 : 1) { /* another topic may have the same hash */
        const uint32_t *i = map_get(&p->topic_map, h);
        *ret = i != NULL ? *i : PLAN_NONE;
        if (i == NULL ||
            (slice_eq(p->topics[*i].method, method) && slice_eq(p->topics[*i].target, target)))
            return h;
    }
}

uint32_t plan_find_method_and_target(const struct plan *p, struct slice method, struct slice target)
{
    uint32_t i;
    (void)compute_method_target_key(p, method, target, &i);
    return i;
}

int plan_find_or_add_method_target(struct plan *p, struct slice method, struct slice target,
                                   uint32_t *ret)
{
    uint64_t key = compute_method_target_key(p, method, target, ret);
    if (*ret != PLAN_NONE)
        return 0;
    int st = PLAN_ROOM(p, topics);
    char *text = st == 0 ? malloc(method.n + target.n + 1) : NULL;
    if (text == NULL)
        return st < 0 ? st : MI_ENOMEM;
    if (method.n > 0)
        memcpy(text, method.p, method.n);
    if (target.n > 0)
        memcpy(text + method.n, target.p, target.n);
    st = map_put(&p->topic_map, key, p->topics_n);
    if (st < 0) {
        free(text);
        return st;
    }
    *ret = p->topics_n;
    p->topics[p->topics_n++] = (struct plan_topic){
        .method = {text, method.n},
        .target = {text + method.n, target.n},
        .flags = method_flags(method),
        .reads = method_is_read_only(method),
        .first = PLAN_NONE,
        .last = PLAN_NONE,
        .first_notification = PLAN_NONE,
        .last_notification = PLAN_NONE,
        .live_notification = PLAN_NONE,
    };
    return 0;
}

bool plan_may_cause_messages(struct slice method)
{
    static const char *const quiet[] = {
        "initialize",           "ping",         "server/discover",
        "tools/list",           "prompts/list", "resources/list",
        "logging/setLevel",     "tasks/get",    "resources/templates/list",
        "tasks/list",           "tasks/cancel", "resources/subscribe",
        "tasks/update",         "tasks/result", "resources/unsubscribe",
        "subscriptions/listen", NULL,
    };
    return !method_is_in_list(method, quiet);
}

bool plan_method_needs_no_reaction(struct slice method)
{
    static const char *const informs[] = {
        "ping", "tasks/get", "tasks/list", "notifications/progress", "notifications/tasks/status",
        NULL,
    };
    return method_is_in_list(method, informs);
}

/* ---- groups ---- */

struct plan_group *plan_find_equal_requests(struct plan *p, uint64_t hash)
{
    const uint32_t *i = map_get(&p->group_map, hash);
    return i != NULL ? &p->groups[*i] : NULL;
}

int plan_add_exchange_to_group(struct plan *p, uint64_t hash, uint32_t exchange)
{
    struct plan_group *g = plan_find_equal_requests(p, hash);
    if (g != NULL) {
        p->exchanges[g->last].next_same = exchange;
        g->last = exchange;
        if (g->next == PLAN_NONE)
            g->next = exchange;
        return 0;
    }
    int st = PLAN_ROOM(p, groups);
    if (st == 0)
        st = map_put(&p->group_map, hash, p->groups_n);
    if (st == 0)
        p->groups[p->groups_n++] = (struct plan_group){hash, exchange, exchange, exchange};
    return st;
}

/* ---- places ---- */

uint32_t plan_find_exchange_at_position(const struct plan *p, uint64_t place)
{
    uint32_t from = 0, to = p->exchanges_n;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (p->exchanges[mid].place < place)
            from = mid + 1;
        else
            to = mid;
    }
    return from < p->exchanges_n && p->exchanges[from].place == place ? from : PLAN_NONE;
}

uint32_t plan_find_question_at_position(const struct plan *p, uint64_t place)
{
    uint32_t from = 0, to = p->questions_n;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (p->steps[p->questions[mid].step].place < place)
            from = mid + 1;
        else
            to = mid;
    }
    if (from == p->questions_n || p->steps[p->questions[from].step].place != place)
        return PLAN_NONE;
    return from;
}

bool plan_exchange_is_subscription(const struct plan *p, uint32_t exchange)
{
    return (p->topics[p->exchanges[exchange].topic].flags & METHOD_LISTENS) != 0;
}

/* ---- ids ---- */

uint64_t plan_hash_id(struct plan *p, struct json_value id)
{
    if (id.type != JSON_NUMBER && id.type != JSON_STRING)
        return 0;
    buf_clear(&p->key);
    rpc_id_append_key(&p->key, id);
    return canon_hash_text(buf_slice(&p->key));
}

uint64_t plan_hash_task_id(struct plan *p, struct json_value id)
{
    if (id.type != JSON_STRING)
        return 0;
    buf_clear(&p->key);
    json_unescape(&p->key, json_string_raw(id));
    return canon_hash_text(buf_slice(&p->key));
}
