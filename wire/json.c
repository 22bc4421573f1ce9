#include "wire/json.h"

#include "base/text.h"
#include "wire/json_text.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The state of one scan. The stack of open containers is a bit each (object or array). */
struct scanner {
    const char *p;     /* next byte */
    const char *end;
    const char *start; /* of the text */
    enum json_fault_kind fault;
    int depth;         /* open containers */
    uint64_t is_object[JSON_MAX_DEPTH / 64];
    json_member_fn on_member;
    void *ctx;
    struct slice key[3];      /* key of the member being read at depth 1 and 2 */
    const char *value_at[3];  /* where the value of that member begins */
    bool duplicate;
    uint32_t keys_n;                         /* hashes in use */
    uint16_t keys_from[JSON_MAX_DEPTH + 1];  /* the first hash of the object at this depth */
    uint32_t keys[JSON_KEYS_MAX];
};

static const char space[256] = {[' '] = 1, ['\t'] = 1, ['\n'] = 1, ['\r'] = 1};
static const char digit[256] = {['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1,
                                ['5'] = 1, ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1};
static const char hex[256] = {['0'] = 1, ['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1,
                              ['6'] = 1, ['7'] = 1, ['8'] = 1, ['9'] = 1, ['a'] = 1, ['b'] = 1,
                              ['c'] = 1, ['d'] = 1, ['e'] = 1, ['f'] = 1, ['A'] = 1, ['B'] = 1,
                              ['C'] = 1, ['D'] = 1, ['E'] = 1, ['F'] = 1};
static const char escape[256] = {['"'] = 1, ['\\'] = 1, ['/'] = 1, ['b'] = 1, ['f'] = 1,
                                 ['n'] = 1, ['r'] = 1, ['t'] = 1};

static bool fail(struct scanner *s, enum json_fault_kind kind)
{
    s->fault = s->p >= s->end && kind == JSON_SYNTAX ? JSON_CUT : kind;
    return false;
}

static inline void skip_space(struct scanner *s)
{
    while (s->p < s->end && space[(unsigned char)*s->p])
        s->p++;
}

/* To the next byte of a string that needs a look: a quote, a backslash, a control character or the
 * first byte of a character beyond ASCII. */
static inline const char *skip_plain(const char *p, const char *end)
{
#if defined(__SSE2__) && !defined(MI_NO_SIMD)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i slash = _mm_set1_epi8('\\');
    const __m128i blank = _mm_set1_epi8(0x20);
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        /* a signed compare with 0x20 finds control characters and all bytes from 0x80 up at once */
        __m128i hit = _mm_or_si128(_mm_cmplt_epi8(v, blank),
                                   _mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask != 0)
            return p + __builtin_ctz(mask);
        p += 16;
    }
#endif
    while (p < end && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80 && *p != '"' && *p != '\\')
        p++;
    return p;
}

static bool scan_escape(struct scanner *s)
{
    s->p++;
    if (s->p < s->end && escape[(unsigned char)*s->p]) {
        s->p++;
        return true;
    }
    if (s->p >= s->end || *s->p != 'u')
        return fail(s, JSON_SYNTAX);
    s->p++;
    for (int i = 0; i < 4; i++, s->p++)
        if (s->p >= s->end || !hex[(unsigned char)*s->p])
            return fail(s, JSON_SYNTAX);
    return true;
}

/* s->p stands on the opening quote; afterwards behind the closing one. */
static bool scan_string(struct scanner *s)
{
    s->p++;
    for (;;) {
        s->p = skip_plain(s->p, s->end);
        if (s->p >= s->end)
            return fail(s, JSON_SYNTAX);
        unsigned char c = (unsigned char)*s->p;
        if (c == '"') {
            s->p++;
            return true;
        }
        if (c == '\\') {
            if (!scan_escape(s))
                return false;
        } else if (c < 0x20) {
            return fail(s, JSON_CONTROL);
        } else {
            do { /* a run of characters beyond ASCII */
                size_t len = text_utf8_len(s->p, (size_t)(s->end - s->p));
                if (len == 0)
                    return fail(s, JSON_UTF8);
                s->p += len;
            } while (s->p < s->end && (unsigned char)*s->p >= 0x80);
        }
    }
}

static bool scan_digits(struct scanner *s)
{
    if (s->p >= s->end || !digit[(unsigned char)*s->p])
        return fail(s, JSON_SYNTAX);
    while (s->p < s->end && digit[(unsigned char)*s->p])
        s->p++;
    return true;
}

static bool scan_number(struct scanner *s)
{
    if (*s->p == '-')
        s->p++;
    if (s->p < s->end && *s->p == '0')
        s->p++;
    else if (!scan_digits(s))
        return false;
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        if (!scan_digits(s))
            return false;
    }
    if (s->p < s->end && (*s->p == 'e' || *s->p == 'E')) {
        s->p++;
        if (s->p < s->end && (*s->p == '+' || *s->p == '-'))
            s->p++;
        return scan_digits(s);
    }
    return true;
}

