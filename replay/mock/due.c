#include "replay/mock/due.h"

#include "base/grow.h"

#include <stdlib.h>

void due_close(struct due_heap *h)
{
    free(h->list);
    *h = (struct due_heap){0};
}

static bool due_before(const struct due *a, const struct due *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void due_set(struct due_heap *h, size_t i, struct due *d)
{
    h->list[i] = d;
    d->place = i + 1;
}

static void due_move_up(struct due_heap *h, size_t i, struct due *d)
{
    for (; i > 0 && due_before(d, h->list[(i - 1) / 2]); i = (i - 1) / 2)
        due_set(h, i, h->list[(i - 1) / 2]);
    due_set(h, i, d);
}

static void due_move_down(struct due_heap *h, size_t i, struct due *d)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->n)
            break;
        if (child + 1 < h->n && due_before(h->list[child + 1], h->list[child]))
            child++;
        if (!due_before(h->list[child], d))
            break;
        due_set(h, i, h->list[child]);
        i = child;
    }
    due_set(h, i, d);
}

int due_set_time(struct due_heap *h, struct due *d, int64_t at_us)
{
    if (d->place == 0 && !GROW(h->list, h->n, h->cap))
        return MI_ENOMEM;
    due_remove(h, d);
    d->at_us = at_us;
    d->order = h->orders++;
    h->n++;
    due_move_up(h, h->n - 1, d);
    return 0;
}

void due_remove(struct due_heap *h, struct due *d)
{
    if (d->place == 0)
        return;
    size_t i = d->place - 1;
    struct due *last = h->list[--h->n];
    d->place = 0;
    if (last == d)
        return;
    if (due_before(last, d))
        due_move_up(h, i, last);
    else
        due_move_down(h, i, last);
}
