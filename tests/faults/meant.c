#include "tests/faults/meant.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "journal/uid.h"
#include "tests/faults/fault.h"

#include <stdlib.h>

struct meant meant[MEANT_MAX];
uint64_t meant_n;

static int64_t now_us;
int64_t __wrap_clock_mono_us(void);
int64_t __wrap_clock_mono_us(void)
{
    return now_us += 10;
}

int __wrap_uid_make(int64_t wall_us, char *ret);
int __wrap_uid_make(int64_t wall_us, char *ret)
{
    (void)wall_us;
    memcpy(ret, MEANT_UID, UID_LEN + 1);
    return 0;
}

uint64_t meant_hash(struct slice s)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001B3u;
    return h;
}

void meant_add(uint64_t seq, const struct row *row)
{
    bool was = fault_pause();
    struct buf text = {0};
    if (row->not_json)
        text_append_valid_utf8(&text, row->body);
    else
        buf_slice_add(&text, row->body);
    if (seq != meant_n + 1 || seq >= MEANT_MAX)
        abort();
    meant[seq] = (struct meant){.kind = row->kind,
                                .direction = row->direction,
                                .action = row->action,
                                .hash = meant_hash(buf_slice(&text)),
                                .n = text.n};
    meant_n = seq;
    buf_close(&text);
    fault_resume(was);
}

static char said[1 << 16];
static size_t said_n;

static void on_said(void *ctx, struct slice line)
{
    (void)ctx;
    size_t n = size_min(line.n, sizeof said - 1 - said_n);
    memcpy(said + said_n, line.p, n);
    said_n += n;
    said[said_n] = '\0';
}

void meant_watch_log(void)
{
    log_set_sink(on_said, NULL);
}

void meant_begin(void)
{
    meant_n = 0;
    said_n = 0;
    said[0] = '\0';
    now_us = 1000000000;
}

bool meant_said(const char *words)
{
    return strstr(said, words) != NULL;
}

const char *meant_log(void)
{
    return said;
}

void meant_wait(int64_t us)
{
    now_us += us;
}
