/* json_reference.h - a slow and simple JSON parser to compare json_scan() with.
 *
 * Rules     those of wire/json/scan.h, implemented a second time: a function for each rule of RFC 8259,
 *           byte by byte, recursion for nesting, Unicode's table 3-7 for UTF-8. No code is shared with
 *           wire/, so that a mistake is found unless it is made twice.
 * Owns      the lists of members and keys; ref_close() frees them. Out of memory ends the program. */
#ifndef MI_TESTS_JSON_REFERENCE_H
#define MI_TESTS_JSON_REFERENCE_H

#include "wire/json/scan.h"

#include <stdlib.h>

struct ref_text {
    unsigned char *p;
    size_t n;
};

struct ref_json {
    const char *text;
    size_t n;
    size_t at; /* next byte; after a fault, the invalid byte */
    int depth;
    enum json_fault_kind fault;
    struct slice root;
    struct json_member
        *members; /* owned; the members that json_scan() must report, in this order */
    size_t members_n, members_cap;
    struct slice outer; /* key of the depth-1 member being read */
    bool duplicate;     /* an object has a duplicate key */
    bool limits;        /* some keys exceed the limit up to which json_scan() finds duplicates */
    size_t keys_open;   /* keys of all open objects */
};

static bool ref_fail(struct ref_json *r, enum json_fault_kind kind)
{
    r->fault = kind == JSON_SYNTAX && r->at >= r->n ? JSON_CUT : kind;
    return false;
}

static int ref_peek(const struct ref_json *r) /* -1 at the end */
{
    return r->at < r->n ? (unsigned char)r->text[r->at] : -1;
}

static bool ref_eat(struct ref_json *r, int c)
{
    if (ref_peek(r) != c)
        return ref_fail(r, JSON_SYNTAX);
    r->at++;
    return true;
}

static void ref_space(struct ref_json *r)
{
    while (ref_peek(r) == ' ' || ref_peek(r) == '\t' || ref_peek(r) == '\n' || ref_peek(r) == '\r')
        r->at++;
}

static bool ref_digits(struct ref_json *r)
{
    if (ref_peek(r) < '0' || ref_peek(r) > '9')
        return ref_fail(r, JSON_SYNTAX);
    while (ref_peek(r) >= '0' && ref_peek(r) <= '9')
        r->at++;
    return true;
}

static bool ref_number(struct ref_json *r)
{
    if (ref_peek(r) == '-')
        r->at++;
    if (ref_peek(r) == '0')
        r->at++;
    else if (!ref_digits(r))
        return false;
    if (ref_peek(r) == '.') {
        r->at++;
        if (!ref_digits(r))
            return false;
    }
    if (ref_peek(r) == 'e' || ref_peek(r) == 'E') {
        r->at++;
        if (ref_peek(r) == '+' || ref_peek(r) == '-')
            r->at++;
        return ref_digits(r);
    }
    return true;
}

