/* keyfile.h - the file of the private key that signs checkpoints (docs/evidence.md, "Keys").
 *
 * Files     PATH, one line, mode 0600. PATH.HASH, an earlier key with this key hash, which a rotation has left: it signs,
 *           together with the new one, that a vault goes over to the new key.
 * Rules     a file is written completely or not at all, synced, and never overwritten by a new key. One that others can
 *           read, or in a directory where others can write, is refused.
 * Owns      nothing; keys are the caller's, who erases them.
 * Errors    MI_ENOENT (only reading), MI_EBUSY (only keyfile_create(): the file exists), MI_EIO, MI_EINVAL (not such a
 *           file, or refused), MI_ENOMEM; with one sentence in `error`.
 * Blocks    on the file system only. */
#ifndef MI_CLI_AUDIT_KEYFILE_H
#define MI_CLI_AUDIT_KEYFILE_H

#include "evidence/key.h"

MI_MUST int keyfile_read(const char *path, struct secret_key *ret, struct buf *error);
/* Makes missing directories, with mode 0700. */
MI_MUST int keyfile_create(const char *path, const struct secret_key *k, struct buf *error);
/* Writes PATH.HASH with the key `old`, then replaces PATH by the key `k`. After a crash, PATH has one of the two keys. */
MI_MUST int keyfile_replace(const char *path, const struct secret_key *old,
                            const struct secret_key *k, struct buf *error);
/* PATH.HASH. */
void keyfile_old_path(struct buf *b, const char *path, const struct public_key *old);

#endif
