/* held.h - holds the errors for requests with unreadable answers: a valid answer may follow,
 * because some servers print an answer for people before they send it.
 *
 * Owns      the texts of the errors.
 * Limits    HELD_MAX requests. The caller makes room with held_remove_due_error() before it adds another
 *           error.
 * Units     microseconds of the caller's clock.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_HELD_H
#define MI_WIRE_HELD_H

#include "base/buf.h"

#define HELD_MAX 16

struct held_error {
    uint64_t seq; /* seq of the request */
    int64_t due_us;
    bool http;      /* true: the answer looked like a response of HTTP */
    struct buf why; /* owned */
};

struct held {
    size_t n;
    struct held_error list[HELD_MAX]; /* oldest first */
};

void held_close(struct held *h); /* safe to call twice */
static inline bool held_errors_are_full(const struct held *h)
{
    return h->n == HELD_MAX;
}
/* Adds an error without a text. It replaces an earlier error of the same request. */
struct held_error *held_add_error(struct held *h, uint64_t seq, int64_t due_us);
/* Moves the first error that is due at now_us to *ret; the caller then owns its text. If now_us is
 * INT64_MAX, every error is due. Returns false if no error is due. */
MI_MUST bool held_remove_due_error(struct held *h, int64_t now_us, struct held_error *ret);
/* Returns when the next error is due; INT64_MAX if there is none. */
int64_t held_next_error_due_us(const struct held *h);
/* Postpones all errors that are due before until_us to that time. */
void held_postpone_errors(struct held *h, int64_t until_us);

#endif
