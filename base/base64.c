#include "base/base64.h"

#include "base/chars.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

int base64_decode(struct buf *b, struct slice text)
{
    uint32_t bits = 0;
    unsigned have = 0; /* number of digits in `bits` */
    size_t i = 0;
    if (!buf_reserve(b, text.n / 4 * 3 + 3))
        return MI_ENOMEM;
    for (; i < text.n && text.p[i] != '='; i++) {
        int v = base64_digit(text.p[i]);
        if (v < 0 && !char_is_space(text.p[i]))
            return MI_EINVAL;
        if (v < 0)
            continue;
        bits = bits << 6 | (uint32_t)v;
        if (++have == 4) {
            const char three[] = {(char)(bits >> 16), (char)(bits >> 8), (char)bits};
            buf_add(b, three, 3);
            have = 0;
            bits = 0;
        }
    }
    for (; i < text.n; i++)
        if (text.p[i] != '=' && !char_is_space(text.p[i]))
            return MI_EINVAL;
    if (have == 1)
        return MI_EINVAL;
    const char two[] = {(char)(have == 2 ? bits >> 4 : bits >> 10), (char)(bits >> 2)};
    if (have > 1)
        buf_add(b, two, have - 1);
    return b->failed ? MI_ENOMEM : 0;
}

/* ---- strict decoding ------------------------------------------------------------------------ */

static int standard_base64_digit(char c)
{
    return c == '-' || c == '_' ? -1 : base64_digit(c);
}

ptrdiff_t base64_decoded_size(struct slice text)
{
    size_t padding = 0;
    if (text.n == 0 || text.n % 4 != 0)
        return text.n == 0 ? 0 : -1;
    while (padding < 2 && text.p[text.n - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < text.n - padding; i++)
        if (standard_base64_digit(text.p[i]) < 0)
            return -1;
    /* The unused bits of the last digit must be 0. */
    int unused = padding == 2 ? 15 : padding == 1 ? 3 : 0;
    if ((standard_base64_digit(text.p[text.n - 1 - padding]) & unused) != 0)
        return -1;
    return (ptrdiff_t)(text.n / 4 * 3 - padding);
}

bool base64_read(struct slice text, void *ret, size_t n)
{
    uint8_t *to = ret;
    uint32_t bits = 0;
    if (base64_decoded_size(text) != (ptrdiff_t)n)
        return false;
    for (size_t i = 0, at = 0; at < n; i++) {
        bits = bits << 6 | (uint32_t)standard_base64_digit(text.p[i]);
        unsigned have = 6 * (unsigned)((i & 3) + 1) % 8; /* bits that do not fill a byte yet */
        if ((i & 3) != 0)
            to[at++] = (uint8_t)(bits >> have);
    }
    return true;
}

void base64_encode(struct buf *b, const void *p, size_t n)
{
    const uint8_t *from = p;
    for (size_t i = 0; i < n; i += 3) {
        size_t k = size_min(n - i, 3);
        uint32_t bits = (uint32_t)from[i] << 16;
        bits |= k > 1 ? (uint32_t)from[i + 1] << 8 : 0;
        bits |= k > 2 ? from[i + 2] : 0;
        const char four[] = {digits[bits >> 18], digits[bits >> 12 & 63],
                             k > 1 ? digits[bits >> 6 & 63] : '=', k > 2 ? digits[bits & 63] : '='};
        buf_add(b, four, 4);
    }
}
