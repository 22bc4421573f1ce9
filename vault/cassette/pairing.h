/* pairing.h - finds the request that a message answers or cancels, by ids only.
 *
 * Rules     an answer belongs to an unanswered request of the other direction that has the same id.
 *           If there is none, it belongs to a request whose id has the same text but the other
 *           JSON type (mcp-wire.md 1.3). notifications/cancelled belongs to the pending request of
 *           the same direction whose id is in the params. A cancelled request still accepts one
 *           late answer.
 * Same id   of several requests with the same id, PAIRING_OLDEST takes the oldest that is not
 *           cancelled, or the oldest if all are cancelled, like the proxy
 *           (proxy/session/pending.h). PAIRING_NEWEST takes the newest, as docs/cassette.md
 *           requires for a line without `re`.
 * Owns      its table of requests: about 100 bytes per request.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_CASSETTE_PAIRING_H
#define MI_VAULT_CASSETTE_PAIRING_H

#include "base/buf.h"
#include "model/values.h"
#include "wire/rpc.h"

struct pairing_request {
    int64_t seq, t_us;
    enum row_action action;
    /* offsets of the texts in pairing.text; SIZE_MAX: the text is {NULL, 0} */
    size_t method_at, target_at;
    size_t method_n, target_n;
    /* range of pairing.text with direction and key of the id; key_n 0: the request has no id */
    size_t key_at, key_n;
    /* indexes of the next older and newer request in the chain; SIZE_MAX: none */
    size_t older, newer;
    bool answered, cancelled;
};

struct pairing {
    struct pairing_request *requests; /* owned; the requests, sorted by seq */
    size_t n, cap;
    size_t open_n; /* number of client requests that pairing_find_only_open_request() counts */
    size_t oldest; /* index in `requests`: all requests before this one are closed */
    struct pairing_chain {
        /* indexes of the chain's newest and oldest request; SIZE_MAX: none */
        size_t newest, oldest;
    } * chains; /* owned; hash table of the unanswered requests, by key */
    size_t chains_n;
    struct buf text; /* owned */
    struct buf key;  /* owned; scratch */
};

void pairing_close(struct pairing *p); /* accepts {0} */

enum pairing_rule { PAIRING_OLDEST, PAIRING_NEWEST };

/* *ret_request_seq: seq of the request that the message answers or cancels; 0: none. */
MI_MUST int pairing_find_request(struct pairing *p, enum pairing_rule rule, bool from_client,
                                 const struct rpc *m, int64_t *ret_request_seq);
/* Updates the table for a message. Adds a request or a batch to the table. For any other message,
 * marks the request with the seq request_seq as answered or cancelled. */
MI_MUST int pairing_add_message(struct pairing *p, bool from_client, const struct rpc *m,
                                int64_t seq, int64_t t_us, struct slice method, struct slice target,
                                enum row_action action, int64_t request_seq);
/* Returns the client's only open request; NULL if there is none, or several. */
const struct pairing_request *pairing_find_only_open_request(struct pairing *p);
/* Returns the request or batch with this seq; NULL if there is none. Valid until the table
 * changes. */
const struct pairing_request *pairing_find(const struct pairing *p, int64_t seq);
struct slice pairing_get_text(const struct pairing *p, size_t at, size_t n);

#endif
