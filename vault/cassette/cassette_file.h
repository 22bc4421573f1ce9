/* cassette_file.h - reads and writes cassettes: a recorded session as a text file of JSON lines,
 * for version control (docs/cassette.md).
 *
 * Reading   passes sessions and messages to callbacks, in the types of vault/query/reader.h. A
 *           session has no id, pid, uid and host, and its command is "[]". Messages are numbered 1,
 *           2, 3…; each body is in `body`, whatever its size. Values that a line omits are derived
 *           from its message: kind, id, method, target, error code, and the request that the
 *           message answers.
 * Strict    an invalid file is rejected with file, line, reason and remedy. Callbacks may have been
 *           called before: discard their results unless 0 is returned.
 * Writing   the same session gives the same bytes. Local paths, host names and process ids are
 *           omitted; control characters are escaped.
 * Owns      arguments of callbacks are borrowed for the call.
 * Blocks    on the file. Memory: the longest line, and about 100 bytes per request. */
#ifndef MI_VAULT_CASSETTE_CASSETTE_FILE_H
#define MI_VAULT_CASSETTE_CASSETTE_FILE_H

#include "vault/query/reader.h"

#define CASSETTE_FORMAT "mcp-interposer-cassette"
/* Newest version of the format. This version is written only if a session needs it; otherwise
 * version 1 is written. */
#define CASSETTE_VERSION 2
#define CASSETTE_REVISIONS 2 /* first version of the format in which messages have a revision */

/* Calls on_session for the header, then on_message for each message in order. Callbacks may be
 * NULL. If a callback returns false, reading stops and returns 0; the rest of the file is not
 * checked. 0; MI_EINVAL: the file is not a valid cassette; MI_EIO: the file cannot be read;
 * MI_ENOMEM. Errors have a sentence in `error`. */
MI_MUST int cassette_read(const char *path, query_session_fn on_session,
                          query_message_fn on_message, void *ctx, struct buf *error);

/* Like cassette_read(), for a cassette in memory. name: used in errors in place of the file name.
 * */
MI_MUST int cassette_read_text(const char *name, struct slice text, query_session_fn on_session,
                               query_message_fn on_message, void *ctx, struct buf *error);

/* Receives lines of a cassette. Returns false if they cannot be written: then writing the cassette
 * ends with MI_EIO. */
typedef bool (*cassette_sink_fn)(void *ctx, struct slice lines);

struct cassette_writer;

MI_MUST int cassette_write_open(struct cassette_writer **ret, cassette_sink_fn sink, void *ctx);
void cassette_write_close(struct cassette_writer *w); /* the argument may be NULL */
/* Call cassette_write_session() once, cassette_write_message() for each message in order, then
 * cassette_write_end(). Each returns 0, MI_ENOMEM or MI_EIO (the sink has failed). The body of a
 * large message must be in m->body. If m->size is below 0, the size of the body is used. */
MI_MUST int cassette_write_session(struct cassette_writer *w, const struct query_session *s);
MI_MUST int cassette_write_message(struct cassette_writer *w, const struct query_message *m);
MI_MUST int cassette_write_end(struct cassette_writer *w);

#define CASSETTE_NO_STDERR 1u /* flag: omit the lines of the server's stderr */

/* Writes a whole session of the vault. 0, or a negative status with a sentence in error. */
MI_MUST int cassette_write(struct query *q, const struct query_session *s, unsigned flags,
                           cassette_sink_fn sink, void *ctx, struct buf *error);

#endif
