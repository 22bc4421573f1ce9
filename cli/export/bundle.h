/* bundle.h - imports a bundle of a whole session (docs/evidence.md, "Bundle").
 *
 * Owns      nothing.
 * Blocks    on the file, and on the vault. */
#ifndef MI_CLI_EXPORT_BUNDLE_H
#define MI_CLI_EXPORT_BUNDLE_H

#include "evidence/bundle.h"
#include "vault/cassette/import.h"

/* Whether a file begins like a bundle. */
bool import_is_bundle(const char *path);
/* Verifies the bundle and imports its session. If key is not NULL, also verifies the signature with
 * it. *ret_status: as import_commit(). Returns 0 or MI_ENOMEM; or MI_EINVAL, then `error` holds a
 * sentence. */
MI_MUST int import_bundle(struct import *d, struct slice text, const struct public_key *key,
                          const char *name, int *ret_status, struct buf *error);

#endif
