/* signed.h - compares the log with the vault's checkpoints, with notes from anchors, and with notes
 * stored next to the key.
 *
 * Owns      copies of the notes; signed_notes_close() frees them.
 * Errors    MI_ENOMEM, and those of snapshot.h.
 * Blocks    signed_notes_load(), on the database. */
#ifndef MI_VAULT_AUDIT_SIGNED_H
#define MI_VAULT_AUDIT_SIGNED_H

#include "vault/audit/trail.h"

struct signed_note {
    size_t at, n; /* text of the note: a range of signed_notes.text */
    /* column `size` of a row of `checkpoints`; SIGNED_ANCHOR or SIGNED_KEPT: the note is not from a
     * row */
    int64_t size;
    uint64_t leaves;    /* number of leaves that the note states; 0: the text is not a checkpoint */
    struct digest root; /* root that the note states */
    bool readable;      /* true: the text is a checkpoint */
};

struct signed_notes {
    struct signed_note *note; /* owned */
    size_t n, cap;
    struct buf text; /* owned */
};

/* Values of signed_note.size. */
#define SIGNED_ANCHOR (-1) /* the note is from an anchor */
#define SIGNED_KEPT (-2)   /* the note was stored next to the key */
/* Adds a note that is not from the vault. from: SIGNED_ANCHOR or SIGNED_KEPT. MI_EINVAL: the note
 * is not a checkpoint. */
MI_MUST int signed_notes_add_outside_note(struct signed_notes *s, struct trail *t,
                                          struct slice note, int64_t from);
/* Adds the checkpoints of the vault. Call this function before the log is read, in the same
 * transaction. */
MI_MUST int signed_notes_load(struct signed_notes *s, struct trail *t, struct snapshot *source);
/* Reports what is wrong with the notes. Call this function after the log was read. *ret_anchored:
 * number of leaves signed by a note from an anchor; *ret_signed: number of leaves signed by any
 * note. */
void signed_notes_check(const struct signed_notes *s, const struct trail *t, uint64_t *ret_anchored,
                        uint64_t *ret_signed);
void signed_notes_close(struct signed_notes *s); /* the argument may be {0}; may be called twice */

#endif
