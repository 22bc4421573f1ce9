#include "vault/recorder_inner.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "vault/keep.h"
#include "vault/redact.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOK_US 1000000        /* how often a commit looks whether the vault is still there */
#define CLOSE_TRIES 4          /* for a lock that is held at the very end */
#define BROKEN_RETRY_US 250000 /* between two tries after an error that is no held lock */

static char *copy(const char *s)
{
    return s != NULL ? strdup(s) : NULL;
}

static void close_store(struct recorder *r)
{
    store_close(r->store);
    r->store = NULL;
    vault_dir_close(&r->dir);
}

static int open_store(struct recorder *r)
{
    struct buf error = {0};
    int st = vault_dir_open(&r->dir, r->cfg.vault, true, &error);
    if (st == 0) {
        st = store_open(&r->store, &r->dir, r->cfg.sync_full, &error);
        if (st < 0)
            vault_dir_close(&r->dir);
        else if (r->cfg.stop_on_error)
            store_want_bodies(r->store);
        if (st == 0) {
            store_level(r->store, r->cfg.level);
            store_keep_lock(r->store, r->cfg.keep_lock);
        }
    }
    if (st < 0)
        snprintf(r->reason, sizeof r->reason, "%s",
                 error.n > 0 ? buf_str(&error) : "out of memory");
    buf_close(&error);
    return st;
}

int recorder_open(struct recorder **ret, const struct recorder_config *cfg)
{
    struct recorder *r = calloc(1, sizeof *r);
    if (r == NULL)
        return MI_ENOMEM;
    r->dir.fd = -1;
    backlog_open(&r->waiting);
    r->cfg = *cfg;
    r->cfg.vault = copy(cfg->vault);
    r->cfg.name = copy(cfg->name);
    r->cfg.command = copy(cfg->command);
    r->started_mono_us = clock_mono_us();
    r->started_wall_us = clock_wall_us();
    int st = 0;
    if (r->cfg.vault == NULL || r->cfg.name == NULL || r->cfg.command == NULL)
        st = MI_ENOMEM;
    if (st == 0)
        st = uid_make(r->started_wall_us, r->uid);
    if (gethostname(r->host, sizeof r->host - 1) != 0)
        snprintf(r->host, sizeof r->host, "unknown");
    if (st == 0) {
        st = open_store(r) < 0 ? MI_ESTORE : 0;
        if (st < 0 && cfg->stop_on_error)
            log_error("%s", r->reason);
        else
            st = 0; /* the first commit tries again, and says what is wrong */
    }
    if (st < 0) {
        recorder_close(r);
        return st;
    }
    *ret = r;
    return 0;
}

static void end_turn(struct recorder *r, bool keep);

/* There is no later: a lock that others pass among themselves is waited for again, as one try in a crowd seldom
 * gets it. Clients give us about 2 s to end. */
static bool commit_at_last(struct recorder *r)
{
    for (int i = 0; i < CLOSE_TRIES; i++) {
        r->next_try_us = 0;
        if (recorder_commit(r) == RECORDER_STORED)
            return true;
        if (!r->only_busy)
            break;
        r->failing = false; /* the next try waits for the lock */
    }
    return false;
}

void recorder_close(struct recorder *r)
{
    if (r == NULL)
        return;
    if (r->turn_n > 0 || r->waiting.first != NULL || r->learnt_some || r->lost_n > 0) {
        if (!commit_at_last(r))
            log_error("not everything is recorded: lost=%llu reason=\"%s\"",
                      (unsigned long long)(r->lost_n + r->turn_n + backlog_count(&r->waiting)),
                      r->reason);
    }
    end_turn(r, false);
    backlog_close(&r->waiting);
    close_store(r);
    for (size_t i = 0; i < MI_COUNT(r->learnt_text); i++)
        buf_close(&r->learnt_text[i]);
    free(r->turn);
    free((void *)(uintptr_t)r->cfg.vault);
    free((void *)(uintptr_t)r->cfg.name);
    free((void *)(uintptr_t)r->cfg.command);
    free(r);
}

static void lose(struct recorder *r, uint64_t seq)
{
    if (r->lost_n++ == 0)
        r->lost_first = seq;
    r->lost_last = seq;
}

