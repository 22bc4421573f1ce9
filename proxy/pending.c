#include "proxy/pending.h"

#include "base/text.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

void pending_open(struct pending_table *t)
{
    *t = (struct pending_table){0};
}

void pending_close(struct pending_table *t)
{
    while (t->open.oldest != NULL)
        pending_remove(t, t->open.oldest);
    while (t->cancelled.oldest != NULL)
        pending_remove(t, t->cancelled.oldest);
    free(t->bucket);
    buf_close(&t->scratch);
    *t = (struct pending_table){0};
}

static size_t entries(const struct pending_table *t)
{
    return t->open.count + t->cancelled.count;
}

static void list_add(struct pending_list *l, struct pending *p)
{
    p->prev = l->newest;
    p->next = NULL;
    if (l->newest != NULL)
        l->newest->next = p;
    else
        l->oldest = p;
    l->newest = p;
    l->count++;
}

static void list_take(struct pending_list *l, struct pending *p)
{
    if (p->prev != NULL)
        p->prev->next = p->next;
    else
        l->oldest = p->next;
    if (p->next != NULL)
        p->next->prev = p->prev;
    else
        l->newest = p->prev;
    l->count--;
}

/* Into its bucket, behind older ones. */
static void chain_add(struct pending **bucket, size_t buckets, struct pending *p)
{
    struct pending **end = &bucket[p->hash & (buckets - 1)];
    while (*end != NULL)
        end = &(*end)->chain;
    p->chain = NULL;
    *end = p;
}

static int grow(struct pending_table *t)
{
    size_t n = t->buckets == 0 ? 64 : t->buckets * 2;
    struct pending **bucket = calloc(n, sizeof *bucket);
    if (bucket == NULL)
        return MI_ENOMEM;
    for (struct pending *p = t->cancelled.oldest; p != NULL; p = p->next)
        chain_add(bucket, n, p);
    for (struct pending *p = t->open.oldest; p != NULL; p = p->next)
        chain_add(bucket, n, p);
    free(t->bucket);
    t->bucket = bucket;
    t->buckets = n;
    return 0;
}

static struct slice put(struct pending *p, size_t *at, struct slice s)
{
    if (s.p == NULL)
        return s;
    memcpy(p->data + *at, s.p, s.n);
    struct slice copy = {p->data + *at, s.n};
    *at += s.n;
    return copy;
}

/* What of a request is kept for the line of the log. */
static struct slice kept_arguments(const struct rpc *m)
{
    if (m->arguments.type != JSON_OBJECT)
        return (struct slice){0};
    return text_head(m->arguments.text, PENDING_ARGUMENTS_MAX);
}

int pending_add(struct pending_table *t, const struct rpc *m, struct pending **ret)
{
    if (entries(t) >= t->buckets && grow(t) < 0)
        return MI_ENOMEM;
    buf_clear(&t->scratch);
    rpc_id_key(&t->scratch, m->id);
    if (t->scratch.failed)
        return MI_ENOMEM;
    struct slice key = buf_slice(&t->scratch);
    if (m->id.text.n > RPC_ID_MAX)
        return MI_EINVAL;
    struct slice method = text_head(m->method, PENDING_TEXT_MAX);
    struct slice target = text_head(rpc_target(m), PENDING_TEXT_MAX);
    struct slice arguments = kept_arguments(m);
    size_t cost = sizeof(struct pending) + key.n + m->id.text.n + method.n + target.n + arguments.n;
    if (t->open.count == PENDING_MAX || cost > PENDING_BYTES_MAX - t->bytes)
        return MI_EFULL;
    struct pending *p = malloc(cost);
    if (p == NULL)
        return MI_ENOMEM;
    *p = (struct pending){.hash = rpc_id_hash(key), .cost = cost, .size = m->text.n};
    size_t at = 0;
    p->key = put(p, &at, key);
    p->id = put(p, &at, m->id.text);
    p->method = put(p, &at, method);
    p->target = put(p, &at, target);
    p->arguments = put(p, &at, arguments);
    p->arguments_n = m->arguments.type == JSON_OBJECT ? m->arguments.text.n : 0;
    p->modern = rpc_is_modern(m);
    chain_add(t->bucket, t->buckets, p);
    list_add(&t->open, p);
    t->bytes += cost;
    *ret = p;
    return 0;
}

static struct pending *find_key(const struct pending_table *t, struct slice key)
{
    struct pending *cancelled = NULL;
    uint64_t hash = rpc_id_hash(key);
    for (struct pending *p = t->bucket[hash & (t->buckets - 1)]; p != NULL; p = p->chain) {
        if (p->hash != hash || !slice_eq(p->key, key))
            continue;
        if (!p->cancelled)
            return p;
        if (cancelled == NULL)
            cancelled = p;
    }
    return cancelled;
}

struct pending *pending_find(struct pending_table *t, struct json_value id, bool *ret_type_changed)
{
    *ret_type_changed = false;
    if (entries(t) == 0 || (id.type != JSON_NUMBER && id.type != JSON_STRING))
        return NULL;
    buf_clear(&t->scratch);
    rpc_id_key(&t->scratch, id);
    if (t->scratch.failed)
        return NULL;
    struct pending *p = find_key(t, buf_slice(&t->scratch));
    if (p != NULL)
        return p;
    struct buf other = {0};
    if (rpc_id_other_type(&other, buf_slice(&t->scratch)) && !other.failed)
        p = find_key(t, buf_slice(&other));
    buf_close(&other);
    *ret_type_changed = p != NULL;
    return p;
}

void pending_cancel(struct pending_table *t, struct pending *p)
{
    if (p->cancelled)
        return;
    list_take(&t->open, p);
    p->cancelled = true;
    list_add(&t->cancelled, p);
    if (t->cancelled.count > PENDING_CANCELLED_MAX)
        pending_remove(t, t->cancelled.oldest);
}

void pending_remove(struct pending_table *t, struct pending *p)
{
    struct pending **at = &t->bucket[p->hash & (t->buckets - 1)];
    while (*at != p)
        at = &(*at)->chain;
    *at = p->chain;
    list_take(p->cancelled ? &t->cancelled : &t->open, p);
    t->bytes -= p->cost;
    free(p);
}
