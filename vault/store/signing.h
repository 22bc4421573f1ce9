/* signing.h - checkpoints: signs the vault's log (docs/evidence.md, "Checkpoint", "Keys").
 *
 * The log is read from its first leaf each time. It is not signed if it is damaged.
 *
 * Rules     a log is signed only if it continues the last checkpoint of the vault, and the
 *           checkpoints that are kept outside of the vault.
 * Owns      a connection. Its commits are synced to the disk, with all commits before them: a
 *           checkpoint that is anchored elsewhere must not be ahead of the vault after a power
 *           failure.
 * Errors    MI_ENOENT (there is no vault), MI_EINVAL (the log must not be signed), MI_EBUSY
 *           (locked), MI_ESTORE, MI_EIO, MI_ENOMEM; with one sentence in `error`, except for
 *           MI_ENOMEM.
 * Blocks    on the database, up to SIGNING_WAIT_MS for a lock. */
#ifndef MI_VAULT_STORE_SIGNING_H
#define MI_VAULT_STORE_SIGNING_H

#include "evidence/leaf.h"
#include "evidence/note.h"

#include <sqlite3.h>

#define SIGNING_WAIT_MS 5000
/* Size of the buffer for an origin, in bytes with the NUL. */
#define SIGNING_ORIGIN_MAX (sizeof CHECKPOINT_ORIGIN + LEAF_UID)

#define SIGNING_KEPT_MAX 2

/* A checkpoint that was signed earlier and is kept outside of the vault. */
struct signing_kept {
    char origin[SIGNING_ORIGIN_MAX];
    uint64_t size;
    struct digest root;
};

struct signing {
    sqlite3 *db;       /* owned */
    const char *vault; /* borrowed; path of the vault's directory */
    struct buf *error; /* borrowed */
    /* true: the log is damaged, or does not continue the log that was signed before */
    bool changed;
    /* Checkpoints that the log must continue. The caller sets them after signing_open(). */
    const struct signing_kept *kept; /* borrowed */
    size_t kept_n;
};

struct log_head {
    char origin[SIGNING_ORIGIN_MAX];
    uint64_t size; /* number of leaves of the log */
    struct digest root;
    bool has_key;
    struct public_key key; /* public key in the last leaf `key` */
};

/* Opens the vault for signing. vault: path of its directory, without symbolic links. The arguments
 * must outlive *ret. */
MI_MUST int signing_open(struct signing *ret, const char *vault, struct buf *error);
/* call it even after an error of signing_open(); safe to call twice */
void signing_close(struct signing *s);

/* Reads the current state of the log. */
MI_MUST int signing_read_log_head(struct signing *s, struct log_head *ret);
/* Computes the root over the first `size` leaves. Returns MI_EINVAL also if the log has fewer
 * leaves. */
MI_MUST int signing_compute_root(struct signing *s, uint64_t size, struct digest *ret);

/* Called to find the private key of the public key `k`, with which the log was signed before.
 * Returns 0, or an error with a sentence in `error`. */
typedef int (*signing_previous_fn)(void *ctx, const struct public_key *k, struct secret_key *ret,
                                   struct buf *error);
/* Signs the log, and stores the checkpoint. If the last leaf `key` states another key, adds a new
 * leaf `key` first. The signed note is appended to `note`. */
MI_MUST int signing_sign_checkpoint(struct signing *s, const struct secret_key *key,
                                    signing_previous_fn previous, void *ctx, struct buf *note);
/* Adds a leaf `key` if the log needs one. Makes no checkpoint. */
MI_MUST int signing_key(struct signing *s, const struct secret_key *key,
                        signing_previous_fn previous, void *ctx);

#endif
