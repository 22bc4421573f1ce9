#include "base/intern.h"

#include <stdlib.h>

struct slice intern_get_text(const struct intern *t, uint32_t number)
{
    size_t from = t->from[number];
    return (struct slice){buf_slice(&t->text).p + from, t->from[number + 1] - from};
}

/* Returns the slot of a text or, if the text is not in the table, the free slot for it. */
static size_t intern_find_slot(const struct intern *t, struct slice text)
{
    /* FNV-1a is fast for short texts. An attacker who makes texts collide only slows down a
     * report. */
    uint64_t h = 14695981039346656037u;
    for (size_t k = 0; k < text.n; k++)
        h = (h ^ (unsigned char)text.p[k]) * 1099511628211u;
    size_t i = (size_t)(h ^ h >> 32) & (t->slots - 1);
    while (t->slot[i] != 0 && !slice_eq(intern_get_text(t, t->slot[i] - 1), text))
        i = (i + 1) & (t->slots - 1);
    return i;
}

static bool intern_grow_slots(struct intern *t)
{
    size_t slots = t->slots != 0 ? 2 * t->slots : 64;
    uint32_t *slot = calloc(slots, sizeof *slot);
    if (slot == NULL)
        return false;
    free(t->slot);
    t->slot = slot;
    t->slots = slots;
    for (size_t i = 0; i < t->n; i++)
        slot[intern_find_slot(t, intern_get_text(t, (uint32_t)i))] = (uint32_t)i + 1;
    return true;
}

static bool intern_grow_offsets(struct intern *t)
{
    size_t cap = t->from_cap != 0 ? 2 * t->from_cap : 64;
    size_t *from = realloc(t->from, cap * sizeof *from);
    if (from == NULL)
        return false;
    if (t->from_cap == 0)
        from[0] = 0;
    t->from = from;
    t->from_cap = cap;
    return true;
}

int intern_add(struct intern *t, struct slice text, uint32_t *ret)
{
    if (2 * t->n >= t->slots && !intern_grow_slots(t))
        return MI_ENOMEM;
    size_t i = intern_find_slot(t, text);
    if (t->slot[i] != 0) {
        *ret = t->slot[i] - 1;
        return 0;
    }
    if (t->n == UINT32_MAX - 1 || (t->n + 2 > t->from_cap && !intern_grow_offsets(t)))
        return MI_ENOMEM;
    buf_slice_add(&t->text, text);
    if (t->text.failed)
        return MI_ENOMEM;
    *ret = (uint32_t)t->n++;
    t->from[t->n] = t->text.n;
    t->slot[i] = *ret + 1;
    return 0;
}

bool intern_find(const struct intern *t, struct slice text, uint32_t *ret)
{
    size_t i = t->slots > 0 ? intern_find_slot(t, text) : 0;
    if (t->slots == 0 || t->slot[i] == 0)
        return false;
    *ret = t->slot[i] - 1;
    return true;
}

void intern_close(struct intern *t)
{
    buf_close(&t->text);
    free(t->from);
    free(t->slot);
    *t = (struct intern){0};
}
