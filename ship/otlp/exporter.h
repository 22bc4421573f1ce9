/* exporter.h - sends what is new in a vault to an OpenTelemetry collector, at least once.
 *
 * Rules     a call is sent when its answer, its cancellation or the end of its session is stored.
 *           The span of a call made of several requests is sent when the message that ended the
 *           call, or the end of its session, is stored. The vault's cursors say which rows were
 *           sent. They are saved after each batch: if the process is killed before that, the batch
 *           is sent again, with the same ids. A batch that the collector refuses is reported,
 *           counted, and not sent again.
 * Owns      its connections to the collector and, for reading, to the vault. It borrows `t`.
 * Errors    the errors of ship/outbox/target.h.
 * Memory    a batch, the largest request of a call, 16 bytes for each open call, and a session's
 *           calls made of several requests.
 * Blocks    as in vault/query/reader.h, vault/unsent/unsent.h and post.h. */
#ifndef MI_SHIP_OTLP_EXPORTER_H
#define MI_SHIP_OTLP_EXPORTER_H

#include "ship/otlp/post.h"
#include "ship/otlp/session_walk.h"
#include "vault/audit/findings.h"
#include "vault/otlp/otlp.h"

#define EXPORTER_ITEMS 512 /* maximum number of items in a batch */
/* maximum number of bytes in a batch; the last item may exceed this limit */
#define EXPORTER_BYTES ((size_t)1000 << 10)
#define EXPORTER_WALKS 500 /* number of sessions whose cursors are saved together */

/* The part of a batch for one signal. */
struct part {
    struct otlp_request request;
    struct buf b;       /* owned */
    size_t n;           /* items */
    int64_t session_id; /* session whose resource was begun last; 0: no resource was begun */
    bool ended;         /* the request is complete: nothing can be added */
    bool off;           /* the collector rejects all data of this signal */
    bool done;          /* the collector has accepted or rejected this signal's part of the batch */
};

struct exporter {
    struct target t; /* borrowed texts */
    struct query *q; /* owned */
    struct post *to; /* owned */
    struct buf base; /* owned; the URL, without the path of a signal */
    struct walks walks;
    struct part part[OTLP_SIGNALS];
    /* owned; durations of the session being read */
    struct otlp_durations durations[OTLP_SESSION + 1];
    struct findings_added added; /* owned; findings added to messages of the session being read */
    /* owned; `body` and `answer`: large bodies; `text`: scratch; `error`: the last error, as a
     * sentence */
    struct buf body, answer, text, error;
    int64_t sent;       /* number of items sent in this round */
    int64_t wait_ms;    /* time that the collector asked us to wait; 0: none */
    int64_t refused;    /* number of items refused since the exporter was opened */
    struct buf refusal; /* owned; the last refusal, as a sentence; empty: none */
    int64_t refusals;   /* number of refusals */
};

MI_MUST int exporter_open(struct exporter **ret, const struct target *t, struct buf *error);
void exporter_close(struct exporter *x); /* the argument may be NULL */
/* Sends all rows of the vault that are new. */
MI_MUST int exporter_send_new_rows(struct exporter *x, int64_t *ret_sent);
const char *exporter_error(struct exporter *x, int status);
/* Returns a sentence about the last refusal; NULL: nothing was refused. */
const char *exporter_refusal_text(struct exporter *x);

/* ---- batch.c; called only in ship/otlp ---- */

/* Returns the request for a signal, to which the caller will add n items of the session. */
struct otlp_request *batch_get_request(struct exporter *x, enum otlp_signal signal,
                                       const struct otlp_session *s, size_t n);
bool batch_is_full(const struct exporter *x);
/* Sends the batch and saves the cursors. */
MI_MUST int batch_send(struct exporter *x);
void batch_close(struct exporter *x);

#endif
