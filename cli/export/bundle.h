/* bundle.h - imports a bundle of a whole session (docs/evidence.md, "Bundle").
 *
 * Owns      nothing.
 * Blocks    on the file, and on the vault. */
#ifndef MI_CLI_EXPORT_BUNDLE_H
#define MI_CLI_EXPORT_BUNDLE_H

#include "evidence/bundle.h"
#include "vault/cassette/import.h"

/* Whether a file begins as a bundle does. */
bool import_is_bundle(const char *path);
/* Verifies it, also its signature with `key` unless that is NULL, and imports its session. *ret_status: as import_commit().
 * 0, MI_EINVAL with one sentence in `error`, or MI_ENOMEM. */
MI_MUST int import_bundle(struct import *d, struct slice text, const struct public_key *key,
                          const char *name, int *ret_status, struct buf *error);

#endif
