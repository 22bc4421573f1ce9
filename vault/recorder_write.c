/* recorder_write.c - what a commit writes, and in which transactions. */
#include "vault/recorder_inner.h"

#include "vault/redact.h"

#include <unistd.h>

#define PORTION ((size_t)512 << 10) /* bytes of waiting rows that one transaction writes */

static int write_session(struct recorder *r)
{
    struct redact *rules = redact_present();
    struct buf text = {0};
    if (rules != NULL)
        redact_rules(rules, &text);
    struct store_session s = {
        .uid = r->uid,
        .name = r->cfg.name,
        .command = r->cfg.command,
        .host = r->host,
        .record_level = keep_level_name(r->cfg.level),
        .redact_rules = rules != NULL && !text.failed ? buf_str(&text) : NULL,
        .started_at_us = r->started_wall_us,
        .pid = getpid(),
    };
    int st = store_session_add(r->store, &s, &r->session_id);
    buf_close(&text);
    return st;
}

static int write_gap(struct recorder *r)
{
    struct buf detail = {0};
    buf_printf(&detail, "{\"reason\":\"%s\",\"lost\":%llu", r->only_busy ? "locked" : "error",
               (unsigned long long)r->lost_n);
    if (r->lost_n > 0)
        buf_printf(&detail, ",\"first_seq\":%llu,\"last_seq\":%llu",
                   (unsigned long long)r->lost_first, (unsigned long long)r->lost_last);
    buf_addc(&detail, '}');
    struct row row = {
        .kind = "gap", .is_event = true, .t_us = recorder_now_us(r), .body = buf_slice(&detail)};
    int st = detail.failed ? MI_ENOMEM : store_add(r->store, r->session_id, r->uid, &row);
    buf_close(&detail);
    return st;
}

static int write_rows(struct recorder *r)
{
    for (size_t i = 0; i < r->turn_n; i++)
        if (store_add(r->store, r->session_id, r->uid, &r->turn[i]) < 0)
            return MI_ESTORE;
    return 0;
}

static int in_transaction(struct recorder *r, int (*write)(struct recorder *))
{
    int64_t session_before = r->session_id;
    int st = store_begin(r->store, r->failing ? 0 : RECORDER_WAIT_US);
    if (st < 0)
        return st;
    if (r->session_id == 0)
        st = write_session(r);
    if (st == 0)
        st = write(r);
    if (st == 0)
        st = store_commit(r->store);
    if (st < 0) {
        store_rollback(r->store);
        r->session_id = session_before;
    }
    return st;
}

/* Some of the rows that wait; how many stands in r->portion_n. */
static int write_portion(struct recorder *r)
{
    size_t bytes = 0;
    r->portion_n = 0;
    for (const struct backlog_row *w = r->waiting.first; w != NULL && bytes < PORTION;
         w = w->next) {
        if (store_add(r->store, r->session_id, r->uid, &w->row) < 0)
            return MI_ESTORE;
        bytes += w->cost;
        r->portion_n++;
    }
    return 0;
}

static int write_turn(struct recorder *r)
{
    bool fresh = !r->session_written;
    int st = write_rows(r);
    if (st == 0 && r->lost_n > 0)
        st = write_gap(r);
    if (st == 0 && (r->learnt_some || fresh))
        st = store_session_update(r->store, r->session_id, &r->learnt);
    if (st == 0 && r->learnt.ended_at_us != 0)
        st = store_running(r->store, r->session_id, NULL);
    else if (st == 0 && r->running_known && (r->running_changed || fresh))
        st = store_running(r->store, r->session_id, &r->running);
    return st;
}

/* The commonest turn: one message, which is a transaction without being told so. Saves two statements. */
static int write_one(struct recorder *r)
{
    store_wait(r->store, r->failing ? 0 : RECORDER_WAIT_US);
    return store_add(r->store, r->session_id, r->uid, r->turn);
}

/* What waits goes first, in portions: a disk that was full may not have room for all of it at once, nor
 * the log start anew within one transaction. Then the rows of this turn. */
int recorder_write(struct recorder *r)
{
    while (r->waiting.first != NULL) {
        int st = in_transaction(r, write_portion);
        if (st < 0)
            return st;
        for (; r->portion_n > 0; r->portion_n--)
            backlog_drop_first(&r->waiting);
    }
    if (r->session_written && r->turn_n == 1 && r->lost_n == 0 && !r->learnt_some &&
        !r->running_changed)
        return write_one(r);
    int st = in_transaction(r, write_turn);
    if (st == 0)
        r->session_written = true;
    return st;
}
