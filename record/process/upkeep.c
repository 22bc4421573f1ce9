#include "record/process/upkeep.h"

#include "base/clock.h"
#include "base/log.h"
#include "record/process/orphans.h"
#include "vault/store/running.h"

#define DAY_US ((int64_t)86400 * 1000000)
#define STEP_PAUSE_US 20000 /* pause between two steps of pruning */
/* Minimum time between two checkpoints in a burst: if a reader prevents a checkpoint, it must not
 * be tried again after each transaction. */
#define FORCED_PAUSE_US 250000

void upkeep_open(struct upkeep *u, struct store *s, const struct retention *rule,
                 void (*between)(void *ctx), void *ctx)
{
    bool has_rule = rule->older_us > 0 || rule->keep_last > 0 || rule->max_bytes > 0;
    int64_t look_us = clock_mono_us() + UPKEEP_DEAD_US;
    *u = (struct upkeep){.store = s,
                         .rule = *rule,
                         .look_us = look_us,
                         .fill_us = INT64_MAX,
                         .prune_us = has_rule ? look_us + STEP_PAUSE_US : INT64_MAX,
                         .between = between,
                         .ctx = ctx};
}

void upkeep_close(struct upkeep *u)
{
    prune_close(u->prune);
    u->prune = NULL;
}

void upkeep_pause(struct upkeep *u)
{
    upkeep_close(u);
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

static void upkeep_run_checkpoint(struct upkeep *u)
{
    u->idle_us = 0;
    if (!store_checkpoint_wal(u->store))
        /* the next checkpoint is tried after more entries were stored */
        log_debug("checkpoint postponed");
}

void upkeep_checkpoint_if_needed(struct upkeep *u)
{
    int64_t pages = store_count_wal_pages(u->store), now = clock_mono_us();
    if (pages >= UPKEEP_PAGES_MAX && now - u->forced_us >= FORCED_PAUSE_US) {
        u->forced_us = now;
        upkeep_run_checkpoint(u);
    } else if (pages >= UPKEEP_IDLE_PAGES) {
        u->idle_us = now + UPKEEP_IDLE_US;
    }
}

/* ---- timed work ----------------------------------------------------------------------------- */

/* Begins to remove old sessions, or makes the next step of a removal. Returns the delay until the
 * function must be called again. */
static int64_t upkeep_run_prune_step(struct upkeep *u, const char *vault)
{
    struct buf error = {0};
    bool done = false;
    int st = 0;
    if (u->prune == NULL) {
        st = prune_open(&u->prune, vault, &u->rule, clock_wall_us(), &error);
    } else if (!prune_database_is_unchanged(u->prune)) {
        return UPKEEP_QUIET_US;
    } else {
        st = prune_run_step(u->prune, &done, &error);
    }
    buf_close(&error); /* the error is not logged: `doctor` reports the cause */
    if (st == MI_EFULL || (st == 0 && !done))
        return st == 0 ? STEP_PAUSE_US : UPKEEP_QUIET_US;
    prune_close(u->prune);
    u->prune = NULL;
    if (st == 0)
        upkeep_run_checkpoint(u);
    return st == MI_EBUSY ? UPKEEP_QUIET_US : DAY_US;
}

/* Adds some rows to the table `calls`. Returns the time of the next such step; INT64_MAX: no step
 * is made before the next search for dead sessions. */
static int64_t upkeep_run_fill_step(struct upkeep *u)
{
    bool more;
    bool done = store_fill_calls(u->store, &u->fill, &more);
    upkeep_checkpoint_if_needed(u); /* this step has made the write-ahead log longer */
    return more ? clock_mono_us() + (done ? STEP_PAUSE_US : UPKEEP_QUIET_US) : INT64_MAX;
}

int64_t upkeep_run_when_idle(struct upkeep *u)
{
    int64_t now = clock_mono_us();
    if (store_write_bodies_to_disk(u->store))
        return 0;
    const char *vault = store_get_vault_path(u->store);
    if (now >= u->look_us) {
        if (vault != NULL) {
            orphans_store_all(vault, u->between, u->ctx);
            /* an error is ignored: the next search for dead sessions tries again */
            (void)running_list_close_dead_sessions(vault);
        }
        u->look_us = clock_mono_us() + (vault != NULL ? UPKEEP_LOOK_US : UPKEEP_DEAD_US);
        u->fill_us = vault != NULL ? upkeep_run_fill_step(u) : INT64_MAX;
    } else if (now >= u->fill_us) {
        u->fill_us = upkeep_run_fill_step(u);
    } else if (now >= u->prune_us) {
        u->prune_us =
            clock_mono_us() + (vault != NULL ? upkeep_run_prune_step(u, vault) : UPKEEP_DEAD_US);
    }
    if (u->idle_us != 0 && now >= u->idle_us)
        upkeep_run_checkpoint(u);
    int64_t next = u->look_us < u->prune_us ? u->look_us : u->prune_us;
    next = u->fill_us < next ? u->fill_us : next;
    if (u->idle_us != 0 && u->idle_us < next)
        next = u->idle_us;
    now = clock_mono_us();
    return next > now ? next - now : 0;
}
