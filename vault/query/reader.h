/* reader.h - reads sessions, messages, events and large bodies from a vault, or from a store of
 * many vaults (query_open_store()).
 *
 * Rules     these functions do not change the vault, and add no file to it
 *           (vault/store/read_only.h). Proxies may write to the vault at the same time. Rows are
 *           copied in pages of about QUERY_PAGE_BYTES and passed on between transactions, so that a
 *           reader that waits, such as for a pager, never prevents a checkpoint. In a vault, a
 *           newer session has a higher id. In a store, ids of sessions are valid only as long as
 *           the query is open, and their order means nothing.
 * Owns      the connection. Arguments of a callback are borrowed for the call.
 * Errors    MI_ESTORE, with one sentence in query_error(); MI_ENOENT: not found.
 * Blocks    on the disk, and up to 2 s on a locked database; for a store, on the network. */
#ifndef MI_VAULT_QUERY_READER_H
#define MI_VAULT_QUERY_READER_H

#include "base/buf.h"
#include "journal/running.h"
#include "model/calls.h"
#include "vault/query/filter.h"

#define QUERY_PAGE_BYTES ((size_t)1 << 20)
#define QUERY_PAGE_ROWS 512
/* maximum number of messages that one transaction reads without copying them */
#define QUERY_PART 2000

/* The message for an empty vault; %s is the path of the vault. */
#define QUERY_NOTHING_YET                                                                          \
    "nothing is recorded in %s yet; begin with: mcp-interposer wrap, or: mcp-interposer proxy -- " \
    "SERVER"
/* The message for a store without sessions; %s is the URL of the store. */
#define QUERY_NOTHING_IN_STORE                                                                     \
    "%s has no session that this role may read and that --host and --user select; machines send "  \
    "theirs with: mcp-interposer ship to"

struct query;
struct remote_store; /* vault/remote/remote.h */

/* Whether the session has evidence (docs/evidence.md). */
enum query_evidence { EVIDENCE_NONE, EVIDENCE_OPEN, EVIDENCE_SEALED };

/* The fields of a session (model/records.h), and fields that a reader adds. */
struct query_session {
    struct {
        SESSION_FIELDS(FIELD_MEMBER)
    };
    int64_t id; /* identifies the session in the functions below */
    /* id of the session in its vault, for people; differs from `id` only in a store */
    int64_t number;
    enum query_evidence evidence;
    size_t uid_unique; /* length of the shortest prefix of uid that no other session has */
    /* messages of the session may have their own revision; set from query_messages_have_revisions()
     * or from the cassette's version */
    bool has_revisions;
};

/* Whether the session was added by `import`, not recorded. */
static inline bool query_session_is_imported(const struct query_session *s)
{
    return s->pid == 0;
}

/* The fields of a message. `rpc_id` and `body` may be any text. is_large: the body is in the
 * session's file in VAULT/Bodies, at body_offset. */
struct query_message {
    struct {
        MESSAGE_FIELDS(FIELD_MEMBER)
    };
    /* The request with seq request_seq. An answer answers it; a cancellation cancels it. */
    bool has_request; /* true: the request is recorded, and the following members are set */
    int64_t request_t_us;
    struct slice request_method, request_target;
    enum row_action request_action;
};

struct query_event {
    EVENT_FIELDS(FIELD_MEMBER)
};

/* Counts of the client's requests in one session, and signs of faults. */
struct query_summary {
    int64_t last_seq; /* seq of the last message; 0: the session has no messages */
    int64_t last_t_us;
    int64_t calls;
    int64_t by_status[CALL_UNKNOWN]; /* number of calls with each status */
    /* number of calls; a call made of several requests counts once */
    int64_t operations;
    int64_t ended_as[CALL_UNKNOWN]; /* number of operations with each status */
    int64_t person_us;              /* time that people took in all operations */
    bool tools_changed; /* true: the server's tools differ from those of the previous session */
    bool unfinished;    /* true: the server left a line unfinished for a long time */
    /* owned; bit N is set if request N is open; NULL: the caller did not ask for open requests */
    uint64_t *waiting;
    size_t waiting_n; /* number of words of 64 bits in `waiting` */
};

/* A row of the table `calls`: a request and its answer. */
struct query_call {
    struct {
        CALL_FIELDS(FIELD_MEMBER)
    };
    int64_t session_id, request_seq;
    struct slice server; /* name of the session's server */
    /* The following members describe the operation if the caller has requested operations
     * (model/operations.h), otherwise the call. */
    int64_t requests, asked, server_us, person_us;
    /* seq of the first request of the operation that this request continues; 0: none */
    int64_t operation_seq;
    int64_t started_at_us; /* start of the request */
};

