#include "replay/mock/due_heap.h"

#include "base/grow.h"

#include <stdlib.h>

void due_heap_close(struct due_heap *h)
{
    free(h->list);
    *h = (struct due_heap){0};
}

static bool due_heap_is_earlier(const struct due *a, const struct due *b)
{
    return a->at_us != b->at_us ? a->at_us < b->at_us : a->order < b->order;
}

static void due_heap_put_at_index(struct due_heap *h, size_t i, struct due *d)
{
    h->list[i] = d;
    d->place = i + 1;
}

static void due_heap_sift_up(struct due_heap *h, size_t i, struct due *d)
{
    for (; i > 0 && due_heap_is_earlier(d, h->list[(i - 1) / 2]); i = (i - 1) / 2)
        due_heap_put_at_index(h, i, h->list[(i - 1) / 2]);
    due_heap_put_at_index(h, i, d);
}

static void due_heap_sift_down(struct due_heap *h, size_t i, struct due *d)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= h->n)
            break;
        if (child + 1 < h->n && due_heap_is_earlier(h->list[child + 1], h->list[child]))
            child++;
        if (!due_heap_is_earlier(h->list[child], d))
            break;
        due_heap_put_at_index(h, i, h->list[child]);
        i = child;
    }
    due_heap_put_at_index(h, i, d);
}

int due_heap_set_time(struct due_heap *h, struct due *d, int64_t at_us)
{
    if (d->place == 0 && !GROW(h->list, h->n, h->cap))
        return MI_ENOMEM;
    due_heap_remove(h, d);
    d->at_us = at_us;
    d->order = h->orders++;
    h->n++;
    due_heap_sift_up(h, h->n - 1, d);
    return 0;
}

void due_heap_remove(struct due_heap *h, struct due *d)
{
    if (d->place == 0)
        return;
    size_t i = d->place - 1;
    struct due *last = h->list[--h->n];
    d->place = 0;
    if (last == d)
        return;
    if (due_heap_is_earlier(last, d))
        due_heap_sift_up(h, i, last);
    else
        due_heap_sift_down(h, i, last);
}
