/* anchor.h - copies checkpoints to places outside of the vault (docs/evidence.md, "Anchors").
 *
 *     FILE       the note is appended to the file
 *     git:DIR    the note is appended to a file in a git work tree, and committed
 *     syslog     all values of the note are logged as one line
 *
 * A note is appended to a file only if the vault's log continues the last checkpoint of this vault
 * in the file. If the log is shorter, or is another log, the note is rejected. If the file already
 * has this checkpoint, nothing is appended.
 *
 * Owns      nothing.
 * Errors    MI_EINVAL (the note must not be written there), MI_EIO, MI_ENOMEM; with one sentence in
 *           `error`.
 * Blocks    on the disk, up to ANCHOR_WAIT_US while another process holds the file's lock, and
 *           until git ends. */
#ifndef MI_CLI_AUDIT_ANCHOR_H
#define MI_CLI_AUDIT_ANCHOR_H

#include "vault/store/signing.h"

#define ANCHOR_WAIT_US 10000000
#define ANCHOR_FILE_MAX ((size_t)64 << 20) /* maximum size of a file of notes in bytes */

struct anchoring {
    /* the vault's log; it is compared with the last note of this vault in the anchor's file */
    struct signing *log;
    struct slice note;
    struct checkpoint c; /* the checkpoint that `note` contains */
    struct buf *error;
};

/* Whether `where` is a valid anchor. If not, appends the reason to `error`. */
MI_MUST bool anchor_check_syntax(const char *where, struct buf *error);
/* Copies the note to the anchor `where`, which anchor_check_syntax() must accept. */
MI_MUST int anchor_write(const struct anchoring *a, const char *where);

/* Appends the path of the file in which the anchor `where` has the notes of a vault. origin: the
 * origin of the log of that vault. A leading ~/ is expanded. MI_ENOENT: the anchor is syslog, which
 * cannot be read back. */
MI_MUST int anchor_find_file(const char *where, struct slice origin, struct buf *file,
                             struct buf *error);
/* Reads the size of the last checkpoint of a vault at an anchor. Returns MI_ENOENT if the anchor
 * has no checkpoint of the vault, and for syslog, which cannot be read back. */
MI_MUST int anchor_read_last_checkpoint_size(const char *where, struct slice origin,
                                             uint64_t *ret_size, struct buf *error);
/* Reads an anchor's file of notes, which must be a regular file of at most ANCHOR_FILE_MAX bytes.
 * Returns 0, MI_ENOENT, MI_ENOMEM or, with a sentence in `error`, MI_EIO or MI_EINVAL. */
MI_MUST int anchor_file_read(const char *path, struct buf *text, struct buf *error);

/* The next functions are for anchor.c. They do not expand ~ in path and dir. */
MI_MUST int anchor_write_to_file(const struct anchoring *a, const char *path);
MI_MUST int anchor_file_read_checkpoint_size(const char *path, struct slice origin,
                                             uint64_t *ret_size, struct buf *error);
/* Appends the name of the file of notes of an origin: the origin with each slash replaced by `-`,
 * and ".note". */
void anchor_git_append_file_name(struct buf *b, struct slice origin);
MI_MUST int anchor_write_to_git(const struct anchoring *a, const char *dir);

#endif