/* ---- what waits ---------------------------------------------------------------------------- */

static void end_turn(struct recorder *r, bool keep)
{
    size_t limit = r->only_busy ? RECORDER_QUEUE_MAX : RECORDER_BROKEN_MAX;
    for (size_t i = 0; i < r->turn_n; i++) {
        if (keep && !backlog_add(&r->waiting, &r->turn[i], limit))
            lose(r, r->turn[i].seq);
        chunk_drop(r->turn[i].hold);
    }
    r->turn_n = 0;
}

/* ---- appending ----------------------------------------------------------------------------- */

static struct row *turn_place(struct recorder *r)
{
    if (r->turn_n == r->turn_cap) {
        size_t cap = r->turn_cap == 0 ? 64 : r->turn_cap * 2;
        struct row *more = realloc(r->turn, cap * sizeof *more);
        if (more == NULL)
            return NULL;
        r->turn = more;
        r->turn_cap = cap;
    }
    return &r->turn[r->turn_n];
}

uint64_t recorder_add(struct recorder *r, const struct row *row)
{
    struct row *place = turn_place(r);
    uint64_t seq = ++r->seq;
    if (place == NULL) {
        lose(r, seq);
        return seq;
    }
    *place = *row;
    place->seq = seq;
    place->t_us = recorder_now_us(r);
    if (place->hold != NULL)
        chunk_hold(place->hold);
    r->turn_n++;
    return seq;
}

void recorder_event(struct recorder *r, const char *kind, const char *detail)
{
    size_t n = detail != NULL ? strlen(detail) : 0;
    struct chunk *c = chunk_new(n + 1);
    struct row *place = c != NULL ? turn_place(r) : NULL;
    if (place == NULL) {
        chunk_drop(c);
        log_warn("event not recorded, out of memory: kind=%s", kind);
        return;
    }
    if (n > 0)
        memcpy(c->data, detail, n);
    *place = (struct row){.kind = kind, .is_event = true, .t_us = recorder_now_us(r), .hold = c};
    if (detail != NULL)
        place->body = (struct slice){c->data, n};
    r->turn_n++; /* the row has the only reference to c */
}

static void learn_text(struct recorder *r, size_t i, struct slice *column, struct slice text)
{
    if (text.p == NULL)
        return;
    struct buf *b = &r->learnt_text[i];
    buf_clear(b);
    text_utf8(b, text_head(text, KEEP_NAME_MAX)); /* a peer chose it: any size, any character */
    if (!b->failed)
        *column = buf_slice(b);
}

void recorder_learn(struct recorder *r, const struct store_update *u)
{
    struct store_update *l = &r->learnt;
    learn_text(r, 0, &l->client_name, u->client_name);
    learn_text(r, 1, &l->client_version, u->client_version);
    learn_text(r, 2, &l->server_name, u->server_name);
    learn_text(r, 3, &l->server_version, u->server_version);
    learn_text(r, 4, &l->protocol_version, u->protocol_version);
    learn_text(r, 5, &l->end_reason, u->end_reason);
    if (u->has_exit_status) {
        l->has_exit_status = true;
        l->exit_status = u->exit_status;
    }
    if (u->ended_at_us != 0)
        l->ended_at_us = u->ended_at_us;
    r->learnt_some = true;
}

void recorder_running(struct recorder *r, const struct running *running)
{
    r->running = *running;
    r->running_known = r->running_changed = true;
}

/* ---- committing ---------------------------------------------------------------------------- */

/* Somebody may remove the vault under us; SQLite would go on writing into the removed file. */
static void look_after_vault(struct recorder *r, int64_t now)
{
    if (r->store == NULL || now - r->looked_us < LOOK_US)
        return;
    r->looked_us = now;
    if (!store_vanished(r->store, r->cfg.vault))
        return;
    log_warn("the vault was removed, making it anew: vault=%s", r->cfg.vault);
    close_store(r);
    r->session_id = 0;
    r->session_written = false;
    recorder_event(r, "gap", "{\"reason\":\"vault removed\"}");
}

