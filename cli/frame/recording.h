/* recording.h - the operand of `replay`, `verify`, `diff` and others: a session of the vault, or a cassette.
 *
 * Rules     an operand that contains `/` or `.` is a file. Without an operand, with `last` or with the name of a server:
 *           the newest finished session that is more than a probe, and that `send` did not make
 *           (replay/source/recording.h); a note on stderr says which one.
 * Owns      the source, and the query from which it reads; recording_close() frees both.
 * Errors    are reported on stderr: EXIT_TROUBLE.
 * Blocks    on the vault or the file. */
#ifndef MI_CLI_FRAME_RECORDING_H
#define MI_CLI_FRAME_RECORDING_H

#include "cli/settings/config.h"
#include "replay/source/recording.h"

struct recording {
    struct query *query; /* NULL: the operand is a file */
    struct source *source;
    const char *file;   /* borrowed; NULL: the operand is a session */
    int64_t session_id; /* its number; 0: a file */
    struct slice name;  /* the file, or the session's uid; borrowed from the source */
    struct buf
        title;   /* owned; the file, or "session 7 of NAME (2026-01-31 23:59:59, 12 messages)" */
    bool picked; /* the operand did not name this session, but the newest one */
};

/* Whether the operand is a file; false for NULL. */
bool recording_is_file(const char *operand);
/* server: without an operand, the name of the server; NULL: any. EXIT_FINE, or the status to exit with. */
MI_MUST int recording_open(struct recording *r, const struct settings *s, const char *operand,
                           const char *server);
/* The same without a note: `title` says which recording it is. */
MI_MUST int recording_find(struct recording *r, const struct settings *s, const char *operand,
                           const char *server);
/* The session before `of`, which must be a session: the newest of the same server that ended. */
MI_MUST int recording_find_before(struct recording *r, const struct settings *s,
                                  const struct recording *of);
void recording_close(struct recording *r); /* safe after a failed recording_open() */

#endif
