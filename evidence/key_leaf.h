/* key_leaf.h - the leaf `key`, which states the key of all later checkpoints (docs/evidence.md,
 * "Keys").
 *
 * The leaf is signed by the new key and, if there is one, by the previous key.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_KEY_LEAF_H
#define MI_EVIDENCE_KEY_LEAF_H

#include "evidence/key.h"
#include "evidence/leaf.h"

/* Appends the leaf's text. previous: NULL for the first key of a vault. Returns 0, MI_EIO
 * (libsodium cannot be used) or MI_ENOMEM. */
MI_MUST int key_leaf_write(struct buf *b, struct slice origin, int64_t at_us,
                           const struct secret_key *key, const struct secret_key *previous);

/* Checks a LEAF_KEY of the vault with this origin. previous: the previous key; NULL: there is none.
 * Returns 0, MI_ENOMEM, or MI_EINVAL with a clause in *ret_why that says what is wrong. */
MI_MUST int key_leaf_check(const struct leaf *l, struct slice origin,
                           const struct public_key *previous, struct public_key *ret,
                           const char **ret_why);

#endif
