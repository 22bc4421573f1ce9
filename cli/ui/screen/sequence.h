/* sequence.h - skips escape sequences that are not keys, such as a terminal's answer to a
 * question of another program. A sequence is skipped up to its end, even if it arrives in parts.
 *
 * Rules     ECMA-48, 5.4 and 5.6: `ESC [` up to a final byte from @ to ~; `ESC O` and one byte;
 *           `ESC ]`, `P`, `_`, `^` or `X` up to `ESC \`. Terminals also end the latter with BEL.
 * Limits    a sequence ends after SEQUENCE_MAX bytes. It also ends if no byte comes for
 *           SEQUENCE_PAUSE_US, because it may have been the key Esc and another key.
 * Owns      nothing. A zeroed struct has no sequence.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_SCREEN_SEQUENCE_H
#define MI_CLI_UI_SCREEN_SEQUENCE_H

#include "base/base.h"

#define SEQUENCE_PAUSE_US 250000
#define SEQUENCE_MAX 4096

struct sequence {
    enum {
        SEQUENCE_NONE,
        SEQUENCE_CONTROL, /* a control sequence, which began with `ESC [` */
        SEQUENCE_ONE,     /* a sequence that began with `ESC O` and has one more byte */
        SEQUENCE_STRING,  /* a control string, which began with `ESC ]` or similar */
        SEQUENCE_ESC,     /* an Esc ended the sequence, and may begin another sequence */
    } part;
    size_t n;      /* number of bytes of the sequence so far */
    int64_t at_us; /* time at which the last byte of the sequence was read */
};

/* Takes the character after an Esc. Returns true if it begins a sequence. */
bool sequence_begin(struct sequence *s, uint32_t c, int64_t now_us);
/* Takes a character that does not follow an Esc directly. Returns true if the character belongs to
 * the current sequence. */
bool sequence_add_char(struct sequence *s, uint32_t c, int64_t now_us);

#endif
