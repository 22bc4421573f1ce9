/* commitment.h - the fields of each kind of record, as columns (docs/evidence.md, "Record").
 *
 * A row that is read gives the same commitment as when it was stored, because its columns are hashed with the type that
 * they have: NULL, a number or a text.
 *
 * Owns      nothing.
 * Blocks    never; the caller has made the step. */
#ifndef MI_VAULT_STORE_COMMITMENT_H
#define MI_VAULT_STORE_COMMITMENT_H

#include "evidence/record.h"

#include <sqlite3.h>

#define COMMITMENT_SESSION                                                                         \
    "uid, name, command, started_at_us, pid, host, record_level, interposer_version, redact_rules"
#define COMMITMENT_SESSION_N 9
/* The tail of a record: behind everything else, up to the last column that is not NULL. It is new in version 4 of the
 * schema. For `sessions s`, also of an older version: its names then resolve to the NULLs of COMMITMENT_NO_TAIL. */
#define COMMITMENT_SESSION_TAIL                                                                    \
    "(SELECT cwd FROM sessions t WHERE t.id = s.id),"                                              \
    " (SELECT tools_rule FROM sessions t WHERE t.id = s.id)"
#define COMMITMENT_SESSION_TAIL_N 2
#define COMMITMENT_MESSAGE_TAIL "(SELECT revision FROM messages t WHERE t.id = m.id)"
#define COMMITMENT_MESSAGE_TAIL_N 1
#define COMMITMENT_NO_TAIL "(SELECT NULL AS cwd, NULL AS tools_rule, NULL AS revision)"
/* Without the body, which follows. */
#define COMMITMENT_MESSAGE                                                                         \
    "seq, t_us, direction, origin, kind, rpc_id, method, target, size, redactions, action,"        \
    " request_seq, error_code, batch_seq, finding"
#define COMMITMENT_MESSAGE_N 15
#define COMMITMENT_MESSAGE_FINDING 14 /* the column `finding` among them */
#define COMMITMENT_EVENT "t_us, kind, detail"
#define COMMITMENT_EVENT_N 3
#define COMMITMENT_END                                                                             \
    "client_name, client_version, server_name, server_version, protocol_version, ended_at_us,"     \
    " end_reason, exit_status"
#define COMMITMENT_END_N 8

/* Adds n columns of the current row as fields. */
void commitment_add(struct record *r, sqlite3_stmt *q, int first, int n);
/* Adds the columns up to the last one that is not NULL. */
void commitment_add_tail(struct record *r, sqlite3_stmt *q, int first, int n);
/* The commitment of the record `session`, from COMMITMENT_SESSION and COMMITMENT_SESSION_TAIL. */
struct digest commitment_session(sqlite3_stmt *q, int first, const struct salt *salt);
/* The commitment of a record that consists of these columns. */
struct digest commitment_of(sqlite3_stmt *q, int first, int n, const char *kind,
                            const struct salt *salt);
/* Removes names that were added to a finding later. false: it does not end with them. */
MI_MUST bool commitment_without(struct slice *finding, struct slice names);
/* The bytes of a column that should be a salt or a hash. false: it is something else. */
MI_MUST bool commitment_salt(sqlite3_stmt *q, int i, struct salt *ret);
MI_MUST bool commitment_digest(sqlite3_stmt *q, int i, struct digest *ret);
/* For binding, borrowed. */
struct slice commitment_bytes(const struct digest *d);
struct slice commitment_salt_bytes(const struct salt *s);

#endif
