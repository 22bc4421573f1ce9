#include "redact/shape/anchor_scan.h"

#include <limits.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define WITH_AVX2 1
#if defined(__has_include) && __has_include(<sys/platform/x86.h>)
/* Uses the CPU features that the loader has determined: in a virtual machine CPUID is slow. */
#include <sys/platform/x86.h>
#define HAS_AVX2 CPU_FEATURE_ACTIVE(AVX2)
#else
#define HAS_AVX2 __builtin_cpu_supports("avx2")
#endif
#else
#define WITH_AVX2 0
#endif

/* Number of sets of eight groups each. Searching ordinary text with 2 sets takes a fifth longer
 * than with 3 (`make bench-parts`). */
#define SETS 3
#define GROUPS (SETS * 8)
#define HALF 16 /* number of values of a nibble */

/* An anchor, or a group of anchors, as bit masks. For each of the three letters, bit v of `low` is
 * set if the low nibble of the letter may be v; `high`: the same for the high nibble. */
struct halves {
    uint16_t low[3], high[3];
};

static struct {
    /* a bit for each result of read_three_letters(); set: some anchor may have these letters */
    uint64_t three[1 << 12];
    struct halves group[GROUPS];
    unsigned passes[GROUPS]; /* result of estimate_offsets_passing_filter() for each group */
    /* low[set][i][v] has a bit for each of the eight groups of the set. The bit is set if letter i
     * (0 to 2) of an anchor in the group may have the low nibble v. `high`: the same for high
     * nibbles. */
    uint8_t low[SETS][3][HALF], high[SETS][3][HALF];
    bool avx2;
    bool avx2_known; /* the value of `avx2` was determined */
} scan;

/* Drops the first letter of `three` and appends c. A letter has six bits. */
static inline unsigned append_letter_to_last_three(unsigned three, char c)
{
    return (three << 6 | ((unsigned)c & 63)) & 0x3FFFF;
}

static inline unsigned read_three_letters(const char *p)
{
    return append_letter_to_last_three(append_letter_to_last_three((unsigned)p[0] & 63, p[1]),
                                       p[2]);
}

/* Bit 0 of the result says whether these three letters may belong to an anchor. The other bits have
 * no meaning. */
static inline unsigned three_letters_may_be_in_anchor(unsigned three)
{
    return (unsigned)(scan.three[three / 64] >> (three % 64));
}

/* ---- filling ---- */

static unsigned count_bits(unsigned x)
{
    x = x - (x >> 1 & 0x5555);
    x = (x & 0x3333) + (x >> 2 & 0x3333);
    x = (x + (x >> 4)) & 0x0F0F;
    return (x + (x >> 8)) & 31;
}

/* Estimates how many offsets of ordinary text have three letters with these nibbles. The factors
 * say how frequent each high nibble is: 2 to 7 are ASCII, mostly small letters. */
static unsigned estimate_offsets_passing_filter(const struct halves *h)
{
    unsigned ret = 1;
    for (unsigned i = 0; i < 3; i++) {
        unsigned bits = h->high[i];
        unsigned often = (bits >> 2 & 1) * 20 + (bits >> 3 & 1) * 3 + (bits >> 4 & 1) * 3 +
                         (bits >> 5 & 1) * 3 + (bits >> 6 & 1) * 40 + (bits >> 7 & 1) * 25;
        ret *= (often + count_bits(bits & 0xFF03)) * count_bits(h->low[i]);
    }
    return ret;
}

static struct halves merge_nibble_halves(const struct halves *a, const struct halves *b)
{
    struct halves ret;
    for (unsigned i = 0; i < 3; i++) {
        ret.low[i] = a->low[i] | b->low[i];
        ret.high[i] = a->high[i] | b->high[i];
    }
    return ret;
}

/* Adds the anchor to the group for which estimate_offsets_passing_filter() grows least. */
static void scan_add_anchor_to_best_group(const struct halves *halves)
{
    unsigned best = 0, least = UINT_MAX;
    for (unsigned g = 0; g < GROUPS; g++) {
        struct halves now = merge_nibble_halves(&scan.group[g], halves);
        unsigned more = estimate_offsets_passing_filter(&now) - scan.passes[g];
        if (more < least) {
            least = more;
            best = g;
        }
    }
    scan.group[best] = merge_nibble_halves(&scan.group[best], halves);
    scan.passes[best] = estimate_offsets_passing_filter(&scan.group[best]);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned h = 0; h < HALF; h++) {
            scan.low[best / 8][i][h] |= (uint8_t)((halves->low[i] >> h & 1U) << best % 8);
            scan.high[best / 8][i][h] |= (uint8_t)((halves->high[i] >> h & 1U) << best % 8);
        }
}

static void anchor_scan_add_letter_triples(const struct shape_set three[3])
{
    unsigned char a[256], b[256], c[256];
    size_t a_n = shape_set_get_letters(&three[0], a), b_n = shape_set_get_letters(&three[1], b);
    size_t c_n = shape_set_get_letters(&three[2], c);
    for (size_t i = 0; i < a_n; i++)
        for (size_t j = 0; j < b_n; j++)
            for (size_t k = 0; k < c_n; k++) {
                unsigned two = append_letter_to_last_three(a[i] & 63, (char)b[j]);
                unsigned t = append_letter_to_last_three(two, (char)c[k]);
                scan.three[t / 64] |= UINT64_C(1) << (t % 64);
            }
}

