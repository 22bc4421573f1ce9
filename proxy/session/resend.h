/* resend.h - requests that were pending when a server process ended: which of them the next process gets, and when.
 *
 * A request that may be repeated (handshake_may_repeat()) is sent again once. It may be what ended the process, so such
 * requests are sent one at a time: when the next process ends, too, the one that was sent again and had been read did it.
 * It gets its error, and the others keep their turn. A request that was cancelled after it was sent again may still have
 * ended the process, so then nothing else is blamed. Not one at a time are requests that no process had read, and
 * subscriptions, which are pending for as long as a process runs.
 *
 * Changes   pending.resend and pending.was_read.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_RESEND_H
#define MI_PROXY_SESSION_RESEND_H

#include "proxy/session/pending.h"

enum resend_result {
    RESEND_AGAIN,     /* the next process gets it, some time */
    RESEND_NOT,       /* it gets an error */
    RESEND_ENDED_TWO, /* the same: two processes that had read it have ended */
};

/* Why a process has ended. */
enum resend_end {
    RESEND_END_UNKNOWN,   /* perhaps because of a pending request that was sent again */
    RESEND_END_CANCELLED, /* perhaps because of a cancelled one: resend_take_cancelled() */
    RESEND_END_HUNG,      /* it hung, and was killed */
};

/* The process has ended; it has read `read` bytes, as pending.written_at counts them. */
enum resend_result resend_settle(struct pending *p, uint64_t read, enum resend_end end,
                                 bool may_repeat);
/* Whether a request was cancelled that was sent again, and that the process has read. Once for each process: the next
 * one does not get these requests. */
bool resend_take_cancelled(const struct pending_list *cancelled, uint64_t read);
/* Whether the process gets it now, if `next` is the result of resend_next(). Only for one that is not staged. */
bool resend_is_due(const struct pending *p, const struct pending *next);
/* The oldest request that waits for its turn; NULL: none, or another one that was sent again is pending. */
struct pending *resend_next(const struct pending_list *open);
/* Whether a request is pending that was sent again, and that the process has read: if it ends, that request did it. */
bool resend_is_tried(const struct pending_list *open, uint64_t read);

#endif
