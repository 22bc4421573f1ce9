#include "tests/faults/recording.h"

#include "base/clock.h"
#include "record/process/orphans.h"
#include "record/process/upkeep.h"
#include "record/worker.h"
#include "tests/faults/meant.h"

#include <stdlib.h>
#include <unistd.h>

static struct {
    bool runs, damaged;
    struct worker *proxy; /* its side */
    struct journal_file file;
    struct ring ring;
    struct store *store;
    struct upkeep upkeep;
} rec;

/* ---- the process ---------------------------------------------------------------------------- */

static void leave(void)
{
    if (rec.store != NULL)
        upkeep_close(&rec.upkeep);
    store_close(rec.store);
    ring_close(&rec.ring);
    journal_file_close(&rec.file);
    rec.store = NULL;
    rec.runs = false;
    rec.proxy->pid = 0;
    rec.proxy->gone_since_us = clock_mono_us();
}

static void on_between(void *ctx)
{
    (void)ctx;
}

static bool enter(struct worker *w)
{
    rec.proxy = w;
    rec.runs = true;
    rec.ring = (struct ring){0};
    rec.file = (struct journal_file){.fd = -1};
    if (journal_file_reopen(&rec.file, w->cfg.file) == 0 &&
        ring_open(&rec.ring, rec.file.fd) == 0 &&
        store_open(&rec.store, &w->cfg.start, NULL, NULL) == 0) {
        store_take_over_journal(rec.store, &rec.ring);
        upkeep_open(&rec.upkeep, rec.store, w->cfg.retention, on_between, NULL);
        w->pid = getpid();
        w->gone_since_us = 0;
        return true;
    }
    leave();
    return false;
}

/* Stores everything that is published, and ends the session when it has ended. */
static void store_published(void)
{
    enum store_result result = STORE_DONE;
    size_t n = 1;
    ring_mark_reader_awake(&rec.ring);
    while (rec.runs && result == STORE_DONE && n > 0) {
        result = store_batch(rec.store, &rec.ring, &n);
        if (result == STORE_DONE && n > 0)
            upkeep_checkpoint_if_needed(&rec.upkeep);
    }
    if (result == STORE_DONE)
        rec.proxy->opened = true;
    if (result == STORE_FAILING)
        upkeep_pause(&rec.upkeep);
    if (result == STORE_DAMAGED)
        rec.damaged = true;
    if (result == STORE_GONE) {
        leave();
        return;
    }
    if (result == STORE_DONE && atomic_load(&rec.ring.shared->ended) != 0) {
        upkeep_close(&rec.upkeep);
        if (store_end_session(rec.store, &rec.ring) == STORE_DONE) {
            journal_file_remove(&rec.file);
            leave();
        }
        return;
    }
    if (!ring_put_reader_to_sleep(&rec.ring))
        return; /* the next turn stores it */
}

static void restart(struct worker *w)
{
    if (!rec.runs && !w->ending && enter(w))
        w->on_restart(w->data);
}

/* ---- record/worker.h ------------------------------------------------------------------------ */

int __wrap_worker_start(struct worker *w);
void __wrap_worker_wake(struct worker *w);
void __wrap_worker_wait_for_reports(struct worker *w, int64_t us);
void __wrap_worker_kill(struct worker *w);
void __wrap_worker_close(struct worker *w);
void __real_worker_close(struct worker *w);

/* A process can be started; then it may exit because of a fault. */
int __wrap_worker_start(struct worker *w)
{
    if (enter(w))
        store_published();
    return 0;
}

void __wrap_worker_wake(struct worker *w)
{
    restart(w);
    if (rec.runs)
        store_published();
}

void __wrap_worker_wait_for_reports(struct worker *w, int64_t us)
{
    meant_wait(us < 250000 ? us : 250000);
    __wrap_worker_wake(w);
}

void __wrap_worker_kill(struct worker *w)
{
    w->ending = true;
    if (rec.runs)
        leave();
}

/* The process would go on; what it cannot store is left to the next command. */
void __wrap_worker_close(struct worker *w)
{
    if (rec.runs)
        store_published();
    if (rec.runs)
        leave();
    __real_worker_close(w);
    rec.proxy = NULL;
}

/* ---- the driver ----------------------------------------------------------------------------- */

void recording_use(const char *journals)
{
    journal_file_set_dir(journals);
}

static bool count(void *ctx, const struct journal_file *f)
{
    (void)f;
    ++*(int *)ctx;
    return true;
}

static bool drop(void *ctx, const struct journal_file *f)
{
    (void)ctx;
    journal_file_remove(f);
    return true;
}

void recording_begin(void)
{
    rec.damaged = false;
    rec.proxy = NULL;
    if (journal_file_visit_all(drop, NULL) < 0)
        abort();
}

void recording_turn(void)
{
    if (rec.proxy == NULL)
        return;
    restart(rec.proxy);
    if (!rec.runs)
        return;
    store_published();
    if (rec.runs)
        (void)upkeep_run_when_idle(&rec.upkeep);
}

bool recording_is_damaged(void)
{
    return rec.damaged;
}

bool recording_next_command(const char *vault)
{
    int left = 0;
    orphans_store_all(vault, NULL, NULL);
    return journal_file_visit_all(count, &left) == 0 && left == 0;
}
