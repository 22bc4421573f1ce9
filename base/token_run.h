/* token_run.h - forms runs of characters of one kind, for base/tokens.h: each character continues
 * the current run or begins another, and the pieces of a run are counted at its end.
 *
 * Owns      nothing.
 * Blocks    never. Pure. The functions are inline because they are called for each character. */
#ifndef MI_BASE_TOKEN_RUN_H
#define MI_BASE_TOKEN_RUN_H

#include "base/tokens.h"

/* Types of characters and of runs. */
enum token_kind {
    TOKEN_START,    /* no run has begun yet */
    TOKEN_LOWER,    /* a word: small letters, perhaps after one capital letter */
    TOKEN_UPPER,    /* one capital letter */
    TOKEN_CAPITALS, /* two or more capital letters */
    TOKEN_DIGIT,
    TOKEN_PUNCTUATION,
    TOKEN_SPACE,
    TOKEN_NEWLINE,
    TOKEN_OTHER
};

/* The enum token_kind of each ASCII character; TOKEN_START for other bytes. */
extern const uint8_t token_kinds[256];

/* Returns true if a word directly after a run of this kind belongs to the same word, as in
 * camelCase. */
static inline bool tokens_join_next_word(uint8_t kind)
{
    return (1u << kind & (1u << TOKEN_LOWER | 1u << TOKEN_UPPER | 1u << TOKEN_CAPITALS |
                          1u << TOKEN_DIGIT)) != 0;
}

static inline void tokens_end_word(struct tokens *t)
{
    static const uint8_t classes[] = {TOKENS_WORD,        TOKENS_WORD,        TOKENS_WORD,
                                      TOKENS_WORD,        TOKENS_WORD,        TOKENS_WORD,
                                      TOKENS_WORD,        TOKENS_WORD_MIDDLE, TOKENS_WORD_MIDDLE,
                                      TOKENS_WORD_MIDDLE, TOKENS_WORD_MIDDLE};
    bool is_long = t->run >= MI_COUNT(classes);
    if (t->kind == TOKEN_CAPITALS)
        t->n[TOKENS_CAPITALS]++;
    else if (tokens_join_next_word(t->before))
        t->n[TOKENS_JOINED]++;
    else
        t->n[is_long ? TOKENS_WORD_LONG : classes[t->run]]++;
    if (is_long)
        t->n[TOKENS_LETTER] += (int64_t)t->run - 10;
}

/* Counts the tokens of the current run. next: the kind of the run that follows. */
static inline void tokens_count_char_run(struct tokens *t, enum token_kind next)
{
    bool letter = next == TOKEN_LOWER || next == TOKEN_UPPER;
    switch ((enum token_kind)t->kind) {
    case TOKEN_LOWER:
    case TOKEN_UPPER:
    case TOKEN_CAPITALS:
        tokens_end_word(t);
        break;
    case TOKEN_DIGIT:
        t->n[TOKENS_DIGITS] += (int64_t)(t->run + 2) / 3;
        break;
    case TOKEN_PUNCTUATION:
        t->n[t->run == 1 && letter ? TOKENS_PREFIX : TOKENS_PUNCTUATION]++;
        break;
    case TOKEN_SPACE:
        if (t->run > 1)
            t->n[TOKENS_BLANK]++;
        else if (!letter)
            t->n[TOKENS_SPACE]++;
        t->n[TOKENS_WIDTH] += (int64_t)(t->width / 128);
        break;
    case TOKEN_NEWLINE:
        t->n[TOKENS_NEWLINE]++;
        t->n[TOKENS_WIDTH] += (int64_t)(t->width / 128);
        break;
    case TOKEN_START:
    case TOKEN_OTHER:
        break;
    }
}

static inline void tokens_begin_run(struct tokens *t, enum token_kind kind)
{
    tokens_count_char_run(t, kind);
    t->before = t->kind;
    t->kind = (uint8_t)kind;
    t->run = 1;
    t->same = 1;
    t->width = 0;
}

/* Continues the current run if the run is of this kind; otherwise begins another run. */
static inline void tokens_extend_run(struct tokens *t, enum token_kind kind)
{
    if (t->kind == kind)
        t->run++;
    else
        tokens_begin_run(t, kind);
}

static inline void tokens_add_letter(struct tokens *t, enum token_kind kind)
{
    if (kind == TOKEN_LOWER && t->kind == TOKEN_CAPITALS) {
        /* The last capital letter begins a word, as in HTTPServer. */
        t->run--;
        t->kind = t->run > 1 ? TOKEN_CAPITALS : TOKEN_UPPER;
        tokens_begin_run(t, TOKEN_UPPER);
    }
    if (t->kind == TOKEN_UPPER) {
        t->run++;
        t->kind = kind == TOKEN_UPPER ? TOKEN_CAPITALS : TOKEN_LOWER;
    } else if (kind == TOKEN_UPPER && t->kind == TOKEN_CAPITALS) {
        t->run++;
    } else {
        tokens_extend_run(t, kind);
    }
}

static inline void tokens_add_punctuation(struct tokens *t, unsigned char c)
{
    tokens_extend_run(t, TOKEN_PUNCTUATION);
    if (t->run > 1)
        t->same = (uint8_t)(c != t->last ? 1 : t->same < 3 ? t->same + 1 : 3);
    if (t->same == 3)
        t->n[TOKENS_REPEATED]++;
    else if (t->run > 3)
        t->n[TOKENS_MORE]++;
    t->last = c;
}

/* Tokenizers have one token for up to about 128 spaces, 16 tabs or ends of line, or 4 pairs of
 * \r\n. Where one character of white space follows a different one, a token has fewer
 * characters. */
static inline void tokens_add_white_space(struct tokens *t, enum token_kind kind, unsigned char c)
{
    tokens_extend_run(t, t->kind == TOKEN_NEWLINE ? TOKEN_NEWLINE : kind);
    t->width += c == ' ' ? 1 : c == '\r' ? 24 : 8;
    if (t->run > 1 && c != t->last && c != '\r' && t->last != '\r')
        t->width += 32;
    t->last = c;
}

#endif
