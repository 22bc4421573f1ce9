/* old_commitments.h - the commitments that the redacted records of one session had before
 * (docs/evidence.md, "Redacted records").
 *
 *     old_commitments_load_rows()         reads the session's rows of the table `replaced`
 *     old_commitments_find_first()        returns a record's first commitment; called for each
 *                                         record
 *     old_commitments_compare_with_log()  checks that each leaf `redact` states exactly the changes
 *                                         in these rows
 *
 * Owns      its arrays; old_commitments_close() frees them.
 * Errors    those of snapshot.h.
 * Blocks    old_commitments_load_rows(), on the database. */
#ifndef MI_VAULT_AUDIT_OLD_COMMITMENTS_H
#define MI_VAULT_AUDIT_OLD_COMMITMENTS_H

#include "vault/audit/trail.h"

struct old_commitment {
    size_t at, n;      /* name of the record: a range of `names` */
    int64_t leaf;      /* number of the leaf `redact` */
    bool valid;        /* true: the old commitment is well-formed */
    bool known;        /* true: `now`, the commitment after the redaction, is set */
    struct digest old; /* commitment of the record before the redaction */
    struct digest now; /* commitment of the record after the redaction */
};

struct old_commitments {
    /* owned; the rows of the table `replaced`, sorted by record and leaf */
    struct old_commitment *row;
    size_t n, cap;
    struct buf names; /* owned */
};

MI_MUST int old_commitments_load_rows(struct old_commitments *r, struct snapshot *s,
                                      int64_t session_id);
/* The argument may be {0}; may be called twice. */
void old_commitments_close(struct old_commitments *r);

/* Returns the first commitment of a record, and sets `now` in the rows of the record. stored: the
 * record's current commitment, which is returned if the record was not redacted. */
struct digest old_commitments_find_first(struct old_commitments *r, const char *record,
                                         const struct digest *stored);
/* Returns the commitment that the record had when leaf n was written. stored: the record's current
 * commitment. */
struct digest old_commitments_find_at_leaf(const struct old_commitments *r, const char *record,
                                           int64_t n, const struct digest *stored);
/* Call this function after old_commitments_find_first() was called for each record of the session.
 * last: the session's last leaf `redact`. Returns 0, with the first fault in *w if there is one, or
 * MI_ENOMEM. */
MI_MUST int old_commitments_compare_with_log(const struct old_commitments *r, const struct trail *t,
                                             size_t last, struct audit_wrong *w);

#endif
