/* timers.h - the clocks of the requests that the client has open.
 *
 * A clock begins when the request's last byte has been written to the server, and anew with each
 * progress of it; another one, for --max-timeout, begins once. All of them stand still while a request of
 * the server waits for the client: a human may be thinking (mcp-wire.md 6.1). A request that the server
 * does not read has its time as well, from the last moment at which the server took a byte.
 *
 * The heap is lazy: a clock that begins anew moves nothing in it, and a request whose old time has come is
 * looked at again then.
 *
 * Owns      the heap. Entries are borrowed from the pending table and must be taken out here first.
 * Units     microseconds since the session's start, as recorder_now_us() has them.
 * Errors    MI_ENOMEM from timers_add() only.
 * Blocks    never. Pure; O(log n) a request. */
#ifndef MI_PROXY_TIMERS_H
#define MI_PROXY_TIMERS_H

#include "proxy/deadline.h"
#include "proxy/pending.h"

struct timers {
    const struct deadlines *rules; /* borrowed; NULL: no deadlines */
    int64_t max_us;                /* of --max-timeout; 0: none */
    struct pending **heap; /* owned; by due_us, the first at 0; without those that may wait */
    size_t n, cap;
    struct pending *unwritten; /* the oldest whose last byte is not written; NULL: none */
    uint64_t heard;            /* valid messages of the server; the owner counts them */
    uint64_t written;          /* bytes that the server had taken when last looked at */
    int64_t took_us;           /* when it took some, without the time the clocks stood still */
    int64_t stood_us;          /* how long they stood still before */
    int64_t still_us;          /* since when they stand still; -1: they run */
    bool away;                 /* there is no server that could read */
};

void timers_open(struct timers *t, const struct deadlines *rules, int64_t max_us);
void timers_close(struct timers *t);
/* A request was staged, the newest in its table. */
MI_MUST int timers_add(struct timers *t, struct pending *p, int64_t now_us);
/* It is answered or cancelled. Call before pending_remove() and pending_cancel(). */
void timers_remove(struct timers *t, struct pending *p);
/* A new process has them all before it, this one first: every clock begins again, at its writing. What the old
 * one had has its time from now on; what waited goes on waiting. */
void timers_restart(struct timers *t, struct pending *oldest, int64_t now_us);
/* The server has taken so many bytes in all: clocks begin. */
void timers_written(struct timers *t, uint64_t written, int64_t now_us);
void timers_progress(struct timers *t, struct pending *p, int64_t now_us);
/* Do clocks stand still from now on? */
void timers_stand(struct timers *t, bool still, int64_t now_us);
/* No server reads, for one is being ended and the next is not at work. What waits for it has its time all the
 * same, and when the server is back, again from then. */
void timers_away(struct timers *t, bool away, int64_t now_us);
/* A request whose time is over; NULL: none. It stays until it is removed. */
struct pending *timers_due(struct timers *t, int64_t now_us);
/* In how many microseconds timers_due() is to be asked, 0 for now; -1: nothing can be due. Never later than the
 * next one is due, and after a timers_due() that found none never 0. */
int64_t timers_next(const struct timers *t, int64_t now_us);

#endif
