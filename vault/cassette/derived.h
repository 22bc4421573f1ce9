/* derived.h - derives values from the body of a message, so that a line of a cassette need not
 * repeat them. */
#ifndef MI_VAULT_CASSETTE_DERIVED_H
#define MI_VAULT_CASSETTE_DERIVED_H

#include "vault/query/reader.h"
#include "wire/rpc.h"

#define CASSETTE_NAME_MAX 4096 /* longest stored method, target or id, in bytes, as in the vault */

/* The derived values. Texts point into the body or the scratch buffer. */
struct cassette_derived {
    struct {
        MESSAGE_FIELDS(FIELD_MEMBER)
    };
    /* the parsed body; RPC_INVALID: the body is not a message, and the kind is KIND_NOISE */
    struct rpc rpc;
};

/* Derives the values of a body. Returns 0 or MI_ENOMEM. Clears scratch. */
MI_MUST int cassette_derive_message_values(struct slice body, bool is_stderr, struct buf *scratch,
                                           struct cassette_derived *ret);

/* Sets d->rpc of a message without a body, from the message's kind and id. */
void cassette_derive_from_row(const struct query_message *m, struct cassette_derived *d);

#endif
