/* timeline_header.c - what stands above a session's lines. */
#include "cli/timeline.h"

#include "base/clock.h"
#include "base/units.h"
#include "wire/json_text.h"

static void field(struct timeline *t, const char *name)
{
    out_style(t->out, OUT_DIM);
    out_printf(t->out, "%-10s", name);
    out_style(t->out, OUT_PLAIN);
}

static void name_and_version(struct timeline *t, struct slice name, struct slice version)
{
    out_text(t->out, name);
    if (version.p != NULL) {
        out_raw(t->out, " ");
        out_text(t->out, version);
    }
}

/* The words as a shell would take them. */
static void command_line(struct timeline *t, struct slice command)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=@%+,";
    struct json_scan scan;
    if (json_scan(command, NULL, NULL, &scan) < 0 || scan.type != JSON_ARRAY) {
        out_text(t->out, command);
        return;
    }
    struct json_walk w = json_walk_begin((struct json_value){scan.type, scan.root});
    struct slice key;
    struct json_value v;
    for (bool first = true; json_walk_next(&w, &key, &v); first = false) {
        buf_clear(&t->text);
        json_unescape(&t->text, v.type == JSON_STRING ? json_string_raw(v) : v.text);
        const char *word = buf_str(&t->text);
        if (!first)
            out_raw(t->out, " ");
        bool quoted = t->text.n == 0 || strspn(word, plain) != t->text.n;
        out_raw(t->out, quoted ? "'" : "");
        out_text(t->out, buf_slice(&t->text));
        out_raw(t->out, quoted ? "'" : "");
    }
}

static void count(struct timeline *t, int64_t n, const char *what, enum out_style style)
{
    if (n == 0)
        return;
    out_raw(t->out, ", ");
    out_style(t->out, style);
    out_printf(t->out, "%lld %s", (long long)n, what);
    out_style(t->out, OUT_PLAIN);
}

static void traffic_line(struct timeline *t)
{
    const struct query_summary *s = &t->view->summary;
    field(t, "traffic");
    out_printf(t->out, "%lld message%s, %lld call%s", (long long)s->last_seq,
               s->last_seq == 1 ? "" : "s", (long long)s->calls, s->calls == 1 ? "" : "s");
    if (s->calls > 0) {
        out_raw(t->out, ": ");
        out_printf(t->out, "%lld ok", (long long)s->ok);
        count(t, s->tool_errors, "tool-error", OUT_RED);
        count(t, s->errors, "error", OUT_RED);
        count(t, s->refused, "refused", OUT_RED);
        count(t, s->server_gone, "server-gone", OUT_RED);
        count(t, s->timeouts, "timeout", OUT_RED);
        count(t, s->cancelled, "cancelled", OUT_YELLOW);
        count(t, s->open, "without an answer", OUT_YELLOW);
    }
    out_end_line(t->out);
}

static void end_line(struct timeline *t)
{
    const struct query_session *s = t->session;
    field(t, "ended");
    if (t->view->state == SESSION_LIVE) {
        out_style(t->out, OUT_GREEN);
        out_printf(t->out, "no, it is live (process %lld)", (long long)s->pid);
    } else if (t->view->state == SESSION_DIED) {
        out_style(t->out, OUT_RED);
        out_printf(t->out, "died: process %lld is gone and recorded no end", (long long)s->pid);
    } else if (t->view->state == SESSION_ELSEWHERE) {
        out_raw(t->out, "no end is recorded; it ran on ");
        out_text(t->out, s->host);
    } else {
        out_text(t->out, s->end_reason.p != NULL ? s->end_reason : slice_of("no reason recorded"));
        if (s->has_exit_status)
            out_printf(t->out, ", exit status %lld", (long long)s->exit_status);
        if (s->has_exit_status && s->exit_status > 128 && s->exit_status < 128 + 65)
            out_printf(t->out, " (signal %d)", (int)(s->exit_status - 128));
    }
    out_style(t->out, OUT_PLAIN);
    out_end_line(t->out);
}

void timeline_header(struct timeline *t)
{
    struct out *o = t->out;
    const struct query_session *s = t->session;
    char started[CLOCK_TEXT_MAX];
    clock_local_text(s->started_at_us, started);

    field(t, "session");
    out_style(o, OUT_BOLD);
    out_printf(o, "%lld", (long long)s->id);
    out_style(o, OUT_PLAIN);
    out_raw(o, "  ");
    out_text(o, s->uid);
    out_end_line(o);

    field(t, "server");
    out_style(o, OUT_CYAN);
    out_text(o, s->name);
    out_style(o, OUT_PLAIN);
    if (s->server_name.p != NULL) {
        out_raw(o, " (");
        name_and_version(t, s->server_name, s->server_version);
        out_raw(o, ")");
    }
    out_end_line(o);

    field(t, "command");
    command_line(t, s->command);
    out_end_line(o);

    field(t, "client");
    name_and_version(t,
                     s->client_name.p != NULL ? s->client_name : slice_of("did not say its name"),
                     s->client_version);
    if (s->protocol_version.p != NULL) {
        out_raw(o, ", protocol ");
        out_text(o, s->protocol_version);
    }
    out_end_line(o);

    buf_clear(&t->text);
    units_show_duration(&t->text, t->view->lasted_us);
    field(t, "started");
    out_printf(o, "%s, %s %s", started, t->view->state == SESSION_LIVE ? "so far" : "lasted",
               buf_str(&t->text));
    out_end_line(o);
    end_line(t);
    traffic_line(t);
    out_end_line(o);
}

void timeline_title(struct timeline *t)
{
    char started[CLOCK_TEXT_MAX];
    clock_local_text(t->session->started_at_us, started);
    out_style(t->out, OUT_DIM);
    out_printf(t->out, "session %lld  ", (long long)t->session->id);
    out_text(t->out, t->session->name);
    out_printf(t->out, "  %s", started);
    out_style(t->out, OUT_PLAIN);
    out_end_line(t->out);
}
