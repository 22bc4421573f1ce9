#include "ship/otlp/target.h"

#include "ship/otlp/exporter.h"
#include "ship/otlp/url.h"

static int check_url(const char *url, struct buf *error)
{
    struct buf base = {0};
    int st = url_base(url, &base, error);
    buf_close(&base);
    return st;
}

static int open_collector(void **ret, const struct target *t, struct buf *error)
{
    struct exporter *x;
    int st = exporter_open(&x, t, error);
    if (st == 0)
        *ret = x;
    return st;
}

static void close_collector(void *x)
{
    exporter_close(x);
}

static int send_round(void *x, int64_t *ret_sent)
{
    return exporter_round(x, ret_sent);
}

static const char *error_of(void *x, int status)
{
    return exporter_error(x, status);
}

static int64_t wait_of(const void *x)
{
    const struct exporter *e = x;
    return e->wait_ms;
}

static const char *refused_of(void *x)
{
    return exporter_refused(x);
}

/* A collector cannot be asked what it has, and has no use for the log. If the cursors cannot be
 * saved, the round fails. */
const struct target_kind otlp_target = {
    .form = "otlp+http://HOST:4318",
    .is_url = url_is_otlp,
    .check_url = check_url,
    .open = open_collector,
    .close = close_collector,
    .round = send_round,
    .error = error_of,
    .wait_ms = wait_of,
    .refused = refused_of,
};
