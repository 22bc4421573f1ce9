/* reading.h - one session: its rows become items of batches.
 *
 * Errors    those of batch_send(), and MI_ESTORE with a sentence in x->error. The next call continues, or reads the session
 *           again from its saved cursor if an item could not be made: what is in the batch is then sent twice.
 * Blocks    on the vault, and on the network when a batch is full. */
#ifndef MI_SHIP_OTLP_READING_H
#define MI_SHIP_OTLP_READING_H

#include "ship/otlp/exporter.h"
#include "vault/unsent/cursors.h"

/* Reads what is new since the last call, or since the cursor. */
MI_MUST int reading_session(struct exporter *x, const struct cursor *at);

/* ---- logs.c; only reading.c calls them ---- */

struct reading {
    struct exporter *x;
    struct walk *w;
    const struct otlp_session *s;
    int64_t since_us;                 /* durations until then were written */
    struct operation_list operations; /* owned */
    bool has_added; /* x->added is that of this session, as new as the messages at hand */
    bool missed;    /* an item could not be made of what was passed */
    int status;
};

/* A log for each finding of a message, except those that were added to it later. */
MI_MUST int logs_message(struct reading *r, const struct query_message *m);
/* A log for an event; a finding that was added is one of its message. */
MI_MUST int logs_event(struct reading *r, const struct query_event *e);

#endif
