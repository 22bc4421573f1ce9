/* database.h - writes to the database: statements, and transactions of a few hundred rows. */
#ifndef MI_VAULT_UPKEEP_SCRUB_DATABASE_H
#define MI_VAULT_UPKEEP_SCRUB_DATABASE_H

#include "vault/upkeep/scrub/state.h"

/* Opens the connection that changes the database. Returns 0, MI_EIO, MI_ESTORE or MI_ENOMEM. */
MI_MUST int scrub_connect(struct scrub *s);
void scrub_disconnect(struct scrub *s);
/* Runs a statement with these values, and commits after every few hundred changed rows. */
MI_MUST int scrub_run_change_statement(struct scrub *s, enum scrub_query i,
                                       const struct cell *value, size_t n);
/* Like scrub_run_change_statement(), for a statement that changes a record of the session: the
 * record gets a new commitment (vault/store/restate.h). */
MI_MUST int scrub_change_record(struct scrub *s, enum scrub_query i, enum restate_kind kind,
                                int64_t id, const struct cell *value, size_t n);
MI_MUST int scrub_commit(struct scrub *s);
void scrub_roll_back(struct scrub *s);
/* Truncates the write-ahead log, which holds old versions of pages. */
MI_MUST int scrub_truncate_log(struct scrub *s);

/* Sets the error "cannot WHAT VAULT/NAME: " with the text of errno, for scrub_get_error_text().
 * Returns MI_EIO. */
int scrub_fail(struct scrub *s, const char *what, const char *name);

#endif
