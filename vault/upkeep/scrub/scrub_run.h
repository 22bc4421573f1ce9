/* scrub_run.h - finds secrets in stored data with the active rules, and replaces them.
 *
 * Data      a session's row, its messages with their large bodies, its events, the lines of the log
 *           directory and the escalations. Ids are not changed, because recording does not change
 *           ids either.
 * Apply     secrets are replaced, a few hundred rows per transaction. No old bytes remain: pages of
 *           the database are overwritten (secure_delete), and the write-ahead log is emptied at the
 *           end. A changed large body is appended to its file before its row refers to it. After
 *           the rows of the session, all bytes of the file that no row refers to are overwritten.
 *           Log files and escalations are rewritten, and the search index of the session is removed
 *           (vault/search/index.h). An interrupted run can be repeated. The applied rules are
 *           stored in the session's row.
 * Rules     do not call it for a running session: its proxy writes to the same files.
 * Owns      with `apply`, a second connection. The query is borrowed, and must outlive it.
 * Errors    negative, with one sentence in scrub_get_error_text().
 * Blocks    on the disk; up to SCRUB_WAIT_MS for another writer. */
#ifndef MI_VAULT_UPKEEP_SCRUB_SCRUB_RUN_H
#define MI_VAULT_UPKEEP_SCRUB_SCRUB_RUN_H

#include "vault/query/reader.h"

#define SCRUB_WAIT_MS 10000

struct scrub_hit {
    int64_t session_id; /* id of the session; 0: the secret is in a file */
    int64_t seq;        /* seq of the message; 0: the secret is elsewhere */
    /* where the secret is: "body", "method", "target", "session", "event", "stderr", "noise",
     * "line" or "escalation" */
    const char *where;
    /* path of the file in the vault, if the secret is in a line of a file; otherwise NULL */
    const char *file;
    size_t line; /* number of the line: 1, 2, … */
    /* rules that found secrets, with the number of secrets if a rule found several:
     * "github-token, password 2" */
    struct slice rules;
    size_t n; /* number of secrets that were found in this text */
};
typedef void (*scrub_fn)(void *ctx, const struct scrub_hit *hit);

struct scrub;

/* Opens a search for secrets. fn: called once for each text that has secrets. apply: also replaces
 * the secrets in the query's vault. Returns 0, MI_ENOMEM, MI_ESTORE or MI_EIO. */
MI_MUST int scrub_open(struct scrub **ret, struct query *q, bool apply, scrub_fn fn, void *ctx,
                       struct buf *error);
void scrub_close(struct scrub *s); /* the argument may be NULL */
/* Searches the rows of a session. uid: must not point into a row of the query, because the query is
 * used during the call. */
MI_MUST int scrub_session(struct scrub *s, int64_t id, const char *uid);
/* Searches the log directory and the escalations for lines of one session; uid NULL: of all
 * sessions. today: includes today's log, to which a running proxy may be writing. */
MI_MUST int scrub_files(struct scrub *s, const char *uid, bool today);
/* Empties the write-ahead log. Call it at the end of a run. rebuild: also rewrites the whole
 * database first (VACUUM), because rows that proxies have changed may have left old bytes behind.
 * Writers wait until the database is rewritten. */
MI_MUST int scrub_finish(struct scrub *s, bool rebuild);
const char *scrub_get_error_text(struct scrub *s);

/* Appends the names of the rules of which `after` has more redaction marks than `before`, with the
 * number of additional marks if there are several: "github-token, password 2". */
void scrub_write_rules(struct buf *b, struct slice before, struct slice after);

#endif
