/* timers.h - the deadlines of the client's requests.
 *
 * A timer is started when the request's last byte has been written to the server, and restarted by
 * each progress notification; the timer of --max-timeout is started only once. A request that the
 * server does not read has a deadline as well, counted from the last moment at which the server
 * read a byte.
 *
 * Only time in which the server could answer is counted. All timers are paused while a request of
 * the server waits for the client, because a user may be thinking (mcp-wire.md 6.1), and while the
 * server's output is not read. Time in which this process did not run is skipped. After a pause,
 * and after skipped time, no deadline passes within TIMERS_FAIR_US, or within the request's timeout
 * if that is shorter: the server may have been stopped as well. This extra time is granted once in
 * 2 * TIMERS_FAIR_US of counted time, so that short pauses cannot delay a deadline forever.
 *
 * The heap is lazy: restarting a timer does not move its request. When the old deadline has passed,
 * the deadline is computed again.
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
    TIMERS_CLIENT_ASKED = 1 << 0, /* a request of the server waits for the client's answer */
    /* The server's output is not read, because the client or the recorder is too slow. */
    TIMERS_SERVER_NOT_READ = 1 << 1,
};

struct timers {
    const struct deadlines *rules; /* borrowed; NULL: no deadlines */
    int64_t max_us;                /* value of --max-timeout; 0: none */
    struct pending **heap;         /* owned; requests with a deadline, the smallest due_us first */
    size_t n, cap;
    struct pending *unwritten; /* the oldest request whose last byte is not written; NULL: none */
    uint64_t server_messages;  /* number of the server's messages, even invalid; set by the owner */
    uint64_t written;          /* bytes that the server's pipe has accepted */
    int64_t last_read_us;      /* time, without pauses, when the server last read a byte */
    unsigned paused;           /* reasons for a pause: bits of enum timers_why; 0: not paused */
    int64_t paused_at_us;      /* start of the current pause */
    /* length of all earlier pauses, and of the time in which this process did not run */
    int64_t paused_total_us;
    int64_t fair_us; /* time, without pauses, when the extra time TIMERS_FAIR_US was last granted */
    bool server_away; /* no server process is ready to read requests */
};

void timers_open(struct timers *t, const struct deadlines *rules, int64_t max_us);
void timers_close(struct timers *t);
/* Adds a request that is being staged. The request must be the newest in its table. */
MI_MUST int timers_add(struct timers *t, struct pending *p, int64_t now_us);
/* Removes a request that was answered or cancelled. Call this function before pending_remove() and
 * pending_mark_cancelled(). */
void timers_remove(struct timers *t, struct pending *p);
/* Call this function before a new server process gets all requests, the oldest first: each timer
 * starts again when its request is written. Requests that the old process had not read keep their
 * deadline. */
void timers_begin_new_process(struct timers *t, struct pending *oldest, int64_t now_us);
/* Call this function when the server's pipe has accepted `written` bytes in total: starts the
 * timers of the requests whose last byte is now written. */
void timers_start_for_read_requests(struct timers *t, uint64_t written, int64_t now_us);
/* Call this function when a request was staged again, after newer requests. oldest: the oldest
 * pending request. */
void timers_handle_restaged_request(struct timers *t, struct pending *oldest);
/* Restarts the timer of a request because of a progress notification. */
void timers_restart_after_progress(struct timers *t, struct pending *p, int64_t now_us);
/* Pauses all timers for the reason `why`, or removes this reason. The timers continue when no
 * reason is left. */
void timers_pause(struct timers *t, enum timers_why why, bool pause, int64_t now_us);
/* Call this function after this process did not run for `us` microseconds. Returns true if the
 * extra time TIMERS_FAIR_US was granted. */
bool timers_skip_stalled_time(struct timers *t, int64_t us, int64_t now_us);
/* away: true: no server process reads requests, because one process is being stopped and the next
 * is not ready; false: the next process is ready. The timeout of requests that wait for the next
 * process is counted from the moment when that process is ready. */
void timers_set_server_absent(struct timers *t, bool away, int64_t now_us);
/* Returns a request whose deadline has passed, or NULL. The request stays until it is removed. */
struct pending *timers_find_expired_request(struct timers *t, int64_t now_us);
/* Returns true if --max-timeout determines the deadline of a request. */
bool timers_max_timeout_applies(const struct timers *t, const struct pending *p);
/* Returns the microseconds until timers_find_expired_request() must be called; -1: no deadline can
 * pass. The result is not later than the next deadline, and not 0 after
 * timers_find_expired_request() has returned NULL. */
int64_t timers_get_us_until_deadline(const struct timers *t, int64_t now_us);

#endif
