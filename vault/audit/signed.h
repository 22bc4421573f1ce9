/* signed.h - signed checkpoints: those of the vault, and notes from anchors, compared with the log.
 *
 * Owns      copies of the notes; signed_close() frees them.
 * Errors    MI_ENOMEM, and those of snapshot.h.
 * Blocks    signed_load(), on the database. */
#ifndef MI_VAULT_AUDIT_SIGNED_H
#define MI_VAULT_AUDIT_SIGNED_H

#include "vault/audit/trail.h"

struct signed_note {
    size_t at, n;    /* its text */
    int64_t size;    /* of the row in `checkpoints`, or where else it is from */
    uint64_t leaves; /* as it says; 0 if it is not a note */
    struct digest root;
    bool readable;
};

struct signed_notes {
    struct signed_note *note; /* owned */
    size_t n, cap;
    struct buf text; /* owned */
};

#define SIGNED_ANCHOR (-1)
#define SIGNED_KEPT (-2) /* beside the key */
/* A note from elsewhere. MI_EINVAL: it is not a checkpoint. */
MI_MUST int signed_add(struct signed_notes *s, struct trail *t, struct slice note, int64_t from);
/* Those of the vault. Before the log is read, in the same transaction. */
MI_MUST int signed_load(struct signed_notes *s, struct trail *t, struct snapshot *source);
/* After the log was read: reports what is wrong with them. *ret_anchored: the leaves that an anchor has signed;
 * *ret_signed: that anything has signed. */
void signed_check(const struct signed_notes *s, const struct trail *t, uint64_t *ret_anchored,
                  uint64_t *ret_signed);
void signed_close(struct signed_notes *s); /* {0} is fine, and twice */

#endif
