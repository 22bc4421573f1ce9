/* http_verdict.h - what a collector's answer says about the request (OTLP/HTTP specification). Pure. */
#ifndef MI_SHIP_OTLP_HTTP_VERDICT_H
#define MI_SHIP_OTLP_HTTP_VERDICT_H

#include "base/buf.h"
#include "vault/otlp/otlp.h"

enum verdict {
    VERDICT_TAKEN,          /* done, even if some or all items were rejected: do not send again */
    VERDICT_LATER,          /* send it again later */
    VERDICT_BATCH_REFUSED,  /* the collector will never accept these data */
    VERDICT_SIGNAL_REFUSED, /* the collector accepts no data of this signal */
    VERDICT_CLIENT_REFUSED  /* the collector accepts nothing: a wrong URL, or no permission */
};

enum verdict verdict_by_http_status(int status, enum otlp_signal signal);

#define VERDICT_WAIT_MAX_MS INT64_C(3600000)
/* How long to wait, at most one hour. retry_after_s: value of Retry-After; 0: there was none. */
int64_t verdict_wait_ms(int64_t retry_after_s);

#define VERDICT_COUNT_MAX 1000000 /* rejected items of a signal: more than a batch has */
/* Reads the body of an answer. Appends its message to `text`, if it has one. *ret_rejected: the
 * number of items that were rejected. A body that is not JSON has neither. */
void verdict_read(struct slice body, struct buf *text, int64_t *ret_rejected);

#endif
