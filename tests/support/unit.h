/* unit.h - shared by all unit tests. cmocka needs its four headers in this order. */
#ifndef MI_TESTS_UNIT_H
#define MI_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

/* valgrind is about fifty times slower, qemu ten times: tests run fewer rounds. */
static inline bool unit_slow(void)
{
    const char *under = getenv("TEST_UNDER");
    return under != NULL && (strcmp(under, "valgrind") == 0 || strcmp(under, "qemu") == 0);
}

/* n without TEST_LONG=1, else 1: every n-th of many cases is tried, the same ones in each run. */
static inline size_t unit_sample(size_t n)
{
    const char *everything = getenv("TEST_LONG");
    return everything != NULL && strcmp(everything, "1") == 0 ? 1 : n;
}

/* A copy whose memory ends with its last byte, so that sanitizers and valgrind find reads past it. */
static inline char *unit_copy(const char *p, size_t n)
{
    char *copy = malloc(n > 0 ? n : 1);
    assert_non_null(copy);
    if (n > 0)
        memcpy(copy, p, n);
    return copy;
}

/* xorshift64: the same numbers on every machine. The seed must not be 0. */
struct unit_random {
    uint64_t s;
};

static inline size_t unit_random(struct unit_random *r, size_t below)
{
    r->s ^= r->s << 13;
    r->s ^= r->s >> 7;
    r->s ^= r->s << 17;
    return (size_t)(r->s >> 11) % below;
}

/* Starts a process that does nothing until it is killed or this process exits. */
static inline pid_t unit_sleeper(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    return pid;
}

#endif
