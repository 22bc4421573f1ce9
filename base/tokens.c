#include "base/tokens.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum kind { START, LOWER, UPPER, CAPITALS, DIGIT, PUNCTUATION, SPACE, NEWLINE, OTHER };

/* Hundredths of a token. */
static const int64_t weights[TOKENS_CLASSES] = {
    [TOKENS_WORD] = 89,     [TOKENS_WORD_MIDDLE] = 117,   [TOKENS_WORD_LONG] = 113,
    [TOKENS_LETTER] = 12,   [TOKENS_JOINED] = 116,        [TOKENS_CAPITALS] = 148,
    [TOKENS_DIGITS] = 119,  [TOKENS_PREFIX] = 56,         [TOKENS_PUNCTUATION] = 91,
    [TOKENS_MORE] = 54,     [TOKENS_REPEATED] = 16,       [TOKENS_SPACE] = 61,
    [TOKENS_BLANK] = 148,   [TOKENS_NEWLINE] = 78,        [TOKENS_WIDTH] = 100,
    [TOKENS_LATIN] = 77,    [TOKENS_GREEK_CYRILLIC] = 27, [TOKENS_NEAR_EAST] = 57,
    [TOKENS_INDIC] = 80,    [TOKENS_SYMBOL] = 52,         [TOKENS_KANA] = 80,
    [TOKENS_HAN] = 68,      [TOKENS_HANGUL] = 75,         [TOKENS_OTHER] = 180,
    [TOKENS_CONTROL] = 100,
};

#define IS(kind) (1u << (kind))
#define IS_JOINING (IS(LOWER) | IS(UPPER) | IS(CAPITALS) | IS(DIGIT))

static void tokens_end_word(struct tokens *t)
{
    static const uint8_t classes[] = {TOKENS_WORD,        TOKENS_WORD,        TOKENS_WORD,
                                      TOKENS_WORD,        TOKENS_WORD,        TOKENS_WORD,
                                      TOKENS_WORD,        TOKENS_WORD_MIDDLE, TOKENS_WORD_MIDDLE,
                                      TOKENS_WORD_MIDDLE, TOKENS_WORD_MIDDLE};
    bool is_long = t->run >= MI_COUNT(classes);
    if (t->kind == CAPITALS)
        t->n[TOKENS_CAPITALS]++;
    else if ((IS(t->before) & IS_JOINING) != 0)
        t->n[TOKENS_JOINED]++;
    else
        t->n[is_long ? TOKENS_WORD_LONG : classes[t->run]]++;
    if (is_long)
        t->n[TOKENS_LETTER] += (int64_t)t->run - 10;
}

/* Counts the tokens of the current run. next: the kind of the run that follows. */
static void tokens_end_run(struct tokens *t, enum kind next)
{
    bool letter = next == LOWER || next == UPPER;
    switch ((enum kind)t->kind) {
    case LOWER:
    case UPPER:
    case CAPITALS:
        tokens_end_word(t);
        break;
    case DIGIT:
        t->n[TOKENS_DIGITS] += (int64_t)(t->run + 2) / 3;
        break;
    case PUNCTUATION:
        t->n[t->run == 1 && letter ? TOKENS_PREFIX : TOKENS_PUNCTUATION]++;
        break;
    case SPACE:
        if (t->run > 1)
            t->n[TOKENS_BLANK]++;
        else if (!letter)
            t->n[TOKENS_SPACE]++;
        t->n[TOKENS_WIDTH] += (int64_t)(t->width / 128);
        break;
    case NEWLINE:
        t->n[TOKENS_NEWLINE]++;
        t->n[TOKENS_WIDTH] += (int64_t)(t->width / 128);
        break;
    case START:
    case OTHER:
        break;
    }
}

