/* digest.h - a number that is the same for the same recording, and, with near certainty, for no other.
 *
 * Rules     FNV-1a, 64 bits, over what a file says of the session and of each message, in order; not the bytes of the
 *           file. It recognizes a recording that is imported again; it does not resist deliberate collisions.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_CASSETTE_DIGEST_H
#define MI_VAULT_CASSETTE_DIGEST_H

#include "vault/query/reader.h"

uint64_t digest_session(const struct query_session *s);
/* The digest of a recording up to this message, from the digest before it. */
uint64_t digest_message(uint64_t before, const struct query_message *m);

#endif
