/* key.h - Ed25519 keys (RFC 8032) in the text forms of C2SP signed notes (docs/evidence.md,
 * "Checkpoint", "Keys").
 *
 *     verifier key    name+hash+base64             public
 *     private key     PRIVATE+KEY+name+hash+base64
 *
 * Owns      nothing that is allocated. A struct secret_key must end with key_erase().
 * Errors    functions that read return MI_EINVAL if the text is not exactly such a key. Functions
 *           that make a key or sign return MI_EIO if libsodium cannot be used.
 * Blocks    key_make() until the system's random number generator is ready; other functions
 *           never. */
#ifndef MI_EVIDENCE_KEY_H
#define MI_EVIDENCE_KEY_H

#include "base/buf.h"

#define KEY_NAME_MAX 128 /* bytes */
#define KEY_N 32         /* size of a public key and of a seed, in bytes */
#define KEY_HASH_N 4
#define SIGNATURE_N 64

struct public_key {
    char name[KEY_NAME_MAX + 1];
    uint8_t hash[KEY_HASH_N]; /* hash of the name and the key */
    uint8_t b[KEY_N];
};

struct secret_key {
    struct public_key public;
    uint8_t b[2 * KEY_N]; /* the seed, then the public key */
};

/* Whether a name has 1 to KEY_NAME_MAX printable ASCII characters, without blanks and `+`. */
bool key_name_is_valid(struct slice name);

/* Makes a new key. name must pass key_name_is_valid(). */
MI_MUST int key_make(struct slice name, struct secret_key *ret);
void key_erase(struct secret_key *k);

MI_MUST int key_read_public(struct slice text, struct public_key *ret);
void key_write_public(struct buf *b, const struct public_key *k);
MI_MUST int key_read_secret(struct slice text, struct secret_key *ret);
/* Appends the private key. The caller must erase the buffer, because buf_close() does not. */
void key_write_secret(struct buf *b, const struct secret_key *k);

/* Whether the two keys have the same name and the same bytes. */
bool key_eq(const struct public_key *a, const struct public_key *b);

MI_MUST int key_sign(const struct secret_key *k, struct slice text, uint8_t ret[SIGNATURE_N]);
bool key_verify_signature(const struct public_key *k, struct slice text,
                          const uint8_t signature[SIGNATURE_N]);

/* Overwrites n bytes. The compiler cannot remove this call, even if the bytes are not read
 * again. */
void key_erase_memory(void *p, size_t n);

#endif
