#include "wire/json/scan.h"

#include "base/text.h"
#include "wire/json/block.h"
#include "wire/json/escape.h"
#include "wire/json/nesting.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The state of one scan. The position is not part of it: every function takes a pointer to the next
 * byte and returns one past what it has read, or NULL after a fault. */
struct scanner {
    const char *end;
    const char *fault_at;
    enum json_fault_kind fault;
    struct nesting open;
    json_member_fn on_member;
    void *ctx;
    struct slice key[3];     /* keys of the members being read at depth 1 and 2 */
    const char *value_at[3]; /* first byte of the value of each member in `key` */
    bool escaped;            /* true: the string that was read last contains an escape */
    bool duplicate;
    bool deep;
    uint32_t keys_n; /* number of hashes in `keys` */
    /* for each depth: index in `keys` of the first hash of the open object */
    uint16_t keys_from[JSON_MAX_DEPTH + 1];
    /* for each depth: set of the open object's hashes; hash h sets bit h % 64 */
    uint64_t keys_seen[JSON_TREE_DEPTH + 1];
    uint32_t keys[JSON_KEYS_MAX];
};

static const char space[256] = {[' '] = 1, ['\t'] = 1, ['\n'] = 1, ['\r'] = 1};
static const char digit[256] = {['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1,
                                ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1};
static const char hex[256] = {
    ['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1, ['7'] = 1,
    ['8'] = 1, ['9'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1,
    ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1};
static const char escape[256] = {
    ['"'] = 1, ['\\'] = 1, ['/'] = 1, ['b'] = 1, ['f'] = 1, ['n'] = 1, ['r'] = 1, ['t'] = 1};

static const char *json_scan_fail(struct scanner *s, const char *p, enum json_fault_kind kind)
{
    s->fault = p >= s->end && kind == JSON_SYNTAX ? JSON_CUT : kind;
    s->fault_at = p;
    return NULL;
}

static inline const char *skip_space(const char *p, const char *end)
{
    while (p < end && space[(unsigned char)*p])
        p++;
    return p;
}

#if defined(__SSE2__) && !defined(MI_NO_SIMD)
#define PLAIN_BLOCK 16

/* Returns which of the next 16 bytes are special in a string: bit i stands for byte i. */
static inline unsigned find_special_bytes(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    /* A signed comparison with 0x20 finds both control characters and bytes from 0x80 up. */
    __m128i other = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(other, _mm_or_si128(quote, slash)));
}
#endif

/* Skips to the next special byte of a string: a quote, a backslash, a control character or a byte
 * from 0x80 up. */
static inline const char *skip_to_special_byte(const char *p, const char *end)
{
#ifdef PLAIN_BLOCK
    for (; end - p >= PLAIN_BLOCK; p += PLAIN_BLOCK) {
        unsigned mask = find_special_bytes(p);
        if (mask != 0)
            return p + __builtin_ctz(mask);
    }
#endif
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' &&
           *p != '\\')
        p++;
    return p;
}

/* Scans an escape. p points to the backslash. */
static const char *scan_escape(struct scanner *s, const char *p)
{
    p++;
    if (p < s->end && escape[(unsigned char)*p])
        return p + 1;
    if (p >= s->end || *p != 'u')
        return json_scan_fail(s, p, JSON_SYNTAX);
    p++;
    for (int i = 0; i < 4; i++, p++)
        if (p >= s->end || !hex[(unsigned char)*p])
            return json_scan_fail(s, p, JSON_SYNTAX);
    return p;
}

/* Scans a run of non-ASCII characters. */
static const char *scan_non_ascii_run(struct scanner *s, const char *p)
{
    do {
        size_t len = text_utf8_len(p, (size_t)(s->end - p));
        if (len == 0)
            return json_scan_fail(s, p, JSON_UTF8);
        p += len;
    } while (p < s->end && (unsigned char)*p >= 0x80);
    return p;
}

#if JSON_BLOCKS
/* Whether the non-ASCII bytes `wide` of a block are valid UTF-8. Sets *ret_carry to the bytes of
 * the next block that belong to the last character of this block. */
static bool are_valid_utf8_characters(const struct scanner *s, const char *p, uint64_t wide,
                                      uint64_t *ret_carry)
{
    while (wide != 0) {
        unsigned i = (unsigned)__builtin_ctzll(wide);
        size_t n = text_utf8_len(p + i, (size_t)(s->end - p - i));
        if (n == 0)
            return false;
        uint64_t all = ((UINT64_C(1) << n) - 1);
        wide &= ~(all << i);
        if (i + n > JSON_BLOCK)
            *ret_carry = all >> (JSON_BLOCK - i);
    }
    return true;
}

/* Skips valid blocks inside a string. Returns the position from which each byte must be scanned. It
 * precedes the end of the string, a fault, an escape that begins with \u, or the last bytes of the
 * text. */
static const char *skip_blocks(struct scanner *s, const char *p)
{
    uint64_t escaped_first = 0, wide_first = 0;
    for (; s->end - p >= JSON_BLOCK; p += JSON_BLOCK) {
        struct json_block b = json_block_load(p);
        uint64_t quotes = json_block_find_byte(b, '"'), slashes = json_block_find_byte(b, '\\');
        uint64_t odd = json_block_find_special_bytes(b), wide = json_block_non_ascii_mask(b);
        uint64_t carry = escaped_first, wide_carry = 0;
        uint64_t escapes = json_block_find_escapes(slashes, &carry);
        uint64_t escaped = escapes << 1 | escaped_first;
        if ((quotes & ~escaped) != 0 || odd != wide ||
            (escaped != 0 && (escaped & ~(quotes | slashes | json_block_escape_letters(b))) != 0) ||
            !are_valid_utf8_characters(s, p, wide & ~wide_first, &wide_carry))
            break;
        s->escaped |= escapes != 0;
        escaped_first = carry;
        wide_first = wide_carry;
    }
    /* the first bytes of this block end a valid character, which began in the block before */
    if (wide_first != 0)
        return p + JSON_BLOCK - __builtin_clzll(wide_first);
    return p - escaped_first;
}
#else
static const char *skip_blocks(const struct scanner *s, const char *p)
{
    (void)s;
    return p;
}
#endif

static const char *scan_long_string(struct scanner *s, const char *p)
{
    for (unsigned specials = 1; p != NULL; specials++) {
        if (specials % JSON_BLOCK_AFTER == 0)
            p = skip_blocks(s, p);
        p = skip_to_special_byte(p, s->end);
        if (p >= s->end)
            return json_scan_fail(s, p, JSON_SYNTAX);
        if (*p == '"')
            return p + 1;
        if (*p == '\\') {
            s->escaped = true;
            p = scan_escape(s, p);
        } else if ((unsigned char)*p < 0x20) {
            return json_scan_fail(s, p, JSON_CONTROL);
        } else {
            p = scan_non_ascii_run(s, p);
        }
    }
    return NULL;
}

/* Scans a string. p points to the opening quote. Short strings without escapes, which are the most
 * frequent, end here. */
static inline const char *scan_string(struct scanner *s, const char *p)
{
    s->escaped = false;
    p++;
#ifdef PLAIN_BLOCK
    unsigned mask = s->end - p >= PLAIN_BLOCK ? find_special_bytes(p) : 0;
    if (mask != 0 && p[__builtin_ctz(mask)] == '"')
        return p + __builtin_ctz(mask) + 1;
#endif
    return scan_long_string(s, p);
}

static const char *scan_digits(struct scanner *s, const char *p)
{
    if (p >= s->end || !digit[(unsigned char)*p])
        return json_scan_fail(s, p, JSON_SYNTAX);
    do
        p++;
    while (p < s->end && digit[(unsigned char)*p]);
    return p;
}

static const char *scan_number(struct scanner *s, const char *p)
{
    if (*p == '-')
        p++;
    if (p < s->end && *p == '0')
        p++;
    else if ((p = scan_digits(s, p)) == NULL)
        return NULL;
    if (p < s->end && *p == '.' && (p = scan_digits(s, p + 1)) == NULL)
        return NULL;
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < s->end && (*p == '+' || *p == '-'))
            p++;
        return scan_digits(s, p);
    }
    return p;
}

