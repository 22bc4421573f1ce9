/* rest.c - after a burst, the journal's memory returns to the system. */
#include "record/state.h"

#define REST_S 0.5                    /* without an entry, until memory is returned */
#define PART_S 0.02                   /* between two parts */
#define PART_BYTES ((size_t)4 << 20) /* a millisecond or two */

static void again(struct recorder *r, double s)
{
    r->rest_end = r->ring.end;
    ev_timer_set(&r->rest_timer, s, 0.);
    ev_timer_start(r->loop, &r->rest_timer);
}

static void on_rest(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct recorder *r = w->data;
    size_t before = ring_memory(&r->ring);
    if (r->ring.end == r->rest_end) {
        ring_return(&r->ring, PART_BYTES);
        if (r->calls.rested != NULL)
            r->calls.rested(r->data);
    }
    if (ring_memory(&r->ring) > RING_KEPT)
        again(r, ring_memory(&r->ring) < before ? PART_S : REST_S);
}

void rest_open(struct recorder *r)
{
    ev_init(&r->rest_timer, on_rest);
    r->rest_timer.data = r;
}

void rest_watch(struct recorder *r)
{
    if (r->loop != NULL && !ev_is_active(&r->rest_timer) && ring_memory(&r->ring) > RING_KEPT)
        again(r, REST_S);
}
