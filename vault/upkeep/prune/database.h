/* database.h - the database connection of a prune run.
 *
 * Blocks    up to PRUNE_WAIT_MS for a locked database. */
#ifndef MI_VAULT_UPKEEP_PRUNE_DATABASE_H
#define MI_VAULT_UPKEEP_PRUNE_DATABASE_H

#include "journal/uid.h"
#include "vault/upkeep/prune/state.h"

/* 0, MI_ENOENT (no database) or MI_ESTORE with a sentence in error, or MI_EFULL (locked). */
MI_MUST int prune_connect(struct prune *p, struct buf *error);
/* MI_EFULL (locked), or MI_ESTORE with SQLite's message. */
int prune_fail(struct prune *p, struct buf *error);
/* Runs a query that returns one number; `arg` is bound to ?1. */
MI_MUST int prune_number(struct prune *p, const char *sql, int64_t arg, int64_t *ret);
/* Runs a statement; a and b are bound to ?1 and ?2. *ret_n (NULL is fine): the number of changed rows. */
MI_MUST int prune_change(struct prune *p, const char *sql, int64_t a, int64_t b, int64_t *ret_n);
/* Whether the session may be removed: without a target, or if the target still had all of it an hour after it was sent.
 * After a failover the target may lack what it had received just before, and a shipper then changes the rows of
 * `shipped`. */
MI_MUST int prune_is_sent(struct prune *p, int64_t id, bool *ret);
/* The uid of a session; "": it has no row. */
MI_MUST int prune_uid(struct prune *p, int64_t id, char ret[UID_LEN + 1]);

#endif
