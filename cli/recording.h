/* recording.h - what `replay`, `verify` and others are given: a session of the vault, or a cassette.
 *
 * Rules     an operand with a `/` or a `.` in it is a file, for no id or uid has one. Without an operand it is the
 *           newest session that has ended and is more than a probe (replay/source.h).
 * Owns      the source, and the query that it reads; recording_close() frees both.
 * Errors    are told on stderr: EXIT_TROUBLE.
 * Blocks    on the vault or the file. */
#ifndef MI_CLI_RECORDING_H
#define MI_CLI_RECORDING_H

#include "cli/config.h"
#include "replay/source.h"

struct recording {
    struct query *query; /* NULL: it is a file */
    struct source *source;
    const char *file;  /* borrowed; NULL: a session */
    struct slice name; /* the file, or the session's uid; borrowed from the source */
};

/* Is it a file? NULL is none. */
bool recording_is_file(const char *operand);
/* server: of sessions, only those of the server with this name; NULL: any. EXIT_FINE, or the status to exit with. */
MI_MUST int recording_open(struct recording *r, const struct settings *s, const char *operand,
                           const char *server);
void recording_close(struct recording *r); /* safe after a failed recording_open() */

#endif
