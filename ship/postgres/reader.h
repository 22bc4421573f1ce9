/* reader.h - a central store for the reading commands (vault/remote/remote.h): `--from URL`.
 *
 * Rules     reads with the functions read_* of reading.sql only, so that it also works where several shards are behind
 *           one router. The role needs no right to write. A connection that has ended is made again, once for each
 *           reading. Rows that were not asked for are an error.
 * Owns      the connection.
 * Errors    MI_ESTORE with a sentence in reader_error(), MI_ENOMEM.
 * Blocks    on the network, without a limit: a signal ends the program, or `before` and `during`, which are asked before each
 *           question and several times a second until the answer: true is an error. NULL: they are not asked. */
#ifndef MI_SHIP_POSTGRES_READER_H
#define MI_SHIP_POSTGRES_READER_H

#include "ship/postgres/link.h"
#include "vault/remote/remote.h"

struct reader;

/* Connects. host and user: only sessions of these; names or globs; NULL: any. *ret is set also after MI_ESTORE, for
 * reader_error(). */
MI_MUST int reader_open(struct reader **ret, const char *url, const char *host, const char *user,
                        bool (*before)(void), bool (*during)(void));
void reader_close(struct reader *r); /* NULL is fine */
const char *reader_error(struct reader *r);
struct remote_store reader_store(struct reader *r); /* its close() is reader_close() */

#endif
