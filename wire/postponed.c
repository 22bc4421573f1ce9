#include "wire/postponed.h"

#include <assert.h>

static void postponed_errors_remove_at(struct postponed_errors *h, size_t i)
{
    h->n--;
    memmove(&h->list[i], &h->list[i + 1], (h->n - i) * sizeof h->list[0]);
}

struct postponed_error *postponed_errors_add(struct postponed_errors *h, uint64_t seq,
                                             int64_t due_us)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].seq == seq) {
            buf_close(&h->list[i].why);
            postponed_errors_remove_at(h, i);
        }
    assert(!postponed_errors_are_full(h));
    h->list[h->n] = (struct postponed_error){.seq = seq, .due_us = due_us};
    return &h->list[h->n++];
}

bool postponed_errors_take_overdue(struct postponed_errors *h, int64_t now_us,
                                   struct postponed_error *ret)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].due_us <= now_us) {
            *ret = h->list[i];
            postponed_errors_remove_at(h, i);
            return true;
        }
    return false;
}

int64_t postponed_errors_next_due_us(const struct postponed_errors *h)
{
    int64_t next_us = INT64_MAX;
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].due_us < next_us)
            next_us = h->list[i].due_us;
    return next_us;
}

void postponed_errors_postpone_until(struct postponed_errors *h, int64_t until_us)
{
    for (size_t i = 0; i < h->n; i++)
        if (h->list[i].due_us < until_us)
            h->list[i].due_us = until_us;
}

void postponed_errors_close(struct postponed_errors *h)
{
    while (h->n > 0)
        buf_close(&h->list[--h->n].why);
}