static bool scan_word(struct scanner *s, const char *word, size_t n)
{
    for (size_t i = 0; i < n; i++, s->p++)
        if (s->p >= s->end || *s->p != word[i])
            return fail(s, JSON_SYNTAX);
    return true;
}

/* A value that is no container. */
static bool scan_scalar(struct scanner *s)
{
    if (s->p >= s->end)
        return fail(s, JSON_SYNTAX);
    switch (*s->p) {
    case '"':
        return scan_string(s);
    case 't':
        return scan_word(s, "true", 4);
    case 'f':
        return scan_word(s, "false", 5);
    case 'n':
        return scan_word(s, "null", 4);
    default:
        if (*s->p != '-' && !digit[(unsigned char)*s->p])
            return fail(s, JSON_SYNTAX);
        return scan_number(s);
    }
}

/* Equal keys have equal hashes. Keys with escapes are compared after unescaping; the few that are
 * too long to be unescaped on the stack take no part. */
static bool hash_key(struct slice key, uint32_t *ret)
{
    char plain[256];
    if (memchr(key.p, '\\', key.n) != NULL) {
        size_t n;
        if (key.n > sizeof plain || json_unescape_to(key, plain, sizeof plain, &n) < 0)
            return false;
        key = (struct slice){plain, n};
    }
    uint64_t h = 0x9E3779B97F4A7C15u ^ key.n;
    while (key.n >= 8) {
        uint64_t w;
        memcpy(&w, key.p, 8);
        h = (h ^ w) * 0xFF51AFD7ED558CCDu;
        h ^= h >> 32;
        key.p += 8;
        key.n -= 8;
    }
    uint64_t w = 0;
    for (size_t i = 0; i < key.n; i++)
        w = w << 8 | (unsigned char)key.p[i];
    h = (h ^ w) * 0xFF51AFD7ED558CCDu;
    *ret = (uint32_t)(h >> 32);
    return true;
}

/* Two different keys of one object share a 32-bit hash once in four thousand million pairs; then a
 * finding is noted that is none. Keys past the two limits of json.h are not looked at: the search
 * costs at most JSON_OBJECT_KEYS_MAX comparisons a key. */
static void note_key(struct scanner *s, struct slice key)
{
    uint32_t h;
    uint32_t from = s->keys_from[s->depth];
    if (s->duplicate || s->keys_n == JSON_KEYS_MAX || s->keys_n - from == JSON_OBJECT_KEYS_MAX ||
        !hash_key(key, &h))
        return;
    for (uint32_t i = from; i < s->keys_n; i++)
        if (s->keys[i] == h)
            s->duplicate = true;
    s->keys[s->keys_n++] = h;
}

static inline bool in_object(const struct scanner *s)
{
    unsigned i = (unsigned)s->depth - 1;
    return s->is_object[i / 64] >> (i % 64) & 1;
}

static bool open_container(struct scanner *s, bool object)
{
    if (s->depth == JSON_MAX_DEPTH)
        return fail(s, JSON_DEEP);
    unsigned i = (unsigned)s->depth++;
    uint64_t bit = (uint64_t)1 << (i % 64);
    s->is_object[i / 64] = object ? s->is_object[i / 64] | bit : s->is_object[i / 64] & ~bit;
    s->keys_from[s->depth] = (uint16_t)s->keys_n;
    s->p++;
    return true;
}

