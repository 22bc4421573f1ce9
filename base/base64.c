#include "base/base64.h"

static int digit(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

int base64_decode(struct buf *b, struct slice text)
{
    uint32_t bits = 0;
    unsigned have = 0; /* digits in bits */
    size_t i = 0;
    if (!buf_reserve(b, text.n / 4 * 3 + 3))
        return MI_ENOMEM;
    for (; i < text.n && text.p[i] != '='; i++) {
        int v = digit(text.p[i]);
        if (v < 0 && !is_blank(text.p[i]))
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
        if (text.p[i] != '=' && !is_blank(text.p[i]))
            return MI_EINVAL;
    if (have == 1)
        return MI_EINVAL;
    const char two[] = {(char)(have == 2 ? bits >> 4 : bits >> 10), (char)(bits >> 2)};
    if (have > 1)
        buf_add(b, two, have - 1);
    return b->failed ? MI_ENOMEM : 0;
}
