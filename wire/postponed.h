/* postponed.h - holds the errors for requests with unreadable answers: a valid answer may follow,
 * because some servers print an answer for people before they send it.
 *
 * Owns      the texts of the errors.
 * Limits    POSTPONED_MAX requests. The caller makes room with postponed_errors_take_overdue()
 *           before it adds another error.
 * Units     microseconds of the caller's clock.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_POSTPONED_H
#define MI_WIRE_POSTPONED_H

#include "base/buf.h"

#define POSTPONED_MAX 16

struct postponed_error {
    uint64_t seq; /* seq of the request */
    int64_t due_us;
    bool http;      /* true: the answer looked like a response of HTTP */
    struct buf why; /* owned */
};

struct postponed_errors {
    size_t n;
    struct postponed_error list[POSTPONED_MAX]; /* oldest first */
};

void postponed_errors_close(struct postponed_errors *h); /* safe to call twice */
static inline bool postponed_errors_are_full(const struct postponed_errors *h)
{
    return h->n == POSTPONED_MAX;
}
/* Adds an error without a text. It replaces an earlier error of the same request. */
struct postponed_error *postponed_errors_add(struct postponed_errors *h, uint64_t seq,
                                             int64_t due_us);
/* Moves the first error that is due at now_us to *ret; the caller then owns its text. If now_us is
 * INT64_MAX, every error is due. Returns false if no error is due. */
MI_MUST bool postponed_errors_take_overdue(struct postponed_errors *h, int64_t now_us,
                                           struct postponed_error *ret);
/* Returns the time at which the next postponed error must be sent; INT64_MAX if there is none. */
int64_t postponed_errors_next_due_us(const struct postponed_errors *h);
/* Postpones all errors that are due before until_us to that time. */
void postponed_errors_postpone_until(struct postponed_errors *h, int64_t until_us);

#endif