/* Depth-2 members are those of an object inside the root object. */
static inline bool watched(const struct scanner *s)
{
    return s->depth <= 2 && s->on_member != NULL && (s->is_object[0] & 1) != 0 &&
           (s->depth == 1 || (s->is_object[0] & 2) != 0);
}

static void member_ended(struct scanner *s)
{
    const char *at = s->value_at[s->depth];
    struct json_member m = {
        .depth = s->depth,
        .key = s->key[s->depth],
        .value = {json_type_at(*at), {at, (size_t)(s->p - at)}},
    };
    if (s->depth == 2)
        m.outer = s->key[1];
    s->on_member(s->ctx, &m);
}

/* The key of a member and its colon. */
static bool scan_key(struct scanner *s)
{
    skip_space(s);
    if (s->p >= s->end || *s->p != '"')
        return fail(s, JSON_SYNTAX);
    const char *at = s->p + 1;
    if (!scan_string(s))
        return false;
    struct slice key = {at, (size_t)(s->p - at) - 1};
    note_key(s, key);
    skip_space(s);
    if (s->p >= s->end || *s->p != ':')
        return fail(s, JSON_SYNTAX);
    s->p++;
    skip_space(s);
    if (s->depth <= 2) {
        s->key[s->depth] = key;
        s->value_at[s->depth] = s->p;
    }
    return true;
}

/* After a value: close what ends here, stop behind the comma (and key) of what goes on.
 * s->depth is 0 when the root value is complete. */
static bool after_value(struct scanner *s)
{
    while (s->depth > 0) {
        bool object = in_object(s);
        if (object && watched(s))
            member_ended(s);
        skip_space(s);
        if (s->p >= s->end)
            return fail(s, JSON_SYNTAX);
        if (*s->p == ',') {
            s->p++;
            return object ? scan_key(s) : (skip_space(s), true);
        }
        if (*s->p != (object ? '}' : ']'))
            return fail(s, JSON_SYNTAX);
        s->p++;
        s->keys_n = s->keys_from[s->depth];
        s->depth--;
    }
    return true;
}

/* s->p stands on the root value; afterwards behind it. */
static bool scan_root(struct scanner *s)
{
    do {
        if (s->p < s->end && (*s->p == '{' || *s->p == '[')) {
            bool object = *s->p == '{';
            if (!open_container(s, object))
                return false;
            skip_space(s);
            if (s->p < s->end && *s->p == (object ? '}' : ']')) {
                s->p++;
                s->depth--;
            } else if (object) {
                if (!scan_key(s))
                    return false;
                continue;
            } else {
                continue;
            }
        } else if (!scan_scalar(s)) {
            return false;
        }
        if (!after_value(s))
            return false;
    } while (s->depth > 0);
    return true;
}

int json_scan(struct slice text, json_member_fn on_member, void *ctx, struct json_scan *ret)
{
    struct scanner s; /* not zeroed whole: the arrays are written before they are read */
    s.p = s.start = text.p;
    s.end = text.p + text.n;
    s.fault = JSON_OK;
    s.depth = 0;
    s.is_object[0] = 0;
    s.on_member = on_member;
    s.ctx = ctx;
    s.duplicate = false;
    s.keys_n = 0;
    *ret = (struct json_scan){0};

    skip_space(&s);
    if (s.p >= s.end) {
        ret->fault = (struct json_fault){JSON_EMPTY, text.n};
        return MI_EPROTO;
    }
    const char *root = s.p;
    if (scan_root(&s)) {
        ret->type = json_type_at(*root);
        ret->root = (struct slice){root, (size_t)(s.p - root)};
        ret->duplicate_key = s.duplicate;
        skip_space(&s);
        if (s.p == s.end)
            return 0;
        s.fault = JSON_TRAILING;
    }
    ret->fault = (struct json_fault){s.fault, (size_t)(s.p - s.start)};
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
        [JSON_DEEP] = "more than 512 levels deep",
        [JSON_CUT] = "the text ends inside a value",
        [JSON_TRAILING] = "something follows the value",
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
