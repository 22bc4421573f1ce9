/* digest.h - SHA-256 (FIPS 180-4), and 32 bytes as text.
 *
 * Nettle uses the processor's instructions for SHA-256 where it has them.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_DIGEST_H
#define MI_EVIDENCE_DIGEST_H

#include "base/base.h"

#include <nettle/sha2.h>

#define DIGEST_N 32
#define DIGEST_HEX (2 * DIGEST_N)

struct digest {
    uint8_t b[DIGEST_N];
};

struct digest_sum {
    struct sha256_ctx h;
};

void digest_begin(struct digest_sum *s);
void digest_add(struct digest_sum *s, const void *p, size_t n);
void digest_end(struct digest_sum *s, struct digest *ret);

struct digest digest_of_text(struct slice s);

static inline bool digest_eq(const struct digest *a, const struct digest *b)
{
    return memcmp(a->b, b->b, DIGEST_N) == 0;
}

/* Writes the digest in hexadecimal: DIGEST_HEX characters in lower case, and a NUL. */
void digest_hex(const struct digest *d, char ret[DIGEST_HEX + 1]);
/* Reads exactly DIGEST_HEX digits in lower case. Returns false for any other text. */
MI_MUST bool digest_read_hex(struct slice text, struct digest *ret);

#endif
