/* sessions.c - `mcp-interposer sessions`: the recorded sessions, one line each. */
#include "cli/look/commands.h"

#include "cli/frame/filter.h"
#include "cli/frame/list_out.h"
#include "cli/frame/session_line.h"
#include "cli/settings/config.h"

static const struct opt table_of_options[] = {
    {'n', "limit", "N", "20", "number of sessions; 0: all"},
    FILTER_OPTS,
    {0, "failed", NULL, NULL, "only sessions with a failed call or a bad end"},
    {0, "live", NULL, NULL, "only running sessions"},
    OPT_REQUESTS,
    LIST_OPTS("session"),
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
    "`sent`: `send` made it; CLIENT may be the client of the recorded session.\n"
    "DIRECTORY is the directory in which the server ran.\n"
    "CALLS are the client's calls; ERRORS are those that failed or were rejected. A\n"
    "call that was several requests counts once; --requests counts each of them.\n"
    "A bad end is `died`, or an exit status other than 0. Options that select\n"
    "sessions are combined.\n"
    "\n"
    "  mcp-interposer show ID      the messages of a session; also by the beginning\n"
    "                              of its UID\n"
    "  mcp-interposer show NAME    the messages of the newest session of this server\n";
/* clang-format on */

struct listing {
    struct query *q;
    struct list_out o;
    struct filter filter;
    int64_t left; /* number of sessions that may still be listed */
    bool limited, failed, live;
    bool older; /* there are more sessions than the limit */
    int status;
};

static bool sessions_on_session(void *ctx, const struct query_session *s)
{
    struct listing *l = ctx;
    struct session_view v;
    if (l->live && !session_is_running(l->q, s))
        return true;
    l->older = l->limited && l->left == 0;
    if (l->older && !l->failed)
        return false;
    l->status = session_read_view(l->q, s, false, &v);
    if (l->status < 0)
        return false;
    bool listed = !l->failed || session_has_failed(s, &v);
    if (listed && !l->older) {
        struct session_line line = session_line(s, &v);
        (void)list_out_add_row(&l->o, &line);
        l->left--;
    }
    session_close(&v);
    return !(listed && l->older) && !out_has_ended(&l->o.out);
}

static int sessions_print(struct query *q, const struct settings *settings)
{
    int64_t limit = settings_get_number(settings, "limit");
    struct listing l = {
        .q = q,
        .left = limit,
        .limited = limit > 0,
        .failed = settings_is_on(settings, "failed"),
        .live = settings_is_on(settings, "live"),
    };
    bool several; /* there are several vaults */
    filter_read_from_options(&l.filter, settings);
    int st = query_has_several_vaults(q, &several);
    struct show_list rows =
        session_list_columns(st == 0 && several, settings_is_on(settings, "requests"));
    int status = list_out_open(&l.o, settings, &rows);
    if (status != EXIT_FINE)
        return status;
    if (st == 0)
        st = query_matching_sessions(q, &l.filter, FILTER_BEGAN, 0, sessions_on_session, &l);
    if (st == 0)
        st = l.status;
    if (st == 0 && l.older)
        buf_adds(&l.o.more, "Older sessions are not shown; -n 0 lists all.");
    status = list_out_close(&l.o);
    if (st < 0)
        return session_report_query_error(q, st);
    if (l.o.n == 0 && l.o.form == LIST_TABLE)
        session_warn_empty_list(q, "no matching session");
    return status;
}

static int sessions_run(const struct settings *s)
{
    return session_run_command(s, sessions_print);
}

const struct command command_sessions = {
    .name = "sessions",
    .summary = "list the recorded sessions, newest first",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = sessions_run,
};
