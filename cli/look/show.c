/* show.c - `mcp-interposer show`: one session, message by message. */
#include "cli/look/commands.h"

#include "base/log.h"
#include "cli/frame/filter.h"
#include "cli/frame/pager.h"
#include "cli/frame/record_json.h"
#include "cli/frame/session.h"
#include "cli/look/session_header.h"
#include "cli/look/timeline/timeline.h"
#include "cli/settings/config.h"
#include "wire/json/text.h"

static const struct opt table_of_options[] = {
    {'b', "bodies", NULL, NULL, "print every body in full, as it was recorded"},
    {'p', "pretty", NULL, NULL, "print every body in full, indented"},
    {'s', "seq", "N", NULL, "only one call: request N, related messages, and its answer"},
    FILTER_CALL_OPTS,
    FILTER_OPTS,
    OPT_REQUESTS,
    {0, "no-pager", NULL, NULL, "do not use $PAGER on a terminal"},
    {0, "json", NULL, NULL, "print one JSON object per line for each row, including bodies"},
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    COMMAND_SESSION_HELP
    "Without SESSION: the newest session that has a message and matches --server and\n"
    "--client. The other filters select messages.\n"
    "The arrow points to the server or to the client. TOOK is the time from a request\n"
    "to its answer. Each row ends with the findings [in brackets] and the arguments,\n"
    "the result or the error. On a terminal, rows are truncated to its width, a\n"
    "narrow terminal has fewer columns, and the output is shown with $PAGER, else\n"
    "`less`. In a pipe nothing is truncated.\n";
/* clang-format on */

/* State of the command `show`. */
struct showing {
    struct query *q;
    struct query_session session;
    struct session_view view;
    struct out out;
    struct timeline timeline;
    struct filter filter;
    bool requests;    /* option --requests */
    int64_t seq;      /* seq of the requested call; 0: all messages */
    struct buf token; /* owned; the call's progress token as JSON text; empty: none */
    int64_t closed;   /* seq of the message that closed the call; 0: none so far */
    int status;       /* an error that ends the reading */
};

static bool show_command_on_message(void *ctx, const struct query_message *m)
{
    struct showing *s = ctx;
    s->status = timeline_print_message(&s->timeline, m);
    return s->status == 0 && !out_has_ended(&s->out);
}

static bool show_command_on_event(void *ctx, const struct query_event *e)
{
    struct showing *s = ctx;
    timeline_print_event(&s->timeline, e);
    return !out_has_ended(&s->out);
}

#define MEASURED 500 /* number of messages that are measured to choose the widths of the columns */

static bool show_command_measure_message(void *ctx, const struct query_message *m)
{
    struct showing *s = ctx;
    timeline_measure_columns(&s->timeline, m);
    return true;
}

static int show_whole_session(struct showing *s)
{
    int64_t last = s->view.summary.last_seq;
    struct message_question all = {&s->filter, s->session.id, s->session.started_at_us, 0, last};
    struct message_question measured = all;
    if (s->timeline.bodies == TIMELINE_JSON) {
        record_json_append_session(&s->out.b, &s->session, &s->view);
        out_end_line(&s->out);
        return query_messages_and_events(s->q, &all, show_command_on_message, show_command_on_event,
                                         s);
    }
    measured.to = last < MEASURED ? last : MEASURED;
    int st = query_messages_and_events(s->q, &measured, show_command_measure_message, NULL, s);
    if (st < 0)
        return st;
    session_header_print(&s->out, &s->session, &s->view, s->requests);
    if (last > 0)
        timeline_print_titles(&s->timeline);
    return query_messages_and_events(s->q, &all, show_command_on_message, show_command_on_event, s);
}

/* ---- --seq ---- */

/* Returns the JSON text of params.NAME, or of params._meta.NAME if `in_meta` is true; {NULL, 0} if
 * there is no such member. */
static struct slice find_request_param(struct slice body, bool in_meta, const char *name)
{
    struct json_scan scan;
    if (body.p == NULL || json_scan(body, NULL, NULL, &scan) < 0 || scan.type != JSON_OBJECT)
        return (struct slice){0};
    struct json_value v = json_get((struct json_value){scan.type, scan.root}, "params");
    if (in_meta && v.type == JSON_OBJECT)
        v = json_get(v, "_meta");
    if (v.type == JSON_OBJECT)
        v = json_get(v, name);
    else
        return (struct slice){0};
    return v.type != JSON_NONE ? v.text : (struct slice){0};
}

/* The message that --seq names. */
struct target {
    int64_t seq;
    bool found;
    int64_t request_seq; /* seq of the request that the message belongs to; 0: none */
};

static bool show_on_target_message(void *ctx, const struct query_message *m)
{
    struct target *t = ctx;
    t->found = true;
    t->request_seq = m->request_seq;
    return false;
}

static bool message_belongs_to_shown_call(struct showing *s, const struct query_message *m)
{
    if (m->seq == s->seq || m->request_seq == s->seq || m->batch_seq == s->seq)
        return true;
    if (s->token.n == 0 || s->closed != 0 || m->kind != KIND_NOTIFICATION || m->method.p == NULL ||
        !slice_is(m->method, "notifications/progress"))
        return false;
    return slice_eq(find_request_param(m->body, false, "progressToken"), buf_slice(&s->token));
}

static bool show_message_of_call(void *ctx, const struct query_message *m)
{
    struct showing *s = ctx;
    if (!message_belongs_to_shown_call(s, m))
        return true;
    if (m->seq == s->seq && m->kind == KIND_REQUEST)
        buf_slice_add(&s->token, find_request_param(m->body, true, "progressToken"));
    else if (m->request_seq == s->seq && m->action == ROW_FORWARDED)
        s->closed = m->seq;
    if (!filter_matches_message(&s->filter, s->session.started_at_us, m))
        return true;
    return show_command_on_message(s, m);
}

static bool measure_message_of_call(void *ctx, const struct query_message *m)
{
    struct showing *s = ctx;
    if (message_belongs_to_shown_call(s, m))
        timeline_measure_columns(&s->timeline, m);
    return true;
}

static int show_call(struct showing *s)
{
    struct target t = {.seq = s->seq};
    int64_t last = s->view.summary.last_seq;
    int st = query_timeline(s->q, s->session.id, s->seq, s->seq, show_on_target_message, NULL, &t);
    if (st < 0)
        return st;
    if (!t.found) {
        if (last == 0)
            log_error("session %lld has no messages; see: mcp-interposer sessions",
                      (long long)s->session.number);
        else
            log_error("session %lld has no message %lld; its messages are 1 to %lld",
                      (long long)s->session.number, (long long)s->seq, (long long)last);
        return MI_ENOENT;
    }
    if (t.request_seq > 0) /* the message belongs to a call: shows the call from its request on */
        s->seq = t.request_seq;
    if (s->timeline.bodies != TIMELINE_JSON) {
        int64_t near = s->seq > last - MEASURED ? last : s->seq + MEASURED;
        st = query_timeline(s->q, s->session.id, s->seq, near, measure_message_of_call, NULL, s);
        if (st < 0)
            return st;
        session_title_print(&s->out, &s->session);
        timeline_print_titles(&s->timeline);
    }
    return query_timeline(s->q, s->session.id, s->seq, last, show_message_of_call, NULL, s);
}

/* ---- the command ---- */

static int print_shown_session(struct showing *s, const struct settings *settings)
{
    enum timeline_bodies bodies = settings_is_on(settings, "json")     ? TIMELINE_JSON
                                  : settings_is_on(settings, "pretty") ? BODIES_PRETTY
                                  : settings_is_on(settings, "bodies") ? BODIES_RAW
                                                                       : BODIES_SHORT;
    if (s->seq > 0 && bodies == BODIES_SHORT)
        bodies = BODIES_PRETTY;
    struct pager pager = {.terminal = -1};
    out_open(&s->out);
    if (!settings_is_on(settings, "no-pager"))
        pager_open(&pager, &s->out);
    timeline_open(&s->timeline, &s->out, s->q, &s->session, &s->view, bodies);
    s->timeline.operations = &s->view.operations;
    int st = s->seq > 0 ? show_call(s) : show_whole_session(s);
    st = st == 0 ? s->status : st;
    timeline_close(&s->timeline);
    buf_close(&s->token);
    int status = out_close(&s->out);
    pager_close(&pager);
    if (st < 0 && st != MI_ENOENT)
        (void)session_report_query_error(s->q, st);
    return st < 0 ? EXIT_TROUBLE : status;
}

static int show_command_print_messages(struct query *q, const struct settings *settings)
{
    struct showing s = {.q = q, .requests = settings_is_on(settings, "requests")};
    filter_read_from_options(&s.filter, settings);
    if (settings_get_text(settings, "seq") != NULL)
        s.seq = settings_get_number(settings, "seq");
    int status = filter_pick_session(&s.filter, settings, q, settings->operands[0], &s.session);
    if (status != EXIT_FINE)
        return status;
    int st = session_read_view(q, &s.session, true, &s.view);
    if (st < 0)
        return session_report_query_error(q, st);
    status = print_shown_session(&s, settings);
    session_close(&s.view);
    return status;
}

static int show_command_run(const struct settings *settings)
{
    if (settings_get_text(settings, "seq") != NULL && settings_get_number(settings, "seq") == 0)
        return settings_fail_usage(settings, "--seq: message numbers start at 1");
    return session_run_command(settings, show_command_print_messages);
}

const struct command command_show = {
    .name = "show",
    .summary = "show the messages of a session",
    .usage = "[OPTIONS] [SESSION]",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = show_command_run,
};