/* The kinds of ASCII characters; any other byte is START. */
#define O OTHER
#define P PUNCTUATION
#define D DIGIT
#define U UPPER
#define L LOWER
static const uint8_t kinds[256] = {
    O,     O, O, O, O, O, O, O, O, SPACE, NEWLINE, O, O, NEWLINE, O, O, /* controls */
    O,     O, O, O, O, O, O, O, O, O,     O,       O, O, O,       O, O, /* controls */
    SPACE, P, P, P, P, P, P, P, P, P,     P,       P, P, P,       P, P, /* space to / */
    D,     D, D, D, D, D, D, D, D, D,     P,       P, P, P,       P, P, /* 0 to ? */
    P,     U, U, U, U, U, U, U, U, U,     U,       U, U, U,       U, U, /* @ to O */
    U,     U, U, U, U, U, U, U, U, U,     U,       P, P, P,       P, P, /* P to _ */
    P,     L, L, L, L, L, L, L, L, L,     L,       L, L, L,       L, L, /* ` to o */
    L,     L, L, L, L, L, L, L, L, L,     L,       P, P, P,       P, O, /* p to DEL */
};
#undef O
#undef P
#undef D
#undef U
#undef L

static void tokens_begin_run(struct tokens *t, enum kind kind)
{
    tokens_end_run(t, kind);
    t->before = t->kind;
    t->kind = (uint8_t)kind;
    t->run = 1;
    t->same = 1;
    t->width = 0;
}

/* Continues the run, or begins one. */
static void tokens_extend_run(struct tokens *t, enum kind kind)
{
    if (t->kind == kind)
        t->run++;
    else
        tokens_begin_run(t, kind);
}

static void tokens_add_letter(struct tokens *t, enum kind kind)
{
    if (kind == LOWER && t->kind == CAPITALS) { /* HTTPServer: the last capital begins a word */
        t->run--;
        t->kind = t->run > 1 ? CAPITALS : UPPER;
        tokens_begin_run(t, UPPER);
    }
    if (t->kind == UPPER) {
        t->run++;
        t->kind = kind == UPPER ? CAPITALS : LOWER;
    } else if (kind == UPPER && t->kind == CAPITALS) {
        t->run++;
    } else {
        tokens_extend_run(t, kind);
    }
}

static void tokens_add_punctuation(struct tokens *t, unsigned char c)
{
    tokens_extend_run(t, PUNCTUATION);
    if (t->run > 1)
        t->same = (uint8_t)(c != t->last ? 1 : t->same < 3 ? t->same + 1 : 3);
    if (t->same == 3)
        t->n[TOKENS_REPEATED]++;
    else if (t->run > 3)
        t->n[TOKENS_MORE]++;
    t->last = c;
}

/* Tokenizers have one token for up to about 128 spaces, 16 tabs or ends of line, or 4 pairs of \r\n; where white space changes from
 * one character to another, fewer go into one. */
static void tokens_add_white_space(struct tokens *t, enum kind kind, unsigned char c)
{
    tokens_extend_run(t, t->kind == NEWLINE ? NEWLINE : kind);
    t->width += c == ' ' ? 1 : c == '\r' ? 24 : 8;
    if (t->run > 1 && c != t->last && c != '\r' && t->last != '\r')
        t->width += 32;
    t->last = c;
}

#if defined(__SSE2__) && !defined(MI_NO_SIMD)
#define BLOCK 64

static unsigned tokens_lower_case_mask(__m128i v)
{
    __m128i letter = _mm_sub_epi8(v, _mm_set1_epi8('a')); /* 0 to 25 */
    return (unsigned)_mm_movemask_epi8(
        _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter));
}

/* Bit i is about byte i: which of BLOCK bytes are small letters, which are spaces. */
static void tokens_classify_block(const char *p, uint64_t *ret_lower, uint64_t *ret_space)
{
    *ret_lower = *ret_space = 0;
    for (unsigned i = 0; i < BLOCK; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i space = _mm_cmpeq_epi8(v, _mm_set1_epi8(' '));
        *ret_lower |= (uint64_t)tokens_lower_case_mask(v) << i;
        *ret_space |= (uint64_t)(unsigned)_mm_movemask_epi8(space) << i;
    }
}

