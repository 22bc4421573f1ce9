/* exporter.c - a round: sends all sessions that have new rows. */
#include "ship/otlp/exporter.h"

#include "ship/otlp/reading.h"
#include "ship/otlp/url.h"
#include "vault/unsent/cursors.h"

#include <stdlib.h>

/* ---- opening ---- */

int exporter_open(struct exporter **ret, const struct target *t, struct buf *error)
{
    struct exporter *x = calloc(1, sizeof *x);
    if (x == NULL)
        return MI_ENOMEM;
    x->t = *t;
    x->durations[OTLP_SESSION].metric = OTLP_SESSION;
    int st = url_make_base_url(t->url, &x->base, error);
    if (st == 0)
        st = query_open(&x->q, unsent_get_vault_path(t->from), error);
    if (st == 0)
        st = post_new(&x->to, buf_str(&x->base), &x->t, error);
    if (st < 0)
        exporter_close(x);
    else
        *ret = x;
    return st;
}

void exporter_close(struct exporter *x)
{
    if (x == NULL)
        return;
    post_free(x->to);
    query_close(x->q);
    session_walks_drop_saved(&x->walks, true);
    batch_close(x);
    for (size_t i = 0; i < MI_COUNT(x->durations); i++)
        otlp_durations_close(&x->durations[i]);
    findings_close(&x->added);
    buf_close(&x->base);
    buf_close(&x->refusal);
    buf_close(&x->body);
    buf_close(&x->answer);
    buf_close(&x->text);
    buf_close(&x->error);
    free(x);
}

const char *exporter_error(struct exporter *x, int status)
{
    if (status == TARGET_STOPPED)
        return "the program ended before everything was sent";
    return x->error.n > 0 && !x->error.failed && status != MI_ENOMEM ? buf_str(&x->error)
                                                                     : "out of memory";
}

const char *exporter_refusal_text(struct exporter *x)
{
    return x->refused > 0 ? buf_str(&x->refusal) : NULL;
}

/* ---- a round ---- */

static int exporter_read_all_sessions(struct exporter *x)
{
    struct cursor at = {0};
    int st = 0, n = 0;
    while (st == 0) {
        st = cursors_find_next_unsent_session(x->t.from, slice_of(x->t.url), at.session_id, &at);
        if (st == MI_ENOENT)
            return 0;
        if (st < 0) {
            buf_clear(&x->error);
            buf_adds(&x->error, unsent_error(x->t.from));
            return st;
        }
        st = reading_read_session(x, &at);
        if (st == 0 && ++n % EXPORTER_WALKS == 0)
            st = batch_send(x);
    }
    return st;
}

int exporter_send_new_rows(struct exporter *x, int64_t *ret_sent)
{
    x->sent = 0;
    buf_clear(&x->error);
    int st = batch_send(x); /* send the items that the previous round has left in the batch */
    if (st == 0)
        st = exporter_read_all_sessions(x);
    if (st == 0)
        st = batch_send(x);
    *ret_sent = x->sent;
    return st;
}