static int try_write(struct recorder *r)
{
    if (r->store == NULL) {
        int st = open_store(r);
        if (st < 0) {
            r->only_busy = false;
            return st;
        }
    }
    int st = recorder_write(r);
    if (st == 0)
        return 0;
    snprintf(r->reason, sizeof r->reason, "%s", store_error(r->store));
    r->only_busy = store_busy(r->store);
    if (store_full(r->store))
        recorder_checkpoint(r); /* the log's space can be used again then */
    else if (!r->only_busy)
        close_store(r); /* the next try opens it anew; the session stays the same */
    return st;
}

static void recovered(struct recorder *r)
{
    if (r->failing && (r->lost_n > 0 || !r->only_busy))
        log_warn("recording again: lost=%llu", (unsigned long long)r->lost_n);
    r->failing = false;
    r->lost_n = 0;
    r->learnt_some = r->running_changed = false;
    end_turn(r, false);
}

static void failed(struct recorder *r)
{
    int64_t now = clock_mono_us();
    r->next_try_us = now + (r->only_busy ? RECORDER_RETRY_US : BROKEN_RETRY_US);
    if (r->failing)
        return;
    r->failing = true;
    r->failing_since_us = now;
    if (!r->only_busy)
        log_warn("cannot record%s: %s", r->cfg.stop_on_error ? "" : ", going on without",
                 r->reason);
}

/* The rows of this turn cannot be written now: what becomes of them, and of the bytes they stand for. */
static enum recorder_result put_off(struct recorder *r, int64_t now)
{
    bool patient = r->only_busy && now - r->failing_since_us < RECORDER_PAUSE_US;
    if (r->cfg.stop_on_error)
        return patient ? RECORDER_HOLD : RECORDER_FAILED;
    /* A full queue holds the traffic up for a while before anything is lost. */
    size_t turn_bytes = 0;
    for (size_t i = 0; i < r->turn_n; i++)
        turn_bytes += backlog_cost(&r->turn[i]);
    if (patient && turn_bytes <= RECORDER_QUEUE_MAX &&
        turn_bytes > RECORDER_QUEUE_MAX - r->waiting.bytes)
        return RECORDER_HOLD;
    end_turn(r, true);
    return RECORDER_BEHIND;
}

enum recorder_result recorder_commit(struct recorder *r)
{
    if (r->turn_n == 0 && r->waiting.first == NULL && !r->learnt_some && !r->running_changed &&
        r->lost_n == 0)
        return RECORDER_STORED;
    int64_t now = clock_mono_us();
    look_after_vault(r, now);
    if (r->failing && now < r->next_try_us)
        return put_off(r, now);
    if (try_write(r) < 0) {
        failed(r);
        return put_off(r, clock_mono_us());
    }
    bool lost = r->lost_n > 0;
    recovered(r);
    return lost && r->cfg.stop_on_error ? RECORDER_FAILED
                                        : RECORDER_STORED; /* there was no memory for some */
}

bool recorder_behind(const struct recorder *r)
{
    return r->failing;
}

bool recorder_keeps_lock(const struct recorder *r)
{
    return r->store != NULL && store_keeps_lock(r->store);
}

void recorder_rest(struct recorder *r)
{
    if (r->store != NULL)
        store_rest(r->store);
}

bool recorder_new_bodies(struct recorder *r, int64_t *ret_from, int64_t *ret_to)
{
    return r->store != NULL && store_new_bodies(r->store, ret_from, ret_to);
}

/* ---- looking ------------------------------------------------------------------------------- */

int64_t recorder_now_us(const struct recorder *r)
{
    return clock_mono_us() - r->started_mono_us;
}

enum keep_level recorder_level(const struct recorder *r)
{
    return r->cfg.level;
}

const char *recorder_uid(const struct recorder *r)
{
    return r->uid;
}

const char *recorder_vault(const struct recorder *r)
{
    return r->dir.path;
}

int recorder_dir_fd(const struct recorder *r)
{
    return r->dir.fd;
}

int64_t recorder_wal_pages(const struct recorder *r)
{
    return r->store != NULL ? store_wal_pages(r->store) : 0;
}

void recorder_checkpoint(struct recorder *r)
{
    if (r->store != NULL && store_checkpoint(r->store) < 0)
        log_debug("checkpoint put off: %s", store_error(r->store));
}