/* Words of small letters, with one space between two of them, `n` in number. */
static void tokens_count_words(struct tokens *t, uint64_t letters, int n)
{
    uint64_t two = letters & letters >> 1, four = two & two >> 2;
    uint64_t seven = four & four >> 3; /* seven letters begin here */
    uint64_t eleven = seven & four >> 7;
    if (seven != 0) {
        int at_least_7 = __builtin_popcountll(seven & ~(seven << 1));
        int at_least_11 = __builtin_popcountll(eleven & ~(eleven << 1));
        t->n[TOKENS_WORD_MIDDLE] += at_least_7 - at_least_11;
        t->n[TOKENS_WORD_LONG] += at_least_11;
        t->n[TOKENS_LETTER] += __builtin_popcountll(eleven);
        n -= at_least_7;
    }
    t->n[TOKENS_WORD] += n;
}

/* Does the same as tokens_words(), for whole blocks of BLOCK bytes. */
static size_t tokens_block_words(struct tokens *t, const char *p, size_t i, size_t n)
{
    uint64_t lower, space;
    while (n - i >= BLOCK) {
        tokens_classify_block(p + i, &lower, &space);
        space &= lower >> 1 & (lower << 1 | 1); /* between two letters: the byte before the block is
                                                 * a letter */
        uint64_t other = ~(lower | space);
        unsigned end = other != 0 ? (unsigned)__builtin_ctzll(other) : BLOCK;
        space &= other ^ (other - 1); /* before `end` */
        if (space == 0) {
            t->run += end;
        } else {
            unsigned first = (unsigned)__builtin_ctzll(space);
            unsigned last = BLOCK - 1 - (unsigned)__builtin_clzll(space);
            t->run += first;
            tokens_end_word(t);
            t->before = SPACE;
            t->run = end - last - 1;
            if (last > first)
                tokens_count_words(t, lower & ((UINT64_C(1) << last) - (UINT64_C(2) << first)),
                                   __builtin_popcountll(space) - 1);
        }
        i += end;
        if (end < BLOCK - 1) /* otherwise the word may continue in the next block */
            break;
    }
    return i;
}
#else
static size_t tokens_block_words(const struct tokens *t, const char *p, size_t i, size_t n)
{
    (void)t, (void)p, (void)n;
    return i;
}
#endif

/* The end of the small letters from i on. */
static size_t tokens_lower_end(const char *p, size_t i, size_t n)
{
#ifdef BLOCK
    for (; n - i >= 16; i += 16) {
        unsigned lower =
            tokens_lower_case_mask(_mm_loadu_si128((const __m128i *)(const void *)(p + i)));
        if (lower != 0xFFFF)
            return i + (unsigned)__builtin_ctz(~lower);
    }
#endif
    while (i < n && kinds[(unsigned char)p[i]] == LOWER)
        i++;
    return i;
}

/* Reads the rest of a word of small letters, and the words that follow it. In prose, a space
 * between two words is part of the second word. */
static size_t tokens_words(struct tokens *t, const char *p, size_t i, size_t n)
{
    for (;;) {
        size_t end = tokens_lower_end(p, i, n);
        t->run += end - i;
        i = end;
        if (i + 1 >= n || p[i] != ' ' || kinds[(unsigned char)p[i + 1]] != LOWER)
            return i;
        size_t behind = tokens_block_words(t, p, i, n);
        if (behind == i) { /* fewer bytes than a block remain */
            tokens_end_word(t);
            t->before = SPACE;
            t->run = 0;
            behind++;
        }
        i = behind;
    }
}

