/* recheck.h - the rules of MCP, held against what was recorded.
 *
 * A recording knows the findings of its time; this says what the rules of today find in it, those of tools and
 * their schemas among them. Messages are given in order. What the peers did not say, or has no body, is left out;
 * of what was refused, only the arguments of a call are looked at.
 *
 * Owns      what the rules need to know of the newest RECHECK_OPEN_MAX requests that have no answer yet, and the
 *           list of tools.
 * Errors    MI_ENOMEM: the message is as if it had not been there.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_RECHECK_H
#define MI_VAULT_RECHECK_H

#include "vault/query.h"
#include "wire/protocol.h"
#include "wire/tools.h"

#define RECHECK_OPEN_MAX 4096

struct recheck_request {
    int64_t seq;
    uint64_t id, token; /* hashes; 0: none */
    bool from_client;
    bool given_up;   /* cancelled, or answered by the interposer */
    struct buf tool; /* owned; the name of a tool that is called, as it stands between the quotes */
    struct protocol_asked asked;
};

struct recheck {
    struct protocol protocol;
    struct tools tools;
    struct schema_fault fault; /* owned; how the last message does not fit its tool's schema */
    struct recheck_request *request; /* owned; by seq */
    size_t n, cap;
};

void recheck_open(struct recheck *r);
void recheck_close(struct recheck *r);
/* The body is the whole one; {NULL, 0}: it is not to be had. */
MI_MUST int recheck_message(struct recheck *r, const struct query_message *m, struct slice body,
                            breaches *ret);
/* What more is known of a rule that the last message breaks: "`name`", "/a must be a number". Or nothing. */
void recheck_why(const struct recheck *r, enum rule broken, struct buf *b);

#endif
