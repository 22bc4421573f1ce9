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
    while (t->oldest != NULL)
        pending_remove(t, t->oldest);
    free(t->bucket);
    buf_close(&t->scratch);
    *t = (struct pending_table){0};
}

static int grow(struct pending_table *t)
{
    size_t n = t->buckets == 0 ? 64 : t->buckets * 2;
    struct pending **bucket = calloc(n, sizeof *bucket);
    if (bucket == NULL)
        return MI_ENOMEM;
    /* from the youngest to the oldest: each chain then begins with its oldest */
    for (struct pending *p = t->newest; p != NULL; p = p->prev) {
        p->chain = bucket[p->hash & (n - 1)];
        bucket[p->hash & (n - 1)] = p;
    }
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

static void link_in(struct pending_table *t, struct pending *p)
{
    struct pending **end = &t->bucket[p->hash & (t->buckets - 1)];
    while (*end != NULL)
        end = &(*end)->chain;
    *end = p;
    p->prev = t->newest;
    if (t->newest != NULL)
        t->newest->next = p;
    else
        t->oldest = p;
    t->newest = p;
    t->count++;
    t->bytes += p->cost;
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
    if (t->count >= t->buckets && grow(t) < 0)
        return MI_ENOMEM;
    buf_clear(&t->scratch);
    rpc_id_key(&t->scratch, m->id);
    if (t->scratch.failed)
        return MI_ENOMEM;
    struct slice key = buf_slice(&t->scratch);
    if (key.n > RPC_ID_MAX || m->id.text.n > RPC_ID_MAX)
        return MI_EFULL;
    struct slice method = text_head(m->method, PENDING_TEXT_MAX);
    struct slice target = text_head(rpc_target(m), PENDING_TEXT_MAX);
    struct slice arguments = kept_arguments(m);
    size_t cost = sizeof(struct pending) + key.n + m->id.text.n + method.n + target.n + arguments.n;
    if (t->count == PENDING_MAX || cost > PENDING_BYTES_MAX - t->bytes)
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
    link_in(t, p);
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
    if (t->count == 0 || (id.type != JSON_NUMBER && id.type != JSON_STRING))
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

void pending_remove(struct pending_table *t, struct pending *p)
{
    struct pending **at = &t->bucket[p->hash & (t->buckets - 1)];
    while (*at != p)
        at = &(*at)->chain;
    *at = p->chain;
    if (p->prev != NULL)
        p->prev->next = p->next;
    else
        t->oldest = p->next;
    if (p->next != NULL)
        p->next->prev = p->prev;
    else
        t->newest = p->prev;
    t->count--;
    t->bytes -= p->cost;
    free(p);
}
