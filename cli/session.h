/* session.h - what commands that read the vault have in common: their frame, and what can be told of a session or
 * a message beyond its row.
 *
 * Owns      a view owns what its summary owns; session_close() frees it.
 * Errors    those of vault/query.h.
 * Blocks    on /proc, and session_look() on the vault. */
#ifndef MI_CLI_SESSION_H
#define MI_CLI_SESSION_H

#include "cli/config.h"
#include "vault/query.h"

/* ---- commands that read the vault ---- */

/* Opens the vault of a command to be read. EXIT_FINE, or the status to exit with; stderr is told. */
MI_MUST int session_vault_open(const struct settings *s, struct query **ret);
/* The whole of a command that needs no more: settings, vault, the work, and both closed again. The exit status. */
typedef int (*session_work_fn)(struct query *q, const struct settings *s);
MI_MUST int session_command(const struct command *c, int argc, char **argv, session_work_fn work);
/* Tells stderr why reading failed: MI_ENOMEM, or what the query says. EXIT_TROUBLE. */
int session_fail(struct query *q, int status);

/* ---- a session ---- */

enum session_state {
    SESSION_ENDED,
    SESSION_LIVE,      /* no end in the record, and its process runs on this machine */
    SESSION_DIED,      /* no end in the record, and no such process */
    SESSION_ELSEWHERE, /* no end in the record; it ran on another machine */
};

struct session_view {
    enum session_state state;
    int64_t lasted_us; /* until its end, until now, or until its last message */
    struct query_summary summary;
};

/* Counts its calls, and looks whether it runs; `waiting` as in query_summary(). */
MI_MUST int session_look(struct query *q, const struct query_session *s, bool waiting,
                         struct session_view *ret);
void session_close(struct session_view *v);

enum session_state session_state_of(const struct query_session *s);
const char *session_state_name(enum session_state state); /* "ended", "live", "died", "elsewhere" */
/* "client-closed", "server-exited 1", "live", "died": the state, or the reason with a status but 0. */
void session_end_text(struct buf *b, const struct query_session *s, enum session_state state);
/* Calls that did not end well. */
int64_t session_errors(const struct query_summary *s);

/* ---- a message ---- */

/* Its body, as much of it as max bytes if it is a large one, which then lies in b. {NULL, 0} and *ret_error: it
 * cannot be read, and why. */
struct slice session_body(struct query *q, struct slice uid, const struct query_message *m,
                          size_t max, struct buf *b, const char **ret_error);
/* How an answer answers, in the words of the view `invocations`: "ok", "tool-error", "error",
 * "server-gone", "timeout", "refused" (its request was). */
const char *session_answer_status(const struct query_message *m);
bool session_is_answer(const struct query_message *m); /* a result or an error */
/* The same, "refused" for a request that was, and NULL for what has no status. */
const char *session_status(const struct query_message *m);
/* What a message is called: by its own method and target or, of an answer, by those of its request. */
struct slice session_method(const struct query_message *m);
struct slice session_target(const struct query_message *m);

#endif
