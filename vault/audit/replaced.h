/* replaced.h - the first commitments of the redacted records of one session (docs/evidence.md,
 * "Redacted records").
 *
 *     replaced_load_commitments()     reads the session's rows of the table `replaced`
 *     replaced_first_commitment()     returns a record's first commitment; called for each record
 *     replaced_check_against_trail()  checks that each leaf `redact` states exactly the changes in
 *                                     these rows
 *
 * Owns      its arrays; replaced_close() frees them.
 * Errors    those of snapshot.h.
 * Blocks    replaced_load_commitments(), on the database. */
#ifndef MI_VAULT_AUDIT_REPLACED_H
#define MI_VAULT_AUDIT_REPLACED_H

#include "vault/audit/trail.h"

struct replaced_row {
    size_t at, n;      /* name of the record: a range of replaced.names */
    int64_t leaf;      /* number of the leaf `redact` */
    bool valid;        /* true: the old commitment is well-formed */
    bool known;        /* true: `now` is set */
    struct digest old; /* commitment of the record before the redaction */
    struct digest now; /* commitment of the record after the redaction */
};

struct replaced {
    /* owned; the rows of the table `replaced`, sorted by record and leaf */
    struct replaced_row *row;
    size_t n, cap;
    struct buf names; /* owned */
};

MI_MUST int replaced_load_commitments(struct replaced *r, struct snapshot *s, int64_t session_id);
void replaced_close(struct replaced *r); /* the argument may be {0}; may be called twice */

/* Returns the first commitment of a record, and sets `now` in the rows of the record. stored: the
 * record's current commitment, which is returned if the record was not redacted. */
struct digest replaced_first_commitment(struct replaced *r, const char *record,
                                        const struct digest *stored);
/* Returns the commitment that the record had when leaf n was written. stored: the record's current
 * commitment. */
struct digest replaced_find_commitment_at_leaf(const struct replaced *r, const char *record,
                                               int64_t n, const struct digest *stored);
/* Call this function after replaced_first_commitment() was called for each record of the session.
 * last: the session's last leaf `redact`. Returns 0, with the first fault in *w if there is one, or
 * MI_ENOMEM. */
MI_MUST int replaced_check_against_trail(const struct replaced *r, const struct trail *t,
                                         size_t last, struct audit_wrong *w);

#endif
