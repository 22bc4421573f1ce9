/* query.h - reading what was recorded: sessions, their messages and events, and large bodies.
 *
 * Rules     the vault is never changed: the database is opened read-only, while proxies may write to it.
 *           (SQLite keeps two helper files beside it, -wal and -shm, where it may.)
 *           Rows are read in pages of about QUERY_PAGE_BYTES and handed out between two transactions,
 *           so a reader that stops at a pager never keeps a writer from checkpointing.
 * Owns      the connection; what the callbacks get is borrowed for the call.
 * Errors    MI_ESTORE with one sentence in query_error(); MI_ENOENT when something is not there.
 * Blocks    on the disk, and up to 2 s for a locked database. */
#ifndef MI_VAULT_QUERY_H
#define MI_VAULT_QUERY_H

#include "base/buf.h"

#define QUERY_PAGE_BYTES ((size_t)1 << 20)
#define QUERY_PAGE_ROWS 512
/* Messages that are looked at in one transaction, when none is handed out behind it. */
#define QUERY_PART 2000

struct query;

/* Text is {NULL, 0} where the column is NULL. */
struct query_session {
    int64_t id;
    struct slice uid, name, command, client_name, client_version, server_name, server_version;
    struct slice protocol_version, end_reason, host, record_level, interposer_version;
    struct slice redact_rules; /* JSON: what redact_open_rules() takes */
    int64_t started_at_us;
    int64_t ended_at_us; /* 0: NULL */
    bool has_exit_status;
    int64_t exit_status;
    int64_t pid;
    size_t uid_unique; /* characters of uid that no other session begins with */
};

/* Every text of the row, in the order of the columns: for who copies one. */
#define QUERY_SESSION_TEXTS 13
void query_session_texts(struct query_session *s, struct slice *ret[QUERY_SESSION_TEXTS]);

struct query_message {
    int64_t seq, t_us;
    struct slice direction, origin, kind, action;
    struct slice rpc_id, method, target, body, finding;
    bool is_large; /* the body lies in VAULT/Bodies: body_offset, body_length */
    int64_t body_offset, body_length;
    int64_t size, redactions;
    int64_t request_seq, batch_seq; /* 0: NULL */
    bool has_error_code;
    int64_t error_code;
    /* Of the request that request_seq names, when it is there: */
    bool has_request;
    int64_t request_t_us;
    struct slice request_method, request_target, request_action;
};

struct query_event {
    int64_t id, t_us;
    struct slice kind, detail;
};

/* The client's requests of one session, with the statuses of the view `invocations`. */
struct query_summary {
    int64_t last_seq; /* 0: no messages */
    int64_t last_t_us;
    int64_t calls;
    bool tools_changed; /* the server had other tools than in the session before */
    bool unfinished;    /* a result of the server had no end for long */
    int64_t ok, tool_errors, errors, refused, cancelled, server_gone, timeouts, open;
    uint64_t *waiting; /* owned; bit seq: a request that has got no answer. NULL: not asked for */
    size_t waiting_n;  /* words */
};

/* How a request of the client ended, in the words of the view `invocations`. */
enum query_status {
    CALL_OK,
    CALL_TOOL_ERROR,
    CALL_ERROR,
    CALL_REFUSED,
    CALL_CANCELLED,
    CALL_SERVER_GONE,
    CALL_TIMEOUT,
    CALL_OPEN,
    CALL_STATUSES
};

/* A row of the view `invocations`. */
struct query_call {
    int64_t request_seq;
    struct slice method, target;
    enum query_status status;
    int64_t t_us;        /* of the request */
    int64_t duration_us; /* -1: open */
    int64_t request_size, response_size;
};

/* A callback says false to end the reading. */
typedef bool (*query_session_fn)(void *ctx, const struct query_session *s);
typedef bool (*query_message_fn)(void *ctx, const struct query_message *m);
typedef bool (*query_event_fn)(void *ctx, const struct query_event *e);
typedef bool (*query_call_fn)(void *ctx, const struct query_call *c);

/* 0, MI_ENOENT (nothing was ever recorded there), MI_ESTORE or MI_ENOMEM, with a sentence in error. */
MI_MUST int query_open(struct query **ret, const char *vault, struct buf *error);
void query_close(struct query *q); /* NULL is fine */
const char *query_error(struct query *q);
const char *query_vault(const struct query *q); /* absolute path */

/* Newest first, at most `limit`; 0: all of them. */
MI_MUST int query_sessions(struct query *q, int64_t limit, query_session_fn fn, void *ctx);
/* The id or the beginning of the uid (any case) of a session; NULL: the newest that has a message, else
 * the newest. *ret is good until the next call. MI_ENOENT and MI_EINVAL (several) leave a sentence. */
MI_MUST int query_session(struct query *q, const char *ref, struct query_session *ret);
/* With `waiting`, query_summary_waits() can be asked; query_summary_close() frees what that takes. */
MI_MUST int query_summary(struct query *q, int64_t session_id, bool waiting,
                          struct query_summary *ret);
void query_summary_close(struct query_summary *s);
bool query_summary_waits(const struct query_summary *s, int64_t seq);

/* The client's requests of one session, in the order of their ends; those that are open come last. It takes
 * a pass over the session, where the view takes one over all of the table. */
MI_MUST int query_calls(struct query *q, int64_t session_id, query_call_fn fn, void *ctx);
const char *query_status_name(enum query_status status); /* "ok", "tool-error", ... */

/* Messages with from <= seq <= to, in order. With on_event, the session's events stand between them
 * where they happened. */
MI_MUST int query_timeline(struct query *q, int64_t session_id, int64_t from, int64_t to,
                           query_message_fn on_message, query_event_fn on_event, void *ctx);

/* Messages of a session in order, without a copy: good for the call alone, which is made within a transaction.
 * Of their fields there are, with query_bodies(): seq, kind and the body, of at most `max` messages behind
 * `after`; with query_facts(), of messages of this kind or, with NULL, of any: seq, t_us, kind, origin, action,
 * method, target, finding and those of the request. */
MI_MUST int query_bodies(struct query *q, int64_t session_id, int64_t after, int64_t max,
                         query_message_fn fn, void *ctx);
MI_MUST int query_facts(struct query *q, int64_t session_id, const char *kind, query_message_fn fn,
                        void *ctx);

/* For a reader that waits for more. The version changes when another connection has changed the
 * database; the end is 0 while there is none. */
MI_MUST int query_version(struct query *q, int64_t *ret);
MI_MUST int query_newest(struct query *q, int64_t *ret_id); /* 0: there is no session */
MI_MUST int query_end(struct query *q, int64_t session_id, int64_t *ret_ended_at_us);
/* The last message and the last event there are; 0: none. */
MI_MUST int query_last(struct query *q, int64_t session_id, int64_t *ret_seq, int64_t *ret_event);
/* The next page of messages behind *seq and of events behind *event, which move. */
MI_MUST int query_more(struct query *q, int64_t session_id, int64_t *seq, int64_t *event,
                       query_message_fn on_message, query_event_fn on_event, void *ctx);

/* The first `max` bytes of a large body are appended to b. MI_EIO with a sentence in query_error(): the
 * file is missing, too short or no plain file. */
MI_MUST int query_body(struct query *q, struct slice uid, const struct query_message *m, size_t max,
                       struct buf *b);

#endif
