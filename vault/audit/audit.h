/* audit.h - verification of a vault: its log, its signed checkpoints, and every record (docs/evidence.md).
 *
 *     audit_open()         the vault; compares the schema of its database
 *     audit_note()         a note from an anchor, any number of times
 *     audit_log()          verifies the database as a whole, the log and the checkpoints
 *     audit_session()      verifies one session, or
 *     audit_sessions()     all of them, those that only the log knows, and rows without a session
 *
 * A vault that is being written is verified as it is at the moment; what is recorded meanwhile is not called wrong.
 *
 * Owns      the connection and the log's index. Arguments of a callback are borrowed for the call.
 * Errors    MI_ESTORE, MI_EIO or MI_ENOMEM: it could not be verified; except for MI_ENOMEM with a sentence in
 *           audit_error(). What is wrong in the vault is a result, never an error.
 * Blocks    on the vault's disk; on a locked database up to 2 s. */
#ifndef MI_VAULT_AUDIT_AUDIT_H
#define MI_VAULT_AUDIT_AUDIT_H

#include "base/buf.h"
#include "evidence/key.h"
#include "vault/audit/verdict.h"

struct audit;

struct audit_session {
    int64_t id; /* 0: only the log knows it */
    struct slice uid, name;
    int64_t started_at_us; /* 0: unknown */
    enum audit_status status;
    const char *why;          /* of AUDIT_INCOMPLETE and AUDIT_REMOVING: a clause; "" */
    int64_t records;          /* of a covered session */
    int64_t redacted;         /* how many changes redactions have made */
    int64_t redacted_at_us;   /* the last one; 0: none */
    struct audit_wrong wrong; /* of AUDIT_TAMPERED */
};

/* Of the vault, after audit_log() and audit_sessions(). */
struct audit_vault {
    bool has_log;
    bool all;            /* audit_sessions() was called */
    bool stopped;        /* the database itself is wrong: nothing else was compared */
    struct slice origin; /* "mcp-interposer/NAME" */
    int64_t leaves;
    int64_t unsigned_leaves; /* after the newest valid checkpoint */
    int64_t anchored;        /* leaves that a note from an anchor has signed */
    int64_t checkpoints, notes, kept;
    int64_t wrong; /* calls of on_wrong() */
    bool trusted;  /* a key was given, and it is one of the vault */
    bool has_key;
    struct public_key key; /* the last one */
};

struct audit_calls {
    void (*on_wrong)(void *ctx, const struct audit_wrong *w); /* in the log or the vault */
    void (*on_session)(void *ctx, const struct audit_session *s);
    /* records of `total` are read so far; total may grow. NULL: not wanted */
    void (*on_progress)(void *ctx, uint64_t records, uint64_t total, uint64_t bytes);
    void *ctx;
};

/* vault: its directory, without symbolic links; borrowed. */
MI_MUST int audit_open(struct audit **ret, const char *vault, const struct audit_calls *calls,
                       struct buf *error);
void audit_close(struct audit *a); /* NULL is fine */
const char *audit_error(struct audit *a);

/* As the log's first leaf says; empty: it has none. */
struct slice audit_origin(const struct audit *a);
/* MI_EINVAL: it is not a signed checkpoint. Before audit_log(). */
MI_MUST int audit_note(struct audit *a, struct slice note);
/* A note that is kept beside the key: not an anchor, but the log must continue it. As audit_note(). */
MI_MUST int audit_kept(struct audit *a, struct slice note);
/* trusted: has to be a key of this vault; NULL: not known. */
MI_MUST int audit_log(struct audit *a, const struct public_key *trusted);
MI_MUST int audit_session(struct audit *a, int64_t id); /* MI_ENOENT: it was removed meanwhile */
MI_MUST int audit_sessions(struct audit *a);
void audit_vault(const struct audit *a, struct audit_vault *ret);

#endif
