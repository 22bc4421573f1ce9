/* verdict.h - what an answer of a collector means for what was sent (OTLP/HTTP specification). Pure. */
#ifndef MI_SHIP_OTLP_VERDICT_H
#define MI_SHIP_OTLP_VERDICT_H

#include "base/buf.h"
#include "vault/otlp/otlp.h"

enum verdict {
    VERDICT_TAKEN,          /* also a part of it, or nothing: the rest must not be sent again */
    VERDICT_LATER,          /* send it again later */
    VERDICT_BATCH_REFUSED,  /* it will never take these data */
    VERDICT_SIGNAL_REFUSED, /* it takes no data of this kind */
    VERDICT_CLIENT_REFUSED  /* it takes nothing from here: a wrong URL, or no right */
};

enum verdict verdict_of(int status, enum otlp_signal signal);

#define VERDICT_WAIT_MAX_MS INT64_C(3600000)
/* How long to wait, by Retry-After: 0: it was not sent. An hour at most. */
int64_t verdict_wait_ms(int64_t retry_after_s);

#define VERDICT_COUNT_MAX 1000000 /* of a signal: more than a batch has */
/* What the body of an answer says. text: appended; empty: nothing. *ret_rejected: of the items, how many were not taken. A body
 * that is not JSON says nothing. */
void verdict_read(struct slice body, struct buf *text, int64_t *ret_rejected);

#endif
