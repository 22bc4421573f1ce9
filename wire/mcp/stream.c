/* stream.c - checks subscriptions of 2026-07-28: the notifications that were requested, those that
 * the server has agreed to and sends, and the end of the subscription. */
#include "wire/mcp/revisions.h"

#include "wire/json/text.h"
#include "wire/meta.h"
#include "wire/rpc_id.h"

/* Kinds of notifications. `member`: name of the member by which the object `notifications` of a
 * subscription requests this kind. If `named` is NULL, the value of the member is true. Otherwise
 * the value is a list; `named`: name of a member in the params of each notification of this kind,
 * whose value must be in the list. */
static const struct {
    const char *method, *member, *named;
} kinds[] = {
    {"notifications/tools/list_changed", "toolsListChanged", NULL},
    {"notifications/prompts/list_changed", "promptsListChanged", NULL},
    {"notifications/resources/list_changed", "resourcesListChanged", NULL},
    {"notifications/resources/updated", "resourceSubscriptions", "uri"},
    {"notifications/tasks", "taskIds", "taskId"},
};
#define KIND_TASKS 4 /* index of notifications/tasks in `kinds` */

/* Returns the kinds of notifications that the object `notifications` requests, one bit for each
 * kind. */
static uint8_t read_notification_kinds(struct json_value notifications)
{
    uint8_t set = 0;
    for (unsigned i = 0; i < MI_COUNT(kinds); i++) {
        enum json_type type = json_get(notifications, kinds[i].member).type;
        if (type == (kinds[i].named != NULL ? JSON_ARRAY : JSON_TRUE))
            set |= (uint8_t)(1u << i);
    }
    return set;
}

/* Stores a copy of the object, unless the object is too long. */
static void stream_set_notifications(struct protocol_stream *s, struct json_value notifications)
{
    buf_clear(&s->what);
    if (notifications.type == JSON_OBJECT && notifications.text.n <= PROTOCOL_STREAM_SET)
        buf_slice_add(&s->what, notifications.text);
    if (s->what.failed)
        buf_clear(&s->what);
}

/* Returns the newest stream with this id. */
static struct protocol_stream *find_stream(struct protocol *p, uint64_t id)
{
    unsigned n = p->next_stream < PROTOCOL_STREAMS ? p->next_stream : PROTOCOL_STREAMS;
    for (unsigned i = 1; id != 0 && i <= n; i++) {
        struct protocol_stream *s = &p->stream[(p->next_stream - i) % PROTOCOL_STREAMS];
        if (s->id == id)
            return s;
    }
    return NULL;
}

void protocol_stream_open(struct protocol *p, const struct rpc *m, const struct protocol_asked *a)
{
    struct json_value notifications = json_get(m->params, "notifications");
    struct protocol_stream *s = &p->stream[p->next_stream++ % PROTOCOL_STREAMS];
    *s = (struct protocol_stream){
        .id = a->id, .kinds = read_notification_kinds(notifications), .what = s->what};
    s->tasks = (a->capabilities & 1u << CAP_TASKS_EXTENSION) != 0;
    stream_set_notifications(s, notifications);
}

void protocol_stream_remove(struct protocol *p, uint64_t id)
{
    struct protocol_stream *s = find_stream(p, id);
    if (s != NULL)
        s->id = 0;
}

void protocol_streams_close(struct protocol *p)
{
    for (int i = 0; i < PROTOCOL_STREAMS; i++)
        buf_close(&p->stream[i].what);
}

bool protocol_stream_mark_ended(struct protocol *p, enum protocol_party by, uint64_t id)
{
    struct protocol_stream *s = find_stream(p, id);
    if (s != NULL && s->state != STREAM_ENDED)
        s->state = by == PARTY_CLIENT ? STREAM_CANCELLED : STREAM_ENDED;
    return s != NULL || p->next_stream > PROTOCOL_STREAMS;
}

/* Whether the subscription lists this task, this resource, or a resource that contains this
 * resource. Also true if this is unknown: the list or the name is missing, or a text has escapes
 * (it has several spellings, so it is not compared). */
