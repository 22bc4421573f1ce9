/* log_unit.h - collects the lines logged through base/log.h. */
#ifndef MI_TESTS_LOG_UNIT_H
#define MI_TESTS_LOG_UNIT_H

#include "tests/support/unit.h"

#include "base/buf.h"
#include "base/log.h"

/* The lines logged while they are collected. */
static struct buf said;

static inline void on_said(void *ctx, struct slice line)
{
    (void)ctx;
    buf_slice_add(&said, line);
}

static inline MI_UNUSED void said_begin(void)
{
    buf_close(&said);
    log_set_sink(on_said, NULL);
}

static inline MI_UNUSED bool said_holds(const char *text)
{
    return strstr(buf_str(&said), text) != NULL;
}

static inline MI_UNUSED size_t said_lines(void)
{
    size_t n = 0;
    for (size_t i = 0; i < said.n; i++)
        n += said.p[i] == '\n';
    return n;
}

static inline MI_UNUSED void said_end(void)
{
    log_set_sink(NULL, NULL);
    buf_close(&said);
}

#endif
