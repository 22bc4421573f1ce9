/* pending.h - the requests of one peer that have no answer yet.
 *
 * Keys      the id as rpc_id.h makes it comparable; an id may be open twice (a peer's mistake): the
 *           oldest is found first.
 * Owns      the entries, each one block of memory with copies of what will be needed when it ends.
 *           A cancelled request usually has no answer (mcp-wire.md 5.2): of those the last
 *           PENDING_CANCELLED_MAX are remembered, apart from the open ones.
 *           What is open is found without memory.
 * Errors    MI_EFULL past PENDING_MAX entries or PENDING_BYTES_MAX bytes; MI_EINVAL for an id
 *           over RPC_ID_MAX; MI_ENOMEM.
 * Lifetime  an entry is good until pending_remove() or pending_close().
 * Blocks    never. Pure. */
#ifndef MI_PROXY_PENDING_H
#define MI_PROXY_PENDING_H

#include "wire/protocol.h"

#define PENDING_MAX 65536
#define PENDING_CANCELLED_MAX 1024
#define PENDING_BYTES_MAX ((size_t)32 << 20)
#define PENDING_TEXT_MAX 1024      /* of a method or target kept for the log */
#define PENDING_ARGUMENTS_MAX 4096 /* of arguments kept for the log */
/* Bytes of a request that is kept whole, so that it can be sent again. */
#define PENDING_WHOLE_MAX ((size_t)64 << 10)

#define PENDING_NOWHERE UINT64_MAX /* written_at of what stands in no outbox, to be sent again */

struct pending {
    struct pending *chain;       /* next in the hash bucket */
    struct pending *token_chain; /* next in the hash bucket of its progress token */
    struct pending *prev, *next; /* in its list, by age */
    uint64_t hash;
    uint64_t request_seq;
    uint64_t
        written_at; /* the outbox total after its last byte: past it, the server has the request */
    int64_t t_us;   /* since the session's start */
    /* Of timers.h: */
    int64_t written_us; /* when its last byte was written, as t_us; 0: not yet */
    int64_t began_us;   /* when its clock last began */
    int64_t allowed_us; /* its deadline; 0: never */
    int64_t first_us;   /* when its clock began the first time */
    int64_t due_us;     /* it is not over before: its key in the heap */
    uint64_t heard_at;  /* messages of the server before it was written */
    size_t heap_at;     /* its place in the heap, and one more; 0: not there */
    size_t size;        /* bytes of the request */
    size_t cost;        /* bytes of this block */
    unsigned flags;     /* of its method (wire/method.h) */
    bool modern;        /* a request of 2026-07-28 */
    bool patient;       /* somebody may be asked in a browser: only --max-timeout counts */
    bool
        cancelled; /* by its sender, or given up by us: an answer may still come, and goes nowhere */
    bool timed_out;     /* it was given up because its deadline had passed */
    bool sent_again;    /* to a new process of the server */
    bool called_off;    /* as LSP has it (mcp-wire.md 7.5): its answer is waited for */
    bool dead;          /* a request of a process that is gone: an answer is not for the new one */
    struct slice key;   /* in this block, like the rest */
    struct slice token; /* key of its progress token; {NULL, 0}: none */
    struct slice text;  /* the whole message; {NULL, 0}: it was too long to keep */
    struct slice id;    /* as written */
    struct slice method, target; /* between the quotes, escapes as written */
    struct slice arguments;      /* JSON; {NULL, 0}: none */
    size_t arguments_n; /* bytes they had; more than arguments.n: only their head is here */
    /* For the rules about its answer: */
    struct protocol_asked asked;
    char data[];
};

struct pending_list {
    struct pending *oldest, *newest;
    size_t count;
};

struct pending_table {
    struct pending **bucket; /* owned; twice `buckets`: by id, then by progress token */
    size_t buckets;          /* a power of two; 0 before the first add */
    size_t bytes;            /* of all entries */
    struct pending_list open, cancelled;
    struct buf scratch; /* owned: for keys that are looked up */
};

void pending_open(struct pending_table *t);
void pending_close(struct pending_table *t);
/* request_seq, t_us and written_at are the caller's to fill in. */
MI_MUST int pending_add(struct pending_table *t, const struct rpc *request, struct pending **ret);
/* The oldest request with this id that is open, else the oldest that was cancelled; NULL: none.
 * *ret_type_changed: found only under the other JSON type. */
struct pending *pending_find(struct pending_table *t, struct json_value id, bool *ret_type_changed);
/* The oldest request with this progress token, open or cancelled; NULL: none. */
struct pending *pending_find_token(struct pending_table *t, struct json_value token);
/* Has another request that is open the same progress token? */
bool pending_shares_token(const struct pending_table *t, const struct pending *p);
/* Nobody waits for the answer any more. May remove the oldest entry that was cancelled before. */
void pending_cancel(struct pending_table *t, struct pending *p);
void pending_remove(struct pending_table *t, struct pending *p);

#endif
