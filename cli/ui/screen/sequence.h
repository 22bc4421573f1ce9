/* sequence.h - skips escape sequences that are not keys, such as a terminal's answer to a question of another program, to their
 * end, even if they arrive in parts.
 *
 * Rules     ECMA-48, 5.4 and 5.6: `ESC [` up to a final byte from @ to ~; `ESC O` and one byte; `ESC ]`, `P`, `_`, `^` or `X`
 *           up to `ESC \`. Terminals also end these with BEL.
 * Limits    a sequence ends after SEQUENCE_MAX bytes, or when no byte comes for SEQUENCE_PAUSE_US: then it may have been the key
 *           Esc and another key.
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
        SEQUENCE_CONTROL,
        SEQUENCE_ONE,
        SEQUENCE_STRING,
        SEQUENCE_ESC, /* an Esc has ended it; another one may begin */
    } part;
    size_t n;      /* bytes so far */
    int64_t at_us; /* when the last one came */
};

/* Takes the character after an Esc. True: it begins a sequence. */
bool sequence_begin(struct sequence *s, uint32_t c, int64_t now_us);
/* Takes any other character. True: it belongs to the sequence that has begun. */
bool sequence_takes(struct sequence *s, uint32_t c, int64_t now_us);

#endif
