#include "evidence/key.h"

#include "base/base64.h"
#include "base/chars.h"
#include "evidence/digest.h"

#include <sodium.h>

#define TYPE_ED25519 1
#define BEFORE_SECRET "PRIVATE+KEY+"

_Static_assert(KEY_N == crypto_sign_PUBLICKEYBYTES && KEY_N == crypto_sign_SEEDBYTES &&
                   2 * KEY_N == crypto_sign_SECRETKEYBYTES && SIGNATURE_N == crypto_sign_BYTES,
               "these are the sizes of libsodium");

bool key_name_is_valid(struct slice name)
{
    if (name.n == 0 || name.n > KEY_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] <= ' ' || name.p[i] > '~' || name.p[i] == '+')
            return false;
    return true;
}

void key_erase_memory(void *p, size_t n)
{
    sodium_memzero(p, n);
}

void key_erase(struct secret_key *k)
{
    key_erase_memory(k, sizeof *k);
}

/* Sets the name, which must be valid, and the hash of name and key. */
static void key_set_name(struct public_key *k, struct slice name)
{
    struct digest_sum s;
    struct digest d;
    memcpy(k->name, name.p, name.n);
    k->name[name.n] = '\0';
    digest_begin(&s);
    digest_add(&s, name.p, name.n);
    digest_add(&s, (const uint8_t[]){'\n', TYPE_ED25519}, 2);
    digest_add(&s, k->b, KEY_N);
    digest_end(&s, &d);
    memcpy(k->hash, d.b, KEY_HASH_N);
}

static int key_make_from_seed(struct secret_key *k, struct slice name, const uint8_t seed[KEY_N])
{
    if (sodium_init() < 0 || crypto_sign_seed_keypair(k->public.b, k->b, seed) != 0)
        return MI_EIO;
    key_set_name(&k->public, name);
    return 0;
}

int key_make(struct slice name, struct secret_key *ret)
{
    uint8_t seed[KEY_N];
    if (sodium_init() < 0)
        return MI_EIO;
    randombytes_buf(seed, sizeof seed);
    int st = key_make_from_seed(ret, name, seed);
    key_erase_memory(seed, sizeof seed);
    return st;
}

/* ---- text ----------------------------------------------------------------------------------- */

struct parts {
    struct slice name;
    uint8_t hash[KEY_HASH_N];
    uint8_t typed[1 + KEY_N]; /* the byte of the key's type, then the public key or the seed */
};

/* Splits `name+hash+base64` at the first two `+`: base64 may also contain this character. */
static bool evidence_key_split_text(struct slice text, struct parts *ret)
{
    const char *plus = text.n > 0 ? memchr(text.p, '+', text.n) : NULL;
    if (plus == NULL)
        return false;
    ret->name = (struct slice){text.p, (size_t)(plus - text.p)};
    struct slice rest = {plus + 1, text.n - ret->name.n - 1};
    if (!key_name_is_valid(ret->name) || rest.n < 2 * KEY_HASH_N + 1 ||
        rest.p[2 * KEY_HASH_N] != '+')
        return false;
    for (size_t i = 0; i < KEY_HASH_N; i++) {
        int high = char_hex_lower_value(rest.p[2 * i]),
            low = char_hex_lower_value(rest.p[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        ret->hash[i] = (uint8_t)(high << 4 | low);
    }
    rest.p += 2 * KEY_HASH_N + 1;
    rest.n -= 2 * KEY_HASH_N + 1;
    return base64_read(rest, ret->typed, sizeof ret->typed) && ret->typed[0] == TYPE_ED25519;
}

static void evidence_key_append_text(struct buf *b, const struct public_key *k,
                                     const uint8_t key[KEY_N])
{
    uint8_t typed[1 + KEY_N] = {TYPE_ED25519};
    memcpy(typed + 1, key, KEY_N);
    buf_printf(b, "%s+", k->name);
    for (size_t i = 0; i < KEY_HASH_N; i++)
        buf_printf(b, "%02x", k->hash[i]);
    buf_addc(b, '+');
    base64_encode(b, typed, sizeof typed);
    key_erase_memory(typed, sizeof typed);
}

int key_read_public(struct slice text, struct public_key *ret)
{
    struct parts p;
    struct public_key k;
    if (!evidence_key_split_text(text, &p))
        return MI_EINVAL;
    memcpy(k.b, p.typed + 1, KEY_N);
    key_set_name(&k, p.name);
    if (memcmp(k.hash, p.hash, KEY_HASH_N) != 0)
        return MI_EINVAL;
    *ret = k;
    return 0;
}

void key_write_public(struct buf *b, const struct public_key *k)
{
    evidence_key_append_text(b, k, k->b);
}

int key_read_secret(struct slice text, struct secret_key *ret)
{
    struct parts p;
    struct secret_key k;
    size_t before = strlen(BEFORE_SECRET);
    if (!slice_begins(text, BEFORE_SECRET))
        return MI_EINVAL;
    int st = evidence_key_split_text((struct slice){text.p + before, text.n - before}, &p)
                 ? key_make_from_seed(&k, p.name, p.typed + 1)
                 : MI_EINVAL;
    if (st == 0 && memcmp(k.public.hash, p.hash, KEY_HASH_N) != 0)
        st = MI_EINVAL;
    if (st == 0)
        *ret = k;
    key_erase(&k);
    key_erase_memory(&p, sizeof p);
    return st;
}

void key_write_secret(struct buf *b, const struct secret_key *k)
{
    buf_adds(b, BEFORE_SECRET);
    evidence_key_append_text(b, &k->public, k->b);
}

bool key_eq(const struct public_key *a, const struct public_key *b)
{
    return strcmp(a->name, b->name) == 0 && memcmp(a->b, b->b, KEY_N) == 0;
}

/* ---- signatures ----------------------------------------------------------------------------- */

int key_sign(const struct secret_key *k, struct slice text, uint8_t ret[SIGNATURE_N])
{
    if (sodium_init() < 0 ||
        crypto_sign_detached(ret, NULL, (const uint8_t *)text.p, text.n, k->b) != 0)
        return MI_EIO;
    return 0;
}

bool key_verify_signature(const struct public_key *k, struct slice text,
                          const uint8_t signature[SIGNATURE_N])
{
    return crypto_sign_verify_detached(signature, (const uint8_t *)text.p, text.n, k->b) == 0;
}
