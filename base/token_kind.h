/* token_kind.h - kinds of characters, for base/tokens.h: what a run consists of, and which class of pieces a character of
 * another script is.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_BASE_TOKEN_KIND_H
#define MI_BASE_TOKEN_KIND_H

#include "base/tokens.h"

enum token_kind {
    TOKEN_START,
    TOKEN_LOWER,
    TOKEN_UPPER,
    TOKEN_CAPITALS,
    TOKEN_DIGIT,
    TOKEN_PUNCTUATION,
    TOKEN_SPACE,
    TOKEN_NEWLINE,
    TOKEN_OTHER
};

extern const uint8_t token_kinds[256]; /* of ASCII characters; any other byte is TOKEN_START */
enum tokens_class token_class_of_char(uint32_t c); /* not ASCII */

#endif
