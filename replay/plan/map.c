#include "replay/plan/map.h"

#include <stdlib.h>

void map_close(struct map *m)
{
    free(m->slot);
    *m = (struct map){0};
}

/* Returns the slot with the key, or the empty slot for this key. */
static struct map_slot *map_find_slot(const struct map *m, uint64_t key)
{
    size_t i = (size_t)((key ^ key >> 32) * 0x9E3779B97F4A7C15u >> 20) & (m->cap - 1);
    while (m->slot[i].key != 0 && m->slot[i].key != key)
        i = (i + 1) & (m->cap - 1);
    return &m->slot[i];
}

uint32_t *map_get(const struct map *m, uint64_t key)
{
    if (m->n == 0)
        return NULL;
    struct map_slot *s = map_find_slot(m, key);
    return s->key == key ? &s->value : NULL;
}

static int map_grow(struct map *m)
{
    struct map bigger = {.cap = m->cap == 0 ? 64 : m->cap * 2, .n = m->n};
    bigger.slot = calloc(bigger.cap, sizeof *bigger.slot);
    if (bigger.slot == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < m->cap; i++)
        if (m->slot[i].key != 0)
            *map_find_slot(&bigger, m->slot[i].key) = m->slot[i];
    free(m->slot);
    *m = bigger;
    return 0;
}

int map_put(struct map *m, uint64_t key, uint32_t value)
{
    if (m->n + 1 > m->cap / 4 * 3 && map_grow(m) < 0)
        return MI_ENOMEM;
    struct map_slot *s = map_find_slot(m, key);
    m->n += s->key == 0;
    *s = (struct map_slot){key, value};
    return 0;
}
