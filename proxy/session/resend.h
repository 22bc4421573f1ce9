/* resend.h - decides which pending requests of an ended process are sent to the next one.
 *
 * A request that may be repeated (handshake_may_resend_request()) is sent again once. The request
 * may have ended the process, so such requests are sent one at a time: if the next process also
 * ends, the request that was sent again and had been read is to blame. That request gets an error,
 * and the others still wait to be sent. A request that was cancelled after it was sent again may
 * also have ended the process; then no other request is blamed. Requests that no process had read
 * are sent all at once, and so are subscriptions, which are pending as long as a process runs.
 *
 * Changes   pending.resend and pending.was_read.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_RESEND_H
#define MI_PROXY_SESSION_RESEND_H

#include "proxy/session/pending.h"

enum resend_result {
    RESEND_AGAIN,     /* the request will be sent to the next process */
    RESEND_NOT,       /* the request gets an error */
    RESEND_ENDED_TWO, /* the request gets an error: two processes that had read it have ended */
};

/* Why a process has ended. */
enum resend_end {
    RESEND_END_UNKNOWN, /* perhaps a pending request that was sent again ended the process */
    /* perhaps a cancelled request ended the process (see resend_reset_cancelled_requests()) */
    RESEND_END_CANCELLED,
    RESEND_END_HUNG, /* the process hung and was killed */
};

/* Decides about a request whose process has ended after reading `read` bytes, counted like
 * pending.written_at. */
enum resend_result resend_decide_for_request(struct pending *p, uint64_t read, enum resend_end end,
                                             bool may_repeat);
/* Returns true if a cancelled request had been sent again and read by the process. Call this
 * function once for each ended process: it resets such requests, because the next process does not
 * get them. */
bool resend_reset_cancelled_requests(const struct pending_list *cancelled, uint64_t read);
/* Returns true if the request should be sent to the server process now. The request must not be in
 * the outbox already. next: the result of resend_find_next(). */
bool resend_should_send_now(const struct pending *p, const struct pending *next);
/* Returns the oldest request that waits to be sent again; NULL: there is none, or another request
 * that was sent again is pending. */
struct pending *resend_find_next(const struct pending_list *open);
/* Returns true if a request is pending that was sent again, and that the process has read: if the
 * process ends, that request is to blame. */
bool resend_has_pending_read_request(const struct pending_list *open, uint64_t read);

#endif
