/* tokens.h - estimates how many tokens of a language model a text takes.
 *
 * Rules     an estimate, without the vocabulary of any tokenizer. The text is cut into pieces: words (also inside of
 *           camelCase), groups of three digits, runs of punctuation, white space, characters of other scripts. Each class of
 *           pieces has a weight, which was fitted to real tokenizers (docs/context.md has them, and the measured errors).
 *           The result depends only on the text, not on how it is split into calls.
 * Input     any bytes. NUL and invalid UTF-8 count as control characters.
 * Use       tokens_estimate() of a text in memory. Otherwise tokens_add() for each part, then tokens_count():
 *               struct tokens t = {0};
 *               tokens_add(&t, part.p, part.n);
 *               int64_t n = tokens_count(&t);
 * Units     tokens, rounded; a text that is not empty has at least one.
 * Time      linear; memory: the struct.
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_BASE_TOKENS_H
#define MI_BASE_TOKENS_H

#include "base/base.h"

enum tokens_class {
    TOKENS_WORD,        /* a word of up to 6 letters, alone or after a space */
    TOKENS_WORD_MIDDLE, /* 7 to 10 letters */
    TOKENS_WORD_LONG,   /* more than 10 */
    TOKENS_LETTER,      /* each letter beyond the 10th, also in the next two classes */
    TOKENS_JOINED,      /* a word after a letter or digit, as in camelCase, hex and base64 */
    TOKENS_CAPITALS,    /* a run of two or more capital letters */
    TOKENS_DIGITS,      /* up to three digits */
    TOKENS_PREFIX,      /* one character of punctuation before a letter */
    TOKENS_PUNCTUATION, /* a run of up to 3 characters */
    TOKENS_MORE,        /* each other character beyond the 3rd */
    TOKENS_REPEATED,    /* each character that is equal to the two before it */
    TOKENS_SPACE,       /* a space before something other than a letter */
    TOKENS_BLANK,       /* a longer run of spaces */
    TOKENS_NEWLINE,     /* a run of white space that begins with an end of line */
    TOKENS_WIDTH,       /* one for each 128 spaces (or fewer other characters) of the two kinds
                         * above */
    TOKENS_LATIN,       /* each letter of these scripts */
    TOKENS_GREEK_CYRILLIC,
    TOKENS_NEAR_EAST,
    TOKENS_INDIC, /* Indic and other scripts up to U+1FFF */
    TOKENS_SYMBOL, /* U+2000 to U+2FFF */
    TOKENS_KANA,
    TOKENS_HAN, /* Han and the punctuation of East Asia */
    TOKENS_HANGUL,
    TOKENS_OTHER, /* each other character, such as emoji */
    TOKENS_CONTROL,
    TOKENS_CLASSES,
};

struct tokens {
    int64_t n[TOKENS_CLASSES]; /* pieces or characters */
    uint8_t kind, before;      /* kind of the current run, and kind of the run before it */
    uint8_t last, same;        /* last byte of the run; how many bytes at its end are equal, at most
                                * 3 */
    size_t run;                /* length of the run in bytes */
    uint64_t width;            /* width of the run if it is white space */
    uint32_t code;             /* code point of an incomplete character */
    uint8_t want, low;         /* bytes that the incomplete character still needs; lowest value of
                                * the next byte */
    uint8_t high;              /* highest value of the next byte */
};

void tokens_add(struct tokens *t, const char *p, size_t n);
/* Returns the count for all text so far. More text may be added afterwards. */
int64_t tokens_count(const struct tokens *t);
int64_t tokens_estimate(const char *p, size_t n);

#endif
