/* audit.h - verification of a vault: its log, its signed checkpoints, and every record
 * (docs/evidence.md).
 *
 *     audit_open()            opens a vault and compares the schema of its database
 *     audit_add_note()        adds a note from an anchor; may be called several times
 *     audit_check_log()       verifies the database as a whole, the log and the checkpoints
 *     audit_check_session()   verifies one session
 *     audit_check_sessions()  verifies all sessions; reports sessions that only the log names, and
 *                             rows that belong to no session
 *
 * A vault may be verified while it is being written: records that are added during the verification
 * are not faults.
 *
 * Owns      the connection and the log's index. Arguments of a callback are borrowed for the call.
 * Errors    MI_ESTORE, MI_EIO or MI_ENOMEM if the vault could not be verified; for the first two,
 *           audit_error() has a sentence. A fault in the vault is a result, never an error.
 * Blocks    on the vault's disk; on a locked database up to 2 s. */
#ifndef MI_VAULT_AUDIT_AUDIT_H
#define MI_VAULT_AUDIT_AUDIT_H

#include "base/buf.h"
#include "evidence/key.h"
#include "vault/audit/verdict.h"

struct audit;

struct audit_session {
    int64_t id; /* id of the session; 0: the session has no row, only leaves in the log */
    struct slice uid, name;
    int64_t started_at_us; /* start of the session; 0: unknown */
    enum audit_status status;
    const char *why;        /* reason of AUDIT_INCOMPLETE or AUDIT_REMOVING, as a clause; else "" */
    int64_t records;        /* number of records; 0 if the session was not verified */
    int64_t redacted;       /* number of changed records, summed over all redactions */
    int64_t redacted_at_us; /* time of the last redaction; 0: there was none */
    struct audit_wrong wrong; /* the fault; set if the status is AUDIT_TAMPERED */
};

/* The result for the whole vault, after audit_check_log() and audit_check_sessions(). */
struct audit_vault {
    bool has_log;
    bool all;            /* true: audit_check_sessions() was called */
    bool stopped;        /* the database is invalid, so nothing else was compared */
    struct slice origin; /* "mcp-interposer/NAME" */
    int64_t leaves;
    int64_t unsigned_leaves; /* number of leaves after the newest valid signed note */
    int64_t anchored;        /* number of leaves that a signed note from an anchor covers */
    int64_t checkpoints;     /* number of checkpoints stored in the vault */
    int64_t notes, kept; /* number of notes added by audit_add_note() and audit_add_local_note() */
    int64_t wrong;       /* number of faults passed to on_wrong() */
    bool trusted;        /* true: a leaf `key` of the log states the key that the user gave */
    bool has_key;
    struct public_key key; /* the key in use at the end of the log */
};

struct audit_calls {
    /* Reports a fault in the log or in the vault as a whole. */
    void (*on_wrong)(void *ctx, const struct audit_wrong *w);
    void (*on_session)(void *ctx, const struct audit_session *s);
    /* Progress: `records` of `total` were read so far; `total` may grow. May be NULL. */
    void (*on_progress)(void *ctx, uint64_t records, uint64_t total, uint64_t bytes);
    void *ctx;
};

/* vault: the vault's directory, without symbolic links; borrowed. */
MI_MUST int audit_open(struct audit **ret, const char *vault, const struct audit_calls *calls,
                       struct buf *error);
void audit_close(struct audit *a); /* the argument may be NULL */
const char *audit_error(struct audit *a);

/* Returns the origin that the log's first leaf states; empty if the log has no such leaf. */
struct slice audit_get_log_origin(const struct audit *a);
/* Adds a note from an anchor. Call this function before audit_check_log(). MI_EINVAL: the note is
 * not a signed checkpoint. */
MI_MUST int audit_add_note(struct audit *a, struct slice note);
/* Adds a note that is stored next to the key. The note is not an anchor, but the log must be a
 * continuation of the log that the note has signed. MI_EINVAL: the note is not a signed
 * checkpoint. */
MI_MUST int audit_add_local_note(struct audit *a, struct slice note);
/* trusted: a key that the user gave, and that a leaf `key` of the log must state; NULL: no key. */
MI_MUST int audit_check_log(struct audit *a, const struct public_key *trusted);
/* Returns MI_ENOENT if the session was removed before it was read. */
MI_MUST int audit_check_session(struct audit *a, int64_t id);
MI_MUST int audit_check_sessions(struct audit *a);
void audit_describe_vault(const struct audit *a, struct audit_vault *ret);

#endif
