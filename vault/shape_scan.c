#include "vault/shape_scan.h"

#if defined(__x86_64__)
#include <tmmintrin.h>
#define WITH_SSSE3 1
#else
#define WITH_SSSE3 0
#endif

#define GROUPS 8
#define HALF 16 /* values of half a byte */

static struct {
    uint64_t three[1 << 12]; /* bits: there is an anchor with these three letters */
    /* The groups, as bits, that have a letter with this half at this of the three places. */
    uint8_t low[3][HALF], high[3][HALF];
    bool ssse3;
    bool asked; /* for ssse3 */
} scan;

/* Six bits of each of three letters. */
static inline unsigned three_then(unsigned three, char c)
{
    return (three << 6 | ((unsigned)c & 63)) & 0x3FFFF;
}

static inline unsigned three_of(const char *p)
{
    return three_then(three_then((unsigned)p[0] & 63, p[1]), p[2]);
}

/* Bit 0: may these three be an anchor's? */
static inline unsigned is_three(unsigned three)
{
    return (unsigned)(scan.three[three / 64] >> (three % 64));
}

/* ---- filling ---- */

struct halves {
    uint16_t low[3], high[3]; /* bits, by half */
};

static void halves_of(const struct shape_set three[3], struct halves *ret)
{
    *ret = (struct halves){{0}, {0}};
    for (unsigned i = 0; i < 3; i++)
        for (unsigned c = 0; c < 256; c++)
            if (shape_in(&three[i], (char)c)) {
                ret->low[i] |= (uint16_t)(1U << (c & 15));
                ret->high[i] |= (uint16_t)(1U << (c >> 4));
            }
}

/* How many threes a group lets pass, with `more` in it or, when NULL, as it is. */
static unsigned passes(unsigned group, const struct halves *more)
{
    unsigned ret = 1;
    for (unsigned i = 0; i < 3; i++) {
        unsigned low = 0, high = 0;
        for (unsigned h = 0; h < HALF; h++) {
            low += (scan.low[i][h] >> group & 1U) | (more != NULL && more->low[i] >> h & 1U);
            high += (scan.high[i][h] >> group & 1U) | (more != NULL && more->high[i] >> h & 1U);
        }
        ret *= low * high;
    }
    return ret;
}

/* Into the group that lets the fewest pass that it did not before. */
static void add_to_group(const struct halves *halves)
{
    unsigned best = 0, least = UINT32_MAX;
    for (unsigned g = 0; g < GROUPS; g++) {
        unsigned more = passes(g, halves) - passes(g, NULL);
        if (more < least) {
            least = more;
            best = g;
        }
    }
    for (unsigned i = 0; i < 3; i++)
        for (unsigned h = 0; h < HALF; h++) {
            scan.low[i][h] |= (uint8_t)((halves->low[i] >> h & 1U) << best);
            scan.high[i][h] |= (uint8_t)((halves->high[i] >> h & 1U) << best);
        }
}

static void add_threes(const struct shape_set three[3])
{
    for (unsigned a = 0; a < 256; a++) {
        if (!shape_in(&three[0], (char)a))
            continue;
        for (unsigned b = 0; b < 256; b++) {
            if (!shape_in(&three[1], (char)b))
                continue;
            unsigned two = three_then(a & 63, (char)b);
            for (unsigned c = 0; c < 256; c++)
                if (shape_in(&three[2], (char)c)) {
                    unsigned t = three_then(two, (char)c);
                    scan.three[t / 64] |= UINT64_C(1) << (t % 64);
                }
        }
    }
}

void shape_scan_add(const struct shape_set three[3])
{
    struct halves halves;
    halves_of(three, &halves);
    add_to_group(&halves);
    add_threes(three);
}

/* ---- searching ---- */

/* Four places at a time, which do not wait for each other. */
size_t shape_scan_plain(struct slice text, size_t at)
{
    size_t e = at;
    if (e + 4 <= text.n) {
        unsigned d = three_of(text.p + e - 2) >> 6;
        for (; e + 4 <= text.n; e += 4) {
            unsigned a = three_then(d, text.p[e]), b = three_then(a, text.p[e + 1]);
            unsigned c = three_then(b, text.p[e + 2]);
            d = three_then(c, text.p[e + 3]);
            if ((is_three(a) | is_three(b) | is_three(c) | is_three(d)) & 1)
                break;
        }
    }
    while (e < text.n && !(is_three(three_of(text.p + e - 2)) & 1))
        e++;
    return e < text.n ? e : text.n;
}

#if WITH_SSSE3

/* The groups that have each of these sixteen letters at one of the three places. */
__attribute__((target("ssse3"))) static inline __m128i groups_of(const char *p, __m128i low,
                                                                 __m128i high)
{
    const __m128i half = _mm_set1_epi8(15);
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i l = _mm_shuffle_epi8(low, _mm_and_si128(v, half));
    __m128i h = _mm_shuffle_epi8(high, _mm_and_si128(_mm_srli_epi16(v, 4), half));
    return _mm_and_si128(l, h);
}

__attribute__((target("ssse3"))) static size_t scan_ssse3(struct slice text, size_t at)
{
    __m128i low[3], high[3];
    size_t e = at;
    for (unsigned i = 0; i < 3; i++) {
        low[i] = _mm_loadu_si128((const __m128i *)(const void *)scan.low[i]);
        high[i] = _mm_loadu_si128((const __m128i *)(const void *)scan.high[i]);
    }
    for (; e + 16 <= text.n; e += 16) {
        const char *p = text.p + e - 2;
        __m128i all = _mm_and_si128(
            _mm_and_si128(groups_of(p, low[0], high[0]), groups_of(p + 1, low[1], high[1])),
            groups_of(p + 2, low[2], high[2]));
        unsigned none = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_setzero_si128()));
        for (unsigned some = ~none & 0xFFFF; some != 0; some &= some - 1) {
            size_t i = (size_t)__builtin_ctz(some);
            if (is_three(three_of(p + i)) & 1)
                return e + i;
        }
    }
    return shape_scan_plain(text, e);
}

size_t shape_scan(struct slice text, size_t at)
{
    if (!scan.asked) {
        scan.ssse3 = __builtin_cpu_supports("ssse3") != 0;
        scan.asked = true;
    }
    return scan.ssse3 ? scan_ssse3(text, at) : shape_scan_plain(text, at);
}

#else

size_t shape_scan(struct slice text, size_t at)
{
    return shape_scan_plain(text, at);
}

#endif
