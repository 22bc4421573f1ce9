/* store_state.h - struct store, for store.c, stored_session.c, entries.c and trouble.c. */
#ifndef MI_RECORD_PROCESS_STORE_STATE_H
#define MI_RECORD_PROCESS_STORE_STATE_H

#include "model/no_progress.h"
#include "record/process/escalation.h"
#include "record/process/log_directory.h"
#include "record/process/store.h"
#include "vault/store/writer.h"

/* maximum number of calls without progress that a transaction escalates */
#define STORE_STUCK_MAX 16

/* A process renames a damaged database at most once. */
enum store_aside {
    DAMAGED_NOT_TRIED,
    DAMAGED_TRIED, /* the database is not damaged, or could not be renamed */
    DAMAGED_DONE,  /* the database was renamed; nothing is stored in the new database yet */
    DAMAGED_NOTED, /* the session has been added to the new database */
};

struct store {
    const struct session_start *start; /* borrowed */
    struct store_calls calls;
    void *ctx;
    char *uid, *vault, *name, *command, *host; /* owned: texts of `start` */
    struct vault_dir dir;
    struct writer *w; /* NULL: the database is not open */
    /* id of the session in the database; 0: the session is not known to be there */
    int64_t session_id;
    bool resumed;      /* the session is in the database; earlier stored entries were released */
    int64_t looked_us; /* time of the last check whether the vault was removed */
    struct log_directory log;
    /* state of the search for tool calls that make no progress (model/no_progress.h) */
    struct no_progress progress;
    /* calls in the open transaction that are escalated when the transaction is over */
    struct no_progress_found stuck[STORE_STUCK_MAX];
    size_t stuck_n;
    struct escalations escalations;
    /* escalations whose files are written before their entries can be stored */
    struct escalations early;
    /* number of escalation files that were written before their entries could be stored */
    size_t early_n;
    /* store_write_escalations_early() continues at this position */
    uint64_t early_to;
    /* new escalation files of entries before this position were reported to the owner */
    uint64_t reported_to;
    struct buf
        escalated; /* detail of the event about the escalation at escalated_at; empty: none */
    uint64_t escalated_at;          /* position of the last escalation whose file was written */
    struct buf text;                /* scratch */
    int64_t bodies_from, bodies_to; /* large bodies that are not on the disk yet */
    /* the most severe trouble since the last report of lost messages (ENTRY_LOST) */
    enum ring_trouble lost_trouble;
    bool troubled; /* this process has set shared->trouble */
    bool failing;  /* storing fails, and a warning was logged */
    enum store_aside aside;
    /* time of the last checkpoint after a full disk, if it did not shorten the write-ahead log;
     * else 0 */
    int64_t saved_us;
    unsigned portion; /* transactions have at most 1/2^portion of their normal size */
    char reason[200];
};

static inline void store_call_test_hook(const char *name)
{
    if (store_step != NULL)
        store_step(name);
}

/* Opens the vault's directory and the writer. A damaged database is renamed, and a new database is
 * made. Returns 0, or an error with s->reason. */
MI_MUST int store_open_vault(struct store *s);
void store_close_writer(struct store *s);
/* Returns true if the vault was removed, and logs this fact. Checks at most once in after_us
 * microseconds. */
bool store_vault_was_removed(struct store *s, int64_t after_us);
void store_run_change_callback(struct store *s);
/* The next two functions set shared->trouble and log when the trouble begins or ends. They return
 * the result that the caller must return. */
enum store_result store_report_success(struct store *s, struct ring *r);
/* s->reason must have the reason of the failure */
enum store_result store_report_failure(struct store *s, struct ring *r);
/* Call this function if the vault cannot be opened because its database is locked, for example by
 * processes that open it. Waits STORE_WAIT_US. */
enum store_result store_wait_for_locked_vault(struct store *s, struct ring *r);
/* Call this function when a transaction has failed with this status, or could not begin: rolls it
 * back. After a full disk, the next transactions are smaller until everything is stored. */
enum store_result store_handle_failure(struct store *s, struct ring *r, int st);

/* Adds the entry at this position to the open transaction. Returns 0, MI_ESTORE (see the writer) or
 * MI_ENOMEM. */
MI_MUST int entries_add(struct store *s, struct ring_shared *k, uint32_t kind, struct slice bytes,
                        uint64_t at);
/* Adds the event `gap`. */
MI_MUST int entries_add_gap_event(struct store *s, int64_t t_us, const char *reason);
/* Whether the message is a result or an error. */
bool entries_row_is_answer(const struct row *r);
/* Writes escalation files about the calls in s->stuck, and adds their events. Call this function
 * after the transaction. */
void entries_escalate_no_progress(struct store *s);
/* Writes the file of the escalation at this position, outside a transaction. entries_add() then
 * adds its event. */
void entries_write_escalation(struct store *s, struct ring_shared *k, struct slice bytes,
                              uint64_t at);

#endif
