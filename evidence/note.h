/* note.h - checkpoints: C2SP tlog-checkpoint in a C2SP signed-note (docs/evidence.md,
 * "Checkpoint").
 *
 *     origin \n size \n root \n [extension lines] \n — name base64 \n …
 *
 * Reading   is strict: valid UTF-8 without control characters except newlines, at least one
 *           signature line, and nothing after the last signature line. Signatures of unknown keys
 *           are ignored.
 * Owns      nothing: results of reading borrow from the note's text.
 * Errors    functions that write set `failed` of the buffer, or return MI_EIO if libsodium cannot
 *           be used. Functions that read return MI_EINVAL if the text is not such a note.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_NOTE_H
#define MI_EVIDENCE_NOTE_H

#include "evidence/digest.h"
#include "evidence/key.h"

#define NOTE_MAX ((size_t)1 << 20) /* bytes */
#define NOTE_SIGNATURES 100
/* prefix of the origin of a log; the name of the vault follows */
#define CHECKPOINT_ORIGIN "mcp-interposer/"

struct note {
    struct slice text;       /* the signed text, with its last newline */
    struct slice signatures; /* the signature lines, each with its newline */
};

struct checkpoint {
    struct slice origin; /* name of the log: not empty, without newline */
    uint64_t size;       /* leaves */
    struct digest root;
};

/* Appends the text of a checkpoint, without extension lines. */
void checkpoint_write(struct buf *b, const struct checkpoint *c);
/* Reads the text of a checkpoint. Further lines after the root are allowed. */
MI_MUST int checkpoint_read(struct slice text, struct checkpoint *ret);

/* Returns the next note of a file with several notes, which are separated by one or more empty
 * lines. Returns false at the end (*rest is then empty), or if *rest does not begin with a complete
 * note. */
MI_MUST bool note_read_next_note(struct slice *rest, struct slice *ret);

/* Appends the note: text, which ends with a newline, and one signature. Returns 0, MI_EIO or
 * MI_ENOMEM. */
MI_MUST int note_append_signed(struct buf *b, struct slice text, const struct secret_key *k);
MI_MUST int note_read(struct slice note, struct note *ret);
/* Returns 0 if the note is signed with this key, MI_ENOENT if it has no signature of this key (name
 * and key hash), or MI_EPROTO if a signature of this key is wrong. */
MI_MUST int note_check_signature(const struct note *n, const struct public_key *k);

#endif
