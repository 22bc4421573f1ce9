/* waits.c - timers of the recorder. One timer ends a pause of forwarding or of reading the client,
 * or the wait of a long line. Another timer returns memory after a burst. */
#include "record/pace.h"
#include "record/state.h"

/* ---- pauses --------------------------------------------------------------------------------- */

static void waits_on_pause_end(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct recorder *r = w->data;
    if (r->calls.changed != NULL)
        r->calls.changed(r->data);
}

void waits_set_pause_timer(struct recorder *r, int64_t until_us)
{
    ev_timer *w = &r->pause_timer;
    if (r->loop == NULL || (until_us == 0 && !ev_is_active(w)))
        return;
    int64_t left = until_us - clock_mono_us();
    double s = (double)(left > 0 ? left : 0) / 1e6;
    if (until_us != 0 && ev_is_active(w) && ev_timer_remaining(r->loop, w) <= s)
        return;
    ev_timer_stop(r->loop, w);
    if (until_us == 0)
        return;
    ev_timer_set(w, s, 0.);
    ev_timer_start(r->loop, w);
}

bool recorder_is_behind(struct recorder *r, size_t n, int64_t waited_us)
{
    if (n < RECORDER_LONG)
        return false;
    size_t behind = r->has_ring ? ring_count_unread_bytes(&r->ring) : 0;
    bool lags = behind > 0 && r->loop != NULL && r->worker.pid > 0 &&
                behind + n > RECORDER_LAG_MAX && recorder_get_trouble(r) == RING_FINE;
    r->gave_up_lag = lags && (r->gave_up_lag || waited_us >= RECORDER_LAG_US);
    if (lags && behind + n > r->ring.limit)
        return waited_us < RECORDER_LAG_FULL_US;
    return lags && !r->gave_up_lag;
}

void recorder_set_lag_timer(struct recorder *r, size_t n, int64_t waited_us)
{
    int64_t left = 0; /* If the line need not wait any more, call `changed` at once. */
    ring_set_writer_waits(&r->ring, true);
    if (recorder_is_behind(r, n, waited_us))
        left = (waited_us < RECORDER_LAG_US ? RECORDER_LAG_US : RECORDER_LAG_FULL_US) - waited_us;
    waits_set_pause_timer(r, clock_mono_us() + left);
}

bool recorder_must_slow_client(struct recorder *r)
{
    bool took = r->took;
    r->took = false;
    int64_t us =
        r->has_ring ? pace_compute_delay_us(ring_count_unread_bytes(&r->ring), r->ring.limit) : 0;
    if (us == 0 || r->loop == NULL || recorder_get_trouble(r) == RING_FAILING)
        return false;
    int64_t now = clock_mono_us();
    if (took)
        r->paced_until_us = now + us;
    if (now >= r->paced_until_us)
        return false;
    waits_set_pause_timer(r, r->paced_until_us);
    return true;
}

/* ---- memory of an idle journal -------------------------------------------------------------- */

#define IDLE_S 0.5  /* seconds without an entry after which the journal returns memory */
#define PART_S 0.02 /* seconds between two steps that return memory */
/* bytes of memory that one step returns; returning them takes one or two milliseconds */
#define PART_BYTES ((size_t)4 << 20)

static void start_idle_timer(struct recorder *r, double s)
{
    r->idle_end = r->ring.end;
    ev_timer_set(&r->idle_timer, s, 0.);
    ev_timer_start(r->loop, &r->idle_timer);
}

static void waits_on_idle_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct recorder *r = w->data;
    size_t before = ring_memory_size(&r->ring);
    if (r->ring.end == r->idle_end)
        ring_free_unused_memory(&r->ring, PART_BYTES);
    if (ring_memory_size(&r->ring) > RING_KEPT)
        start_idle_timer(r, ring_memory_size(&r->ring) < before ? PART_S : IDLE_S);
}

void waits_start_idle_timer(struct recorder *r)
{
    if (r->loop != NULL && !ev_is_active(&r->idle_timer) && ring_memory_size(&r->ring) > RING_KEPT)
        start_idle_timer(r, IDLE_S);
}

/* ---- both timers ---------------------------------------------------------------------------- */

void waits_open_timers(struct recorder *r)
{
    ev_init(&r->pause_timer, waits_on_pause_end);
    ev_init(&r->idle_timer, waits_on_idle_timer);
    r->pause_timer.data = r->idle_timer.data = r;
}

void waits_stop_timers(struct recorder *r)
{
    if (r->loop == NULL)
        return;
    ev_timer_stop(r->loop, &r->pause_timer);
    ev_timer_stop(r->loop, &r->idle_timer);
}
