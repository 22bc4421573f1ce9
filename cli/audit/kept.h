/* kept.h - the last checkpoint that was signed for a vault, kept outside of it (docs/evidence.md, "What is kept beside the
 * key").
 *
 * Why       whoever can write to a vault can write its whole log again, with the genuine leaves `key`, and remove its
 *           checkpoints. What is kept here says then that the log is not the one that was signed, before it is signed.
 * Files     KEY's directory/signed/HASH.note, or $XDG_STATE_HOME/mcp-interposer-audit/HASH.note if the first one cannot be
 *           written; HASH is of the path of the vault. A file has one signed note, is replaced as a whole, and never by
 *           one of a shorter log. Both are read.
 * Owns      copies of the notes; kept_close() frees them.
 * Errors    MI_EIO, MI_EINVAL (a file is not a note) or MI_ENOMEM; with one sentence in `error`, except for MI_ENOMEM.
 * Blocks    on the file system only, and on another process that writes the same file. */
#ifndef MI_CLI_AUDIT_KEPT_H
#define MI_CLI_AUDIT_KEPT_H

#include "vault/store/signing.h"

struct kept {
    struct buf note[SIGNING_KEPT_MAX]; /* owned */
    struct signing_kept at[SIGNING_KEPT_MAX];
    size_t n;
};

/* vault: its directory, without symbolic links. No file is not an error: n is 0. */
MI_MUST int kept_read(struct kept *k, const char *key_path, const char *vault, struct buf *error);
void kept_close(struct kept *k); /* {0} is fine, and twice */
/* anew: instead of what is kept of another log, which gets the name HASH.note.until-TIME. */
MI_MUST int kept_write(const char *key_path, const char *vault, struct slice note, bool anew,
                       struct buf *error);

#endif
