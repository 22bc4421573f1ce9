/* keyfile.h - the file of the private key that signs checkpoints (docs/evidence.md, "Keys").
 *
 * Files     PATH: one line, mode 0600. PATH.HASH: an earlier key, which has this key hash. A
 *           rotation does not remove the earlier key, because both keys must sign that the new key
 *           follows the earlier key.
 * Rules     a file is written completely or not at all, and synced. keyfile_create() never replaces
 *           a key; keyfile_replace() first writes the old key to PATH.HASH. A file that others can
 *           read, or that belongs to another user (except root), is rejected. No file is written to
 *           a directory in which others can replace it.
 * Owns      nothing; keys belong to the caller, who erases them.
 * Errors    MI_ENOENT (only reading), MI_EBUSY (only keyfile_create(): the file exists), MI_EIO,
 *           MI_EINVAL (not a key file, or rejected), MI_ENOMEM; with one sentence in `error`.
 * Blocks    on the file system only. */
#ifndef MI_CLI_AUDIT_KEYFILE_H
#define MI_CLI_AUDIT_KEYFILE_H

#include "evidence/key.h"

MI_MUST int keyfile_read(const char *path, struct secret_key *ret, struct buf *error);
/* Creates the file, and missing directories with mode 0700. */
MI_MUST int keyfile_create(const char *path, const struct secret_key *k, struct buf *error);
/* Writes the key `old` to PATH.HASH, then replaces PATH with the key `k`. After a crash, PATH has
 * one of the two keys. */
MI_MUST int keyfile_replace(const char *path, const struct secret_key *old,
                            const struct secret_key *k, struct buf *error);
/* Appends PATH.HASH. */
void keyfile_append_path_of_old_key(struct buf *b, const char *path, const struct public_key *old);
/* Reads the private key that belongs to the public key *k from PATH.HASH; ctx is PATH. Returns
 * MI_EINVAL if the file is missing. Has the type signing_previous_fn (vault/store/signing.h). */
MI_MUST int keyfile_read_previous_key(void *ctx, const struct public_key *k, struct secret_key *ret,
                                      struct buf *error);

#endif
