/* corpus.h - reads tests/redact/NAME.txt, whose head describes the format, and generates its values.
 *
 * Each case has its own values, the same in every run. Needs tests/support/unit.h. */
#ifndef MI_TESTS_REDACT_CORPUS_H
#define MI_TESTS_REDACT_CORPUS_H

#include "base/buf.h"
#include "tests/support/unit.h"

#define CORPUS_LINE 4096
#define CORPUS_MARKS 8

struct corpus_case {
    size_t line;   /* in the file */
    char rule[64]; /* "" in a file without rules */
    char *text;    /* owned, with a NUL */
    size_t n;
    struct {
        size_t from, n;
    } mark[CORPUS_MARKS]; /* the text between « and » */
    size_t marks;
};

struct corpus {
    FILE *f;
    size_t line;
    struct unit_random random;
    struct corpus_case now;
};

static const char corpus_base64[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void corpus_draw(struct corpus *c, struct buf *b, const char *from, size_t n)
{
    size_t letters = strlen(from);
    while (n-- > 0)
        buf_addc(b, from[unit_random(&c->random, letters)]);
}

static void corpus_encode(struct buf *b, struct slice s, bool url)
{
    for (size_t i = 0; i < s.n; i += 3) {
        unsigned v = (unsigned)(unsigned char)s.p[i] << 16;
        v |= i + 1 < s.n ? (unsigned)(unsigned char)s.p[i + 1] << 8 : 0;
        v |= i + 2 < s.n ? (unsigned)(unsigned char)s.p[i + 2] : 0;
        for (size_t k = 0; k < 4; k++) {
            char ch = corpus_base64[v >> (18 - 6 * k) & 63];
            if (i + k > s.n)
                ch = '=';
            if (!url)
                buf_addc(b, ch);
            else if (ch != '=')
                buf_addc(b, ch == '+' ? '-' : ch == '/' ? '_' : ch);
        }
    }
}

/* The CRC-32 of the last n bytes, in base 62; implemented independently of the program. */
static void corpus_checksum(struct buf *b, size_t n)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    uint32_t crc = 0xFFFFFFFFu;
    char six[6];
    for (size_t i = b->n - n; i < b->n; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            uint32_t in = ((uint32_t)(unsigned char)b->p[i] >> bit ^ crc) & 1;
            crc = in ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
        }
    crc ^= 0xFFFFFFFFu;
    for (size_t i = 6; i-- > 0; crc /= 62)
        six[i] = digits[crc % 62];
    buf_add(b, six, 6);
}

static void corpus_pem(struct corpus *c, struct buf *b, struct slice label, const char *newline)
{
    buf_printf(b, "-----BEGIN %.*s-----%s", (int)label.n, label.p, newline);
    for (int i = 0; i < 5; i++) {
        corpus_draw(c, b, corpus_base64, i < 4 ? 64 : 24);
        buf_adds(b, newline);
    }
    buf_printf(b, "-----END %.*s-----", (int)label.n, label.p);
}

