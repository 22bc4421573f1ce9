/* session.h - for commands that read the vault: opens it, and derives the state of sessions and messages from rows.
 *
 * Owns      a view owns its summary; session_close() frees it.
 * Errors    those of vault/query/reader.h.
 * Blocks    on the vault; with --from, on the network. */
#ifndef MI_CLI_FRAME_SESSION_H
#define MI_CLI_FRAME_SESSION_H

#include "cli/frame/out.h"
#include "cli/settings/config.h"
#include "model/liveness.h"
#include "vault/query/operation_list.h"

/* ---- commands that read the vault ---- */

/* For commands that can also read a central store (docs/fleet.md). */
#define SESSION_STORE_OPTS                                                                         \
    {0, "from", "URL", NULL, "read the central store at this URL, not the vault"},                 \
        {0, "host", "NAME", NULL, "with --from: only sessions of this host; may be a glob"},       \
    {                                                                                              \
        0, "user", "NAME", NULL, "with --from: only sessions of this user; may be a glob"          \
    }

/* The URL of --from; NULL: the command reads a vault. The flag --vault precedes a URL of the environment or of the
 * configuration file. */
const char *session_from(const struct settings *s);
/* How this program opens the store that --from names; it returns what session_vault_open() returns. Only
 * mcp-interposer-ship can, so mcp-interposer runs it for such a command (cli/ship/commands.h). */
typedef int (*session_store_fn)(const struct settings *s, struct query **ret);
void session_set_store(session_store_fn open);
/* For a command that must not wait for a store in any case: each is asked whether to give up, which is an error of the reading;
 * `before` before each question to the store, `during` several times a second until it answers. NULL: never. Set it before the
 * store is opened. */
struct session_wait {
    bool (*before)(void), (*during)(void);
};
void session_set_wait(struct session_wait w);
struct session_wait session_wait(void);

/* Opens the vault of a command for reading, after it has stored the journals of killed sessions and closed these, or the
 * store that --from names. A vault that does not exist yet reads as empty (query_open_empty()), but a directory named with --vault
 * must exist. EXIT_FINE or, after a message on stderr, the status to exit with. */
MI_MUST int session_vault_open(const struct settings *s, struct query **ret);
/* The same for the vault at `path`, without a message: MI_EIO, with the reason in `error`, or MI_ENOMEM. */
MI_MUST int session_vault_read(const struct settings *s, const char *path, struct query **ret,
                               struct buf *error);
/* The vault of --vault; killed sessions without a journal are left open: for `reap`, which says what it closes. */
MI_MUST int session_vault_unclosed(const struct settings *s, struct query **ret);
/* The vault of --vault, also if its database is not one of this program: `audit verify` says what is wrong with it. */
MI_MUST int session_vault_verify(const struct settings *s, struct query **ret);
/* Opens the vault, calls `work` and closes the vault. Returns the exit status. */
typedef int (*session_work_fn)(struct query *q, const struct settings *s);
MI_MUST int session_command(const struct settings *s, session_work_fn work);
bool session_nothing_recorded(struct query *q); /* the vault has no session */
/* Says on stderr why a list is empty: `what`, such as "no matching call", or that nothing is recorded and how to
 * begin. */
void session_none(struct query *q, const char *what);
/* Reports on stderr why reading failed: MI_ENOMEM, or the error of the query. EXIT_TROUBLE. */
int session_fail(struct query *q, int status);

/* ---- a session ---- */

/* Characters of a UID that name a session where several vaults are read: its time in milliseconds. */
#define SESSION_UID_SHOWN 10
/* The beginning of its UID that names a session: `min` characters, or as many as no other session has. */
struct slice session_uid_head(const struct query_session *s, size_t min);

struct session_view {
    enum session_state state;
    int64_t lasted_us; /* until its end, until now, or until its last message */
    bool sent;         /* made by `send`, although its client may have another name */
    struct query_summary summary;
    struct operation_list operations; /* with `lines` */
};

/* Counts the calls of a session and determines its state. `lines`: for lines of its messages, with the requests that are open
 * (query_summary_waits()) and the calls that were several requests. */
MI_MUST int session_look(struct query *q, const struct query_session *s, bool lines,
                         struct session_view *ret);
void session_close(struct session_view *v);

bool session_is_of_this_host(const struct query_session *s);
/* Whether it runs; what cannot be read of that is taken as not recorded. */
enum session_state session_state_of(struct query *q, const struct query_session *s);
bool session_runs(struct query *q, const struct query_session *s); /* SESSION_LIVE */
const char *session_state_name(enum session_state state); /* "ended", "live", "died", "elsewhere" */
/* "client-closed", "server-exited 1", "live", "died": the reason of the end, with an exit status other than 0; without
 * an end, the state. */
void session_end_text(struct buf *b, const struct query_session *s, enum session_state state);
const char *
session_evidence_name(enum query_evidence e); /* "not covered", "not sealed", "sealed" */
/* Appends "session 7 of NAME (2026-01-31 23:59:59, 12 messages)". 0, or the error of the query. */
MI_MUST int session_describe(struct query *q, const struct query_session *s, struct buf *b);
/* The number of those that failed: call_status_failed(). */
int64_t session_errors(const int64_t by_status[CALL_UNKNOWN]);
/* Whether it has a failed call or a bad end: it died, or its server's exit status is not 0. */
bool session_has_failed(const struct query_session *s, const struct session_view *v);

/* ---- a message ---- */

/* The body; of a large one at most `max` bytes, read into b. If its file cannot be read, which is a property of the
 * recording, *ret is {NULL, 0} and *ret_error the reason; else *ret_error is NULL. 0, or MI_ESTORE or MI_ENOMEM: the
 * command must end with this error, as its output would be incomplete. */
MI_MUST int session_body(struct query *q, struct slice uid, const struct query_message *m,
                         size_t max, struct buf *b, struct slice *ret, const char **ret_error);
bool session_is_answer(const struct query_message *m); /* a result or an error */
/* query_status() of an answer, CALL_REFUSED of a refused message, CALL_UNKNOWN of any other. */
enum call_status session_status(const struct query_message *m);
/* Green: ok; red: it failed; yellow: neither. */
enum out_style session_status_style(enum call_status status);
/* The method and target of a message or, for an answer, of its request. */
struct slice session_method(const struct query_message *m);
struct slice session_target(const struct query_message *m);

#endif
