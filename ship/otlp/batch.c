/* batch.c - a batch: one request for each signal, and the collector's answers. */
#include "ship/otlp/exporter.h"

#include "base/clock.h"
#include "base/log.h"
#include "ship/otlp/http_verdict.h"
#include "vault/unsent/cursors.h"

static const struct {
    const char *path, *items;
} signals[OTLP_SIGNALS] = {
    [OTLP_SPANS] = {"/v1/traces", "spans"},
    [OTLP_LOGS] = {"/v1/logs", "log records"},
    [OTLP_METRICS] = {"/v1/metrics", "data points"},
};

struct otlp_request *batch_get_request(struct exporter *x, enum otlp_signal signal,
                                       const struct otlp_session *s, size_t n)
{
    struct part *p = &x->part[signal];
    if (p->n == 0)
        otlp_begin_request(&p->request, signal, &p->b, &x->text);
    p->request.content = x->t.content;
    if (p->session_id != s->s->id)
        otlp_begin_resource(&p->request, s);
    p->session_id = s->s->id;
    p->n += n;
    return &p->request;
}

bool batch_is_full(const struct exporter *x)
{
    for (size_t i = 0; i < OTLP_SIGNALS; i++)
        if (x->part[i].n >= EXPORTER_ITEMS || x->part[i].b.n >= EXPORTER_BYTES)
            return true;
    return false;
}

void batch_close(struct exporter *x)
{
    for (size_t i = 0; i < OTLP_SIGNALS; i++)
        buf_close(&x->part[i].b);
}

/* ---- answers ---- */

static const char *hint_for_http_status(int status)
{
    switch (status) {
    case 401:
    case 403:
        return "; check OTEL_EXPORTER_OTLP_HEADERS";
    case 404:
    case 405:
        return "; check the URL: it must not end with /v1/traces";
    case 407:
        return "; check user and password in the URL of the HTTP proxy (https_proxy, http_proxy)";
    default:
        return status < 400 ? "; redirections are not followed" : "";
    }
}

/* Writes a sentence to x->error, such as "URL/v1/traces: HTTP 503: message of the collector". */
static void batch_describe_answer(struct exporter *x, enum otlp_signal signal, int status,
                                  struct slice text)
{
    buf_clear(&x->error);
    buf_printf(&x->error, "%s%s: HTTP %d", buf_str(&x->base), signals[signal].path, status);
    if (text.n > 0) {
        buf_adds(&x->error, ": ");
        buf_slice_add(&x->error, text);
    }
}

/* Counts n refused items. Logs a warning for the 1st, 2nd, 4th, 8th… refusal. */
static void batch_count_refused_items(struct exporter *x, enum otlp_signal signal, int64_t n,
                                      bool partial)
{
    x->refused += n;
    x->refusals++;
    buf_clear(&x->refusal);
    buf_slice_add(&x->refusal, buf_slice(&x->error));
    buf_printf(&x->refusal, "; %lld %s %s, %lld items in all; these items are not sent again",
               (long long)n, signals[signal].items,
               partial ? "of a batch were not accepted" : "were refused", (long long)x->refused);
    if ((x->refusals & (x->refusals - 1)) == 0)
        log_warn("%s", buf_str(&x->refusal));
}

/* Reports items that the collector rejected, or the warning in the collector's answer, although the
 * collector accepted the batch. */
static void batch_handle_partial_success(struct exporter *x, enum otlp_signal signal, int status,
                                         struct slice text, int64_t rejected)
{
    const int64_t n = (int64_t)x->part[signal].n;
    if (rejected == 0 && text.n == 0)
        return;
    batch_describe_answer(x, signal, status, text);
    if (rejected > 0)
        batch_count_refused_items(x, signal, rejected < n ? rejected : n, true);
    else
        log_warn("%s", buf_str(&x->error));
}

static int batch_handle_answer(struct exporter *x, enum otlp_signal signal,
                               const struct post_answer *a)
{
    struct part *p = &x->part[signal];
    struct buf text = {0};
    int64_t rejected;
    int st = 0;
    verdict_read_answer_body(a->body, &text, &rejected);
    enum verdict v = verdict_choose_by_http_status(a->status, signal);
    if (v != VERDICT_TAKEN)
        batch_describe_answer(x, signal, a->status, buf_slice(&text));
    switch (v) {
    case VERDICT_TAKEN:
        batch_handle_partial_success(x, signal, a->status, buf_slice(&text), rejected);
        break;
    case VERDICT_LATER:
        x->wait_ms = verdict_limit_retry_wait(a->retry_after_s);
        st = TARGET_LOST;
        break;
    case VERDICT_BATCH_REFUSED:
        batch_count_refused_items(x, signal, (int64_t)p->n, false);
        break;
    case VERDICT_SIGNAL_REFUSED:
        log_warn("%s; no %s are sent until this program is started again", buf_str(&x->error),
                 signals[signal].items);
        p->off = true;
        break;
    case VERDICT_CLIENT_REFUSED:
        buf_adds(&x->error, hint_for_http_status(a->status));
        st = TARGET_REFUSED;
        break;
    }
    buf_close(&text);
    p->done = st == 0;
    return st;
}

/* ---- sending ---- */

static int batch_send_telemetry_signal(struct exporter *x, enum otlp_signal signal)
{
    struct part *p = &x->part[signal];
    struct post_answer answer;
    if (p->n == 0 || p->done || p->off)
        return 0;
    if (!p->ended)
        otlp_end_request(&p->request);
    p->ended = true;
    if (p->b.failed || x->text.failed)
        return MI_ENOMEM;
    int st = post_send(x->to, signals[signal].path, buf_slice(&p->b), &answer);
    if (st == TARGET_LOST) {
        buf_clear(&x->error);
        buf_adds(&x->error, post_error(x->to));
    }
    return st == 0 ? batch_handle_answer(x, signal, &answer) : st;
}

/* Saves the cursors. A failure ends the round, because a collector cannot say which data it has:
 * the same data would be sent again. */
static int batch_save_cursors(struct exporter *x)
{
    struct cursor c[EXPORTER_WALKS];
    for (size_t i = 0; i < x->walks.n;) {
        size_t n = 0, first = i;
        for (; i < x->walks.n && n < MI_COUNT(c); i++) {
            const struct walk *w = &x->walks.list[i];
            if (!w->saved)
                c[n++] = (struct cursor){w->id, w->seq, w->event, w->complete};
        }
        int st = n == 0 ? 0 : cursors_save(x->t.from, slice_of(x->t.url), c, n, clock_wall_us());
        if (st < 0) {
            buf_clear(&x->error);
            buf_adds(&x->error, unsent_error(x->t.from));
            return st;
        }
        for (; first < i; first++)
            x->walks.list[first].saved = true;
    }
    session_walks_drop_saved(&x->walks, false);
    return 0;
}

int batch_send(struct exporter *x)
{
    int st = 0;
    x->wait_ms = 0;
    for (size_t i = 0; st == 0 && i < OTLP_SIGNALS; i++)
        st = batch_send_telemetry_signal(x, (enum otlp_signal)i);
    if (st < 0)
        return st;
    for (size_t i = 0; i < OTLP_SIGNALS; i++) {
        struct part *p = &x->part[i];
        x->sent += (int64_t)p->n;
        buf_clear(&p->b);
        p->n = 0;
        p->session_id = 0;
        p->ended = p->done = false;
    }
    return batch_save_cursors(x);
}
