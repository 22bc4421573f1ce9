/* status.c - `ship status`: what was sent, and what is missing. */
#include "ship/commands.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/frame/out.h"
#include "vault/unsent/cursors.h"

#include <stdlib.h>

struct report {
    struct out out;
    bool json;
    /* `targets`: number of targets; `late`: number of targets that lack rows */
    int64_t targets, late;
};

static void add_time_member(struct json_out *j, const char *name, int64_t at_us)
{
    if (at_us != 0)
        json_out_int(j, name, at_us);
    else
        json_out_null(j, name);
}

static void ship_status_print_json(struct report *r, const struct target_state *t,
                                   const struct target_lag *lag)
{
    struct json_out j = json_out_to(&r->out.b);
    json_out_object(&j, NULL);
    json_out_str(&j, "type", "target");
    json_out_text(&j, "url", t->url);
    add_time_member(&j, "tried_at_us", t->tried_at_us);
    add_time_member(&j, "sent_at_us", t->sent_at_us);
    json_out_int(&j, "leaves", t->leaves);
    json_out_int(&j, "missing_sessions", lag->sessions);
    json_out_int(&j, "missing_messages", lag->messages);
    json_out_int(&j, "missing_events", lag->events);
    json_out_int(&j, "missing_bytes", lag->bytes);
    add_time_member(&j, "oldest_at_us", lag->oldest_at_us);
    json_out_text(&j, "error", t->error);
    json_out_end(&j);
    out_end_line(&r->out);
}

/* Prints a line with a time. Prints nothing if the time is 0. */
static void status_print_time(struct out *o, const char *what, int64_t at_us)
{
    if (at_us == 0)
        return;
    out_printf(o, "  %s%s", what, clock_format_local_time(at_us).s);
    out_end_line(o);
}

static void status_print_target_lag(struct out *o, const struct target_lag *lag)
{
    const char *more = lag->sessions == 1 ? "" : "s";
    if (lag->sessions == 0)
        out_add_raw(o, "  nothing is missing");
    else if (lag->messages + lag->events == 0)
        out_printf(o, "  missing: changes of %lld session%s", (long long)lag->sessions, more);
    else
        out_printf(o, "  missing: %lld message%s (%s), %lld event%s, of %lld session%s",
                   (long long)lag->messages, lag->messages == 1 ? "" : "s",
                   units_format_bytes(lag->bytes).s, (long long)lag->events,
                   lag->events == 1 ? "" : "s", (long long)lag->sessions, more);
    out_end_line(o);
    status_print_time(o, "the oldest message of ", lag->oldest_at_us);
}

static void ship_status_print_text(struct report *r, const struct target_state *t,
                                   const struct target_lag *lag)
{
    struct out *o = &r->out;
    out_add_text(o, t->url);
    out_end_line(o);
    status_print_target_lag(o, lag);
    status_print_time(o, "last success ", t->sent_at_us);
    if (t->error.p != NULL) {
        status_print_time(o, "last attempt ", t->tried_at_us);
        out_add_raw(o, "    ");
        size_t from = o->b.n;
        out_add_text(o, t->error);
        out_fill_line(o, from, 4);
    }
}

static int ship_status_on_target(void *ctx, const struct target_state *t,
                                 const struct target_lag *lag)
{
    struct report *r = ctx;
    r->targets++;
    r->late += lag->sessions > 0;
    if (r->json)
        ship_status_print_json(r, t, lag);
    else
        ship_status_print_text(r, t, lag);
    return 0;
}

int run_status(const struct settings *s)
{
    struct report r = {.json = settings_is_on(s, "json")};
    struct buf error = {0};
    char *vault = settings_get_vault_path(s);
    if (vault == NULL)
        return EXIT_TROUBLE;
    out_open(&r.out);
    int st = cursors_read(vault, ship_status_on_target, &r, &error);
    int status = out_close(&r.out);
    if (st < 0) {
        status = command_fail(st, &error);
    } else if (r.targets == 0) {
        log_warn("%s has not been sent to any target yet", vault);
    }
    buf_close(&error);
    free(vault);
    return status == EXIT_FINE && r.late > 0 ? EXIT_FOUND : status;
}
