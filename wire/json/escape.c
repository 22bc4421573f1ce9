#include "wire/json/escape.h"

#include "base/text.h"

static unsigned escape_read_4_hex_digits(const char *p)
{
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        unsigned d = c <= '9' ? (unsigned)(c - '0') : ((unsigned)c | 0x20u) - 'a' + 10u;
        v = v << 4 | d;
    }
    return v;
}

size_t json_decode_char(const char **p, const char *end, char *ret)
{
    const char *s = *p;
    if (*s != '\\') {
        *ret = *s;
        *p = s + 1;
        return 1;
    }
    static const char plain[256] = {['b'] = '\b', ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r',
                                    ['t'] = '\t', ['"'] = '"',  ['\\'] = '\\', ['/'] = '/'};
    if (s[1] != 'u') {
        *ret = plain[(unsigned char)s[1]];
        *p = s + 2;
        return 1;
    }
    uint32_t c = escape_read_4_hex_digits(s + 2);
    *p = s + 6;
    if (c >= 0xD800 && c < 0xDC00 && end - s >= 12 && s[6] == '\\' && s[7] == 'u') {
        uint32_t low = escape_read_4_hex_digits(s + 8);
        if (low >= 0xDC00 && low < 0xE000) {
            c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
            *p = s + 12;
        }
    }
    if (c >= 0xD800 && c < 0xE000)
        c = 0xFFFD;
    return text_put_utf8_char(c, ret);
}

int json_unescape_to(struct slice raw, char *ret, size_t max, size_t *ret_n)
{
    const char *p = raw.p;
    const char *end = raw.p + raw.n;
    size_t n = 0;
    while (p < end) {
        char c[JSON_CHAR_MAX];
        size_t len = json_decode_char(&p, end, c);
        if (len > max - n)
            return MI_EFULL;
        memcpy(ret + n, c, len);
        n += len;
    }
    *ret_n = n;
    return 0;
}
