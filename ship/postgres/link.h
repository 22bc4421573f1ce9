/* link.h - a connection to PostgreSQL, and calls of functions of the schema mcp_interposer.
 *
 * Rules     TLS is verified (sslmode=verify-full) unless the URL says otherwise, or leads to a Unix socket. Of several
 *           hosts, and of several addresses of a host, the one that can be written is used; one that does not answer has
 *           connect_timeout seconds, 10 unless the URL says otherwise. Passwords come from ~/.pgpass or a service file: a
 *           URL with a password is refused, because it would be seen in `ps` and kept in the vault. Texts are UTF-8.
 * Owns      the connection, and the result of the last call.
 * Errors    those of ship/outbox/target.h, each but TARGET_STOPPED with a sentence in link_error(), and MI_ENOMEM.
 *           TARGET_AGAIN: what was sent does not fit what is there; ask for the watermarks, and send again.
 *           TARGET_DIFFERS: a record is not the one that was stored; read the vault's log again, which may state that it
 *           was redacted, and send again.
 * Blocks    on the network. A connection: while a name is looked up, and connect_timeout for each address. A call:
 *           LINK_REPLY_S at most; without a limit after link_only_reads(), and in link_run(). All but the look-up: until
 *           link_until(), or until `stop` is true. */
#ifndef MI_SHIP_POSTGRES_LINK_H
#define MI_SHIP_POSTGRES_LINK_H

#include "ship/outbox/target.h"
#include "ship/postgres/array.h"

#define LINK_REPLY_S 120
#define LINK_ARGUMENTS 32

struct link;

/* stop: asked several times a second while waiting; NULL: nothing stops it. MI_ENOMEM. */
MI_MUST int link_new(struct link **ret, const char *url, bool (*stop)(void));
void link_free(struct link *l); /* NULL is fine */
/* No call waits beyond this time (clock_mono_us()); 0: none. */
void link_until(struct link *l, int64_t mono_us);
/* What follows a sentence about a missing right, for example "; ask …". Borrowed. */
void link_if_denied(struct link *l, const char *what_to_do);
/* Before the first connection: of several hosts any will do, also one that cannot be written. */
void link_only_reads(struct link *l);
/* Connects, unless it is connected. */
MI_MUST int link_connect(struct link *l);
void link_disconnect(struct link *l);
/* The server has ended the connection: true until link_disconnect(). Does not block. */
bool link_is_cut(struct link *l);
const char *link_error(struct link *l);
/* After TARGET_LOST: the connection ended. false: it did not, and the same call would probably fail again. */
bool link_has_ended(const struct link *l);

/* Arguments of a call, in order. They are borrowed until link_call(). */
void link_begin(struct link *l);
void link_arg_int(struct link *l, int64_t v);
void link_arg_text(struct link *l, const char *v); /* NULL is NULL */
void link_arg_bytes(struct link *l, struct slice v);
void link_arg_array(struct link *l, struct array *a);
/* SELECT * FROM mcp_interposer.FUNCTION(arguments). */
MI_MUST int link_call(struct link *l, const char *function);
/* The same with more after it: " ORDER BY …". */
MI_MUST int link_select(struct link *l, const char *function, const char *more);
/* Runs statements as one transaction, however long that takes; after a deadlock with others again, several times. */
MI_MUST int link_run(struct link *l, const char *sql);

/* The result. A row or column that it does not have is "", 0 or NULL. */
int link_rows(const struct link *l);
int link_columns(const struct link *l);
int64_t link_int(const struct link *l, int row, int column);
struct slice link_slice(const struct link *l, int row, int column); /* {NULL, 0}: NULL */
const char *link_text(const struct link *l, int row, int column);
/* Appends a bytea of at most `max` bytes. MI_EINVAL: it is longer, or something else. MI_ENOMEM. */
MI_MUST int link_bytes(const struct link *l, int row, int column, size_t max, struct buf *ret);
/* 32 bytes. false: something else. */
MI_MUST bool link_hash(const struct link *l, int row, int column, uint8_t ret[32]);

#endif
