#include "proxy/timers.h"

#include "wire/method.h"

#include <stdlib.h>

void timers_open(struct timers *t, const struct deadlines *rules, int64_t max_us)
{
    *t = (struct timers){.rules = rules, .max_us = max_us, .still_us = -1};
}

void timers_close(struct timers *t)
{
    free(t->heap);
    *t = (struct timers){.still_us = -1};
}

/* The time that clocks show: the real one without what they stood still. */
static int64_t shown(const struct timers *t, int64_t now_us)
{
    return (t->still_us >= 0 ? t->still_us : now_us) - t->stood_us;
}

/* ---- the heap ------------------------------------------------------------------------------- */

static void put(struct timers *t, size_t i, struct pending *p)
{
    t->heap[i] = p;
    p->heap_at = i + 1;
}

static void sift_up(struct timers *t, size_t i, struct pending *p)
{
    while (i > 0 && t->heap[(i - 1) / 2]->due_us > p->due_us) {
        put(t, i, t->heap[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    put(t, i, p);
}

static void sift_down(struct timers *t, size_t i, struct pending *p)
{
    for (size_t child; (child = 2 * i + 1) < t->n; i = child) {
        if (child + 1 < t->n && t->heap[child + 1]->due_us < t->heap[child]->due_us)
            child++;
        if (t->heap[child]->due_us >= p->due_us)
            break;
        put(t, i, t->heap[child]);
    }
    put(t, i, p);
}

static void heap_take(struct timers *t, struct pending *p)
{
    if (p->heap_at == 0)
        return;
    size_t i = p->heap_at - 1;
    p->heap_at = 0;
    struct pending *last = t->heap[--t->n];
    if (last == p)
        return;
    sift_up(t, i, last);
    sift_down(t, last->heap_at - 1, last);
}

/* ---- the requests --------------------------------------------------------------------------- */

static int grow(struct timers *t)
{
    size_t cap = t->cap == 0 ? 64 : t->cap * 2;
    struct pending **heap = realloc(t->heap, cap * sizeof *heap);
    if (heap == NULL)
        return MI_ENOMEM;
    t->heap = heap;
    t->cap = cap;
    return 0;
}

/* When its time is over, as clocks show it. Nothing that happens to a request makes this earlier, so that the
 * heap may hold an older value of it. */
static int64_t due(const struct timers *t, const struct pending *p)
{
    if (p->written_us == 0)
        return (p->began_us > t->took_us ? p->began_us : t->took_us) + p->allowed_us;
    int64_t us = p->began_us + p->allowed_us;
    int64_t last_us = p->first_us + t->max_us;
    return t->max_us > 0 && last_us < us ? last_us : us;
}

int timers_add(struct timers *t, struct pending *p, int64_t now_us)
{
    if (t->n == t->cap && grow(t) < 0)
        return MI_ENOMEM;
    if (t->rules != NULL)
        p->allowed_us =
            p->patient ? t->max_us : deadline_of(t->rules, p->flags, p->method, p->target);
    if (t->max_us > 0 && p->allowed_us > t->max_us)
        p->allowed_us = t->max_us;
    p->began_us = shown(t, now_us);
    p->heard_at = t->heard;
    if (t->unwritten == NULL)
        t->unwritten = p;
    if (p->allowed_us > 0) { /* else it may stay open for ever */
        p->due_us = due(t, p);
        sift_up(t, t->n++, p);
    }
    return 0;
}

void timers_written(struct timers *t, uint64_t written, int64_t now_us)
{
    int64_t now = shown(t, now_us);
    if (written != t->written) {
        t->written = written;
        t->took_us = now;
    }
    for (; t->unwritten != NULL && t->unwritten->written_at <= written;
         t->unwritten = t->unwritten->next) {
        struct pending *p = t->unwritten;
        p->written_us = now_us > 0 ? now_us : 1;
        p->heard_at = t->heard;
        p->began_us = p->first_us = now;
    }
}

void timers_remove(struct timers *t, struct pending *p)
{
    if (t->unwritten == p)
        t->unwritten = p->next;
    heap_take(t, p);
}

void timers_restart(struct timers *t, struct pending *oldest, int64_t now_us)
{
    t->unwritten = oldest;
    t->written = 0;
    for (struct pending *p = oldest; p != NULL; p = p->next) {
        if (p->written_us != 0) /* else it waits since it came, through however many restarts */
            p->began_us = shown(t, now_us);
        p->written_us = 0;
    }
}

void timers_progress(struct timers *t, struct pending *p, int64_t now_us)
{
    if (p->written_us != 0)
        p->began_us = shown(t, now_us);
}

void timers_stand(struct timers *t, bool still, int64_t now_us)
{
    if (still && t->still_us < 0) {
        t->still_us = now_us;
    } else if (!still && t->still_us >= 0) {
        t->stood_us += now_us - t->still_us;
        t->still_us = -1;
    }
}

void timers_away(struct timers *t, bool away, int64_t now_us)
{
    t->away = away;
    if (!away)
        t->took_us = shown(t, now_us);
}

struct pending *timers_due(struct timers *t, int64_t now_us)
{
    int64_t now = shown(t, now_us);
    while (t->n > 0 && t->heap[0]->due_us <= now) {
        struct pending *p = t->heap[0];
        p->due_us = due(t, p);
        if (p->due_us <= now)
            return p;
        sift_down(t, 0, p);
    }
    return NULL;
}

int64_t timers_next(const struct timers *t, int64_t now_us)
{
    if (t->n == 0 || t->still_us >= 0)
        return -1; /* whoever makes the clocks run again asks again */
    int64_t now = shown(t, now_us);
    return t->heap[0]->due_us > now ? t->heap[0]->due_us - now : 0;
}
