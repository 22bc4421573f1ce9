/* tokens.h - estimates how many tokens of a language model a text takes.
 *
 * Rules     the estimate needs no vocabulary of a tokenizer. The text is divided into pieces: words
 *           (also inside of camelCase), groups of three digits, runs of punctuation, white space,
 *           characters of other scripts. Each class of pieces has a weight, which was fitted to
 *           real tokenizers (docs/context.md has the weights and the measured errors).
 *           The result depends only on the text, not on how it is split into calls.
 * Input     any bytes. NUL and invalid UTF-8 count as control characters.
 * Use       tokens_estimate() for a text in memory; otherwise tokens_add() for each part, then
 *           tokens_count():
 *               struct tokens t = {0};
 *               tokens_add(&t, part.p, part.n);
 *               int64_t n = tokens_count(&t);
 * Units     tokens, rounded; a text that is not empty has at least one.
 * Time      linear in the length of the text. No memory is allocated.
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_BASE_TOKENS_H
#define MI_BASE_TOKENS_H

#include "base/base.h"

enum tokens_class {
    TOKENS_WORD,        /* a word of up to 6 letters, alone or after a space */
    TOKENS_WORD_MIDDLE, /* a word of 7 to 10 letters, alone or after a space */
    TOKENS_WORD_LONG,   /* a word of more than 10 letters, alone or after a space */
    /* each letter beyond the 10th of a word, also of TOKENS_JOINED and TOKENS_CAPITALS */
    TOKENS_LETTER,
    TOKENS_JOINED,      /* a word after a letter or digit, as in camelCase, hex and base64 */
    TOKENS_CAPITALS,    /* a run of two or more capital letters */
    TOKENS_DIGITS,      /* a group of up to three digits */
    TOKENS_PREFIX,      /* one character of punctuation before a letter */
    TOKENS_PUNCTUATION, /* the first 3 characters of a run of punctuation, except a TOKENS_PREFIX */
    TOKENS_MORE,        /* each character of punctuation beyond the 3rd, unless it is repeated */
    /* each character of punctuation that is equal to the two characters before it */
    TOKENS_REPEATED,
    TOKENS_SPACE,   /* a space that is not before a letter */
    TOKENS_BLANK,   /* a run of two or more spaces or tabs */
    TOKENS_NEWLINE, /* a run of white space that begins with an end of line */
    /* one for each 128 spaces of a run of white space, or for about 16 of its tabs or ends of
     * line */
    TOKENS_WIDTH,
    TOKENS_LATIN, /* each letter of the Latin script; the next classes are other scripts */
    TOKENS_GREEK_CYRILLIC,
    TOKENS_NEAR_EAST,
    TOKENS_INDIC,  /* each character of Indic and other scripts, from U+0900 to U+1DFF */
    TOKENS_SYMBOL, /* each character from U+2000 to U+2E7F */
    TOKENS_KANA,
    TOKENS_HAN, /* each character of Han, or of the punctuation of East Asia */
    TOKENS_HANGUL,
    TOKENS_OTHER, /* each character of no other class, such as an emoji */
    TOKENS_CONTROL,
    TOKENS_CLASSES,
};

struct tokens {
    int64_t n[TOKENS_CLASSES]; /* number of pieces or characters of each class */
    uint8_t kind, before;      /* kind of the current run, and kind of the run before it */
    uint8_t last;              /* last byte of the run */
    uint8_t same;              /* number of equal bytes at the end of the run, at most 3 */
    size_t run;                /* length of the run in bytes */
    /* Weighted length of the current run of white space: a space counts 1, any other character
     * more. Two different neighbours, neither of them \r, add to the length. Each 128 of the length
     * add one TOKENS_WIDTH. */
    uint64_t width;
    uint32_t code;     /* code point of an incomplete character, as far as it was read */
    uint8_t want;      /* bytes that the incomplete character still needs; 0: none */
    uint8_t low, high; /* lowest and highest valid value of the next byte */
};

void tokens_add(struct tokens *t, const char *p, size_t n);
/* Returns the count for all text so far. More text may be added afterwards. */
int64_t tokens_count(const struct tokens *t);
int64_t tokens_estimate(const char *p, size_t n);

#endif
