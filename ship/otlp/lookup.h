/* lookup.h - the request that a message or event belongs to.
 *
 * Errors    MI_ESTORE, with a sentence in x->error; MI_ENOMEM.
 * Blocks    on the vault. */
#ifndef MI_SHIP_OTLP_LOOKUP_H
#define MI_SHIP_OTLP_LOOKUP_H

#include "ship/otlp/exporter.h"

/* Calls fn with the row of a message, within a transaction. Without such a row, fn is not
 * called. */
MI_MUST int lookup_find_request(struct exporter *x, const struct query_session *s, int64_t seq,
                                query_message_fn fn, void *ctx);
/* Returns the body of a message. A large body is read into `b`, and is valid until the next call
 * with `b`. {NULL, 0}: the body was not recorded, or cannot be read. */
struct slice lookup_read_body(struct exporter *x, const struct query_session *s,
                              const struct query_message *m, struct buf *b);
/* If st is an error other than MI_ENOMEM, copies the sentence of query_error() to x->error and
 * returns MI_ESTORE. Otherwise returns st. */
int lookup_set_error_if_failed(struct exporter *x, int st);

#endif
