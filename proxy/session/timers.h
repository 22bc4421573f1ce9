/* timers.h - the deadlines of the client's requests.
 *
 * A timer is started when the request's last byte has been written to the server, and restarted by each progress
 * notification; the timer of --max-timeout is started only once. A request that the server does not read has a
 * deadline as well, counted from the last moment at which the server read a byte.
 *
 * Only time in which the server could answer is counted. All timers are paused while a request of the server waits for
 * the client, because a user may be thinking (mcp-wire.md 6.1), and while the server's output is not read. Time in
 * which this process did not run is skipped. After a pause, and after skipped time, no deadline passes within
 * TIMERS_FAIR_US, or within its timeout if that is shorter: the server may have been stopped as
 * well. This extra time is granted once in 2 * TIMERS_FAIR_US of counted time, so that short pauses
 * cannot delay a deadline forever.
 *
 * The heap is lazy: restarting a timer does not move its request. When the old time comes, the deadline is computed
 * again.
 *
 * Owns      the heap. Entries are borrowed from the pending table and must be removed here first.
 * Units     microseconds since the session's start, as journal_now_us() returns them.
 * Errors    MI_ENOMEM, from timers_add() only.
 * Blocks    never. Pure; O(log n) for each request. */
#ifndef MI_PROXY_SESSION_TIMERS_H
#define MI_PROXY_SESSION_TIMERS_H

#include "proxy/session/deadline.h"
#include "proxy/session/pending.h"

#define TIMERS_FAIR_US 1000000

/* Why timers are paused, as bits. */
enum timers_why {
    TIMERS_CLIENT_ASKED = 1 << 0, /* a request of the server waits for the client */
    /* The server's output is not read, because the client or the recorder is behind. */
    TIMERS_SERVER_NOT_READ = 1 << 1,
};

struct timers {
    const struct deadlines *rules; /* borrowed; NULL: no deadlines */
    int64_t max_us;                /* value of --max-timeout; 0: none */
    struct pending **heap; /* owned; by due_us, the first at 0; only requests with a deadline */
    size_t n, cap;
    struct pending *unwritten; /* the oldest request whose last byte is not written; NULL: none */
    uint64_t
        server_messages; /* number of messages of the server, and of lines meant as messages; counted by the owner */
    uint64_t written;        /* bytes that the server has read */
    int64_t last_read_us;    /* time when the server last read a byte, without pauses */
    unsigned paused;         /* enum timers_why; 0: not paused */
    int64_t paused_at_us;    /* start of this pause */
    int64_t paused_total_us; /* length of all earlier pauses, and skipped time */
    int64_t fair_us;         /* when TIMERS_FAIR_US was last granted, without the time of pauses */
    bool server_away;        /* no server process reads */
};

void timers_open(struct timers *t, const struct deadlines *rules, int64_t max_us);
void timers_close(struct timers *t);
/* Starts timing a request that was staged; it is the newest in its table. */
MI_MUST int timers_add(struct timers *t, struct pending *p, int64_t now_us);
/* Removes a request that was answered or cancelled. Call it before pending_remove() and
 * pending_mark_cancelled(). */
void timers_remove(struct timers *t, struct pending *p);
/* A new server process gets all requests, the oldest first: each timer starts again when its request is written.
 * Requests that the old process had not read keep their deadline. */
void timers_begin_new_process(struct timers *t, struct pending *oldest, int64_t now_us);
/* The server has read `written` bytes in total: starts timers. */
void timers_note_written(struct timers *t, uint64_t written, int64_t now_us);
/* Call it when a waiting request was staged after others. oldest: the oldest of all requests. */
void timers_note_staged_again(struct timers *t, struct pending *oldest);
void timers_note_progress(struct timers *t, struct pending *p, int64_t now_us);
/* Pauses all timers for this reason, or ends the reason. The timers continue when no reason is
 * left. */
void timers_pause(struct timers *t, enum timers_why why, bool pause, int64_t now_us);
/* Call it after this process did not run for `us` microseconds. Returns true if TIMERS_FAIR_US was
 * granted. */
bool timers_skip_stalled_time(struct timers *t, int64_t us, int64_t now_us);
/* `away`: no server reads, because one process is being stopped and the next is not ready. Requests
 * that wait for the next process keep their timeout, which is counted again from when that process
 * is ready. */
void timers_set_server_away(struct timers *t, bool away, int64_t now_us);
/* Returns a request whose deadline has passed, or NULL. The request stays until it is removed. */
struct pending *timers_next_expired(struct timers *t, int64_t now_us);
/* Whether the deadline of a request is that of --max-timeout. */
bool timers_limited_by_max(const struct timers *t, const struct pending *p);
/* Microseconds until timers_next_expired() must be called; -1: no request can become due. Never later than the next deadline,
 * and never 0 after a timers_next_expired() that returned NULL. */
int64_t timers_next(const struct timers *t, int64_t now_us);

#endif
