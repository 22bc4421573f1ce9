/* health.h - what can be said of a vault's database without knowing what is in it.
 *
 * Rules     opened read-only, changed never.
 * Owns      nothing: each call opens and closes the database.
 * Errors    one sentence in `error`.
 * Blocks    health_check() reads the whole file: a gigabyte takes seconds. */
#ifndef MI_VAULT_HEALTH_H
#define MI_VAULT_HEALTH_H

#include "base/buf.h"

struct health {
    int64_t version; /* of its schema; 0: no table yet */
    int64_t db_bytes, wal_bytes, free_bytes;
    int64_t sessions, gaps; /* gaps: events that say that something is missing */
    bool journal_is_wal;
};

/* 0, MI_ENOENT (no database), MI_ESTORE (with a sentence in error) or MI_ENOMEM. */
MI_MUST int health_look(const char *vault, struct health *ret, struct buf *error);
/* Is every page what it should be? 0, MI_ESTORE: what SQLite says of it, in error. */
MI_MUST int health_check(const char *vault, struct buf *error);

int64_t health_schema(void); /* the version that this program makes */
/* "3.40.1", and whether that is the one that was compiled against; FTS5 is there. */
const char *health_sqlite(bool *ret_new_enough, bool *ret_fts5);

#endif
