#include "base/keyed_hash.h"

#include <endian.h>

struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t sip_rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_rounds(struct sip *s, int n)
{
    while (n-- > 0) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = sip_rotate(s->v1, 13) ^ s->v0;
        s->v3 = sip_rotate(s->v3, 16) ^ s->v2;
        s->v0 = sip_rotate(s->v0, 32);
        s->v2 += s->v1;
        s->v0 += s->v3;
        s->v1 = sip_rotate(s->v1, 17) ^ s->v2;
        s->v3 = sip_rotate(s->v3, 21) ^ s->v0;
        s->v2 = sip_rotate(s->v2, 32);
    }
}

/* At most 8 bytes, the first one lowest. */
static uint64_t sip_word(const char *p, size_t n)
{
    uint64_t w = 0;
    memcpy(&w, p, n);
    return le64toh(w);
}

static void sip_add(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    sip_rounds(s, 2);
    s->v0 ^= word;
}

uint64_t keyed_hash(const struct hash_key *key, struct slice bytes)
{
    struct sip s = {key->k0 ^ 0x736f6d6570736575, key->k1 ^ 0x646f72616e646f6d,
                    key->k0 ^ 0x6c7967656e657261, key->k1 ^ 0x7465646279746573};
    size_t at = 0;
    for (; bytes.n - at >= 8; at += 8)
        sip_add(&s, sip_word(bytes.p + at, 8));
    sip_add(&s, (uint64_t)bytes.n << 56 | sip_word(bytes.p + at, bytes.n - at));
    s.v2 ^= 0xff;
    sip_rounds(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}
