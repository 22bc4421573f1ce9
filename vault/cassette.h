/* cassette.h - a recorded session as a file that git can keep: JSON lines, described in docs/cassette.md.
 *
 * Reading   gives what vault/query.h gives. Of the session: id and pid are 0, uid and host are not
 *           there, command is "[]", ended_at_us is never 0. Messages are numbered 1, 2, 3…; no
 *           body is large: each stands in `body`, whatever its size. What a line does not say is worked
 *           out from its message: kind, id, method, target, error code, and which request it answers.
 * Strict    the whole file is right, or it is refused with the file, the line, the reason and the
 *           remedy. Callbacks have been called by then: keep nothing of them before 0 came back.
 * Writing   the same session gives the same bytes. Paths of this machine, its name and process
 *           ids are left out; characters that a terminal obeys stand as escapes.
 * Owns      what the callbacks get is borrowed for the call.
 * Blocks    on the file. Memory: the longest line, and some 100 bytes a request. */
#ifndef MI_VAULT_CASSETTE_H
#define MI_VAULT_CASSETTE_H

#include "vault/query.h"

#define CASSETTE_FORMAT "mcp-interposer-cassette"
#define CASSETTE_VERSION 1

/* The header, then the messages in order. A callback that says false ends the reading, which then is 0
 * and has not seen the rest. NULL callbacks are fine. 0; MI_EINVAL: the file is no good cassette;
 * MI_EIO: it cannot be read; MI_ENOMEM. All with a sentence in error. */
MI_MUST int cassette_read(const char *path, query_session_fn on_session,
                          query_message_fn on_message, void *ctx, struct buf *error);

/* The same for bytes in memory; `name` is what errors call them. */
MI_MUST int cassette_read_text(const char *name, struct slice text, query_session_fn on_session,
                               query_message_fn on_message, void *ctx, struct buf *error);

/* Where the lines of a cassette go. false: they could not be taken; the writing ends with MI_EIO. */
typedef bool (*cassette_sink_fn)(void *ctx, struct slice lines);

struct cassette_writer;

MI_MUST int cassette_write_open(struct cassette_writer **ret, cassette_sink_fn sink, void *ctx);
void cassette_write_close(struct cassette_writer *w); /* NULL is fine */
/* One session, then its messages in order, then the end: each 0, MI_ENOMEM or MI_EIO (the sink). The body of
 * a large message must have been read into m->body; a size below 0 is that of the body. */
MI_MUST int cassette_write_session(struct cassette_writer *w, const struct query_session *s);
MI_MUST int cassette_write_message(struct cassette_writer *w, const struct query_message *m);
MI_MUST int cassette_write_end(struct cassette_writer *w);

#define CASSETTE_NO_STDERR 1u /* without the lines of the server's standard error */

/* All of a session of the vault. 0, or a negative status with a sentence in error. */
MI_MUST int cassette_write(struct query *q, const struct query_session *s, unsigned flags,
                           cassette_sink_fn sink, void *ctx, struct buf *error);

#endif