/* A callback returns false to stop the reading. */
typedef bool (*query_session_fn)(void *ctx, const struct query_session *s);
typedef bool (*query_message_fn)(void *ctx, const struct query_message *m);
typedef bool (*query_event_fn)(void *ctx, const struct query_event *e);
typedef bool (*query_call_fn)(void *ctx, const struct query_call *c);

/* Which requests count as calls in a query. */
enum call_side {
    CALLS_OF_CLIENT, /* calls are the requests of the client, as people count calls */
    CALLS_OF_PEERS,  /* calls are the requests of the client and of the server */
    CALLS_OF_ALL     /* calls are the requests of the client, of the server and of the interposer */
};
/* By which value calls are sorted, the largest value first. */
enum call_sort {
    CALLS_UNSORTED,
    CALLS_SLOWEST, /* sort by duration */
    CALLS_LARGEST  /* sort by the size of request and answer */
};
struct call_question {
    /* filter of the sessions and of their calls; for a call, the times of the filter are compared
     * with the time of the request */
    const struct filter *filter;
    bool any_time; /* true: times in the filter select sessions only, not calls */
    enum call_side side;
    bool operations; /* true: a call made of several requests is one row */
    /* true: select only calls made of several requests; if `operations` is false, select only the
     * requests that continue such a call */
    bool several;
    bool recorded; /* true: skip imported sessions */
    bool not_sent; /* true: skip sessions that `send` made */
    /* true: sort by descending id; false: by ascending id within each session */
    bool newest_first;
    int64_t from, up_to; /* range of ids (query_call_id()); 0: no limit */
    enum call_sort sort; /* if `sort` is set, newest_first must be false */
    /* SQL statement that selects the rows from the calls; in its text, @calls stands for the table
     * of the calls. NULL: each call is a row */
    const char *around;
    /* called before and between rows; false ends reading. May be NULL */
    bool (*goes_on)(void *ctx);
    void *ctx;
    /* if `sort` is not CALLS_UNSORTED: number of rows to skip, and maximum number of rows to pass
     * on */
    int64_t skip, limit;
};

/* Opens a vault. Returns 0, MI_ENOENT (nothing is recorded), MI_EIO (the directory cannot be
 * opened), MI_ESTORE or MI_ENOMEM. After MI_ENOENT, MI_EIO and MI_ESTORE, `error` has a
 * sentence. */
MI_MUST int query_open(struct query **ret, const char *vault, struct buf *error);
/* Like query_open(), but accepts a vault whose schema is not the one that this program creates
 * (vault/store/layout.h). For `audit verify`, which compares the schema itself. */
MI_MUST int query_open_any_schema(struct query **ret, const char *vault, struct buf *error);
/* Opens an empty vault in memory, in place of a vault that query_open() does not find. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int query_open_empty_vault(struct query **ret, const char *vault);
/* Opens a store of many vaults (vault/remote/remote.h). query_close() closes the store; after an
 * error, the store is closed already. name: name of the store in error messages. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int query_open_store(struct query **ret, const struct remote_store *store,
                             const char *name);
void query_close(struct query *q);          /* the argument may be NULL */
bool query_is_store(const struct query *q); /* true: a store; false: a vault */
/* true: the query reads a vault in a directory, opened by query_open() */
bool query_is_stored(const struct query *q);
/* Whether sessions of several vaults are read, so that numbers may not be unique. */
MI_MUST int query_has_several_vaults(struct query *q, bool *ret);
const char *query_error(struct query *q);
/* returns the absolute path of a vault, or the name of a store */
const char *query_vault(const struct query *q);
int query_dir_fd(const struct query *q); /* the directory of a vault, borrowed; -1: there is none */

/* ---- sessions ---- */

/* Calls fn for sessions, newest first, at most `limit` (0: all). Sessions of a vault are ordered by
 * id; sessions of a store by UID, which is the order of time. */
MI_MUST int query_sessions(struct query *q, int64_t limit, query_session_fn fn, void *ctx);
/* Like query_sessions(), but calls fn only for the sessions that match the filter. */
MI_MUST int query_matching_sessions(struct query *q, const struct filter *f, enum filter_time time,
                                    int64_t limit, query_session_fn fn, void *ctx);
