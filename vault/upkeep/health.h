/* health.h - the state of a vault's database, independent of its content.
 *
 * Rules     the database is opened read-only.
 * Owns      nothing: each call opens and closes the database.
 * Errors    one sentence in `error`.
 * Blocks    health_check_vault() reads the whole file: seconds per gigabyte. */
#ifndef MI_VAULT_UPKEEP_HEALTH_H
#define MI_VAULT_UPKEEP_HEALTH_H

#include "base/buf.h"
#include "evidence/leaf.h"
#include "evidence/note.h"

#define HEALTH_ORIGIN (sizeof CHECKPOINT_ORIGIN + LEAF_UID)

struct health {
    int64_t version; /* version of the database's schema; 0: no tables yet */
    int64_t db_bytes, wal_bytes, free_bytes;
    /* `gaps` is the number of events `gap`, each of which reports something that was not
     * recorded */
    int64_t sessions, gaps;
    bool journal_is_wal;
};

/* Reads facts about the database of a vault. Returns 0, MI_ENOMEM, MI_ENOENT (there is no
 * database), MI_EBUSY (the database is locked) or MI_ESTORE. After MI_EBUSY and MI_ESTORE, `error`
 * has a sentence. */
MI_MUST int health_read_database_facts(const char *vault, struct health *ret, struct buf *error);
/* Counts the sessions that have ended and have no rows in `calls` yet. Returns 0 also if the
 * database cannot be read: health_check_vault() says why. */
int64_t health_count_sessions_without_calls(const char *vault);
/* Checks the database and its indexes for corruption, and for objects of other programs. Returns
 * MI_ESTORE if the check finds something: `error` then has the findings. Otherwise returns what
 * health_read_database_facts() returns. */
MI_MUST int health_check_vault(const char *vault, struct buf *error);

/* Appends the last checkpoint of the log to `note`, or nothing if there is none. *ret_unsigned:
 * number of seals that were added to the log after that checkpoint and before the time before_us.
 * Returns what health_read_database_facts() returns; MI_ENOENT also means that the vault has no
 * evidence. */
MI_MUST int health_count_unsigned_seals(const char *vault, int64_t before_us, int64_t *ret_unsigned,
                                        struct buf *note, struct buf *error);

/* The identity of the log: its origin, and its root over `size` leaves. Only the leaves before the
 * first damaged or missing leaf count. A vault without evidence has no origin. health_check_log()
 * returns what health_read_database_facts() returns. */
struct health_log {
    uint64_t size;
    char origin[HEALTH_ORIGIN]; /* origin of the log; "": there is none */
    bool found;
    struct digest root;
};
MI_MUST int health_check_log(const char *vault, struct health_log *log, struct buf *error);

int64_t health_get_schema_version(void); /* returns the schema version that this program creates */
/* Returns the version of the SQLite library, such as "3.40.1". *ret_new_enough: whether this
 * version is supported; *ret_fts5: whether it has FTS5. */
const char *health_sqlite_version(bool *ret_new_enough, bool *ret_fts5);

#endif
