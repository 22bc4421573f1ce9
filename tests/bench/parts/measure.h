/* measure.h - helpers for programs that measure single parts of the interposer, one file each.
 *
 * Times are CPU time of this process, which a busy machine disturbs least; a figure is the median of ROUNDS. */
#ifndef MI_TESTS_PARTS_MEASURE_H
#define MI_TESTS_PARTS_MEASURE_H

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 5
#define ROUND_US 200000
#define COMMIT_EVERY 64 /* messages: as many as are unanswered in the benchmark */

static inline _Noreturn void die(const char *what)
{
    fprintf(stderr, "measure: %s\n", what);
    exit(1);
}

/* ---- messages ---- */

static const char words[] =
    "The server reads the file and sends what it holds: a list of names, their sizes, the time of "
    "the last change (2026-11-21T10:15:40Z), and a word or two about each. See https://example.org/"
    "notes?page=2 for the rest; the key to it is the name. ";

static inline void fill(struct buf *b, const char *part, size_t n)
{
    while (b->n < n)
        buf_adds(b, part);
}

static inline void answer(struct buf *b, const char *part, size_t n)
{
    buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\","
                "\"text\":\"");
    fill(b, part, n);
    buf_adds(b, "\"}]}}");
}

static inline void request(struct buf *b, size_t n)
{
    buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"search\",\"arguments\":{\"query\":\"");
    buf_add(b, words, size_min(sizeof words - 1, n - size_min(n, b->n)));
    fill(b, "more words ", n);
    buf_adds(b, "\"}}}");
}

/* ---- measuring ---- */

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double cpu_us(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0)
        die("no clock");
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

typedef void (*once_fn)(void *ctx, struct slice message);

/* Nanoseconds of one call. */
static inline double measure(once_fn once, void *ctx, struct slice message)
{
    double each[ROUNDS];
    once(ctx, message); /* warms up */
    for (int i = 0; i < ROUNDS; i++) {
        double start = cpu_us(), now;
        long n = 0;
        do {
            for (int k = 0; k < 16; k++)
                once(ctx, message);
            n += 16;
            now = cpu_us();
        } while (now - start < ROUND_US);
        each[i] = (now - start) * 1000 / (double)n;
    }
    qsort(each, ROUNDS, sizeof *each, by_value);
    return each[ROUNDS / 2];
}

#endif
