/* cmd_sessions.c - `mcp-interposer sessions`: what was recorded, a line for each session. */
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/config.h"
#include "cli/filter.h"
#include "cli/record_json.h"
#include "cli/table.h"

static const struct opt table_of_options[] = {
    COMMAND_OPT_VAULT,
    {'n', "limit", "N", "20", "how many, newest first; 0: all of them"},
    FILTER_OPTS,
    {0, "failed", NULL, NULL, "only those with a call that failed, or with a bad end"},
    {0, "live", NULL, NULL, "only those that still run"},
    {0, "json", NULL, NULL, "a JSON object on a line for each session"},
    COMMAND_OPTS,
};

static const char about[] =
    "ENDED is why a session ended, with the exit status unless that is 0; `live` when it still\n"
    "runs, `died` when it ended without being able to say so; `tools changed` when the server had\n"
    "others than in the session before (see `tools --diff`).\n"
    "CALLS are the client's requests, ERRORS those of them that failed or were refused.\n"
    "A bad end is `died`, or an exit status that is not 0. Options that narrow the list add up.\n"
    "\n"
    "  mcp-interposer show ID    what was said in one of them; the beginning of its UID does as "
    "well\n";

static const struct table_column columns[] = {
    {"ID", true, 20, 0},      {"UID", false, 26, 3},    {"STARTED", false, 19, 0},
    {"SERVER", false, 24, 0}, {"CLIENT", false, 24, 2}, {"PROTOCOL", false, 12, 1},
    {"CALLS", true, 12, 0},   {"ERRORS", true, 12, 0},  {"LASTED", true, 10, 0},
    {"ENDED", false, 32, 0},
};

struct listing {
    struct query *q;
    struct out out;
    struct table table;
    struct buf text; /* owned; scratch */
    struct filter filter;
    int64_t left; /* sessions that may still be listed */
    bool json, limited, older, failed, live;
    int status;
};

static void add_number(struct listing *l, int64_t n, enum out_style style)
{
    buf_int(&l->text, n);
    table_add_buf(&l->table, &l->text, style);
}

static enum out_style end_style(const struct query_session *s, enum session_state state)
{
    if (state == SESSION_LIVE)
        return OUT_GREEN;
    if (state != SESSION_ENDED)
        return OUT_RED;
    return s->has_exit_status && s->exit_status != 0 ? OUT_YELLOW : OUT_PLAIN;
}

static void add_row(struct listing *l, const struct query_session *s, const struct session_view *v)
{
    char started[CLOCK_TEXT_MAX];
    clock_local_text(s->started_at_us, started);
    int64_t errors = session_errors(&v->summary);
    size_t uid_n = s->uid_unique > 8 ? s->uid_unique : size_min(8, s->uid.n);
    add_number(l, s->id, OUT_BOLD);
    table_add(&l->table, (struct slice){s->uid.p, uid_n}, OUT_DIM);
    table_add(&l->table, slice_of(started), OUT_PLAIN);
    table_add(&l->table, s->name, OUT_CYAN);
    buf_slice_add(&l->text, s->client_name.p != NULL ? s->client_name : slice_of("-"));
    if (s->client_version.p != NULL) {
        buf_addc(&l->text, ' ');
        buf_slice_add(&l->text, s->client_version);
    }
    table_add_buf(&l->table, &l->text, OUT_PLAIN);
    table_add(&l->table, s->protocol_version.p != NULL ? s->protocol_version : slice_of("-"),
              OUT_PLAIN);
    add_number(l, v->summary.calls, OUT_PLAIN);
    add_number(l, errors, errors > 0 ? OUT_RED : OUT_PLAIN);
    units_show_duration(&l->text, v->lasted_us);
    table_add_buf(&l->table, &l->text, OUT_PLAIN);
    session_end_text(&l->text, s, v->state);
    buf_adds(&l->text, v->summary.tools_changed ? ", tools changed" : "");
    buf_adds(&l->text, v->summary.unfinished ? ", unfinished lines" : "");
    table_add_buf(&l->table, &l->text, end_style(s, v->state));
}

/* What decides without a look at the messages comes first. */
static bool is_wanted(const struct listing *l, const struct query_session *s)
{
    return filter_takes(&l->filter, s) && (!l->live || session_state_of(s) == SESSION_LIVE);
}

static bool has_failed(const struct query_session *s, const struct session_view *v)
{
    return v->state == SESSION_DIED || (s->has_exit_status && s->exit_status != 0) ||
           session_errors(&v->summary) > 0;
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct listing *l = ctx;
    struct session_view v;
    if (!is_wanted(l, s))
        return true;
    if (l->limited && l->left == 0 && !l->failed) {
        l->older = true;
        return false;
    }
    l->status = session_look(l->q, s, false, &v);
    if (l->status < 0)
        return false;
    if (l->failed && !has_failed(s, &v)) {
        session_close(&v);
        return true;
    }
    if (l->limited && l->left-- == 0) {
        session_close(&v);
        l->older = true;
        return false;
    }
    if (l->json) {
        record_json_session(&l->out.b, s, &v);
        out_end_line(&l->out);
    } else {
        add_row(l, s, &v);
    }
    session_close(&v);
    return !out_ended(&l->out);
}

static bool is_narrowed(const struct listing *l)
{
    return l->filter.server != NULL || l->filter.client != NULL || l->failed || l->live ||
           l->filter.since_us != INT64_MIN || l->filter.until_us != INT64_MAX;
}

static int list(struct query *q, const struct settings *settings)
{
    int64_t limit = settings_number(settings, "limit");
    bool json = settings_on(settings, "json");
    struct listing l = {
        .q = q,
        .left = limit,
        .limited = limit > 0,
        .json = json,
        .failed = settings_on(settings, "failed"),
        .live = settings_on(settings, "live"),
    };
    filter_read(&l.filter, settings);
    out_open(&l.out);
    table_open(&l.table, columns, MI_COUNT(columns));
    int st = query_sessions(q, 0, on_session, &l);
    if (st == 0)
        st = l.status;
    if (st == 0 && !json && l.table.cells_n > 0 && !table_print(&l.table, &l.out))
        st = MI_ENOMEM;
    if (st == 0 && l.older && l.out.is_terminal && !json) {
        out_style(&l.out, OUT_DIM);
        out_printf(&l.out, "There are older ones: -n 0 shows all.");
        out_style(&l.out, OUT_PLAIN);
        out_end_line(&l.out);
    }
    bool none = l.table.cells_n == 0;
    table_close(&l.table);
    buf_close(&l.text);
    int status = out_close(&l.out);
    if (st < 0)
        return session_fail(q, st);
    if (none && !json && is_narrowed(&l))
        log_warn("no session in %s is like that", query_vault(q));
    else if (none && !json)
        log_warn("there is no session in %s yet", query_vault(q));
    return status;
}

static int run(int argc, char **argv)
{
    return session_command(&command_sessions, argc, argv, list);
}

const struct command command_sessions = {
    .name = "sessions",
    .summary = "list what was recorded, newest first",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