/* Whether a session is older than the session with this id; for callbacks of query_sessions() and
 * query_matching_sessions(). In a vault, compares only the ids. In a store, the session is older if
 * the callback has already received the session with this id. *passed must be false before the
 * first call. */
bool query_session_is_older(const struct query *q, const struct query_session *s, int64_t id,
                            bool *passed);
/* Whether the session with id `a` is newer than the session with id `b`. In a store, both sessions
 * must have been read. */
bool query_session_is_newer(const struct query *q, int64_t a, int64_t b);
/* Finds the session that `ref` names. `last` or NULL: the newest session with a message, or the
 * newest session if none has a message. Digits: the session with this number. The name of a server:
 * the newest session of this server, chosen by the same rule. If there is no such session, `ref` is
 * the first characters of a UID, in upper or lower case. *ret is valid until the next call of this
 * function. MI_ENOENT and MI_EINVAL (ambiguous) set query_error(). */
MI_MUST int query_session(struct query *q, const char *ref, struct query_session *ret);
/* Whether query_session() takes `ref` as a server's name. */
MI_MUST int query_reference_is_server_name(struct query *q, const char *ref, bool *ret);
/* Finds the session with this id. */
MI_MUST int query_session_by_id(struct query *q, int64_t id, struct query_session *ret);
/* Counts the calls of a session. waiting: true if query_summary_request_is_open() will be called.
 * Call query_summary_close() after success. */
MI_MUST int query_summary(struct query *q, int64_t session_id, bool waiting,
                          struct query_summary *ret);
void query_summary_close(struct query_summary *s);
/* Whether request `seq` is open. */
bool query_summary_request_is_open(const struct query_summary *s, int64_t seq);

/* ---- messages ---- */

/* Returns the status of the request that an answer or a cancellation ends. */
static inline enum call_status query_get_call_status(const struct query_message *m)
{
    return call_status_after_message(m->request_action, m->kind, m->origin, m->finding);
}

static inline bool query_message_is_answer(const struct query_message *m)
{
    return m->kind == KIND_RESULT || m->kind == KIND_ERROR;
}
/* Whether the message is the answer that ended its request. */
static inline bool query_message_ended_call(const struct query_message *m)
{
    return m->has_request && call_answer_ends_request(m->kind, m->action);
}

/* Return the method and the target of a message; for an answer, those of its request. */
static inline struct slice query_method_of_message(const struct query_message *m)
{
    return query_message_is_answer(m) ? m->request_method : m->method;
}

static inline struct slice query_target_of_message(const struct query_message *m)
{
    return query_message_is_answer(m) ? m->request_target : m->target;
}

/* Calls fn for the calls that match (vault/query/call_rows.h). */
MI_MUST int query_calls_of(struct query *q, const struct call_question *x, query_call_fn fn,
                           void *ctx);
/* Called for each row that the SQL statement x->around returns. In this statement, @calls is a
 * table of the calls that match the filter, with the columns session_id, request_seq, server,
 * client, method, target, status, error_code, at_us, duration_us, request_size and response_size.
 * Cells are borrowed for the call. */
typedef bool (*query_cells_fn)(void *ctx, const struct cell *cell, size_t n);
MI_MUST int query_read_calls_as_cells(struct query *q, const struct call_question *x,
                                      query_cells_fn fn, void *ctx);
/* Counts the calls that match the filter. Counting ends after about within_us: then *ret_all is
 * false, and at least *ret calls match. */
MI_MUST int query_count_calls(struct query *q, const struct call_question *x, int64_t within_us,
                              int64_t *ret, bool *ret_all);
/* Returns the id of the call with this seq. If seq is 0, returns the highest id that a call of the
 * session can have. */
int64_t query_call_id(int64_t session_id, int64_t seq);

/* Which messages of a session a query selects. */
struct message_question {
    /* filter of messages, without its conditions on the session; NULL: all messages match */
    const struct filter *filter;
    int64_t session_id, started_at_us;
    int64_t from, to; /* range of seqs, including both ends */
    /* true: select only requests for lists and for the server's instructions, and their answers */
    bool lists;
};

/* Calls on_message for messages in the order of seq. If on_event is not NULL, also calls
 * on_event for events, in the order of time. If filter_has_call_conditions(), there are no
 * events. */
MI_MUST int query_messages_and_events(struct query *q, const struct message_question *x,
                                      query_message_fn on_message, query_event_fn on_event,
                                      void *ctx);
