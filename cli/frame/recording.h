/* recording.h - the operand of `replay`, `verify`, `diff` and others: a session of the vault, or a
 * cassette.
 *
 * Rules     an operand that contains `/` or `.` is a file. Without an operand, with `last` or with
 *           the name of a server, the newest finished session is used, except sessions that only
 *           probe a server and those made by `send` (replay/source/recording.h); a note on stderr
 *           says which session.
 * Owns      the source, and the query from which it reads; recording_close() frees both.
 * Errors    are reported on stderr: EXIT_TROUBLE.
 * Blocks    on the vault or the file. */
#ifndef MI_CLI_FRAME_RECORDING_H
#define MI_CLI_FRAME_RECORDING_H

#include "cli/settings/config.h"
#include "replay/source/recording.h"

struct recording {
    struct query *query; /* reads the vault; NULL: the operand is a file */
    struct source *source;
    const char *file;   /* path of the file; borrowed; NULL: the operand is a session */
    int64_t session_id; /* the session's number; 0: a file */
    struct slice name;  /* the file, or the session's UID; borrowed from the source */
    /* owned; the file, or "session 7 of NAME (2026-01-31 23:59:59, 12 messages)" */
    struct buf title;
    bool picked; /* the user named no session, so the newest matching session was chosen */
};

/* Whether the operand is a file; false if the operand is NULL. */
bool recording_is_file(const char *operand);
/* Opens the recording that the operand names. server: without an operand, only sessions of this
 * server are considered; NULL: sessions of any server. Returns EXIT_FINE, or the status to exit
 * with. */
MI_MUST int recording_open(struct recording *r, const struct settings *s, const char *operand,
                           const char *server);
/* Like recording_open(), but without a note on stderr; the member `title` says which recording was
 * opened. */
MI_MUST int recording_open_operand(struct recording *r, const struct settings *s,
                                   const char *operand, const char *server);
/* Finds the newest session of the same server that has ended and is older than `of`, which must be
 * a session. */
MI_MUST int recording_open_previous(struct recording *r, const struct settings *s,
                                    const struct recording *of);
void recording_close(struct recording *r); /* safe after a failed recording_open() */

#endif
