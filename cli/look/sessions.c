/* sessions.c - `mcp-interposer sessions`: the recorded sessions, one line each. */
#include "cli/look/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/frame/filter.h"
#include "cli/frame/record_json.h"
#include "cli/frame/session.h"
#include "cli/frame/table.h"
#include "cli/settings/config.h"

static const struct opt table_of_options[] = {
    {'n', "limit", "N", "20", "number of sessions; 0: all"},
    FILTER_OPTS,
    {0, "failed", NULL, NULL, "only sessions with a failed call or a bad end"},
    {0, "live", NULL, NULL, "only running sessions"},
    {0, "json", NULL, NULL, "print one JSON object per line for each session"},
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "ENDED is the reason why a session ended, with the exit status unless it is 0;\n"
    "`live` while it is running; `died` if its proxy was killed before it could\n"
    "record an end. `tools changed`: the server had other tools than in the session\n"
    "before (see `tools --diff`). `imported`: it was not recorded in this vault.\n"
    "`sent`: made by `send`, even if CLIENT is that of the session it was taken from.\n"
    "DIRECTORY is that in which the server ran.\n"
    "CALLS are the client's requests; ERRORS are those that failed or were rejected.\n"
    "A bad end is `died`, or an exit status other than 0. Options that select\n"
    "sessions are combined.\n"
    "\n"
    "  mcp-interposer show ID      the messages of a session; also by the beginning\n"
    "                              of its UID\n"
    "  mcp-interposer show NAME    those of the newest session of this server\n";
/* clang-format on */

static const struct table_column columns[] = {
    {"ID", true, 20, 0},         {"UID", false, 26, 5},     {"STARTED", false, 19, -19},
    {"SERVER", false, 24, -8},   {"CLIENT", false, 24, 4},  {"PROTOCOL", false, 12, 3},
    {"CALLS", true, 12, 1},      {"ERRORS", true, 12, 0},   {"LASTED", true, 10, 2},
    {"DIRECTORY", false, 48, 6}, {"ENDED", false, 56, -32}, /* client-closed 143, tools changed */
};

/* Of several vaults, which have the same numbers. */
static const struct table_column columns_of_several[] = {
    {"UID", false, 26, 0},       {"STARTED", false, 19, -19}, {"HOST", false, 24, -8},
    {"SERVER", false, 24, -8},   {"CLIENT", false, 24, 4},    {"PROTOCOL", false, 12, 3},
    {"CALLS", true, 12, 1},      {"ERRORS", true, 12, 0},     {"LASTED", true, 10, 2},
    {"DIRECTORY", false, 48, 6}, {"ENDED", false, 56, -17}, /* client-closed 143 */
};

struct listing {
    struct query *q;
    struct out out;
    struct table table;
    struct buf text; /* owned; scratch */
    struct filter filter;
    int64_t left; /* sessions that may still be listed, if limited */
    bool json, limited, failed, live;
    bool several; /* vaults */
    bool older;   /* there are sessions beyond the limit */
    int status;
};

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
    struct table *t = &l->table;
    char started[CLOCK_TEXT_MAX];
    clock_local_text(s->started_at_us, started);
    int64_t errors = session_errors(&v->summary);
    struct slice uid = session_uid_head(s, l->several ? SESSION_UID_SHOWN : 8);
    if (!l->several)
        table_add_int(t, s->number, OUT_BOLD);
    table_add(t, uid, l->several ? OUT_BOLD : OUT_DIM);
    table_add(t, slice_of(started), OUT_PLAIN);
    if (l->several)
        table_add(t, s->host.p != NULL ? s->host : slice_of("-"), OUT_PLAIN);
    table_add(t, s->name, OUT_CYAN);
    buf_slice_add(&l->text, s->client_name.p != NULL ? s->client_name : slice_of("-"));
    if (s->client_version.p != NULL) {
        buf_addc(&l->text, ' ');
        buf_slice_add(&l->text, s->client_version);
    }
    table_add_buf(t, &l->text, OUT_PLAIN);
    table_add(t, s->protocol_version.p != NULL ? s->protocol_version : slice_of("-"), OUT_PLAIN);
    table_add_int(t, v->summary.calls, OUT_PLAIN);
    table_add_int(t, errors, errors > 0 ? OUT_RED : OUT_PLAIN);
    table_add_duration(t, v->lasted_us);
    table_add(t, s->cwd.p != NULL ? s->cwd : slice_of("-"), OUT_PLAIN);
    session_end_text(&l->text, s, v->state);
    buf_adds(&l->text, query_is_imported(s) ? ", imported" : "");
    buf_adds(&l->text, v->sent ? ", sent" : "");
    buf_adds(&l->text, v->summary.tools_changed ? ", tools changed" : "");
    buf_adds(&l->text, v->summary.unfinished ? ", unfinished lines" : "");
    table_add_buf(t, &l->text, end_style(s, v->state));
}

static void list_session(struct listing *l, const struct query_session *s,
                         const struct session_view *v)
{
    if (l->json) {
        record_json_session(&l->out.b, s, v);
        out_end_line(&l->out);
    } else {
        add_row(l, s, v);
    }
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct listing *l = ctx;
    struct session_view v;
    if (l->live && !session_runs(l->q, s))
        return true;
    l->older = l->limited && l->left == 0;
    if (l->older && !l->failed)
        return false;
    l->status = session_look(l->q, s, false, &v);
    if (l->status < 0)
        return false;
    bool listed = !l->failed || session_has_failed(s, &v);
    if (listed && !l->older) {
        list_session(l, s, &v);
        l->left--;
    }
    session_close(&v);
    return !(listed && l->older) && !out_ended(&l->out);
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
    int st = query_several(q, &l.several);
    if (l.several)
        table_open(&l.table, columns_of_several, MI_COUNT(columns_of_several));
    else
        table_open(&l.table, columns, MI_COUNT(columns));
    if (st == 0)
        st = query_sessions_of(q, &l.filter, FILTER_BEGAN, 0, on_session, &l);
    if (st == 0)
        st = l.status;
    if (st == 0 && !json && l.table.cells_n > 0 && !table_print(&l.table, &l.out))
        st = MI_ENOMEM;
    if (st == 0 && l.older && l.out.is_terminal && !json) {
        out_words(&l.out, OUT_DIM, "Older sessions are not shown; -n 0 lists all.");
        out_end_line(&l.out);
    }
    bool none = l.table.cells_n == 0;
    table_close(&l.table);
    buf_close(&l.text);
    int status = out_close(&l.out);
    if (st < 0)
        return session_fail(q, st);
    if (none && !json)
        session_none(q, "no matching session");
    return status;
}

static int run(const struct settings *s)
{
    return session_command(s, list);
}

const struct command command_sessions = {
    .name = "sessions",
    .summary = "list the recorded sessions, newest first",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
