/* pairing.h - which request a message belongs to, worked out from ids alone, as the proxy does it.
 *
 * Rules     an answer belongs to the newest request of the other direction that has its id and no answer
 *           yet; the id with the other JSON type will do when there is none (mcp-wire.md 1.3).
 *           notifications/cancelled belongs to the open request of its own direction that it names;
 *           one that is cancelled is still waited for once, by an answer that comes too late.
 * Owns      what it noted: some 100 bytes a request.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_PAIRING_H
#define MI_VAULT_PAIRING_H

#include "base/buf.h"
#include "wire/rpc.h"

struct pairing_request {
    int64_t seq, t_us;
    size_t method_at, target_at, action_at; /* in pairing.text; SIZE_MAX: {NULL, 0} */
    size_t method_n, target_n, action_n;
    size_t key_at, key_n; /* in pairing.text: direction and key of the id; n 0: it has none */
    size_t next;          /* older request in the same chain; SIZE_MAX: none */
    bool answered, cancelled;
};

struct pairing {
    struct pairing_request *requests; /* owned; seq ascends */
    size_t n, cap;
    size_t *heads; /* owned; heads_n chains, newest first */
    size_t heads_n;
    struct buf text; /* owned */
    struct buf key;  /* owned; scratch */
};

void pairing_close(struct pairing *p); /* also of one that is all zero */

/* Looks a message up: the seq of the request that it answers or cancels, or 0. Says nothing of requests. */
MI_MUST int pairing_look(struct pairing *p, bool from_client, const struct rpc *m,
                         int64_t *ret_request_seq);
/* Notes it: a request or a batch is kept, an answer or a cancellation of request_seq closes that. */
MI_MUST int pairing_note(struct pairing *p, bool from_client, const struct rpc *m, int64_t seq,
                         int64_t t_us, struct slice method, struct slice target,
                         struct slice action, int64_t request_seq);
/* The request, or the batch, with this seq. NULL: there is none. Good until the next call. */
const struct pairing_request *pairing_find(const struct pairing *p, int64_t seq);
struct slice pairing_text(const struct pairing *p, size_t at, size_t n);

#endif
