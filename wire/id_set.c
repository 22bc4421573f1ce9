#include "wire/id_set.h"

#include "wire/json/text.h"
#include "wire/rpc_id.h"

#include <stdlib.h>

void id_set_close(struct id_set *s)
{
    free(s->slot);
    *s = (struct id_set){0};
}

/* Adds `v` to a span, or begins a new span. Returns 1 if `v` was in the set before, 0 if `v` was
 * added, -1 if no span is free. */
static int id_set_add_integer(struct id_set *s, int64_t v)
{
    for (unsigned i = s->spans; i-- > 0;) {
        if (v >= s->span[i].first && v <= s->span[i].last)
            return 1;
        if (s->span[i].last != INT64_MAX && v == s->span[i].last + 1) {
            s->span[i].last = v;
            return 0;
        }
    }
    if (s->spans == ID_SET_SPANS)
        return -1;
    s->span[s->spans].first = s->span[s->spans].last = v;
    s->spans++;
    return 0;
}

/* Returns the slot that has the hash, or the free slot in which to store it. */
static size_t id_set_find(const struct id_set *s, uint64_t hash)
{
    size_t i = (size_t)(hash >> 20) & (s->cap - 1);
    while (s->slot[i] != 0 && s->slot[i] != hash)
        i = (i + 1) & (s->cap - 1);
    return i;
}

static bool id_set_grow(struct id_set *s)
{
    struct id_set more = {.cap = s->cap == 0 ? 64 : s->cap * 2};
    more.slot = calloc(more.cap, sizeof *more.slot);
    if (more.slot == NULL)
        return false;
    for (size_t i = 0; i < s->cap; i++)
        if (s->slot[i] != 0)
            more.slot[id_set_find(&more, s->slot[i])] = s->slot[i];
    free(s->slot);
    s->slot = more.slot;
    s->cap = more.cap;
    return true;
}

static bool id_set_add_hash(struct id_set *s, uint64_t hash)
{
    if (s->cap > 0 && s->slot[id_set_find(s, hash)] == hash)
        return true;
    if (s->n == ID_SET_MAX || (s->n * 2 >= s->cap && !id_set_grow(s))) {
        s->full = true;
        return false;
    }
    s->slot[id_set_find(s, hash)] = hash;
    s->n++;
    return false;
}

bool id_set_add(struct id_set *s, struct json_value id)
{
    int64_t v;
    if (id.type == JSON_NUMBER && json_int(id, &v)) {
        int st = id_set_add_integer(s, v);
        if (st >= 0)
            return st == 1;
    }
    uint64_t hash = rpc_id_hash_json(id);
    s->full |= hash == 0; /* out of memory: the id cannot be stored */
    return hash != 0 && id_set_add_hash(s, hash);
}

bool id_set_may_contain(const struct id_set *s, struct json_value id)
{
    int64_t v;
    if (s->full)
        return true;
    if (id.type == JSON_NUMBER && json_int(id, &v))
        for (unsigned i = 0; i < s->spans; i++)
            if (v >= s->span[i].first && v <= s->span[i].last)
                return true;
    uint64_t hash = rpc_id_hash_json(id);
    return hash == 0 || (s->cap > 0 && s->slot[id_set_find(s, hash)] == hash);
}