/* Reads the characters before the first one that is not ASCII. Returns their number. */
static size_t tokens_ascii(struct tokens *t, const char *p, size_t n)
{
    size_t i = 0, start;
    while (i < n && kinds[(unsigned char)p[i]] != START) {
        unsigned char c = (unsigned char)p[i++];
        enum kind kind = kinds[c];
        switch (kind) {
        case LOWER:
            tokens_add_letter(t, kind);
            i = tokens_words(t, p, i, n);
            break;
        case UPPER:
            tokens_add_letter(t, kind);
            break;
        case DIGIT:
            tokens_extend_run(t, DIGIT);
            start = i;
            while (i < n && kinds[(unsigned char)p[i]] == DIGIT)
                i++;
            t->run += i - start;
            break;
        case PUNCTUATION:
            tokens_add_punctuation(t, c);
            break;
        case SPACE:
        case NEWLINE:
            tokens_add_white_space(t, kind, c);
            if (c != ' ')
                break;
            start = i;
            while (i < n && p[i] == ' ')
                i++;
            t->run += i - start;
            t->width += i - start;
            break;
        default:
            tokens_extend_run(t, OTHER);
            t->n[TOKENS_CONTROL]++;
            break;
        }
    }
    return i;
}

static enum tokens_class tokens_script_of_char(uint32_t c)
{
    static const struct {
        uint32_t below;
        enum tokens_class class;
    } scripts[] = {
        {0xA0, TOKENS_CONTROL},
        {0x370, TOKENS_LATIN},
        {0x530, TOKENS_GREEK_CYRILLIC},
        {0x900, TOKENS_NEAR_EAST},
        {0x1E00, TOKENS_INDIC},
        {0x1F00, TOKENS_LATIN},
        {0x2000, TOKENS_GREEK_CYRILLIC},
        {0x2E80, TOKENS_SYMBOL},
        {0x3040, TOKENS_HAN},
        {0x3130, TOKENS_KANA},
        {0x3190, TOKENS_HANGUL},
        {0xA000, TOKENS_HAN},
        {0xAC00, TOKENS_OTHER},
        {0xD7B0, TOKENS_HANGUL},
        {0xFF00, TOKENS_OTHER},
        {0xFFF0, TOKENS_HAN},
    };
    for (size_t i = 0; i < MI_COUNT(scripts); i++)
        if (c < scripts[i].below)
            return scripts[i].class;
    return TOKENS_OTHER;
}

static void tokens_add_other(struct tokens *t, enum tokens_class class)
{
    tokens_begin_run(t, OTHER);
    t->n[class]++;
}

/* The first byte of a character of several; RFC 3629. */
static void tokens_begin_multibyte(struct tokens *t, unsigned char c)
{
    t->want = c < 0xC2 || c > 0xF4 ? 0 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : 3;
    t->code = c & (0x3Fu >> t->want);
    t->low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    t->high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    if (t->want == 0)
        tokens_add_other(t, TOKENS_CONTROL);
}

void tokens_add(struct tokens *t, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (t->want == 0)
            i += tokens_ascii(t, p + i, n - i);
        if (i == n)
            return;
        unsigned char c = (unsigned char)p[i];
        if (t->want > 0 && c >= t->low && c <= t->high) {
            t->code = t->code << 6 | (c & 0x3F);
            t->low = 0x80;
            t->high = 0xBF;
            if (--t->want == 0)
                tokens_add_other(t, tokens_script_of_char(t->code));
            continue;
        }
        if (t->want > 0) { /* cut off */
            t->want = 0;
            tokens_add_other(t, TOKENS_CONTROL);
        }
        if (c < 0x80)
            (void)tokens_ascii(t, p + i, 1);
        else
            tokens_begin_multibyte(t, c);
    }
}

int64_t tokens_count(const struct tokens *t)
{
    struct tokens end = *t;
    int64_t sum = 0;
    if (end.want > 0)
        tokens_add_other(&end, TOKENS_CONTROL);
    tokens_end_run(&end, START);
    for (size_t i = 0; i < TOKENS_CLASSES; i++)
        sum += end.n[i] * weights[i];
    bool any = end.kind != START;
    sum = (sum + 50) / 100;
    return sum > 0 ? sum : any;
}

int64_t tokens_estimate(const char *p, size_t n)
{
    struct tokens t = {0};
    tokens_add(&t, p, n);
    return tokens_count(&t);
}
