/* upkeep.h - what a recorder process does for the vault besides storing: closes the sessions of
 * killed proxies, stores their journals, makes checkpoints, removes old sessions, and writes large
 * bodies to the disk.
 *
 * Dead sessions  are searched UPKEEP_DEAD_US after the start, and then every UPKEEP_LOOK_US. Their
 *                journals are stored first (orphans.h), then the sessions are closed.
 * Calls          After each search, sessions of older versions get their rows in `calls`
 *                (vault/store/call_fill.h), in steps of a few milliseconds.
 * Prune          With retention rules, old sessions are removed after the first search and once a
 *                day (vault/upkeep/prune/remove.h), in steps of a few milliseconds, while no
 *                process writes to the vault.
 * Checkpoint     is made after UPKEEP_IDLE_US without a stored entry, if the write-ahead log is
 *                long; during a burst only if the log is very long.
 * Write out      Large bodies are written to the disk while there is nothing to store, so that the
 *                kernel can free their page cache.
 *
 * Owns      a run of prune.
 * Errors    not reported: `doctor` reports the cause, and the next run tries again.
 * Blocks    on the disk, and on locks as these modules say. */
#ifndef MI_RECORD_PROCESS_UPKEEP_H
#define MI_RECORD_PROCESS_UPKEEP_H

#include "record/process/store.h"
#include "vault/upkeep/prune/remove.h"

#define UPKEEP_DEAD_US 2000000
#define UPKEEP_LOOK_US INT64_C(600000000)
/* old sessions are removed only if no process has written to the vault for this time */
#define UPKEEP_QUIET_US 500000
#define UPKEEP_IDLE_US 500000
/* pages (of 8 KiB) in the write-ahead log at which a checkpoint is made: 4 MiB */
#define UPKEEP_IDLE_PAGES 512
#define UPKEEP_PAGES_MAX 4096 /* 32 MiB */

struct upkeep {
    struct store *store;
    struct retention rule;
    int64_t look_us; /* time of the next search for dead sessions */
    struct call_fill fill;
    /* time of the next step of `fill`; INT64_MAX: no step is made before the next search for dead
     * sessions */
    int64_t fill_us;
    int64_t prune_us;    /* time when a prune begins or continues; INT64_MAX: never */
    struct prune *prune; /* owned; NULL: no prune is in progress */
    int64_t idle_us;   /* time of the next checkpoint, if nothing is stored until then; 0: never */
    int64_t forced_us; /* when a very long write-ahead log last caused a checkpoint */
    /* callback, called repeatedly while journals of other sessions are stored */
    void (*between)(void *ctx);
    void *ctx;
};

/* between: called every few milliseconds; must store this process's own journal. */
void upkeep_open(struct upkeep *u, struct store *s, const struct retention *rule,
                 void (*between)(void *ctx), void *ctx);
void upkeep_close(struct upkeep *u); /* safe to call twice */
/* Call this function after entries were stored. Makes a checkpoint if the write-ahead log is very
 * long. */
void upkeep_checkpoint_if_needed(struct upkeep *u);
/* Call this function while there is nothing to store: does the work that is due. Returns the
 * microseconds until the next call. */
int64_t upkeep_run_when_idle(struct upkeep *u);
/* Call this function before the store closes its connection: closes the other connections to the
 * same database, whose locks would be lost (POSIX). */
void upkeep_pause(struct upkeep *u);

#endif
