#include "ship/otlp/target.h"

#include "ship/otlp/exporter.h"
#include "ship/otlp/url.h"

static int check_url(const char *url, struct buf *error)
{
    struct buf base = {0};
    int st = url_make_base_url(url, &base, error);
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

static int otlp_send_new_rows(void *x, int64_t *ret_sent)
{
    return exporter_send_new_rows(x, ret_sent);
}

static const char *otlp_target_get_error_text(void *x, int status)
{
    return exporter_error(x, status);
}

static int64_t otlp_target_get_wait_ms(const void *x)
{
    const struct exporter *e = x;
    return e->wait_ms;
}

static const char *otlp_target_get_refusal_text(void *x)
{
    return exporter_refusal_text(x);
}

/* A collector cannot report which data it has, and does not need the vault's log. If the cursors
 * cannot be saved, the round fails. So check, leaves, is_cut and is_unsaved are NULL. */
const struct target_kind otlp_target = {
    .form = "otlp+http://HOST:4318",
    .is_url = url_is_otlp,
    .check_url = check_url,
    .open = open_collector,
    .close = close_collector,
    .round = otlp_send_new_rows,
    .error = otlp_target_get_error_text,
    .wait_ms = otlp_target_get_wait_ms,
    .refused = otlp_target_get_refusal_text,
};