static void corpus_jwt(struct corpus *c, struct buf *b)
{
    struct buf claims = {0};
    corpus_encode(b, slice_of("{\"alg\":\"HS256\",\"typ\":\"JWT\"}"), true);
    buf_addc(b, '.');
    buf_adds(&claims, "{\"sub\":\"");
    corpus_draw(c, &claims, "0123456789", 10);
    buf_adds(&claims, "\",\"iat\":1767225600}");
    corpus_encode(b, buf_slice(&claims), true);
    buf_addc(b, '.');
    corpus_draw(c, b, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", 43);
    buf_close(&claims);
}

static void corpus_uuid(struct corpus *c, struct buf *b)
{
    static const size_t parts[] = {8, 4, 4, 4, 12};
    for (size_t i = 0; i < MI_COUNT(parts); i++) {
        if (i > 0)
            buf_addc(b, '-');
        corpus_draw(c, b, "0123456789abcdef", parts[i]);
    }
}

static const char *corpus_alphabet(char kind)
{
    static const char all[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    static const char an[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    switch (kind) {
    case 'a':
    case 'C':
        return an;
    case 'w':
        return all;
    case 'b':
    case 'S':
        return corpus_base64;
    case 'd':
        return "0123456789";
    case 'h':
        return "0123456789abcdef";
    case 'H':
        return "0123456789ABCDEF";
    case 'u':
        return "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    case 'k':
        return "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    case 'l':
        return "abcdefghijklmnopqrstuvwxyz0123456789";
    default:
        return NULL;
    }
}

static bool corpus_named(struct corpus *c, struct buf *b, struct slice what)
{
    struct buf inner = {0};
    if (slice_is(what, "jwt")) {
        corpus_jwt(c, b);
    } else if (slice_is(what, "uuid")) {
        corpus_uuid(c, b);
    } else if (slice_is(what, "basic")) {
        buf_adds(&inner, "bob:");
        corpus_draw(c, &inner, corpus_alphabet('w'), 14);
        corpus_encode(b, buf_slice(&inner), false);
    } else if (slice_begins(what, "pem:")) {
        corpus_pem(c, b, (struct slice){what.p + 4, what.n - 4}, "\n");
    } else if (slice_begins(what, "pemn:")) {
        corpus_pem(c, b, (struct slice){what.p + 5, what.n - 5}, "\\n");
    } else if (slice_begins(what, "pem64:")) {
        corpus_pem(c, &inner, (struct slice){what.p + 6, what.n - 6}, "\n");
        corpus_encode(b, buf_slice(&inner), false);
    } else {
        return false;
    }
    buf_close(&inner);
    return true;
}

/* Expands {…} at p. Returns the bytes read, or 0 for an unknown form. */
static size_t corpus_value(struct corpus *c, struct buf *b, const char *p)
{
    const char *end = strchr(p, '}');
    if (end == NULL || end - p < 3)
        return 0;
    struct slice what = {p + 1, (size_t)(end - p) - 1};
    if (corpus_named(c, b, what))
        return what.n + 2;
    const char *letters = corpus_alphabet(what.p[0]);
    char *stop;
    size_t n = strtoul(what.p + 1, &stop, 10);
    if (letters == NULL || stop != end || what.p[1] < '1' || what.p[1] > '9')
        return 0;
    if (what.p[0] == 'S') {
        buf_adds(b, "aB3");
        n -= 3;
    }
    corpus_draw(c, b, letters, n);
    if (what.p[0] == 'C')
        corpus_checksum(b, n);
    return what.n + 2;
}

static void corpus_expand(struct corpus *c, const char *p, struct buf *b)
{
    struct corpus_case *k = &c->now;
    while (*p != '\0') {
        size_t n = *p == '{' ? corpus_value(c, b, p) : 0;
        if (n > 0) {
            p += n;
        } else if (strncmp(p, "«", 2) == 0) {
            assert_true(k->marks < CORPUS_MARKS);
            k->mark[k->marks].from = b->n;
            p += 2;
        } else if (strncmp(p, "»", 2) == 0) {
            k->mark[k->marks].n = b->n - k->mark[k->marks].from;
            k->marks++;
            p += 2;
        } else if (*p == '\\' && (p[1] == 'n' || p[1] == '\\')) {
            buf_addc(b, p[1] == 'n' ? '\n' : '\\');
            p += 2;
        } else {
            buf_addc(b, *p++);
        }
    }
}

static void corpus_open(struct corpus *c, const char *name)
{
    *c = (struct corpus){.f = fopen(name, "r")};
    if (c->f == NULL)
        fail_msg("cannot open %s; run this test in the top folder of the repository", name);
}

static void corpus_close(struct corpus *c)
{
    free(c->now.text);
    fclose(c->f);
}

/* The next case; valid until the next call. */
static bool corpus_next(struct corpus *c, bool rules)
{
    static char line[CORPUS_LINE];
    struct buf b = {0};
    free(c->now.text);
    c->now = (struct corpus_case){0};
    do {
        if (fgets(line, sizeof line, c->f) == NULL)
            return false;
        c->line++;
        assert_non_null(strchr(line, '\n')); /* the whole line */
        line[strcspn(line, "\n")] = '\0';
    } while (line[0] == '\0' || strncmp(line, "# ", 2) == 0 || strcmp(line, "#") == 0);
    char *text = line;
    if (rules) {
        text = strchr(line, '\t');
        assert_non_null(text);
        *text++ = '\0';
        assert_true(strlen(line) < sizeof c->now.rule);
        strcpy(c->now.rule, line);
    }
    c->now.line = c->line;
    c->random.s = 0x9E3779B97F4A7C15u * (c->line + 1);
    corpus_expand(c, text, &b);
    c->now.n = b.n;
    c->now.text = unit_copy(buf_str(&b), b.n + 1);
    buf_close(&b);
    return true;
}

#endif
