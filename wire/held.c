#include "wire/held.h"

#include <assert.h>

static void held_remove_error_at(struct held *h, size_t i)
{
    h->n--;
    memmove(&h->list[i], &h->list[i + 1], (h->n - i) * sizeof h->list[0]);
}

struct held_error *held_add_error(struct held *h, uint64_t seq, int64_t due_us)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].seq == seq) {
            buf_close(&h->list[i].why);
            held_remove_error_at(h, i);
        }
    assert(!held_errors_are_full(h));
    h->list[h->n] = (struct held_error){.seq = seq, .due_us = due_us};
    return &h->list[h->n++];
}

bool held_remove_due_error(struct held *h, int64_t now_us, struct held_error *ret)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].due_us <= now_us) {
            *ret = h->list[i];
            held_remove_error_at(h, i);
            return true;
        }
    return false;
}

int64_t held_next_error_due_us(const struct held *h)
{
    int64_t next_us = INT64_MAX;
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].due_us < next_us)
            next_us = h->list[i].due_us;
    return next_us;
}

void held_postpone_errors(struct held *h, int64_t until_us)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].due_us < until_us)
            h->list[i].due_us = until_us;
}

void held_close(struct held *h)
{
    while (h->n > 0)
        buf_close(&h->list[--h->n].why);
}
