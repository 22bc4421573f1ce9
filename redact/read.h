/* read.h - steps through text that may be valid, truncated or malformed JSON. Internal to redact/.
 *
 * Bounds    no byte at or after `end` is read, whatever the text is; an incomplete value ends at
 *           `end`.
 * Blocks    never. Pure. */
#ifndef MI_REDACT_READ_H
#define MI_REDACT_READ_H

#include "base/base.h"
#include "base/chars.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Returns s without white space at both ends. If `escaped` is true, escaped white space is removed
 * as well. */
struct slice redact_trim_white_space(struct slice s, bool escaped);
static inline const char *redact_skip_space(const char *p, const char *end)
{
    while (p < end && char_is_space(*p))
        p++;
    return p;
}
#if defined(__SSE2__) && !defined(MI_NO_SIMD)
/* Returns 16 bytes: 0xff for each quote or backslash among the 16 bytes at p, else 0. */
static inline __m128i read_special_bytes(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    return _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
                        _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
}
#endif
/* Returns the position of the next quote or backslash. */
static inline const char *read_find_quote_or_escape(const char *p, const char *end)
{
#if defined(__SSE2__) && !defined(MI_NO_SIMD)
    for (; end - p >= 16; p += 16) {
        int mask = _mm_movemask_epi8(read_special_bytes(p));
        if (mask != 0)
            return p + __builtin_ctz((unsigned)mask);
        while (end - p >= 80 && /* long strings */
               _mm_movemask_epi8(_mm_or_si128(
                   _mm_or_si128(read_special_bytes(p + 16), read_special_bytes(p + 32)),
                   _mm_or_si128(read_special_bytes(p + 48), read_special_bytes(p + 64)))) == 0)
            p += 64;
    }
#endif
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}
/* Returns the end of the string that begins with the quote at p. Sets *odd if an escape stands for
 * an ordinary letter. */
const char *read_string(const char *p, const char *end, bool *odd);
/* Returns the number of escapes in a string. */
size_t read_escape_count(struct slice raw);
/* Returns the string [p, behind) without its quotes, and without an incomplete escape at the end of
 * the text. */
struct slice read_quoted_text(const char *p, const char *behind, const char *end);
/* Returns the end of the string, container or other value that begins at p. */
const char *read_value(const char *p, const char *end);

/* Iterates over the members of an object; p begins after the opening brace. */
struct read_members {
    const char *p, *end;
};
/* Reads the next member. Returns false if there are no more, or if the text ends. */
bool read_member(struct read_members *m, struct slice *ret_key, struct slice *ret_value);

#endif
