/* store.h - stores the entries of a journal: rows, events, session metadata, log lines,
 * escalations.
 *
 * Resume    the position up to which entries are stored is written in the transaction that stores
 *           them (writer_store_journal_position()). The next process skips entries before this
 *           position. So each message and event is stored exactly once, even if a process is
 *           killed. Log lines are written after the commit and before ring_release_records(). Lines
 *           and escalation files that a killed process has written are found, and not written
 *           again.
 * Killers   shared->trying is the position of the entry being processed, until its transaction is
 *           committed. After a kill, each entry up to that position is stored in a transaction of
 *           its own. A message that killed its process STORE_KILLS_MAX times is stored without its
 *           body, any other entry is skipped, and an event `unrecordable` is added. If the message
 *           kills its process again, it is skipped, too.
 * Vault     is made if it is missing. If the vault was removed while it was open, the result is
 *           STORE_GONE, and the caller exits (process.h).
 * Damage    a damaged database is renamed (vault/store/damaged_db.h), a new database is made, and
 *           an escalation is written. An event `gap` in the new database stands for the entries
 *           that were stored before.
 * Owns      the vault's directory, the writer, the log directory's lines.
 * Blocks    on the disk, and STORE_WAIT_US for the database's lock. For the waits of an
 *           escalation see escalation.h. */
#ifndef MI_RECORD_PROCESS_STORE_H
#define MI_RECORD_PROCESS_STORE_H

#include "journal/entry_form.h"
#include "journal/ring.h"
#include "vault/store/call_fill.h"
#include "vault/store/row_batch.h"

/* maximum entries of a transaction, so that its messages fit into one batch of rows */
#define STORE_ROWS ROW_BATCH_ROWS
/* maximum bytes of a transaction, which ends after the entry that exceeds this limit */
#define STORE_BYTES ((size_t)1 << 20)
/* maximum of store.portion, which each failure on a full disk raises by 1; at this maximum, a
 * transaction has one entry */
#define STORE_PORTION_MAX 20
/* after a full disk: pages of the write-ahead log at which a checkpoint is made (1 MiB) */
#define STORE_WAL_PAGES 128
#define STORE_WAIT_US 20000   /* how long each try waits for the database's lock */
#define STORE_RETRY_US 250000 /* pause before the next try after STORE_FAILING */
#define STORE_KILLS_MAX 3

enum store_result {
    STORE_DONE,
    /* try again at once: another process holds the database's lock, or a damaged database was
     * renamed */
    STORE_BUSY,
    STORE_FAILING, /* try again after STORE_RETRY_US; the reason was logged */
    STORE_GONE,    /* the vault was removed */
    STORE_DAMAGED, /* the journal is damaged from here on: call store_end_session() */
};

/* Callbacks to the owner of a store. Each may be NULL. */
struct store_calls {
    /* The session was added to the database; called again after a new database was made. vault: a
     * descriptor of the vault's directory. */
    void (*begun)(void *ctx, int vault, int64_t session_id);
    /* shared->tail or shared->trouble has changed, and the proxy waits for such a change */
    void (*changed)(void *ctx);
    /* The proxy has requested the previous tools. Another recorder process may call this again if
     * this process was killed. */
    void (*tools_wanted)(void *ctx);
    /* There is a new escalation file. path is absolute. Another recorder process may
     * call this again for the same file if this process was killed. */
    void (*escalated)(void *ctx, enum escalation_cause cause, const char *path);
};

struct store;

/* start: borrowed until store_close(). Does not open the vault yet. Returns 0 or MI_ENOMEM. */
MI_MUST int store_open(struct store **ret, const struct session_start *start,
                       const struct store_calls *calls, void *ctx);
void store_close(struct store *s); /* accepts NULL */

/* Call this function once for each journal that was opened. If the process that stored the journal
 * before was killed, completes its work, and determines which entry killed it. */
void store_take_over_journal(struct store *s, struct ring *r);
/* Opens the vault and adds the session, if that has not been done. Sets shared->trouble. */
MI_MUST enum store_result store_open_and_add_session(struct store *s, struct ring *r);
/* Stores published entries in one transaction and releases them. *ret_n: their number; 0 with
 * STORE_DONE: there were no entries. Sets shared->trouble. */
MI_MUST enum store_result store_batch(struct store *s, struct ring *r, size_t *ret_n);
/* While nothing can be stored: writes the files of the escalations that wait in the journal. */
void store_write_escalations_early(struct store *s, struct ring *r);
/* Ends the session in the vault after the last entry. If shared->ended is not set, the proxy was
 * killed: the session is closed with end_dead_running_session(), and shared->ended is set. After
 * STORE_DONE only the journal has to be removed; after any other result, call this function
 * again. */
MI_MUST enum store_result store_end_session(struct store *s, struct ring *r);

/* Path and descriptor of the open vault; NULL and -1 if it is not open. */
const char *store_get_vault_path(const struct store *s);
int store_get_vault_fd(const struct store *s);
const char *store_get_server_name(const struct store *s); /* returns the server's name */
const char *store_get_session_uid(const struct store *s);
int64_t store_count_wal_pages(const struct store *s);
bool store_checkpoint_wal(struct store *s); /* calls writer_checkpoint_wal(); true: success */
/* Calls call_fill_add_next_rows(), and waits at most STORE_WAIT_US for the database's lock. Call
 * this function only if all entries are stored. Returns false if no step was made. *ret_more: false
 * if no calls are left to add, or if a step failed for another reason than the lock. */
bool store_fill_calls(struct store *s, struct call_fill *f, bool *ret_more);
/* Writes at most STORE_WRITE_OUT bytes of large bodies that are not on the disk yet. Returns false
 * if there are no such bodies. */
#define STORE_WRITE_OUT ((int64_t)8 << 20)
bool store_write_bodies_to_disk(struct store *s);

/* Called at each step, for tests that kill the process there; normally NULL. */
extern void (*store_step)(const char *name);

#endif
