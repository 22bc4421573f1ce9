/* restate.h - makes new commitments for records that were redacted (docs/evidence.md, "Redacted
 * records").
 *
 * Call restate_records() after the rows were changed, in the same transaction. The old commitments
 * move to the table `replaced`, and the log gets a leaf `redact`. Records without evidence are
 * skipped.
 *
 * Owns      nothing; the connection is the caller's.
 * Errors    MI_ESTORE (see failure_text()), MI_ENOMEM, MI_EIO (no random bytes, or a body cannot be
 *           read).
 * Blocks    on the database, and on the file of bodies. */
#ifndef MI_VAULT_STORE_RESTATE_H
#define MI_VAULT_STORE_RESTATE_H

#include "evidence/salts.h"

#include <sqlite3.h>

/* RESTATE_SESSION means the record `session`, and, if the session is sealed, also the record
 * `end`. */
enum restate_kind { RESTATE_MESSAGE, RESTATE_EVENT, RESTATE_SESSION };

struct restated {
    enum restate_kind kind;
    int64_t id; /* seq of the message, or id of the event; not used for RESTATE_SESSION */
};

struct restate {
    sqlite3 *db;         /* borrowed */
    struct salts *salts; /* borrowed */
    int64_t session_id;
    int bodies_fd; /* borrowed; the session's file in Bodies/; -1: it has no large bodies */
};

/* Gives these records new commitments. A record may be in the list twice. */
MI_MUST int restate_records(const struct restate *r, const struct restated *record, size_t n);

#endif
