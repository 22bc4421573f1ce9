/* previous.h - finds private keys that were replaced, for signing_checkpoint()
 * (vault/store/signing.h).
 *
 * Owns      nothing.
 * Blocks    on the file system only. */
#ifndef MI_CLI_AUDIT_PREVIOUS_H
#define MI_CLI_AUDIT_PREVIOUS_H

#include "evidence/key.h"

/* Is a signing_previous_fn; ctx is the path of the key file. */
MI_MUST int previous_key(void *ctx, const struct public_key *k, struct secret_key *ret,
                         struct buf *error);

#endif
