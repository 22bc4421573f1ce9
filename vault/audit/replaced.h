/* replaced.h - the first commitments of the redacted records of one session (docs/evidence.md, "Redacted records").
 *
 *     replaced_load()       the rows of the session
 *     replaced_first()      for each record: its first commitment, from the stored one
 *     replaced_check()      whether each leaf `redact` states exactly these changes
 *
 * Owns      its arrays; replaced_close() frees them.
 * Errors    those of snapshot.h.
 * Blocks    replaced_load(), on the database. */
#ifndef MI_VAULT_AUDIT_REPLACED_H
#define MI_VAULT_AUDIT_REPLACED_H

#include "vault/audit/trail.h"

struct replaced_row {
    size_t at, n; /* its record, in names */
    int64_t leaf;
    bool valid; /* the old commitment is one */
    bool known; /* what replaced it is known */
    struct digest old, now;
};

struct replaced {
    struct replaced_row *row; /* owned; in the order of record and leaf */
    size_t n, cap;
    struct buf names; /* owned */
};

MI_MUST int replaced_load(struct replaced *r, struct snapshot *s, int64_t session_id);
void replaced_close(struct replaced *r); /* {0} is fine, and twice */

/* stored: the commitment of the record as it is now. The first one: the same, if the record was not redacted. */
struct digest replaced_first(struct replaced *r, const char *record, const struct digest *stored);
/* The commitment of the record before the first redaction in a leaf above n; otherwise `stored`. */
struct digest replaced_at(const struct replaced *r, const char *record, int64_t n,
                          const struct digest *stored);
/* After all records of the session. last: of its leaves `redact`. 0: *w has the first thing that is wrong, if any; or
 * MI_ENOMEM. */
MI_MUST int replaced_check(const struct replaced *r, const struct trail *t, size_t last,
                           struct audit_wrong *w);

#endif
