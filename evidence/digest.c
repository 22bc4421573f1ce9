#include "evidence/digest.h"

#include "base/chars.h"

#include <nettle/version.h>

void digest_begin(struct digest_sum *s)
{
    sha256_init(&s->h);
}

void digest_add(struct digest_sum *s, const void *p, size_t n)
{
    if (n > 0)
        sha256_update(&s->h, n, p);
}

void digest_end(struct digest_sum *s, struct digest *ret)
{
#if NETTLE_VERSION_MAJOR >= 4
    sha256_digest(&s->h, ret->b);
#else
    sha256_digest(&s->h, DIGEST_N, ret->b);
#endif
}

struct digest digest_of_text(struct slice text)
{
    struct digest_sum s;
    struct digest d;
    digest_begin(&s);
    digest_add(&s, text.p, text.n);
    digest_end(&s, &d);
    return d;
}

void digest_hex(const struct digest *d, char ret[DIGEST_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < DIGEST_N; i++) {
        ret[2 * i] = digits[d->b[i] >> 4];
        ret[2 * i + 1] = digits[d->b[i] & 15];
    }
    ret[DIGEST_HEX] = '\0';
}

bool digest_read_hex(struct slice text, struct digest *ret)
{
    struct digest d;
    if (text.n != DIGEST_HEX)
        return false;
    for (size_t i = 0; i < DIGEST_N; i++) {
        int high = char_hex_lower_value(text.p[2 * i]),
            low = char_hex_lower_value(text.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        d.b[i] = (uint8_t)(high << 4 | low);
    }
    *ret = d;
    return true;
}
