/* anchor.h - copies of a checkpoint outside of the vault (docs/evidence.md, "Anchors").
 *
 *     FILE       the note is appended to the file
 *     git:DIR    the same, to a file in a git work tree, which is committed
 *     syslog     one line
 *
 * A file gets no note that does not continue its last one of the same vault: not of a shorter log, and not of another
 * one. A note that it ends with already is not added again.
 *
 * Owns      nothing.
 * Errors    MI_EINVAL (it must not be written there), MI_EIO, MI_ENOMEM; with one sentence in `error`.
 * Blocks    on the disk, and up to ANCHOR_WAIT_US while another process holds the file's lock; git as long as it takes. */
#ifndef MI_CLI_AUDIT_ANCHOR_H
#define MI_CLI_AUDIT_ANCHOR_H

#include "vault/store/signing.h"

#define ANCHOR_WAIT_US 10000000
#define ANCHOR_FILE_MAX ((size_t)64 << 20) /* bytes of a file of notes */

struct anchoring {
    struct signing *log; /* to compare earlier notes with */
    struct slice note;
    struct checkpoint c; /* what it says */
    struct buf *error;
};

/* Whether this names a place. false: the reason is appended to `error`. */
MI_MUST bool anchor_check(const char *where, struct buf *error);
/* where: as anchor_check() accepts it. */
MI_MUST int anchor_write(const struct anchoring *a, const char *where);

/* The size of the last checkpoint of a vault there. MI_ENOENT: there is none, or it cannot be read back (syslog). */
MI_MUST int anchor_last(const char *where, struct slice origin, uint64_t *ret_size,
                        struct buf *error);

/* For anchor.c. path, dir: not resolved further. */
MI_MUST int anchor_file(const struct anchoring *a, const char *path);
MI_MUST int anchor_file_last(const char *path, struct slice origin, uint64_t *ret_size,
                             struct buf *error);
/* Appends the name of the file for this origin. */
void anchor_git_name(struct buf *b, struct slice origin);
MI_MUST int anchor_git(const struct anchoring *a, const char *dir);

#endif