static bool subscription_may_list_name(const struct protocol_stream *s, unsigned kind,
                                       struct slice name)
{
    struct slice key;
    struct json_value one, what = {JSON_OBJECT, buf_slice(&s->what)};
    if (s->what.n == 0 || name.p == NULL)
        return true;
    struct json_value list = json_get(what, kinds[kind].member);
    for (struct json_walk w = json_walk_begin(list); json_walk_next(&w, &key, &one);) {
        struct slice listed = json_string_raw(one);
        if (one.type != JSON_STRING)
            continue;
        if (memchr(listed.p, '\\', listed.n) != NULL || memchr(name.p, '\\', name.n) != NULL)
            return true;
        if (kind == KIND_TASKS ? slice_eq(listed, name)
                               : listed.n <= name.n && memcmp(listed.p, name.p, listed.n) == 0)
            return true;
    }
    return false;
}

/* Whether the client has requested everything that the server agrees to send. */
static bool agreed_notifications_were_requested(const struct protocol_stream *s,
                                                struct json_value agreed)
{
    struct slice key;
    struct json_value one;
    if ((read_notification_kinds(agreed) & ~s->kinds) != 0)
        return false;
    if (agreed.text.n > PROTOCOL_STREAM_SET)
        return true;
    for (unsigned i = 0; i < MI_COUNT(kinds); i++) {
        struct json_value list = json_get(agreed, kinds[i].member);
        if (kinds[i].named == NULL || list.type != JSON_ARRAY)
            continue;
        for (struct json_walk w = json_walk_begin(list); json_walk_next(&w, &key, &one);)
            if (!subscription_may_list_name(s, i, json_string_raw(one)))
                return false;
    }
    return true;
}

/* Handles the notification by which the server acknowledges a subscription and states which
 * notifications it agrees to send. */
static breaches stream_handle_acknowledgement(struct protocol_stream *s, const struct rpc *m)
{
    struct json_value agreed = json_get(m->params, "notifications");
    breaches r =
        agreed_notifications_were_requested(s, agreed) ? 0 : RULE(RULE_UNASKED_NOTIFICATION);
    if (!s->tasks && json_get(agreed, kinds[KIND_TASKS].member).type == JSON_ARRAY)
        r |= RULE(RULE_UNDECLARED_CAPABILITY);
    s->state = STREAM_AGREED;
    if (agreed.type == JSON_OBJECT) {
        s->kinds &= read_notification_kinds(agreed);
        stream_set_notifications(s, agreed);
    }
    return r;
}

breaches protocol_check_stream_notice(struct protocol *p, const struct rpc *m)
{
    unsigned kind = 0;
    struct json_value id = json_get(m->meta, META_SUBSCRIPTION);
    if (id.type == JSON_NONE)
        return protocol_is_modern_only(p) ? RULE(RULE_NO_SUBSCRIPTION) : 0;
    struct protocol_stream *s = find_stream(p, rpc_id_hash_json(id));
    if (s == NULL)
        return p->next_stream > PROTOCOL_STREAMS ? 0 : RULE(RULE_NO_SUBSCRIPTION);
    while (kind < MI_COUNT(kinds) && !json_key_is(m->method, kinds[kind].method))
        kind++;
    if (s->state == STREAM_CANCELLED)
        return 0;
    if (s->state == STREAM_ENDED)
        return RULE(RULE_NO_SUBSCRIPTION);
    if (kind == MI_COUNT(kinds))
        return s->state == STREAM_ASKED ? stream_handle_acknowledgement(s, m) : 0;
    bool agreed =
        s->state == STREAM_AGREED && (s->kinds & 1u << kind) != 0 &&
        (kinds[kind].named == NULL || subscription_may_list_name(s, kind, json_string_raw(m->uri)));
    return agreed ? 0 : RULE(RULE_UNASKED_NOTIFICATION);
}

breaches protocol_stream_check_result(struct protocol *p, const struct rpc *m,
                                      const struct protocol_asked *a)
{
    struct protocol_stream *s = find_stream(p, a->id);
    breaches r = 0;
    if (rpc_id_hash_json(json_get(m->result_meta, META_SUBSCRIPTION)) != a->id)
        r |= RULE(RULE_NO_SUBSCRIPTION);
    if (s != NULL && s->state == STREAM_ASKED)
        r |= RULE(RULE_NOT_ACKNOWLEDGED);
    return r;
}
