#include "base/keyed_hash.h"

#include <endian.h>

/* State of SipHash. */
struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t sip_rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void run_sip_rounds(struct sip *s, int n)
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

/* Reads at most 8 bytes as a little-endian number. */
static uint64_t read_little_endian(const char *p, size_t n)
{
    uint64_t w = 0;
    memcpy(&w, p, n);
    return le64toh(w);
}

static void sip_add(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    run_sip_rounds(s, 2);
    s->v0 ^= word;
}

uint64_t keyed_hash(const struct hash_key *key, struct slice bytes)
{
    struct sip s = {key->k0 ^ 0x736f6d6570736575, key->k1 ^ 0x646f72616e646f6d,
                    key->k0 ^ 0x6c7967656e657261, key->k1 ^ 0x7465646279746573};
    size_t at = 0;
    for (; bytes.n - at >= 8; at += 8)
        sip_add(&s, read_little_endian(bytes.p + at, 8));
    sip_add(&s, (uint64_t)bytes.n << 56 | read_little_endian(bytes.p + at, bytes.n - at));
    s.v2 ^= 0xff;
    run_sip_rounds(&s, 4);
    return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

/* Multiplies to 128 bits, and returns the exclusive or of the upper and the lower 64 bits. */
static uint64_t multiply_and_fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 m = (unsigned __int128)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

/* Constants of wyhash; with these constants, a key of zeros is as good as any other key. */
#define MIX_0 0xa0761d6478bd642fu
#define MIX_1 0xe7037ed1a0b428dbu
#define MIX_2 0x8ebc6af09c88c6e3u

uint64_t keyed_hash_pair(const struct hash_key *key, uint64_t a, uint64_t b)
{
    return multiply_and_fold(a ^ key->k0 ^ MIX_0, multiply_and_fold(b ^ key->k1 ^ MIX_1, MIX_2));
}

uint64_t keyed_mix_bytes(const struct hash_key *key, uint64_t before, struct slice bytes)
{
    uint64_t k0 = key->k0 ^ MIX_0, k1 = key->k1 ^ MIX_1;
    uint64_t h = keyed_hash_pair(key, before, bytes.n), a = 0, b = 0;
    for (; bytes.n > 16; bytes.p += 16, bytes.n -= 16)
        h = multiply_and_fold(read_little_endian(bytes.p, 8) ^ k0,
                              read_little_endian(bytes.p + 8, 8) ^ h);
    if (bytes.n >= 8) { /* the first 8 bytes and the last 8 bytes may overlap */
        a = read_little_endian(bytes.p, 8);
        b = read_little_endian(bytes.p + bytes.n - 8, 8);
    } else if (bytes.n > 0) {
        a = read_little_endian(bytes.p, bytes.n);
    }
    return multiply_and_fold(a ^ k1, b ^ h);
}
