/* reading.h - reads the rows of one session and adds them as items to batches.
 *
 * Errors    those of batch_send(), and MI_ESTORE with a sentence in x->error. After an error, the
 *           next reading_read_session() of the session continues at the row where this one stopped.
 *           But if an item could not be made, the session is read again from its saved cursor, and
 *           items that are already in the batch are sent twice.
 * Blocks    on the vault, and on the network when a batch is full. */
#ifndef MI_SHIP_OTLP_READING_H
#define MI_SHIP_OTLP_READING_H

#include "ship/otlp/exporter.h"
#include "vault/unsent/cursors.h"

/* Reads rows of the session that were added after the last call; the first call begins after the
 * cursor. */
MI_MUST int reading_read_session(struct exporter *x, const struct cursor *at);

/* ---- logs.c; only reading.c calls them ---- */

struct reading {
    struct exporter *x;
    struct walk *w;
    const struct otlp_session *s;
    int64_t since_us;                 /* time up to which durations were written */
    struct operation_list operations; /* owned */
    /* true: x->added has the findings that were added to this session's messages; false again
     * before new rows are read */
    bool has_added;
    /* true: no item could be made for a row, so the rows are read again from the saved cursor */
    bool missed;
    int status;
};

/* Adds a log for each finding of a message, except findings that were added to the message
 * later. */
MI_MUST int logs_add_message(struct reading *r, const struct query_message *m);
/* Adds a log for an event. An added finding becomes a log of its message. */
MI_MUST int otlp_logs_add_event(struct reading *r, const struct query_event *e);

#endif
