/* reader.h - a central store for the reading commands (vault/remote/remote.h): `--from URL`.
 *
 * Rules     uses only the functions read_* of reading.sql, so that it also works with several
 *           shards behind one router. The role needs no permission to write. If the connection has
 *           ended, a request connects once more. Rows that were not requested are an error.
 * Owns      the connection.
 * Errors    MI_ESTORE with a sentence in reader_get_error_text(), MI_ENOMEM.
 * Blocks    on the network, without a limit. A signal ends the program. `before` is called before
 *           each request, `during` several times a second until the answer; if one returns true,
 *           the reading fails. Both may be NULL. */
#ifndef MI_SHIP_POSTGRES_READER_H
#define MI_SHIP_POSTGRES_READER_H

#include "ship/postgres/connection.h"
#include "vault/remote/remote.h"

struct reader;

/* Connects. host and user: names or globs that select sessions; NULL: any. *ret is set after
 * MI_ESTORE as well, for reader_get_error_text(). */
MI_MUST int reader_open(struct reader **ret, const char *url, const char *host, const char *user,
                        bool (*before)(void), bool (*during)(void));
void reader_close(struct reader *r); /* the argument may be NULL */
const char *reader_get_error_text(struct reader *r);
/* Returns a store that reads through r. Its function close() calls reader_close(). */
struct remote_store reader_make_remote_store(struct reader *r);

#endif
