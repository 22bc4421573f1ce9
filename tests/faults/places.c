#include "tests/faults/places.h"

#include <execinfo.h>
#include <stdlib.h>

#define STACK_MAX 60
/* Frames of this file, of fault.c and of memory.c or calls.c, and two more. */
#define PLACE_FRAMES 5
#define SLOTS (4 * PLACES_CALLS_MAX)

enum by { BY_PLACE, BY_PATH, BY_COUNT };
struct origin {
    uint64_t hash; /* 0: free */
    long order;    /* of its first call, among the origins */
    long calls;    /* from there */
    long passed;   /* calls of places_choose() for it */
};
static struct origin origins[BY_COUNT][SLOTS];
static long origins_n[BY_COUNT];
static struct origin *of[BY_COUNT][PLACES_CALLS_MAX]; /* the N-th call */
static bool chosen[PLACES_CALLS_MAX];
static long calls_n;
static bool watching;

void places_watch(bool on)
{
    void *frames[1];
    (void)backtrace(frames, 1); /* allocates when it is called first */
    watching = on;
}

static struct origin *find_origin(enum by by, void *const *frames, int n)
{
    uint64_t hash = 14695981039346656037u;
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uintptr_t)frames[i]) * 1099511628211u;
    hash |= 1;
    size_t at = (hash >> 20) % SLOTS;
    while (origins[by][at].hash != 0 && origins[by][at].hash != hash)
        at = (at + 1) % SLOTS;
    if (origins[by][at].hash == 0)
        origins[by][at] = (struct origin){.hash = hash, .order = origins_n[by]++};
    return &origins[by][at];
}

void places_note(long n)
{
    void *frames[STACK_MAX];
    if (!watching)
        return;
    if (n >= PLACES_CALLS_MAX)
        abort();
    int depth = backtrace(frames, STACK_MAX);
    int depths[BY_COUNT] = {depth < PLACE_FRAMES ? depth : PLACE_FRAMES, depth};
    for (int by = 0; by < BY_COUNT; by++) {
        of[by][n] = find_origin((enum by)by, frames, depths[by]);
        of[by][n]->calls++;
    }
    calls_n = n;
}

void places_choose(long turn)
{
    for (long n = 1; n <= calls_n; n++)
        for (int by = 0; by < BY_COUNT; by++) {
            struct origin *o = of[by][n];
            bool has_turn = by == BY_PLACE ? (o->order + turn / 2 + turn) % 2 == 0
                                           : o->order % PLACES_TURNS == turn % PLACES_TURNS;
            chosen[n] |= o->passed++ == turn % o->calls && has_turn;
        }
}

bool places_has(long n)
{
    return n < PLACES_CALLS_MAX && chosen[n];
}