static const char *scan_word(struct scanner *s, const char *p, const char *word)
{
    for (; *word != '\0'; word++, p++)
        if (p >= s->end || *p != *word)
            return json_scan_fail(s, p, JSON_SYNTAX);
    return p;
}

/* Scans a value that is not a container. p < s->end. */
static const char *scan_scalar(struct scanner *s, const char *p)
{
    switch (*p) {
    case '"':
        return scan_string(s, p);
    case 't':
        return scan_word(s, p, "true");
    case 'f':
        return scan_word(s, p, "false");
    case 'n':
        return scan_word(s, p, "null");
    default:
        return scan_number(s, p);
    }
}

static inline uint64_t load_u32(const char *p)
{
    uint32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

static inline uint64_t load_u8(const char *p)
{
    return (unsigned char)*p;
}

/* Mixes `w` into the hash `h`. Uses both halves of the product, because the upper half alone would
 * give numbered keys equal hashes. */
static inline uint64_t mix_hash(uint64_t h, uint64_t w)
{
    __extension__ unsigned __int128 m = (unsigned __int128)(h ^ w) * 0xFF51AFD7ED558CCDu;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Returns the hash of a key. Equal keys have equal hashes. */
static inline uint32_t hash_key(struct slice key)
{
    uint64_t h = 0x9E3779B97F4A7C15u * (key.n + 1);
    for (; key.n > 8; key.p += 8, key.n -= 8) {
        uint64_t w;
        memcpy(&w, key.p, sizeof w);
        h = mix_hash(h, w);
    }
    const char *last = key.p + key.n - 1;
    if (key.n >= 4) /* if less than 8 bytes are left, the two loads overlap */
        h = mix_hash(h, load_u32(key.p) | load_u32(last - 3) << 32);
    else if (key.n > 0)
        h = mix_hash(h, load_u8(key.p) | load_u8(key.p + key.n / 2) << 8 | load_u8(last) << 16);
    return (uint32_t)h;
}

/* Hashes the unescaped key. Returns false if the key is longer than the buffer: such keys are not
 * checked. */
static __attribute__((noinline)) bool hash_escaped_key(struct slice key, uint32_t *ret)
{
    char plain[256];
    size_t n;
    if (key.n > sizeof plain || json_unescape_to(key, plain, sizeof plain, &n) < 0)
        return false;
    *ret = hash_key((struct slice){plain, n});
    return true;
}

/* Compares the hash of a key with those of the earlier keys of its object. One in 2^32 pairs of
 * different keys has the same hash, which leads to a false finding. Keys beyond the two limits of
 * scan.h are not checked, so the search takes at most JSON_OBJECT_KEYS_MAX comparisons per key. */
static void check_duplicate_key(struct scanner *s, struct slice key)
{
    uint32_t from = s->keys_from[s->open.depth];
    if (s->duplicate || s->keys_n == JSON_KEYS_MAX || s->keys_n - from == JSON_OBJECT_KEYS_MAX)
        return;
    uint32_t h;
    if (!s->escaped)
        h = hash_key(key);
    else if (!hash_escaped_key(key, &h))
        return;
    uint64_t bit = (uint64_t)1 << (h % 64);
    if (s->keys_seen[s->open.depth] & bit)
        for (uint32_t i = from; i < s->keys_n; i++)
            if (s->keys[i] == h)
                s->duplicate = true;
    s->keys_seen[s->open.depth] |= bit;
    s->keys[s->keys_n++] = h;
}

static bool open_container(struct scanner *s, bool object)
{
    if (!nesting_open(&s->open, object))
        return false;
    s->keys_from[s->open.depth] = (uint16_t)s->keys_n;
    if (s->open.depth > JSON_TREE_DEPTH) {
        s->deep = true;
        s->keys_n = JSON_KEYS_MAX; /* compare no more keys until this container ends */
        return true;
    }
    s->keys_seen[s->open.depth] = 0;
    return true;
}

static void report_ended_member(struct scanner *s, const char *p)
{
    const char *at = s->value_at[s->open.depth];
    struct json_member m = {
        .depth = s->open.depth,
        .key = s->key[s->open.depth],
        .value = {json_type_at(*at), {at, (size_t)(p - at)}},
    };
    if (s->open.depth == 2)
        m.outer = s->key[1];
    s->on_member(s->ctx, &m);
}

/* Scans a key and its colon. Returns the first byte of the value. */
static inline const char *scan_key(struct scanner *s, const char *p)
{
    if (p >= s->end || *p != '"')
        return json_scan_fail(s, p, JSON_SYNTAX);
    struct slice key = {p + 1, 0};
    if ((p = scan_string(s, p)) == NULL)
        return NULL;
    key.n = (size_t)(p - key.p) - 1;
    check_duplicate_key(s, key);
    p = skip_space(p, s->end);
    if (p >= s->end || *p != ':')
        return json_scan_fail(s, p, JSON_SYNTAX);
    p = skip_space(p + 1, s->end);
    if (s->open.depth <= 2) {
        s->key[s->open.depth] = key;
        s->value_at[s->open.depth] = p;
    }
    return p;
}

/* Scans the root value, at p. Returns one past its end. Jumps from each token to the tokens that
 * may follow the token: a loop over tokens would have to test the previous token each time. */
static const char *scan_root(struct scanner *s, const char *p)
{
    bool object = false; /* true: the innermost open container is an object */

value:
    if (p >= s->end)
        return json_scan_fail(s, p, JSON_SYNTAX);
    if (*p == '{' || *p == '[') {
        object = *p == '{';
        if (!open_container(s, object))
            return json_scan_fail(s, p, JSON_DEEP);
        p = skip_space(p + 1, s->end);
        if (p < s->end && *p == (object ? '}' : ']'))
            goto close;
        if (object)
            goto key;
        goto value;
    }
    if ((p = scan_scalar(s, p)) == NULL || s->open.depth == 0)
        return p;

ended:
    /* report the members of the root object, and of objects that are values of its members */
    if (object && s->open.depth <= 2 && s->on_member != NULL && (s->open.is_object[0] & 1) != 0 &&
        (s->open.depth == 1 || (s->open.is_object[0] & 2) != 0))
        report_ended_member(s, p);
    p = skip_space(p, s->end);
    if (p < s->end && *p == ',') {
        p = skip_space(p + 1, s->end);
        if (object)
            goto key;
        goto value;
    }
    if (p >= s->end || *p != (object ? '}' : ']'))
        return json_scan_fail(s, p, JSON_SYNTAX);

close:
    p++;
    s->keys_n = s->keys_from[s->open.depth];
    s->open.depth--;
    if (s->open.depth == 0)
        return p;
    object = nesting_is_in_object(&s->open);
    goto ended;

key:
    if ((p = scan_key(s, p)) == NULL)
        return NULL;
    goto value;
}

int json_scan(struct slice text, json_member_fn on_member, void *ctx, struct json_scan *ret)
{
    /* do not clear the struct: each element of its arrays is written before it is read */
    struct scanner s;
    s.end = text.p + text.n;
    s.fault = JSON_OK;
    s.fault_at = text.p;
    s.open.depth = 0;
    s.open.is_object[0] = 0;
    s.on_member = on_member;
    s.ctx = ctx;
    s.duplicate = s.deep = false;
    s.keys_n = 0;
    *ret = (struct json_scan){0};

    const char *root = skip_space(text.p, s.end);
    if (root >= s.end) {
        ret->fault = (struct json_fault){JSON_EMPTY, text.n};
        return MI_EPROTO;
    }
    const char *p = scan_root(&s, root);
    if (p != NULL) {
        ret->type = json_type_at(*root);
        ret->root = (struct slice){root, (size_t)(p - root)};
        ret->duplicate_key = s.duplicate;
        ret->deep = s.deep;
        p = skip_space(p, s.end);
        if (p == s.end)
            return 0;
        json_scan_fail(&s, p, JSON_TRAILING);
    }
    ret->fault = (struct json_fault){s.fault, (size_t)(s.fault_at - text.p)};
    return MI_EPROTO;
}

const char *json_fault_text(enum json_fault_kind kind)
{
    static const char *const texts[] = {
        [JSON_OK] = "valid",
        [JSON_EMPTY] = "nothing but white space",
        [JSON_SYNTAX] = "this byte is not allowed here",
        [JSON_CONTROL] = "raw control character inside a string",
        [JSON_UTF8] = "not well-formed UTF-8",
        [JSON_DEEP] = "more than 10,000 levels deep",
        [JSON_CUT] = "the text ends inside a value",
        [JSON_TRAILING] = "there is text after the end of the value",
    };
    return texts[kind];
}

enum json_type json_type_at(char first)
{
    switch (first) {
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    case '"':
        return JSON_STRING;
    case 't':
        return JSON_TRUE;
    case 'f':
        return JSON_FALSE;
    case 'n':
        return JSON_NULL;
    default:
        return JSON_NUMBER;
    }
}
