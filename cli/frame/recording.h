/* recording.h - the operand of `replay`, `verify` and others: a session of the vault, or a cassette.
 *
 * Rules     an operand that contains `/` or `.` is a file. Without an operand, with `last` or with the name of a server:
 *           the newest finished session that is more than a probe (replay/source/recording.h); a note on stderr says
 *           which one.
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
    const char *file;  /* borrowed; NULL: the operand is a session */
    struct slice name; /* the file, or the session's uid; borrowed from the source */
};

/* Whether the operand is a file; false for NULL. */
bool recording_is_file(const char *operand);
/* server: without an operand, the name of the server; NULL: any. EXIT_FINE, or the status to exit with. */
MI_MUST int recording_open(struct recording *r, const struct settings *s, const char *operand,
                           const char *server);
void recording_close(struct recording *r); /* safe after a failed recording_open() */

#endif
