#include "ship/otlp/http_verdict.h"

#include "wire/json/text.h"

#include <stdlib.h>

#define TEXT_MAX 512 /* longest message of the collector that is shown, in bytes */

enum verdict verdict_choose_by_http_status(int status, enum otlp_signal signal)
{
    if (status >= 200 && status < 300)
        return VERDICT_TAKEN;
    switch (status) {
    case 429:
    case 502:
    case 503:
    case 504:
        return VERDICT_LATER;
    case 404:
    /* Spans are sent first. If the collector has the path for spans, but lacks the path for another
     * signal, only that signal is refused. */
    case 405:
        return signal == OTLP_SPANS ? VERDICT_CLIENT_REFUSED : VERDICT_SIGNAL_REFUSED;
    case 401:
    case 403:
    case 407:
        return VERDICT_CLIENT_REFUSED;
    default: /* redirections are not followed: the headers are meant for the first host */
        return status < 400 ? VERDICT_CLIENT_REFUSED : VERDICT_BATCH_REFUSED;
    }
}

int64_t verdict_limit_retry_wait(int64_t retry_after_s)
{
    if (retry_after_s <= 0)
        return 0;
    return retry_after_s < VERDICT_WAIT_MAX_MS / 1000 ? retry_after_s * 1000 : VERDICT_WAIT_MAX_MS;
}

/* Reads a count, which is a number or a string, like all 64-bit integers in OTLP's JSON. */
static int64_t read_json_count(struct json_value v)
{
    struct slice digits = v.type == JSON_STRING ? json_string_raw(v) : v.text;
    char text[24] = "";
    if ((v.type != JSON_STRING && v.type != JSON_NUMBER) || digits.n >= sizeof text)
        return 0;
    memcpy(text, digits.p, digits.n);
    int64_t n = strtoll(text, NULL, 10);
    return n <= 0 ? 0 : n < VERDICT_COUNT_MAX ? n : VERDICT_COUNT_MAX;
}

static void otlp_verdict_add_text(struct buf *b, struct json_value v)
{
    if (v.type == JSON_STRING)
        json_unescape(b, json_string_first_bytes(v.text.p, TEXT_MAX));
}

void verdict_read_answer_body(struct slice body, struct buf *text, int64_t *ret_rejected)
{
    static const char *const counts[] = {"rejectedSpans", "rejectedLogRecords",
                                         "rejectedDataPoints"};
    struct json_scan scan;
    *ret_rejected = 0;
    if (body.n == 0 || json_scan(body, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        return;
    struct json_value root = {scan.type, scan.root};
    struct json_value part = json_get(root, "partialSuccess");
    if (part.type == JSON_OBJECT) {
        for (size_t i = 0; i < MI_COUNT(counts); i++)
            *ret_rejected += read_json_count(json_get(part, counts[i]));
        otlp_verdict_add_text(text, json_get(part, "errorMessage"));
    } else {
        otlp_verdict_add_text(text, json_get(root, "message"));
    }
}
