/* connection.h - a connection to PostgreSQL, and calls of functions of the schema mcp_interposer.
 *
 * Rules     TLS is verified (sslmode=verify-full) unless the URL says otherwise, or leads to a Unix
 *           socket. If there are several hosts, or several addresses of a host, the first one that
 *           accepts writes is used. Each has connect_timeout seconds to answer, 10 unless the URL
 *           says otherwise. Passwords come from ~/.pgpass or a service file. A URL with a password
 *           is rejected, because `ps` would show the password and the vault would store it. Texts
 *           are UTF-8.
 * Owns      the connection, and the result of the last call.
 * Errors    MI_ENOMEM, and the errors of ship/outbox/target.h; all of these but TARGET_STOPPED have
 *           a sentence in link_error_text(). TARGET_AGAIN: the rows do not fit the store's
 *           watermarks; read the watermarks, and send again. TARGET_DIFFERS: a record differs from
 *           the stored one; read the vault's log again, which may state that the record was
 *           redacted, and send again.
 * Blocks    on the network. A connection: while a name is looked up, and connect_timeout for each
 *           address. A call: LINK_REPLY_S at most; without a limit after link_allow_only_reads(),
 *           and in link_run_sql(). All waits except the look-up end at link_set_deadline(), or when
 *           `stop` returns true. */
#ifndef MI_SHIP_POSTGRES_CONNECTION_H
#define MI_SHIP_POSTGRES_CONNECTION_H

#include "ship/outbox/target.h"
#include "ship/postgres/array.h"

#define LINK_REPLY_S 120
#define LINK_ARGUMENTS 32

struct link;

/* Allocates a link, but does not connect. stop: called several times a second while waiting; may be
 * NULL. Returns 0 or MI_ENOMEM. */
MI_MUST int link_allocate(struct link **ret, const char *url, bool (*stop)(void));
void link_free(struct link *l); /* the argument may be NULL */
/* Sets the time (clock_mono_us()) after which no function waits; 0: no limit. */
void link_set_deadline(struct link *l, int64_t mono_us);
/* Sets a text to append to errors about missing permissions, such as "; ask …". Borrowed. */
void link_set_denied_hint(struct link *l, const char *what_to_do);
/* Also accepts a read-only host among several hosts. Call this function before the first
 * connection. */
void link_allow_only_reads(struct link *l);
/* Connects, unless the link is connected. */
MI_MUST int link_connect(struct link *l);
void link_disconnect(struct link *l);
/* Whether the server has ended the connection; true until link_disconnect(). Does not block. */
bool link_has_lost_connection(struct link *l);
const char *link_error_text(struct link *l);
/* After TARGET_LOST: whether the connection has ended. If not, a retry would probably fail. */
bool link_has_ended(const struct link *l);

/* The next functions add the arguments of a call of an SQL function, in order. Arguments are
 * borrowed until link_call_function(). */
void link_begin_call(struct link *l);
void link_add_int_argument(struct link *l, int64_t v);
void link_add_text_argument(struct link *l, const char *v); /* v NULL: the SQL value NULL */
void link_add_bytes_argument(struct link *l, struct slice v);
void link_add_array_argument(struct link *l, struct array *a);
/* Calls SELECT * FROM mcp_interposer.FUNCTION(arguments). */
MI_MUST int link_call_function(struct link *l, const char *function);
/* Like link_call_function(), with the SQL text `more` at the end, such as " ORDER BY …". */
MI_MUST int link_select_from_function(struct link *l, const char *function, const char *more);
/* Runs statements as one transaction, without a time limit. After a deadlock, runs the transaction
 * again, several times. */
MI_MUST int link_run_sql(struct link *l, const char *sql);

/* The result of the last SQL function, or of the last statement of link_run_sql(). A missing row or
 * column gives "", 0 or NULL. */
int link_count_rows(const struct link *l);
int link_count_columns(const struct link *l);
int64_t link_get_int(const struct link *l, int row, int column);
/* {NULL, 0} stands for the SQL value NULL */
struct slice link_get_slice(const struct link *l, int row, int column);
const char *link_get_text(const struct link *l, int row, int column);
/* Appends a bytea of at most `max` bytes. MI_EINVAL: the value is longer, or not a bytea.
 * MI_ENOMEM. */
MI_MUST int link_get_bytes(const struct link *l, int row, int column, size_t max, struct buf *ret);
/* Reads a bytea of 32 bytes. Returns false if the value is something else. */
MI_MUST bool link_get_hash(const struct link *l, int row, int column, uint8_t ret[32]);

#endif