void shape_scan_add_anchor(const struct shape_set three[3])
{
    struct halves halves = {{0}, {0}};
    unsigned char letter[256];
    for (unsigned i = 0; i < 3; i++)
        for (size_t k = shape_set_get_letters(&three[i], letter); k-- > 0;) {
            halves.low[i] |= (uint16_t)(1U << (letter[k] & 15));
            halves.high[i] |= (uint16_t)(1U << (letter[k] >> 4));
        }
    scan_add_anchor_to_best_group(&halves);
    anchor_scan_add_letter_triples(three);
}

/* ---- searching ---- */

/* Examines four offsets at a time, independently of each other. */
static size_t scan_without_simd(struct shape_scan *s)
{
    struct slice text = s->text;
    size_t e = s->at;
    if (e + 4 <= text.n) {
        unsigned d = read_three_letters(text.p + e - 2) >> 6;
        for (; e + 4 <= text.n; e += 4) {
            unsigned a = append_letter_to_last_three(d, text.p[e]),
                     b = append_letter_to_last_three(a, text.p[e + 1]);
            unsigned c = append_letter_to_last_three(b, text.p[e + 2]);
            d = append_letter_to_last_three(c, text.p[e + 3]);
            if ((three_letters_may_be_in_anchor(a) | three_letters_may_be_in_anchor(b) |
                 three_letters_may_be_in_anchor(c) | three_letters_may_be_in_anchor(d)) &
                1)
                break;
        }
    }
    while (e < text.n && !(three_letters_may_be_in_anchor(read_three_letters(text.p + e - 2)) & 1))
        e++;
    s->at = e + 1;
    return e < text.n ? e : text.n;
}

#if WITH_AVX2

#define AVX2 __attribute__((target("avx2"), always_inline)) static inline

/* The three letters at each of 32 offsets, split into their low and high nibbles. */
struct letters {
    __m256i low[3], high[3];
};

AVX2 __m256i look_up_nibbles(const uint8_t table[HALF], __m256i nibbles)
{
    __m256i both = _mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)table));
    return _mm256_shuffle_epi8(both, nibbles);
}

/* Tests letter number `place` (0 to 2) at each of 32 offsets. Returns for each offset, as bits, the
 * groups of the set `set` whose anchors may have both nibbles of this letter in this place. */
AVX2 __m256i find_groups_of_letter(const struct letters *x, unsigned set, unsigned place)
{
    return _mm256_and_si256(look_up_nibbles(scan.low[set][place], x->low[place]),
                            look_up_nibbles(scan.high[set][place], x->high[place]));
}

/* Returns for each of 32 offsets, as bits, the groups of the set `set` that find_groups_of_letter()
 * returns for each of the three letters. */
AVX2 __m256i find_groups_of_three_letters(const struct letters *x, unsigned set)
{
    __m256i first =
        _mm256_and_si256(find_groups_of_letter(x, set, 0), find_groups_of_letter(x, set, 1));
    return _mm256_and_si256(first, find_groups_of_letter(x, set, 2));
}

AVX2 void load_letters(struct letters *x, unsigned place, const char *p)
{
    const __m256i half = _mm256_set1_epi8(15);
    __m256i v = _mm256_loadu_si256((const void *)p);
    x->low[place] = _mm256_and_si256(v, half);
    x->high[place] = _mm256_and_si256(_mm256_srli_epi16(v, 4), half);
}

/* Returns as bits which of the 32 offsets from p + 2 on are candidates. Written without loops,
 * because gcc -O2 does not unroll them, and the function would take 50 % longer. */
AVX2 uint32_t find_candidates_in_block(const char *p)
{
    struct letters x;
    load_letters(&x, 0, p);
    load_letters(&x, 1, p + 1);
    load_letters(&x, 2, p + 2);
    __m256i any =
        _mm256_or_si256(find_groups_of_three_letters(&x, 0), find_groups_of_three_letters(&x, 1));
    any = _mm256_or_si256(any, find_groups_of_three_letters(&x, 2));
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(any, _mm256_setzero_si256()));
}
_Static_assert(SETS == 3, "find_candidates_in_block() looks at three sets");

__attribute__((target("avx2"))) static size_t scan_next_avx2(struct shape_scan *s)
{
    for (;;) {
        for (; s->some != 0; s->some &= s->some - 1) {
            size_t e = s->block + (size_t)__builtin_ctz(s->some);
            if (three_letters_may_be_in_anchor(read_three_letters(s->text.p + e - 2)) & 1) {
                s->some &= s->some - 1;
                return e;
            }
        }
        if (s->at + 32 > s->text.n)
            return scan_without_simd(s);
        s->some = find_candidates_in_block(s->text.p + s->at - 2);
        s->block = s->at;
        s->at += 32;
    }
}

#endif

void shape_scan_begin(struct shape_scan *s, struct slice text, size_t at)
{
    *s = (struct shape_scan){.text = text, .at = at};
}

size_t shape_scan_next(struct shape_scan *s)
{
#if WITH_AVX2
    if (!scan.avx2_known) {
        scan.avx2 = HAS_AVX2 != 0;
        scan.avx2_known = true;
    }
    if (scan.avx2 && !s->plain)
        return scan_next_avx2(s);
#endif
    return scan_without_simd(s);
}
