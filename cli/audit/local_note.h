/* local_note.h - the last checkpoint that was signed for a vault, kept outside of the vault
 * (docs/evidence.md, "What is kept beside the key").
 *
 * Why       somebody who can write to a vault can make a new log with the genuine `key` leaves, and
 *           remove the checkpoints. Before the next signature, the kept checkpoint shows that the
 *           new log is not the log that was signed earlier.
 * Files     KEY's directory/signed/HASH.note; if that cannot be written,
 *           $XDG_STATE_HOME/mcp-interposer-audit/HASH.note. HASH is the hash of the vault's path. A
 *           file has one signed note. It is replaced atomically, and never by a note of a shorter
 *           log. Both files are read.
 * Owns      copies of the notes; local_notes_close() frees them.
 * Errors    MI_EIO, MI_EINVAL (a file is not a note) or MI_ENOMEM; with one sentence in `error`,
 *           except for MI_ENOMEM.
 * Blocks    on the file system, and on another process that writes the same file. */
#ifndef MI_CLI_AUDIT_LOCAL_NOTE_H
#define MI_CLI_AUDIT_LOCAL_NOTE_H

#include "vault/store/signing.h"

struct local_notes {
    struct buf note[SIGNING_KEPT_MAX];        /* owned */
    struct signing_kept at[SIGNING_KEPT_MAX]; /* at[i] is the checkpoint in note[i] */
    size_t n;
};

/* Reads the notes that are stored for a vault. vault: the vault's directory, with symbolic links
 * resolved. k->n is 0 if there is no note. */
MI_MUST int local_notes_read(struct local_notes *k, const char *key_path, const char *vault,
                             struct buf *error);
void local_notes_close(struct local_notes *k); /* accepts {0}; may be called twice */
/* Writes the note. If `anew` is true, the existing note belongs to another log, and is first
 * renamed to HASH.note.until-TIME. */
MI_MUST int local_note_write(const char *key_path, const char *vault, struct slice note, bool anew,
                             struct buf *error);

#endif
