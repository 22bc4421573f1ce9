#include "proxy/session/timers.h"

#include "wire/mcp/method.h"

#include <stdlib.h>

void timers_open(struct timers *t, const struct deadlines *rules, int64_t max_us)
{
    *t = (struct timers){.rules = rules, .max_us = max_us, .fair_us = -2 * TIMERS_FAIR_US};
}

void timers_close(struct timers *t)
{
    free(t->heap);
    *t = (struct timers){0};
}

/* Returns the time without pauses; all deadlines use this time. */
static int64_t timers_elapsed_us(const struct timers *t, int64_t now_us)
{
    return (t->paused != 0 ? t->paused_at_us : now_us) - t->paused_total_us;
}

/* ---- the heap ------------------------------------------------------------------------------- */

static void heap_set_entry(struct timers *t, size_t i, struct pending *p)
{
    t->heap[i] = p;
    p->heap_at = i + 1;
}

static void heap_sift_up(struct timers *t, size_t i, struct pending *p)
{
    while (i > 0 && t->heap[(i - 1) / 2]->due_us > p->due_us) {
        heap_set_entry(t, i, t->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    heap_set_entry(t, i, p);
}

static void heap_sift_down(struct timers *t, size_t i, struct pending *p)
{
    for (size_t child; (child = 2 * i + 1) < t->n; i = child) {
        if (child + 1 < t->n && t->heap[child + 1]->due_us < t->heap[child]->due_us)
            child++;
        if (t->heap[child]->due_us >= p->due_us)
            break;
        heap_set_entry(t, i, t->heap[child]);
    }
    heap_set_entry(t, i, p);
}

static void heap_remove(struct timers *t, struct pending *p)
{
    if (p->heap_at == 0)
        return;
    size_t i = p->heap_at - 1;
    p->heap_at = 0;
    struct pending *last = t->heap[--t->n];
    if (last == p)
        return;
    heap_sift_up(t, i, last);
    heap_sift_down(t, last->heap_at - 1, last);
}

/* ---- the requests --------------------------------------------------------------------------- */

static int timers_grow_heap(struct timers *t)
{
    size_t cap = t->cap == 0 ? 64 : t->cap * 2;
    struct pending **heap = realloc(t->heap, cap * sizeof *heap);
    if (heap == NULL)
        return MI_ENOMEM;
    t->heap = heap;
    t->cap = cap;
    return 0;
}

static int64_t later_time_of_two(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier_time_of_two(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool timers_max_timeout_applies(const struct timers *t, const struct pending *p)
{
    return t->max_us > 0 && (p->timeout_us >= t->max_us ||
                             (p->written_us != 0 &&
                              p->first_started_us + t->max_us <= p->started_us + p->timeout_us));
}

/* Returns the request's deadline in the time of timers_elapsed_us(). A deadline never becomes
 * earlier, so the heap may hold an older value. */
static int64_t compute_request_deadline(const struct timers *t, const struct pending *p)
{
    int64_t started_us =
        p->written_us == 0 ? later_time_of_two(p->started_us, t->last_read_us) : p->started_us;
    int64_t us = started_us + p->timeout_us;
    if (p->written_us != 0 && t->max_us > 0)
        us = earlier_time_of_two(us, p->first_started_us + t->max_us);
    return later_time_of_two(us, t->fair_us + earlier_time_of_two(p->timeout_us, TIMERS_FAIR_US));
}

int timers_add(struct timers *t, struct pending *p, int64_t now_us)
{
    if (t->n == t->cap && timers_grow_heap(t) < 0)
        return MI_ENOMEM;
    if (t->rules != NULL)
        p->timeout_us = p->waits_for_user
                            ? t->max_us
                            : deadline_of_request(t->rules, p->flags, p->method, p->target);
    if (t->max_us > 0 && p->timeout_us > t->max_us)
        p->timeout_us = t->max_us;
    p->started_us = timers_elapsed_us(t, now_us);
    p->server_messages = t->server_messages;
    if (t->unwritten == NULL)
        t->unwritten = p;
    if (p->timeout_us > 0) { /* A request without a timeout has no deadline. */
        p->due_us = compute_request_deadline(t, p);
        heap_sift_up(t, t->n++, p);
    }
    return 0;
}

void timers_start_for_read_requests(struct timers *t, uint64_t written, int64_t now_us)
{
    int64_t now = timers_elapsed_us(t, now_us);
    if (written != t->written) {
        t->written = written;
        t->last_read_us = now;
    }
    for (; t->unwritten != NULL &&
           (t->unwritten->written_at <= written || t->unwritten->written_at == PENDING_NOT_STAGED);
         t->unwritten = t->unwritten->next) {
        struct pending *p = t->unwritten;
        if (p->written_us != 0 || p->written_at == PENDING_NOT_STAGED)
            /* No timer is started now. If the request was written, its timer was started before. If
             * it is not staged, it waits to be sent again: when it is staged,
             * timers_handle_restaged_request() lets this loop begin at the oldest request again. */
            continue;
        p->written_us = now_us > 0 ? now_us : 1;
        p->server_messages = t->server_messages;
        p->started_us = p->first_started_us = now;
    }
}

void timers_remove(struct timers *t, struct pending *p)
{
    if (t->unwritten == p)
        t->unwritten = p->next;
    heap_remove(t, p);
}

void timers_begin_new_process(struct timers *t, struct pending *oldest, int64_t now_us)
{
    t->unwritten = oldest;
    t->written = 0;
    for (struct pending *p = oldest; p != NULL; p = p->next) {
        /* restart only timers of written requests; other requests keep their deadline */
        if (p->written_us != 0)
            p->started_us = timers_elapsed_us(t, now_us);
        p->written_us = 0;
    }
}

void timers_handle_restaged_request(struct timers *t, struct pending *oldest)
{
    t->unwritten = oldest;
}

void timers_restart_after_progress(struct timers *t, struct pending *p, int64_t now_us)
{
    if (p->written_us != 0)
        p->started_us = timers_elapsed_us(t, now_us);
}

static bool timers_grant_time_after_pause(struct timers *t, int64_t now_us)
{
    int64_t now = timers_elapsed_us(t, now_us);
    if (now - t->fair_us < 2 * TIMERS_FAIR_US)
        return false;
    t->fair_us = now;
    return true;
}

void timers_pause(struct timers *t, enum timers_why why, bool pause, int64_t now_us)
{
    unsigned before = t->paused;
    t->paused = pause ? before | why : before & ~(unsigned)why;
    if (before == 0 && t->paused != 0) {
        t->paused_at_us = now_us;
    } else if (before != 0 && t->paused == 0) {
        t->paused_total_us += now_us - t->paused_at_us;
        (void)timers_grant_time_after_pause(t, now_us);
    }
}

bool timers_skip_stalled_time(struct timers *t, int64_t us, int64_t now_us)
{
    if (t->paused == 0)
        t->paused_total_us += us;
    return timers_grant_time_after_pause(t, now_us);
}

void timers_set_server_absent(struct timers *t, bool away, int64_t now_us)
{
    t->server_away = away;
    if (!away)
        t->last_read_us = timers_elapsed_us(t, now_us);
}

struct pending *timers_find_expired_request(struct timers *t, int64_t now_us)
{
    int64_t now = timers_elapsed_us(t, now_us);
    while (t->n > 0 && t->heap[0]->due_us <= now) {
        struct pending *p = t->heap[0];
        p->due_us = compute_request_deadline(t, p);
        if (p->due_us <= now)
            return p;
        heap_sift_down(t, 0, p);
    }
    return NULL;
}

int64_t timers_get_us_until_deadline(const struct timers *t, int64_t now_us)
{
    if (t->n == 0 || t->paused != 0)
        return -1; /* no deadline can pass; after a pause, the caller asks again */
    int64_t now = timers_elapsed_us(t, now_us);
    return t->heap[0]->due_us > now ? t->heap[0]->due_us - now : 0;
}
