/* exporter.h - sends what is new in a vault to an OpenTelemetry collector, at least once.
 *
 * Rules     a call is sent when its answer, its cancellation or the end of its session is stored; the span of a call that was
 *           several requests when the message that ended it, or the end of its session, is stored. What was sent is in the
 *           vault's cursors, which are saved after each batch: what was sent between a batch and a kill is sent again, with
 *           the same ids.
 *           A batch that the collector refuses is reported, counted, and not sent again.
 * Owns      nothing of what it is given, except the connection to the vault for reading.
 * Errors    those of ship/outbox/target.h.
 * Memory    a batch, the largest request of a call, 16 bytes for each open call, and the calls of a session that were
 *           several requests.
 * Blocks    as vault/query/reader.h, vault/unsent/unsent.h and post.h. */
#ifndef MI_SHIP_OTLP_EXPORTER_H
#define MI_SHIP_OTLP_EXPORTER_H

#include "ship/otlp/post.h"
#include "ship/otlp/walk.h"
#include "vault/audit/findings.h"
#include "vault/otlp/otlp.h"

#define EXPORTER_ITEMS 512                  /* of a batch */
#define EXPORTER_BYTES ((size_t)1000 << 10) /* of a batch; it may be longer by its last item */
#define EXPORTER_WALKS 500                  /* sessions whose cursors are saved together */

/* The part of a batch that has one signal. */
struct part {
    struct otlp_request request;
    struct buf b;       /* owned */
    size_t n;           /* items */
    int64_t session_id; /* whose resource was begun; 0: none */
    bool ended;         /* nothing can be added */
    bool off;           /* the collector takes no such data */
    bool done;          /* it was taken or refused */
};

struct exporter {
    struct target t; /* borrowed texts */
    struct query *q; /* owned */
    struct post *to; /* owned */
    struct buf base; /* owned */
    struct walks walks;
    struct part part[OTLP_SIGNALS];
    struct otlp_durations durations[OTLP_SESSION + 1]; /* of the session that is read, by metric */
    struct findings_added added;                       /* owned; of the session that is read */
    struct buf body, answer, text, error; /* owned; large bodies, scratch, the sentence */
    int64_t sent, wait_ms;
    int64_t refused;    /* items, since it was opened */
    struct buf refusal; /* owned; the last one, as a sentence; empty: none */
    int64_t refusals;
};

MI_MUST int exporter_open(struct exporter **ret, const struct target *t, struct buf *error);
void exporter_close(struct exporter *x); /* NULL is fine */
/* Sends everything that is there. */
MI_MUST int exporter_round(struct exporter *x, int64_t *ret_sent);
const char *exporter_error(struct exporter *x, int status);
const char *exporter_refused(struct exporter *x); /* NULL: nothing was refused */

/* ---- batch.c; only ship/otlp calls them ---- */

struct otlp_request *batch_part(struct exporter *x, enum otlp_signal signal,
                                const struct otlp_session *s, size_t n); /* to add n items to */
bool batch_is_full(const struct exporter *x);
/* Sends the batch and saves the cursors. */
MI_MUST int batch_send(struct exporter *x);
void batch_close(struct exporter *x);

#endif
