/* pending.h - the requests of one peer that have no answer yet.
 *
 * Keys      ids and progress tokens, compared by rpc_id.h. Two pending requests may have the same
 *           id (a peer's mistake): the oldest is found first.
 * Owns      the entries; each is one block of memory with copies of everything that is needed when
 *           the request is closed. A cancelled request usually gets no answer (mcp-wire.md 5.2):
 *           the last PENDING_CANCELLED_MAX cancelled requests are kept in a list of their own.
 *           Finding a pending request never fails for lack of memory.
 * Errors    MI_EFULL with more than PENDING_MAX entries or PENDING_BYTES_MAX bytes; MI_EINVAL for
 *           an id longer than RPC_ID_MAX; MI_ENOMEM.
 * Lifetime  an entry is valid until pending_remove() or pending_close().
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_PENDING_H
#define MI_PROXY_SESSION_PENDING_H

#include "wire/mcp/protocol.h"
#include "wire/rpc_id.h"

#define PENDING_MAX 65536
#define PENDING_CANCELLED_MAX 1024
#define PENDING_BYTES_MAX ((size_t)32 << 20)
/* maximum bytes of a method or target that are kept for the log */
#define PENDING_TEXT_MAX 1024
/* maximum bytes of arguments that are kept for the log */
#define PENDING_ARGUMENTS_MAX 4096
/* maximum bytes of a request that is kept to be sent again */
#define PENDING_WHOLE_MAX ((size_t)64 << 10)

/* written_at of a request that is in no outbox, because it waits to be sent again */
#define PENDING_NOT_STAGED UINT64_MAX

/* State of a request that may be repeated after the end of a process that had read it
 * (resend.h). */
enum pending_resend {
    RESEND_NONE, /* no process has ended while this request was pending */
    /* a process has ended while the request was pending; the request waits to be sent again */
    RESEND_WAITS,
    RESEND_TRIED, /* the request was sent again */
};

enum pending_key { PENDING_ID, PENDING_TOKEN, PENDING_KEYS };

struct pending {
    /* Links in the hash bucket of the request's id, and in the bucket of its progress token. `prev`
     * of the first entry is the last entry. */
    struct {
        struct pending *next, *prev;
    } chain[PENDING_KEYS];
    struct pending *prev, *next; /* links in the list of open or cancelled requests, by age */
    uint64_t request_seq;
    uint64_t written_at; /* number of bytes sent to the process up to the request's last byte */
    int64_t t_us;        /* time of receipt, since the session's start */
    /* The next members, up to heap_at, are used by timers.h. The times are microseconds since the
     * session's start; started_us, first_started_us and due_us do not count pauses. */
    int64_t written_us;       /* time when the request's last byte was written; 0: not yet */
    int64_t started_us;       /* time when the timer was last started */
    int64_t timeout_us;       /* time limit of the request, in microseconds; 0: none */
    int64_t first_started_us; /* time when the timer was first started, for --max-timeout */
    int64_t due_us;           /* time that orders the heap; not later than the request's deadline */
    uint64_t server_messages; /* number of the server's messages before the request was written */
    size_t heap_at;           /* index in the heap plus 1; 0: not in the heap */
    size_t size;              /* bytes of the request */
    size_t cost;              /* bytes allocated for this entry */
    unsigned flags;           /* flags of the method (wire/mcp/method.h) */
    bool modern;              /* the request is of revision 2026-07-28 */
    /* the server may ask a user in a browser, so only --max-timeout limits the request */
    bool waits_for_user;
    bool cancelled; /* the request was cancelled or abandoned: a late answer is dropped */
    /* the interposer has answered, because of a deadline or a hung server: a late progress
     * notification is dropped */
    bool answered_by_proxy;
    bool was_read;     /* a server process that has ended had read the request */
    bool acknowledged; /* the client has got the acknowledgement of this subscription */
    /* this subscription was sent again, and the client must not get a second acknowledgement */
    bool resent;
    enum pending_resend resend;
    /* cancelled by $/cancelRequest of LSP (mcp-wire.md 7.5): an answer is forwarded */
    bool lsp_cancelled;
    bool process_gone;  /* the process that sent this request has exited: an answer is dropped */
    bool asks_for_task; /* the answer to the request names a task */
    bool repeats;       /* the call equals a call that may have run (repeats.h) */
    uint64_t call_key; /* key of a tool call, made by repeats_compute_call_key(); 0: not computed */
    /* All slices point to `data`. */
    struct rpc_id key;           /* the id in comparable form */
    struct rpc_id token;         /* the progress token; type 0: none */
    struct slice text;           /* the whole message; {NULL, 0}: too long to keep */
    struct slice id;             /* the request's id as the sender has written it */
    struct slice method, target; /* method and target as JSON strings without the quotes */
    struct slice arguments;      /* JSON of the arguments; {NULL, 0}: none */
    size_t arguments_n;          /* full size of the arguments; arguments.n is less if truncated */
    struct protocol_asked asked; /* what the rules of MCP require of the answer */
    char data[];
};

struct pending_list {
    struct pending *oldest, *newest;
    size_t count;
};

struct pending_table {
    /* owned; hash table: `buckets` chains of requests by id, then `buckets` chains by progress
     * token */
    struct pending **bucket;
    size_t buckets; /* number of chains by id: a power of two; 0 before the first pending_add() */
    size_t bytes;   /* bytes of all entries */
    struct pending_list open, cancelled;
    /* owned: buffers for the canonical form of an id and of a progress token */
    struct buf scratch[PENDING_KEYS];
};

void pending_open(struct pending_table *t);
void pending_close(struct pending_table *t);
/* Returns the id of a request to add, in the form in which ids are compared. Valid until the next
 * look-up or `pending_add()` in this table. */
struct rpc_id pending_make_id(struct pending_table *t, const struct rpc *request);
/* Adds a request. id: the result of pending_make_id(). The caller sets request_seq, t_us, size,
 * written_at and asked. */
MI_MUST int pending_add(struct pending_table *t, const struct rpc *request, const struct rpc_id *id,
                        struct pending **ret);
/* Returns true if a request with exactly this id is open. */
bool pending_has_open_request(const struct pending_table *t, const struct rpc_id *id);
/* Returns the oldest open request with this id, else the oldest cancelled one, else NULL.
 * *ret_type_changed: the request's id has the other JSON type, such as 7 for "7". */
struct pending *pending_find(struct pending_table *t, struct json_value id, bool *ret_type_changed);
/* Returns the oldest open request with this progress token, else the oldest cancelled one, else
 * NULL. */
struct pending *pending_find_token(struct pending_table *t, struct json_value token);
/* Returns true if another open request has the same progress token. */
bool pending_request_shares_token(const struct pending_table *t, const struct pending *p);
/* Moves the request to the list of cancelled requests, and removes the oldest request of that list
 * if there are too many. */
void pending_mark_cancelled(struct pending_table *t, struct pending *p);
void pending_remove(struct pending_table *t, struct pending *p);

#endif
