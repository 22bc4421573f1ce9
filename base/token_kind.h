/* token_kind.h - classifies characters, for base/tokens.h: the type of run that a character belongs to, and the class of
 * pieces that a character of another script is.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_BASE_TOKEN_KIND_H
#define MI_BASE_TOKEN_KIND_H

#include "base/tokens.h"

enum token_kind {
    TOKEN_START,    /* before the first run */
    TOKEN_LOWER,    /* a word: small letters, perhaps after one capital letter */
    TOKEN_UPPER,    /* one capital letter */
    TOKEN_CAPITALS, /* two or more capital letters */
    TOKEN_DIGIT,
    TOKEN_PUNCTUATION,
    TOKEN_SPACE,
    TOKEN_NEWLINE,
    TOKEN_OTHER
};

extern const uint8_t token_kinds[256]; /* enum token_kind of ASCII characters; others: TOKEN_START */
/* Returns the class of a character that is not ASCII. */
enum tokens_class token_class_of_char(uint32_t c);

#endif
