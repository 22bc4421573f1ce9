/* scrub.h - what the rules in force find in what is stored already, and taking it out.
 *
 * Looks at  a session's row, its messages with their large bodies, its events, the lines of the log
 *           directory and the escalations. Ids stay, as they do when a message is recorded.
 * Apply     what is found is replaced in place, a few hundred rows a transaction. Old bytes do not stay
 *           behind: pages of the database are overwritten as they change (secure_delete), the write-ahead
 *           log is emptied at the end, a large body is written anew at the end of its file before its row
 *           names it, and its old place is overwritten after that, as is all in that file that no row
 *           names. Files of lines are replaced whole; the index of words of the session is removed
 *           (vault/search.h). So it may be interrupted at any moment, and be run again. The session's row
 *           names the rules that it has now passed.
 * Rules     a session that runs must not be given: its proxy writes to the same files.
 * Owns      a second connection when it applies. The query is borrowed, and outlives it.
 * Errors    negative, with one sentence in scrub_error().
 * Blocks    on the disk; up to SCRUB_WAIT_MS for another writer. */
#ifndef MI_VAULT_SCRUB_H
#define MI_VAULT_SCRUB_H

#include "vault/query.h"

#define SCRUB_WAIT_MS 10000

struct scrub_hit {
    int64_t session_id; /* 0: a file */
    int64_t seq;        /* of a message; 0: none */
    const char *where;  /* "body", "method", "target", "session", "event", "stderr", "noise" */
    const char *file;   /* in the vault: of a line; NULL: none */
    size_t line;        /* 1, 2, … */
    struct slice rules; /* "github-token, password 2" */
    size_t n;           /* how much was found there */
};
typedef void (*scrub_fn)(void *ctx, const struct scrub_hit *hit);

struct scrub;

/* vault: as the query was opened with. Hits are told of as they are found. 0, MI_ENOMEM, MI_ESTORE, MI_EIO. */
MI_MUST int scrub_open(struct scrub **ret, struct query *q, bool apply, scrub_fn fn, void *ctx,
                       struct buf *error);
void scrub_close(struct scrub *s); /* NULL is fine */
/* Its uid stays as it is when the query goes on. */
MI_MUST int scrub_session(struct scrub *s, int64_t id, const char *uid);
/* The log directory and the escalations: of one session, or (NULL) of all. `today`: the log of today as
 * well, which a running proxy may be writing. */
MI_MUST int scrub_files(struct scrub *s, const char *uid, bool today);
/* After the last of it: empties the write-ahead log. `rebuild`: writes the whole database anew before that
 * (VACUUM), for what its proxies overwrote may have left bytes behind; writers wait meanwhile. */
MI_MUST int scrub_finish(struct scrub *s, bool rebuild);
const char *scrub_error(struct scrub *s);

/* The rules whose marks `after` has and `before` has not: "github-token, password 2". */
void scrub_rules(struct buf *b, struct slice before, struct slice after);

#endif