/* Like query_messages_and_events(), for all messages with from <= seq <= to and all events. */
MI_MUST int query_timeline(struct query *q, int64_t session_id, int64_t from, int64_t to,
                           query_message_fn on_message, query_event_fn on_event, void *ctx);
/* Sets ret_seq[] to the seqs of the newest messages that match the filter, newest first, at most
 * `max`. */
MI_MUST int query_find_matching_messages(struct query *q, const struct message_question *x,
                                         size_t max, int64_t *ret_seq, size_t *ret_n);

/* The next three functions do not copy messages: the callback runs within a transaction. */
enum query_order { QUERY_FORWARD, QUERY_BACKWARD };
/* Calls fn for at most `max` messages after seq `after`. Only seq, kind and the members of the body
 * are set. */
MI_MUST int query_read_message_bodies(struct query *q, int64_t session_id, int64_t after,
                                      int64_t max, query_message_fn fn, void *ctx);
/* Calls fn for the messages that match the filter. Only seq, t_us, kind, origin, action, method,
 * target, finding, request_method, request_target and request_action are set. */
MI_MUST int query_messages_without_bodies(struct query *q, const struct message_question *x,
                                          enum query_order order, query_message_fn fn, void *ctx);

/* Calls fn for each message with from <= seq <= to. Sets all members, but `body` only if `bodies`
 * is true: lists need no bodies. */
MI_MUST int query_message_rows(struct query *q, int64_t session_id, int64_t from, int64_t to,
                               enum query_order order, bool bodies, query_message_fn fn, void *ctx);

/* Calls fn for events with id <= to, newest first. */
MI_MUST int query_events_newest_first(struct query *q, int64_t session_id, int64_t to,
                                      query_event_fn fn, void *ctx);

/* Whether `send` made the session: such a session has the event `sent`. */
MI_MUST int query_session_is_made_by_send(struct query *q, int64_t session_id, bool *ret);

/* Whether a message of the session has its own revision. Reads all messages of the session. */
MI_MUST int query_messages_have_revisions(struct query *q, int64_t session_id, bool *ret);

/* Finds the last seal of a session in the log (docs/evidence.md). Reads the log backwards from its
 * end to the seal: 0.25 s for a million leaves. MI_ENOENT: the log has no seal of the session. */
#define QUERY_ROOT 65
struct query_seal {
    int64_t records;       /* number of records that the seal covers */
    char root[QUERY_ROOT]; /* root hash in hexadecimal */
};
MI_MUST int query_seal(struct query *q, const struct query_session *s, struct query_seal *ret);

/* Appends the first `max` bytes of a large body to `b`. MI_EIO sets query_error(): the file is
 * missing, too short or not a regular file. MI_ESTORE: the store cannot be read. */
MI_MUST int query_body(struct query *q, struct slice uid, const struct query_message *m, size_t max,
                       struct buf *b);

/* ---- for readers that wait for new rows ---- */

/* Gives a number that changes when another connection has changed the database. */
MI_MUST int query_read_change_counter(struct query *q, int64_t *ret);
/* Gives the id of the newest session; 0: there is none. */
MI_MUST int query_newest_session(struct query *q, int64_t *ret_id);
/* Gives the time at which the session ended; 0: it has not ended. */
MI_MUST int query_read_session_end_time(struct query *q, int64_t session_id,
                                        int64_t *ret_ended_at_us);
/* Gives seq and time of the newest message; 0 and 0 if there is none. */
MI_MUST int query_last_message(struct query *q, int64_t session_id, int64_t *ret_seq,
                               int64_t *ret_t_us);
/* Whether there are sessions that have not ended. Returns false also if the sessions cannot be
 * read. */
bool query_has_running_session(struct query *q);
/* Reads the recorded processes of a session that has not ended. MI_ENOENT: none are recorded. */
MI_MUST int query_read_running_processes(struct query *q, int64_t session_id, struct running *ret);
/* Reads the seq of the last message and the id of the last event; 0 if there is none. */
MI_MUST int query_read_last_seq_and_event(struct query *q, int64_t session_id, int64_t *ret_seq,
                                          int64_t *ret_event);
/* Passes the next page of messages after *seq and of events after *event to the callbacks, and
 * advances both. */
MI_MUST int query_read_newer_rows(struct query *q, int64_t session_id, int64_t *seq, int64_t *event,
                                  query_message_fn on_message, query_event_fn on_event, void *ctx);

#endif
