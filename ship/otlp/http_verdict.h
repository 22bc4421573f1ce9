/* http_verdict.h - decides from a collector's answer whether a request was accepted (OTLP/HTTP
 * specification). Pure. */
#ifndef MI_SHIP_OTLP_HTTP_VERDICT_H
#define MI_SHIP_OTLP_HTTP_VERDICT_H

#include "base/buf.h"
#include "vault/otlp/otlp.h"

enum verdict {
    VERDICT_TAKEN,         /* the batch need not be sent again, even if items in it were rejected */
    VERDICT_LATER,         /* the batch must be sent again later */
    VERDICT_BATCH_REFUSED, /* the collector will never accept this batch */
    VERDICT_SIGNAL_REFUSED, /* the collector accepts no data of this signal */
    VERDICT_CLIENT_REFUSED  /* the collector accepts nothing: a wrong URL, or no permission */
};

enum verdict verdict_choose_by_http_status(int status, enum otlp_signal signal);

#define VERDICT_WAIT_MAX_MS INT64_C(3600000)
/* Returns how long to wait, at most one hour. retry_after_s: value of Retry-After; 0: there was
 * none. */
int64_t verdict_limit_retry_wait(int64_t retry_after_s);

/* largest number of rejected items that is read; a batch has fewer items */
#define VERDICT_COUNT_MAX 1000000
/* Reads the body of an answer. Appends its message, if there is one, to `text`. *ret_rejected: the
 * number of rejected items. A body that is not JSON has no message and no rejected items. */
void verdict_read_answer_body(struct slice body, struct buf *text, int64_t *ret_rejected);

#endif
