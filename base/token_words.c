#include "base/token_words.h"

#include "base/token_run.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define O TOKEN_OTHER
#define P TOKEN_PUNCTUATION
#define D TOKEN_DIGIT
#define U TOKEN_UPPER
#define L TOKEN_LOWER
/* clang-format off */
const uint8_t token_kinds[256] = {
    O, O, O, O, O, O, O, O, O, TOKEN_SPACE, TOKEN_NEWLINE, O, O, TOKEN_NEWLINE, O, O, /* controls */
    O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, O, /* controls */
    TOKEN_SPACE, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, /* kinds of characters ' ' to '/' */
    D, D, D, D, D, D, D, D, D, D, P, P, P, P, P, P, /* kinds of characters '0' to '?' */
    P, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, /* kinds of characters '@' to 'O' */
    U, U, U, U, U, U, U, U, U, U, U, P, P, P, P, P, /* kinds of characters 'P' to '_' */
    P, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L, /* kinds of characters '`' to 'o' */
    L, L, L, L, L, L, L, L, L, L, L, P, P, P, P, O, /* kinds of characters 'p' to DEL */
};
/* clang-format on */
#undef O
#undef P
#undef D
#undef U
#undef L

#if defined(__SSE2__) && !defined(MI_NO_SIMD)
#define BLOCK 64

static unsigned tokens_mask_lower_case_letters(__m128i v)
{
    /* a small letter becomes 0 to 25, any other byte becomes more than 25 */
    __m128i letter = _mm_sub_epi8(v, _mm_set1_epi8('a'));
    return (unsigned)_mm_movemask_epi8(
        _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(25)), letter));
}

/* Sets bit i of *ret_lower if byte i is a small letter, and bit i of *ret_space if byte i is a
 * space. */
static void tokens_find_letters_and_spaces(const char *p, uint64_t *ret_lower, uint64_t *ret_space)
{
    *ret_lower = *ret_space = 0;
    for (unsigned i = 0; i < BLOCK; i += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + i));
        __m128i space = _mm_cmpeq_epi8(v, _mm_set1_epi8(' '));
        *ret_lower |= (uint64_t)tokens_mask_lower_case_letters(v) << i;
        *ret_space |= (uint64_t)(unsigned)_mm_movemask_epi8(space) << i;
    }
}

/* Counts n words of small letters that are separated by single spaces. letters: bit i is set if
 * byte i is a letter. */
static void tokens_count_words(struct tokens *t, uint64_t letters, int n)
{
    uint64_t two = letters & letters >> 1, four = two & two >> 2;
    uint64_t seven = four & four >> 3; /* bit i is set if seven letters begin at byte i */
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

/* Does the same as tokens_scan_words(), for complete blocks of BLOCK bytes. */
static size_t tokens_scan_word_blocks(struct tokens *t, const char *p, size_t i, size_t n)
{
    uint64_t lower, space;
    while (n - i >= BLOCK) {
        tokens_find_letters_and_spaces(p + i, &lower, &space);
        /* Clear the bits of spaces that are not between two letters. The byte before the block is a
         * letter. */
        space &= lower >> 1 & (lower << 1 | 1);
        uint64_t other = ~(lower | space);
        unsigned end = other != 0 ? (unsigned)__builtin_ctzll(other) : BLOCK;
        space &= other ^ (other - 1); /* clear the bits of spaces after `end` */
        if (space == 0) {
            t->run += end;
        } else {
            unsigned first = (unsigned)__builtin_ctzll(space);
            unsigned last = BLOCK - 1 - (unsigned)__builtin_clzll(space);
            t->run += first;
            tokens_end_word(t);
            t->before = TOKEN_SPACE;
            t->run = end - last - 1;
            if (last > first)
                tokens_count_words(t, lower & ((UINT64_C(1) << last) - (UINT64_C(2) << first)),
                                   __builtin_popcountll(space) - 1);
        }
        i += end;
        /* a word that reaches the end of the block may continue in the next block */
        if (end < BLOCK - 1)
            break;
    }
    return i;
}
#else
static size_t tokens_scan_word_blocks(const struct tokens *t, const char *p, size_t i, size_t n)
{
    (void)t, (void)p, (void)n;
    return i;
}
#endif

/* Returns the index of the first byte from i on that is not a small letter. */
static size_t tokens_find_end_of_lower_case(const char *p, size_t i, size_t n)
{
#ifdef BLOCK
    for (; n - i >= 16; i += 16) {
        unsigned lower =
            tokens_mask_lower_case_letters(_mm_loadu_si128((const __m128i *)(const void *)(p + i)));
        if (lower != 0xFFFF)
            return i + (unsigned)__builtin_ctz(~lower);
    }
#endif
    while (i < n && token_kinds[(unsigned char)p[i]] == TOKEN_LOWER)
        i++;
    return i;
}

size_t tokens_scan_words(struct tokens *t, const char *p, size_t i, size_t n)
{
    for (;;) {
        size_t end = tokens_find_end_of_lower_case(p, i, n);
        t->run += end - i;
        i = end;
        if (i + 1 >= n || p[i] != ' ' || token_kinds[(unsigned char)p[i + 1]] != TOKEN_LOWER)
            return i;
        size_t behind = tokens_scan_word_blocks(t, p, i, n);
        if (behind == i) { /* no complete block was read */
            tokens_end_word(t);
            t->before = TOKEN_SPACE;
            t->run = 0;
            behind++;
        }
        i = behind;
    }
}