static int ref_hex(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Unicode, table 3-7: the well-formed byte sequences. */
static const struct {
    int len;
    unsigned char lo[4], hi[4];
} ref_utf8_rows[] = {
    {1, {0x00}, {0x7F}},
    {2, {0xC2, 0x80}, {0xDF, 0xBF}},
    {3, {0xE0, 0xA0, 0x80}, {0xE0, 0xBF, 0xBF}},
    {3, {0xE1, 0x80, 0x80}, {0xEC, 0xBF, 0xBF}},
    {3, {0xED, 0x80, 0x80}, {0xED, 0x9F, 0xBF}},
    {3, {0xEE, 0x80, 0x80}, {0xEF, 0xBF, 0xBF}},
    {4, {0xF0, 0x90, 0x80, 0x80}, {0xF0, 0xBF, 0xBF, 0xBF}},
    {4, {0xF1, 0x80, 0x80, 0x80}, {0xF3, 0xBF, 0xBF, 0xBF}},
    {4, {0xF4, 0x80, 0x80, 0x80}, {0xF4, 0x8F, 0xBF, 0xBF}},
};

/* Length of the well-formed character at p, or 0. */
static size_t ref_utf8(const char *p, size_t n)
{
    for (size_t row = 0; row < MI_COUNT(ref_utf8_rows); row++) {
        size_t len = (size_t)ref_utf8_rows[row].len;
        size_t i = 0;
        while (i < len && i < n && (unsigned char)p[i] >= ref_utf8_rows[row].lo[i] &&
               (unsigned char)p[i] <= ref_utf8_rows[row].hi[i])
            i++;
        if (i == len)
            return len;
    }
    return 0;
}

static bool ref_string(struct ref_json *r, struct slice *ret_inner)
{
    if (!ref_eat(r, '"'))
        return false;
    size_t from = r->at;
    for (;;) {
        int c = ref_peek(r);
        if (c == -1)
            return ref_fail(r, JSON_SYNTAX);
        if (c == '"')
            break;
        if (c < 0x20)
            return ref_fail(r, JSON_CONTROL);
        if (c == '\\') {
            r->at++;
            c = ref_peek(r);
            if (c <= 0 || strchr("\"\\/bfnrtu", c) == NULL)
                return ref_fail(r, JSON_SYNTAX);
            r->at++;
            for (int i = 0; c == 'u' && i < 4; i++, r->at++)
                if (ref_hex(ref_peek(r)) < 0)
                    return ref_fail(r, JSON_SYNTAX);
            continue;
        }
        size_t len = ref_utf8(r->text + r->at, r->n - r->at);
        if (len == 0)
            return ref_fail(r, JSON_UTF8);
        r->at += len;
    }
    *ret_inner = (struct slice){r->text + from, r->at - from};
    r->at++;
    return true;
}

static size_t ref_put(unsigned char *to, unsigned c)
{
    if (c < 0x80) {
        to[0] = (unsigned char)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char mark[5] = {0, 0, 0xC0, 0xE0, 0xF0};
    for (size_t i = len - 1; i > 0; i--, c >>= 6)
        to[i] = (unsigned char)(0x80 | (c & 0x3F));
    to[0] = (unsigned char)(mark[len] | c);
    return len;
}

/* The value of a string without escapes; lone surrogates are U+FFFD. Free ret.p. */
static struct ref_text ref_unescape(struct slice raw)
{
    struct ref_text t = {malloc(raw.n + 1), 0};
    if (t.p == NULL)
        abort();
    for (size_t i = 0; i < raw.n;) {
        if (raw.p[i] != '\\') {
            t.p[t.n++] = (unsigned char)raw.p[i++];
            continue;
        }
        char c = raw.p[i + 1];
        if (c != 'u') {
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            t.p[t.n++] = (unsigned char)to[strchr(from, c) - from];
            i += 2;
            continue;
        }
        unsigned u[2] = {0, 0};
        for (size_t k = 0; k < 2 && i + 6 * k + 5 < raw.n; k++) {
            if (raw.p[i + 6 * k] != '\\' || raw.p[i + 6 * k + 1] != 'u')
                break;
            for (size_t d = 2; d < 6; d++)
                u[k] = u[k] * 16 + (unsigned)ref_hex((unsigned char)raw.p[i + 6 * k + d]);
        }
        if (u[0] >= 0xD800 && u[0] <= 0xDBFF && u[1] >= 0xDC00 && u[1] <= 0xDFFF) {
            t.n += ref_put(t.p + t.n, 0x10000 + (u[0] - 0xD800) * 0x400 + (u[1] - 0xDC00));
            i += 12;
        } else {
            t.n += ref_put(t.p + t.n, u[0] >= 0xD800 && u[0] <= 0xDFFF ? 0xFFFD : u[0]);
            i += 6;
        }
    }
    return t;
}

static enum json_type ref_type(char c)
{
    return c == '{'   ? JSON_OBJECT
           : c == '[' ? JSON_ARRAY
           : c == '"' ? JSON_STRING
           : c == 't' ? JSON_TRUE
           : c == 'f' ? JSON_FALSE
           : c == 'n' ? JSON_NULL
                      : JSON_NUMBER;
}

static void ref_member(struct ref_json *r, struct slice key, size_t value_at)
{
    if (r->members_n == r->members_cap) {
        r->members_cap = r->members_cap * 2 + 16;
        r->members = realloc(r->members, r->members_cap * sizeof *r->members);
        if (r->members == NULL)
            abort();
    }
    struct json_member *m = &r->members[r->members_n++];
    *m = (struct json_member){.depth = r->depth, .key = key};
    if (r->depth == 2)
        m->outer = r->outer;
    m->value.text = (struct slice){r->text + value_at, r->at - value_at};
    m->value.type = ref_type(r->text[value_at]);
}

static bool ref_value(struct ref_json *r, bool in_watched_object);

/* Every member of an object; `watched`: json_scan() reports them. */
static bool ref_object_members(struct ref_json *r, bool watched, struct ref_text **keys,
                               size_t *keys_n)
{
    for (;;) {
        struct slice key;
        ref_space(r);
        if (!ref_string(r, &key))
            return false;
        if (r->depth == 1)
            r->outer = key;
        *keys = realloc(*keys, (*keys_n + 1) * sizeof **keys);
        if (*keys == NULL)
            abort();
        struct ref_text plain = ref_unescape(key);
        for (size_t i = 0; i < *keys_n; i++)
            if ((*keys)[i].n == plain.n && memcmp((*keys)[i].p, plain.p, plain.n) == 0)
                r->duplicate = true;
        (*keys)[(*keys_n)++] = plain;
        r->keys_open++;
        if (r->keys_open > JSON_KEYS_MAX || *keys_n > JSON_OBJECT_KEYS_MAX || key.n > 256)
            r->limits = true;
        ref_space(r);
        if (!ref_eat(r, ':'))
            return false;
        ref_space(r);
        size_t value_at = r->at;
        if (!ref_value(r, watched))
            return false;
        if (watched)
            ref_member(r, key, value_at);
        ref_space(r);
        if (ref_peek(r) == '}')
            return true;
        if (!ref_eat(r, ','))
            return false;
    }
}

static bool ref_object(struct ref_json *r, bool in_watched_object)
{
    struct ref_text *keys = NULL;
    size_t keys_n = 0;
    bool watched = r->depth == 1 || (r->depth == 2 && in_watched_object);
    bool good = ref_object_members(r, watched, &keys, &keys_n);
    r->keys_open -= keys_n;
    while (keys_n > 0)
        free(keys[--keys_n].p);
    free(keys);
    return good;
}

static bool ref_array_elements(struct ref_json *r)
{
    for (;;) {
        ref_space(r);
        if (!ref_value(r, false))
            return false;
        ref_space(r);
        if (ref_peek(r) == ']')
            return true;
        if (!ref_eat(r, ','))
            return false;
    }
}

static bool ref_word(struct ref_json *r, const char *word)
{
    for (; *word != '\0'; word++)
        if (!ref_eat(r, *word))
            return false;
    return true;
}

static bool ref_value(struct ref_json *r, bool in_watched_object)
{
    struct slice inner;
    int c = ref_peek(r);
    if (c == '"')
        return ref_string(r, &inner);
    if (c == 't')
        return ref_word(r, "true");
    if (c == 'f')
        return ref_word(r, "false");
    if (c == 'n')
        return ref_word(r, "null");
    if (c != '{' && c != '[')
        return ref_number(r);
    if (r->depth == JSON_MAX_DEPTH)
        return ref_fail(r, JSON_DEEP);
    int close = c == '{' ? '}' : ']';
    r->at++;
    r->depth++;
    ref_space(r);
    if (ref_peek(r) != close &&
        !(c == '{' ? ref_object(r, in_watched_object) : ref_array_elements(r)))
        return false;
    r->at++;
    r->depth--;
    return true;
}

/* Sets r->fault to JSON_OK or the fault, and r->at to its offset. */
static inline void ref_open(struct ref_json *r, const char *text, size_t n)
{
    *r = (struct ref_json){.text = text, .n = n};
    ref_space(r);
    size_t root = r->at;
    if (root == n) {
        r->fault = JSON_EMPTY;
        return;
    }
    if (!ref_value(r, false))
        return;
    r->root = (struct slice){text + root, r->at - root};
    ref_space(r);
    if (r->at != n)
        r->fault = JSON_TRAILING;
}

static inline void ref_close(struct ref_json *r)
{
    free(r->members);
}

/* The members that json_scan() reported, compared with the reference. */
struct ref_seen {
    const struct ref_json *ref;
    size_t n;    /* members reported so far */
    bool differ; /* one of them differs from the reference */
};

static bool ref_same(struct slice a, struct slice b)
{
    return a.p == b.p && a.n == b.n;
}

static void ref_on_member(void *ctx, const struct json_member *m)
{
    struct ref_seen *s = ctx;
    if (s->n >= s->ref->members_n) {
        s->differ = true;
        return;
    }
    const struct json_member *want = &s->ref->members[s->n++];
    if (m->depth != want->depth || m->value.type != want->value.type ||
        !ref_same(m->key, want->key) || !ref_same(m->outer, want->outer) ||
        !ref_same(m->value.text, want->value.text))
        s->differ = true;
}

typedef int (*ref_scan_fn)(struct slice, json_member_fn, void *, struct json_scan *);

/* NULL if `scan` gives the same result as the reference; else what differs. */
static inline const char *ref_compare(struct ref_json *r, ref_scan_fn scan)
{
    struct ref_seen seen = {.ref = r};
    struct json_scan got;
    int st = scan((struct slice){r->text, r->n}, ref_on_member, &seen, &got);
    if ((st == 0) != (r->fault == JSON_OK) || (st != 0 && st != MI_EPROTO))
        return "status";
    if (got.fault.kind != r->fault)
        return "fault kind";
    if (st != 0 && got.fault.at != r->at)
        return "fault offset";
    if (seen.differ || seen.n != r->members_n)
        return "members";
    if (st != 0)
        return NULL;
    if (!ref_same(got.root, r->root) || got.type != ref_type(r->root.p[0]))
        return "root";
    if (got.duplicate_key != r->duplicate && !(r->limits && !got.duplicate_key))
        return "duplicate key";
    /* The result must be the same without a callback. */
    struct json_scan bare;
    if (scan((struct slice){r->text, r->n}, NULL, NULL, &bare) != 0 || bare.type != got.type ||
        bare.duplicate_key != got.duplicate_key || !ref_same(bare.root, got.root))
        return "result without a callback";
    return NULL;
}

#endif
