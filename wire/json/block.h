/* block.h - examines 64 bytes of JSON text at once, as bits: for long strings with many escapes.
 *
 * Bit i represents byte i. Without SSE2 JSON_BLOCKS is 0, and the callers examine each byte.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_BLOCK_H
#define MI_WIRE_JSON_BLOCK_H

#include "base/base.h"

#if defined(__SSE2__) && !defined(MI_NO_SIMD)
#include <emmintrin.h>
#define JSON_BLOCKS 1
#else
#define JSON_BLOCKS 0
#endif

#define JSON_BLOCK 64
/* After this many escapes and other special bytes in a string, reading blocks is faster than
 * reading bytes. */
#define JSON_BLOCK_AFTER 8

#if JSON_BLOCKS

struct json_block {
    __m128i a, b, c, d;
};

static inline struct json_block json_block_load(const char *p)
{
    const __m128i *part = (const void *)p;
    return (struct json_block){_mm_loadu_si128(part), _mm_loadu_si128(part + 1),
                               _mm_loadu_si128(part + 2), _mm_loadu_si128(part + 3)};
}

/* Returns the highest bit of each byte. */
static inline uint64_t json_block_collect_high_bits(struct json_block b)
{
    uint64_t low = (unsigned)_mm_movemask_epi8(b.a) | (unsigned)_mm_movemask_epi8(b.b) << 16;
    uint64_t high = (unsigned)_mm_movemask_epi8(b.c) | (unsigned)_mm_movemask_epi8(b.d) << 16;
    return low | high << 32;
}

/* Returns which bytes equal c. */
static inline uint64_t json_block_find_byte(struct json_block b, char c)
{
    const __m128i v = _mm_set1_epi8(c);
    return json_block_collect_high_bits(
        (struct json_block){_mm_cmpeq_epi8(b.a, v), _mm_cmpeq_epi8(b.b, v), _mm_cmpeq_epi8(b.c, v),
                            _mm_cmpeq_epi8(b.d, v)});
}

/* Returns which bytes are 0x80 or more. */
static inline uint64_t json_block_non_ascii_mask(struct json_block b)
{
    return json_block_collect_high_bits(b);
}

/* Returns which bytes are less than 0x20, or 0x80 or more. */
static inline uint64_t json_block_find_special_bytes(struct json_block b)
{
    /* bytes are compared as signed numbers, so a byte of 0x80 or more is less than 0x20 */
    const __m128i v = _mm_set1_epi8(0x20);
    return json_block_collect_high_bits(
        (struct json_block){_mm_cmplt_epi8(b.a, v), _mm_cmplt_epi8(b.b, v), _mm_cmplt_epi8(b.c, v),
                            _mm_cmplt_epi8(b.d, v)});
}

static inline __m128i json_vector_escape_letters(__m128i v)
{
    __m128i bf =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('b')), _mm_cmpeq_epi8(v, _mm_set1_epi8('f')));
    __m128i nr =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('n')), _mm_cmpeq_epi8(v, _mm_set1_epi8('r')));
    __m128i t =
        _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('t')), _mm_cmpeq_epi8(v, _mm_set1_epi8('/')));
    return _mm_or_si128(_mm_or_si128(bf, nr), t);
}

/* Returns the bytes that may follow a backslash, except `"`, `\` and `u`. */
static inline uint64_t json_block_escape_letters(struct json_block b)
{
    return json_block_collect_high_bits(
        (struct json_block){json_vector_escape_letters(b.a), json_vector_escape_letters(b.b),
                            json_vector_escape_letters(b.c), json_vector_escape_letters(b.d)});
}

/* Returns which of the given backslashes begin an escape: every other one of adjacent backslashes.
 * *carry: 1 if the first byte of the block is escaped; set for the next block. The carry of the
 * subtraction runs through all adjacent backslashes (as in simdjson). */
static inline uint64_t json_block_find_escapes(uint64_t slashes, uint64_t *carry)
{
    const uint64_t odd = 0xAAAAAAAAAAAAAAAAu;
    uint64_t first = slashes & ~*carry;
    /* `begins` also has a bit for the byte after a run of an odd number of backslashes. This byte
     * is not a backslash, so `& slashes` clears its bit. */
    uint64_t begins = (((first << 1) | odd) - first) ^ odd;
    uint64_t ret = begins & slashes & ~*carry;
    *carry = ret >> 63;
    return ret;
}

#endif

#endif
