#include "cli/doctor/shipping.h"

#include "base/clock.h"
#include "base/units.h"
#include "vault/unsent/cursors.h"

/* Three days, because a laptop may be offline over a weekend. */
#define LATE_US (INT64_C(3) * 86400 * 1000000)

struct check {
    struct doctor *d;
    const char *url; /* the target in the configuration; NULL: none */
    bool seen;       /* whether the vault was ever sent to this target */
};

static int shipping_on_target(void *ctx, const struct target_state *t, const struct target_lag *lag)
{
    struct check *c = ctx;
    c->seen |= c->url != NULL && slice_is(t->url, c->url);
    bool late = lag->sessions > 0 && t->sent_at_us < clock_wall_us() - LATE_US;
    struct slice error = t->error.p != NULL ? t->error : slice_of("no error");
    if (late)
        doctor_report_fault(
            c->d, "shipping",
            "run: mcp-interposer ship to URL, or if it is no longer used: mcp-interposer ship "
            "forget URL; `mcp-interposer ship status` says more",
            "%lld message%s of %lld session%s not sent to %.*s; the last attempt: %.*s",
            (long long)lag->messages, lag->messages == 1 ? "" : "s", (long long)lag->sessions,
            lag->sessions == 1 ? "" : "s", (int)t->url.n, t->url.p, (int)error.n, error.p);
    else
        doctor_report_fine(c->d, "shipping", "%lld message%s to be sent to %.*s",
                           (long long)lag->messages, lag->messages == 1 ? "" : "s", (int)t->url.n,
                           t->url.p);
    return 0;
}

void doctor_check_shipping(struct doctor *d, const char *url)
{
    struct check c = {d, url, false};
    struct buf error = {0};
    int st = cursors_read(d->vault, shipping_on_target, &c,
                          &error); /* the check of the database reports errors */
    buf_close(&error);
    if (st == 0 && url != NULL && !c.seen)
        doctor_report_fault(
            d, "shipping", "run: mcp-interposer ship to URL, or enable its systemd unit",
            "the configuration names a central store, and this vault was never sent there");
}
