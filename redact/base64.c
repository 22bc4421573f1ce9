/* base64.c - strings of base64: encoded text is searched for secrets, binary data is not. */
#include "redact/read.h"
#include "redact/walk.h"

#define BASE64_MIN 1024 /* shorter strings of base64 may be tokens, longer ones are encoded data */
/* number of bytes of base64 that are examined to tell text from binary data */
#define TEXT_LOOK 1024

/* The value of each digit, plus 1; 0: the byte is not a digit of base64. */
static const char base64[256] = {
    ['A'] = 1,  ['B'] = 2,  ['C'] = 3,  ['D'] = 4,  ['E'] = 5,  ['F'] = 6,  ['G'] = 7,  ['H'] = 8,
    ['I'] = 9,  ['J'] = 10, ['K'] = 11, ['L'] = 12, ['M'] = 13, ['N'] = 14, ['O'] = 15, ['P'] = 16,
    ['Q'] = 17, ['R'] = 18, ['S'] = 19, ['T'] = 20, ['U'] = 21, ['V'] = 22, ['W'] = 23, ['X'] = 24,
    ['Y'] = 25, ['Z'] = 26, ['a'] = 27, ['b'] = 28, ['c'] = 29, ['d'] = 30, ['e'] = 31, ['f'] = 32,
    ['g'] = 33, ['h'] = 34, ['i'] = 35, ['j'] = 36, ['k'] = 37, ['l'] = 38, ['m'] = 39, ['n'] = 40,
    ['o'] = 41, ['p'] = 42, ['q'] = 43, ['r'] = 44, ['s'] = 45, ['t'] = 46, ['u'] = 47, ['v'] = 48,
    ['w'] = 49, ['x'] = 50, ['y'] = 51, ['z'] = 52, ['0'] = 53, ['1'] = 54, ['2'] = 55, ['3'] = 56,
    ['4'] = 57, ['5'] = 58, ['6'] = 59, ['7'] = 60, ['8'] = 61, ['9'] = 62, ['+'] = 63, ['-'] = 63,
    ['/'] = 64, ['_'] = 64};

bool redact_is_long_base64(struct slice s)
{
    if (s.n < BASE64_MIN || slice_begins(s, "LS0tL"))
        return false;
    while (s.n > 0 && s.p[s.n - 1] == '=')
        s.n--;
    size_t i = 0;
    for (; i + 8 <= s.n; i += 8) {
        bool all = true;
        for (size_t k = 0; k < 8; k++)
            all &= base64[(unsigned char)s.p[i + k]] != 0;
        if (!all)
            return false;
    }
    for (; i < s.n; i++)
        if (base64[(unsigned char)s.p[i]] == 0)
            return false;
    return true;
}

static bool decode_base64(struct slice s, struct buf *b)
{
    unsigned held = 0, bits = 0;
    if (!buf_reserve(b, s.n / 4 * 3 + 3))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        unsigned v = (unsigned char)base64[(unsigned char)s.p[i]];
        if (v == 0 && s.p[i] != '=' && !char_is_space(s.p[i]))
            return false;
        if (v == 0)
            continue;
        held = held << 6 | (v - 1);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            b->p[b->n++] = (char)(held >> bits & 0xFF);
        }
    }
    return true;
}

static void encode_base64(struct slice s, bool url, bool padded, struct buf *b)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    for (size_t i = 0; i < s.n; i += 3) {
        size_t have = size_min(s.n - i, 3);
        uint32_t v = 0;
        for (size_t k = 0; k < 3; k++)
            v = v << 8 | (k < have ? (unsigned char)s.p[i + k] : 0);
        for (size_t k = 0; k < 4; k++) {
            unsigned d = v >> (18 - 6 * k) & 63;
            if (k > have && !padded)
                break;
            buf_addc(b, k > have ? '=' : d < 62 ? digits[d] : "+/-_"[(d & 1) + 2 * url]);
        }
    }
}

/* Whether c is a control character that text does not contain. Text may contain white space,
 * backspace, the end of a DOS file (0x1A) and the escape of colour codes (0x1B). Nearly every
 * binary format has such characters in its first bytes. */
static bool is_binary_byte(unsigned char c)
{
    return (c < 0x20 && !(c >= '\b' && c <= '\r') && c != 0x1A && c != 0x1B) || c == 0x7F;
}

bool redact_blob_is_text(struct slice raw)
{
    unsigned held = 0, bits = 0;
    size_t n = size_min(raw.n, TEXT_LOOK);
    for (size_t i = 0; i < n; i++) {
        char c = raw.p[i];
        if (c == '\\' && i + 1 < n)
            /* the escape \/, or the escape of the end of a line: \n, \r */
            c = raw.p[++i] == '/' ? '/' : '\n';
        unsigned v = (unsigned char)base64[(unsigned char)c];
        if (v == 0 && c != '=' && !char_is_space(c))
            return false;
        if (v == 0)
            continue;
        held = held << 6 | (v - 1);
        bits += 6;
        if (bits >= 8 && is_binary_byte((unsigned char)(held >> (bits -= 8) & 0xFF)))
            return false;
    }
    return raw.n >= 4;
}

bool redact_base64_text(struct redact *r, struct slice s, int level)
{
    struct buf bytes = {0}, clean = {0}, again = {0};
    size_t first = r->edit_n;
    if (!decode_base64(s, &bytes)) {
        r->failed |= bytes.failed;
        buf_close(&bytes);
        return false;
    }
    redact_plain_text(r, buf_slice(&bytes), level);
    if (r->edit_n > first) {
        edit_apply(r, first, buf_slice(&bytes), &clean);
        bool url = memchr(s.p, '-', s.n) != NULL || memchr(s.p, '_', s.n) != NULL;
        encode_base64(buf_slice(&clean), url, s.n % 4 == 0 || s.p[s.n - 1] == '=', &again);
        r->failed |= clean.failed || again.failed;
        r->edit_n = first;
        r->again = true;
        edit_add_replacement(r, 0, s.n, buf_slice(&again));
    }
    buf_close(&bytes);
    buf_close(&clean);
    buf_close(&again);
    return r->edit_n > first || s.n >= BASE64_MIN;
}
