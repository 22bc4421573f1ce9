/* commitment.h - commitments of records whose fields are columns (docs/evidence.md, "Record";
 * vault/store/columns.h).
 *
 * A row gives the same commitment when it is read as when it was stored, because each column is
 * hashed with its type: NULL, a number or a text.
 *
 * Owns      nothing.
 * Blocks    never; the caller steps the statement. */
#ifndef MI_VAULT_STORE_COMMITMENT_H
#define MI_VAULT_STORE_COMMITMENT_H

#include "evidence/bundle_form.h"

#include <sqlite3.h>

/* Offsets of columns in @message_record: the finding, the first column of the record's tail
 * (docs/evidence.md), and the column after the record. */
enum {
    COMMITMENT_MESSAGE_FINDING = BUNDLE_MESSAGE_finding,
    COMMITMENT_MESSAGE_TAIL = BUNDLE_MESSAGE_body,
    COMMITMENT_MESSAGE_N = BUNDLE_MESSAGE_ALL - 1
};

/* Adds n columns of the current row to a record as fields. */
void commitment_add_columns(struct record *r, sqlite3_stmt *q, int first, int n);
/* Returns the number of columns of a record's tail (docs/evidence.md) that are fields of the
 * record: all columns up to the last one that is not NULL. */
int commitment_count_tail_columns(sqlite3_stmt *q, int first, enum bundle_kind kind);
/* Computes the commitment of a record whose fields are all columns, such as @session_record. */
struct digest commitment_compute_from_row(sqlite3_stmt *q, int first, enum bundle_kind kind,
                                          const struct salt *salt);
/* Removes from a finding the names that were added after its message was recorded. Returns false if
 * the finding does not end with these names. */
MI_MUST bool commitment_cut_added_names(struct slice *finding, struct slice names);
/* Reads a column that should be a salt or a hash. false: the column is something else. */
MI_MUST bool commitment_read_salt(sqlite3_stmt *q, int i, struct salt *ret);
MI_MUST bool commitment_read_digest(sqlite3_stmt *q, int i, struct digest *ret);
/* Return the bytes of a hash or of a salt, borrowed, so that the caller can bind them. */
struct slice commitment_get_digest_bytes(const struct digest *d);
struct slice commitment_get_salt_bytes(const struct salt *s);

#endif
