/* replaced.h - the first commitments of the redacted records of one session (docs/evidence.md, "Redacted records").
 *
 *     replaced_load()       the rows of the session
 *     replaced_first_commitment()      for each record: its first commitment, from the stored one
 *     replaced_check()      whether each leaf `redact` states exactly these changes
 *
 * Owns      its arrays; replaced_close() frees them.
 * Errors    those of snapshot.h.
 * Blocks    replaced_load(), on the database. */
#ifndef MI_VAULT_AUDIT_REPLACED_H
#define MI_VAULT_AUDIT_REPLACED_H

#include "vault/audit/trail.h"

struct replaced_row {
    size_t at, n; /* name of the record: a range of replaced.names */
    int64_t leaf;
    bool valid; /* the old commitment is well-formed */
    bool known; /* `now`, the commitment that replaced `old`, is known */
    struct digest old, now;
};

struct replaced {
    struct replaced_row *row; /* owned; sorted by record and leaf */
    size_t n, cap;
    struct buf names; /* owned */
};

MI_MUST int replaced_load(struct replaced *r, struct snapshot *s, int64_t session_id);
void replaced_close(struct replaced *r); /* accepts {0}; may be called twice */

/* The first commitment of a record. stored: its current one, which is returned if the record was
 * not redacted. */
struct digest replaced_first_commitment(struct replaced *r, const char *record,
                                        const struct digest *stored);
/* The commitment of the record before the first redaction in a leaf above n; otherwise `stored`. */
struct digest replaced_commitment_at(const struct replaced *r, const char *record, int64_t n,
                                     const struct digest *stored);
/* Call it after all records of the session. last: the session's last leaf `redact`. Returns 0, with
 * the first fault in *w if there is one, or MI_ENOMEM. */
MI_MUST int replaced_check(const struct replaced *r, const struct trail *t, size_t last,
                           struct audit_wrong *w);

#endif
