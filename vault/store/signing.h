/* signing.h - checkpoints: signs the vault's log (docs/evidence.md, "Checkpoint", "Keys").
 *
 * The log is read from its first leaf each time. It is not signed if it is damaged, or does not continue the last
 * checkpoint of this vault.
 *
 * Rules     a log is signed only if it continues the last checkpoint of the vault, and those that are kept elsewhere.
 * Owns      a connection. What it commits is on the disk, with all that was committed before: a checkpoint that is
 *           anchored elsewhere must not be ahead of the vault after a power failure.
 * Errors    MI_ENOENT (there is no vault), MI_EINVAL (the log must not be signed), MI_EBUSY (locked), MI_ESTORE, MI_EIO,
 *           MI_ENOMEM; with one sentence in `error`, except for MI_ENOMEM.
 * Blocks    on the database, up to SIGNING_WAIT_MS for a lock. */
#ifndef MI_VAULT_STORE_SIGNING_H
#define MI_VAULT_STORE_SIGNING_H

#include "evidence/leaf.h"
#include "evidence/note.h"

#include <sqlite3.h>

#define SIGNING_WAIT_MS 5000
#define SIGNING_ORIGIN_MAX (sizeof CHECKPOINT_ORIGIN + LEAF_UID) /* bytes, with a NUL */

#define SIGNING_KEPT_MAX 2

/* A checkpoint that was signed before and is kept outside of the vault. */
struct signing_kept {
    char origin[SIGNING_ORIGIN_MAX];
    uint64_t size;
    struct digest root;
};

struct signing {
    sqlite3 *db;       /* owned */
    const char *vault; /* borrowed; the directory */
    struct buf *error; /* borrowed */
    bool changed;      /* the log is not the one that was signed before, or is damaged */
    /* Set by the caller after signing_open(): the log must continue each of these. */
    const struct signing_kept *kept; /* borrowed */
    size_t kept_n;
};

struct log_head {
    char origin[SIGNING_ORIGIN_MAX];
    uint64_t size; /* leaves */
    struct digest root;
    bool has_key;
    struct public_key key; /* of the last leaf `key` */
};

/* vault: its directory, without symbolic links. The arguments must live as long as *ret. */
MI_MUST int signing_open(struct signing *ret, const char *vault, struct buf *error);
void signing_close(struct signing *s); /* also after an error; safe to call twice */

/* The log as it is now. */
MI_MUST int signing_head(struct signing *s, struct log_head *ret);
/* The root over the first `size` leaves. MI_EINVAL also if the log is shorter. */
MI_MUST int signing_root(struct signing *s, uint64_t size, struct digest *ret);

/* Finds the private key of the key that the vault was signed with before. 0, or an error with a sentence in `error`. */
typedef int (*signing_previous_fn)(void *ctx, const struct public_key *k, struct secret_key *ret,
                                   struct buf *error);
/* Adds the leaf `key` if the last one is of another key, signs the log, and stores the checkpoint. The note is appended
 * to `note`. */
MI_MUST int signing_checkpoint(struct signing *s, const struct secret_key *key,
                               signing_previous_fn previous, void *ctx, struct buf *note);
/* The same without a checkpoint: only the leaf. */
MI_MUST int signing_key(struct signing *s, const struct secret_key *key,
                        signing_previous_fn previous, void *ctx);

#endif
