/* unit.h - what the unit tests of bytes alone share. cmocka wants its four headers in this order. */
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

/* Under valgrind everything takes some fifty times as long: fewer rounds will do there. */
static inline bool unit_slow(void)
{
    const char *under = getenv("TEST_UNDER");
    return under != NULL && strcmp(under, "valgrind") == 0;
}

/* A copy in memory that ends with its last byte: a read behind it is seen. */
static inline char *unit_copy(const char *p, size_t n)
{
    char *copy = malloc(n > 0 ? n : 1);
    assert_non_null(copy);
    if (n > 0)
        memcpy(copy, p, n);
    return copy;
}

/* xorshift64: the same numbers on every machine. Start it with any seed but 0. */
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

/* A process that does nothing, until it is killed or this one ends. */
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
