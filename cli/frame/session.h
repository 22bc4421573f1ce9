/* session.h - for commands that read the vault: opens the vault, and derives the state of sessions
 * and messages from rows.
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

/* Options of commands that can also read a central store (docs/fleet.md). */
#define SESSION_STORE_OPTS                                                                         \
    {0, "from", "URL", NULL, "read the central store at this URL, not the vault"},                 \
        {0, "host", "NAME", NULL, "with --from: only sessions of this host; may be a glob"},       \
    {                                                                                              \
        0, "user", "NAME", NULL, "with --from: only sessions of this user; may be a glob"          \
    }

/* Returns the URL of --from; NULL: the command reads a vault. The flag --vault has precedence over
 * a URL of the environment or of the configuration file. */
const char *session_get_store_url(const struct settings *s);
/* Opens the store that --from names; returns the same as session_vault_open(). Only
 * mcp-interposer-ship can open stores, so mcp-interposer runs that program for a command with
 * --from (cli/ship/commands.h). */
typedef int (*session_store_fn)(const struct settings *s, struct query **ret);
void session_set_store(session_store_fn open);
/* Callbacks for a command that must be able to stop waiting for a store. Each returns true to give
 * up, which makes the reading fail. `before` is called before each question to the store, `during`
 * several times a second until the store answers. NULL: never give up. Set them before the store is
 * opened. */
struct session_wait {
    bool (*before)(void), (*during)(void);
};
void session_set_store_wait_hooks(struct session_wait w);
struct session_wait session_get_store_wait_hooks(void);

/* Opens the store of --from or, without --from, the vault. For a vault, first stores the journals
 * of killed sessions and closes these sessions. A vault that does not exist yet reads as empty
 * (query_open_empty_vault()), but a directory named with --vault must exist. Returns EXIT_FINE or,
 * after a message on stderr, the status to exit with. */
MI_MUST int session_vault_open(const struct settings *s, struct query **ret);
/* Opens the vault at `path` like session_vault_open(), but prints no message. Returns 0, MI_EIO
 * with the reason in `error`, or MI_ENOMEM. */
MI_MUST int session_vault_open_at_path(const struct settings *s, const char *path,
                                       struct query **ret, struct buf *error);
/* Opens the vault of --vault, but does not close killed sessions that have no journal. This is for
 * `reap`, which closes these sessions itself and reports them. */
MI_MUST int session_vault_open_without_reaping(const struct settings *s, struct query **ret);
/* Opens the vault of --vault even if its database was not made by this program: for `audit verify`,
 * which reports what is wrong. */
MI_MUST int session_vault_open_for_verify(const struct settings *s, struct query **ret);
/* Opens the vault, calls `work` and closes the vault. Returns the exit status. */
typedef int (*session_work_fn)(struct query *q, const struct settings *s);
MI_MUST int session_run_command(const struct settings *s, session_work_fn work);
bool session_vault_is_empty(struct query *q); /* returns true if the vault has no session */
/* Prints on stderr why a list is empty: `what`, such as "no matching call", or, if nothing is
 * recorded yet, how to begin. */
void session_warn_empty_list(struct query *q, const char *what);
/* Reports on stderr why reading failed: MI_ENOMEM, or the error of the query. Returns
 * EXIT_TROUBLE. */
int session_report_query_error(struct query *q, int status);

/* ---- a session ---- */

/* Characters of a UID that identify a session among several vaults: its time in milliseconds. */
#define SESSION_UID_SHOWN 10
/* Returns the beginning of the UID that identifies a session: `min` characters, or more if the
 * beginning would not be unique. */
struct slice session_get_uid_prefix(const struct query_session *s, size_t min);

struct session_view {
    enum session_state state;
    /* time from the session's start to its end; while it runs, to now; if its end is unknown, to
     * its last message */
    int64_t lasted_us;
    bool sent; /* the session was made by `send`; its client may have another name */
    struct query_summary summary;
    /* operations of the session; empty unless session_read_view() was called with `lines` */
    struct operation_list operations;
};

/* Counts the calls of a session and determines its state. lines: also reads data for printing
 * messages: open requests (query_summary_request_is_open()) and calls with several requests. */
MI_MUST int session_read_view(struct query *q, const struct query_session *s, bool lines,
                              struct session_view *ret);
void session_close(struct session_view *v);

bool session_is_of_this_host(const struct query_session *s);
/* Determines the state of a session. Facts about its process that cannot be read count as not
 * recorded. */
enum session_state session_determine_state(struct query *q, const struct query_session *s);
/* Whether the state of the session is SESSION_LIVE. */
bool session_is_running(struct query *q, const struct query_session *s);
/* Returns "ended", "live", "died" or "elsewhere". */
const char *session_state_name(enum session_state state);
/* Appends the reason why the session ended, with the exit status unless it is 0 ("client-closed",
 * "server-exited 1"). If no end is recorded, appends the state ("live", "died"). */
void session_append_end_reason(struct buf *b, const struct query_session *s,
                               enum session_state state);
/* Returns "not covered", "not sealed" or "sealed". */
const char *session_evidence_name(enum query_evidence e);
/* Appends "session 7 of NAME (2026-01-31 23:59:59, 12 messages)". Returns 0, or the error of the
 * query. */
MI_MUST int session_describe(struct query *q, const struct query_session *s, struct buf *b);
/* Returns the number of failed calls (call_status_failed()). */
int64_t session_count_errors(const int64_t by_status[CALL_UNKNOWN]);
/* Whether the session has a failed call or a bad end: the proxy died, or the server's exit status
 * is not 0. */
bool session_has_failed(const struct query_session *s, const struct session_view *v);

/* ---- a message ---- */

/* Sets *ret to the body; of a large body, reads at most `max` bytes into `b`. If the file of a
 * large body cannot be read, the recording is damaged: *ret is {NULL, 0} and *ret_error the reason;
 * else *ret_error is NULL. Returns 0, MI_ESTORE or MI_ENOMEM; after an error the command must end,
 * because its output would be incomplete. */
MI_MUST int session_read_body(struct query *q, struct slice uid, const struct query_message *m,
                              size_t max, struct buf *b, struct slice *ret, const char **ret_error);
bool session_message_is_answer(
    const struct query_message *m); /* returns true for a result or an error */
/* Returns query_get_call_status() of an answer, CALL_REFUSED for a refused message, CALL_UNKNOWN
 * for any other message. */
enum call_status session_status_of_message(const struct query_message *m);
/* Returns green if the status means success, red for a failure, yellow for any other status. */
enum out_style session_status_style(enum call_status status);
/* Return the method and target of a message; for an answer, return the method and target of its
 * request. */
struct slice session_method_of_message(const struct query_message *m);
struct slice session_target_of_message(const struct query_message *m);

#endif
