/* ps.c - `mcp-interposer ps`: the running proxies. */
#include "cli/look/commands.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "cli/frame/journals.h"
#include "cli/frame/session.h"
#include "cli/frame/table.h"
#include "cli/settings/config.h"
#include "vault/store/running.h"

#define GROUP_MAX 256 /* processes of one server that are counted */

static const struct opt table_of_options[] = {
    {.name = "json", .help = "print one JSON object per line for each proxy"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "OPEN is the number of pending requests of the client. UNSTORED has been\n"
    "forwarded and is in memory, but not yet in the database. MEMORY is used by the\n"
    "proxy and its recorder, SERVER MEM by the process group of the server; shared\n"
    "pages count for each process.\n"
    "\n"
    "  mcp-interposer reap    end servers left by killed proxies\n";
/* clang-format on */

static const struct table_column columns[] = {
    {"ID", true, 20, 0},         {"SERVER", false, 24, 0},    {"CLIENT", false, 24, 2},
    {"PID", true, 10, 0},        {"AGE", true, 10, 0},        {"OPEN", true, 8, 0},
    {"RECORDER", true, 10, 4},   {"UNSTORED", true, 10, 4},   {"MEMORY", true, 10, 1},
    {"SERVER PID", true, 10, 3}, {"SERVER MEM", true, 10, 1},
};

/* One running proxy. */
struct view {
    const struct running_row *row;
    const char *client; /* its name in initialize, else its process name */
    struct process self, starter, recorder;
    const struct journal_view *journal; /* NULL: it has no name */
    int64_t age_us, open;
    int64_t server_rss_bytes;
    size_t server_processes;
};

struct listing {
    struct query *q;
    struct out out;
    struct table table;
    struct journals journals;
    bool json;
    size_t left; /* killed proxies whose servers still run */
};

static void add_pid(struct table *t, pid_t pid)
{
    if (pid > 0)
        table_add_int(t, pid, OUT_PLAIN);
    else
        table_add(t, slice_of("-"), OUT_PLAIN);
}

static void add_row(struct table *t, const struct view *v)
{
    table_add_int(t, v->row->session_id, OUT_BOLD);
    table_add(t, slice_of(v->row->name), OUT_CYAN);
    table_add(t, slice_of(v->client), OUT_PLAIN);
    table_add_int(t, v->row->r.pid, OUT_PLAIN);
    table_add_duration(t, v->age_us);
    table_add_int(t, v->open, v->open > 0 ? OUT_YELLOW : OUT_PLAIN);
    add_pid(t, v->recorder.pid);
    if (v->journal != NULL)
        table_add_size(t, (int64_t)v->journal->unstored);
    else
        table_add(t, slice_of("-"), OUT_PLAIN);
    table_add_size(t, v->self.rss_bytes + v->recorder.rss_bytes);
    add_pid(t, v->row->r.server_pid);
    table_add_size(t, v->server_rss_bytes);
}

static void json_pid(struct json_out *j, const char *name, pid_t pid)
{
    if (pid > 0)
        json_out_int(j, name, pid);
    else
        json_out_null(j, name);
}

static void json_row(struct buf *b, const struct view *v)
{
    const struct running *r = &v->row->r;
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_int(&j, "session_id", v->row->session_id);
    json_out_str(&j, "uid", v->row->uid);
    json_out_str(&j, "name", v->row->name);
    json_out_str(&j, "client", v->client);
    json_pid(&j, "client_pid", r->client_pid);
    json_pid(&j, "pid", r->pid);
    json_pid(&j, "server_pid", r->server_pid);
    json_pid(&j, "server_group", r->server_group);
    json_out_int(&j, "server_processes", (int64_t)v->server_processes);
    json_out_int(&j, "started_at_us", v->row->started_at_us);
    json_out_int(&j, "last_at_us", v->row->last_at_us);
    json_out_int(&j, "age_us", v->age_us);
    json_out_int(&j, "open", v->open);
    json_pid(&j, "recorder_pid", v->recorder.pid);
    if (v->journal != NULL)
        json_out_int(&j, "unstored_bytes", (int64_t)v->journal->unstored);
    else
        json_out_null(&j, "unstored_bytes");
    json_out_int(&j, "rss_bytes", v->self.rss_bytes);
    json_out_int(&j, "recorder_rss_bytes", v->recorder.rss_bytes);
    json_out_int(&j, "server_rss_bytes", v->server_rss_bytes);
    json_out_end(&j);
}

static int read_view(struct listing *l, const struct running_row *row, struct view *v)
{
    struct process group[GROUP_MAX];
    struct query_summary summary = {0};
    *v = (struct view){.row = row, .client = row->client};
    if (process_read(row->r.pid, &v->self) < 0)
        return MI_ENOENT; /* it has exited meanwhile */
    if (row->client[0] == '\0')
        v->client = process_read(row->r.client_pid, &v->starter) == 0 ? v->starter.name : "-";
    v->age_us = clock_wall_us() - row->started_at_us;
    v->server_processes = running_group(&row->r, group, GROUP_MAX);
    for (size_t i = 0; i < v->server_processes; i++)
        v->server_rss_bytes += group[i].rss_bytes;
    v->journal = journals_find(&l->journals, row->uid);
    if (v->journal == NULL || !v->journal->reader ||
        process_read(v->journal->recorder, &v->recorder) < 0)
        v->recorder = (struct process){.pid = 0};
    int st = query_summary(l->q, row->session_id, false, &summary);
    v->open = summary.by_status[CALL_OPEN];
    return st;
}

static int list_row(struct listing *l, const struct running_list *rows,
                    const struct running_row *row)
{
    struct view v;
    struct process any;
    enum session_state state = running_look(rows, row);
    if (state == SESSION_DIED && running_group(&row->r, &any, 1) > 0)
        l->left++;
    if (state != SESSION_LIVE || !running_is_here(&row->r))
        return 0;
    int st = read_view(l, row, &v);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (l->json) {
        json_row(&l->out.b, &v);
        out_end_line(&l->out);
    } else {
        add_row(&l->table, &v);
    }
    return 0;
}

static int list(struct query *q, const struct settings *s)
{
    struct listing l = {.q = q, .json = settings_on(s, "json")};
    struct running_list rows;
    struct buf error = {0};
    out_open(&l.out);
    table_open(&l.table, columns, MI_COUNT(columns));
    int st = running_open(&rows, query_vault(q), &error);
    bool read = st == 0;
    if (st == 0 && journals_open(&l.journals, query_vault(q)) < 0)
        l.journals.n = 0; /* shown as not known */
    for (size_t i = 0; st == 0 && i < rows.n; i++)
        st = list_row(&l, &rows, &rows.row[i]);
    if (st == 0 && l.table.cells_n > 0 && !table_print(&l.table, &l.out))
        st = MI_ENOMEM;
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory"
                        : read          ? query_error(q)
                                        : buf_str(&error));
    else if (l.left == 0 && l.table.cells_n == 0 && !l.json &&
             (l.out.is_terminal || !query_is_stored(q)))
        session_none(q, "no session runs");
    else if (l.left > 0)
        log_warn("%zu killed %s left server processes running; clean up with: mcp-interposer reap",
                 l.left, l.left == 1 ? "proxy has" : "proxies have");
    running_close(&rows);
    journals_close(&l.journals);
    table_close(&l.table);
    buf_close(&error);
    int status = out_close(&l.out);
    return st < 0 ? EXIT_TROUBLE : status;
}

static int run(const struct settings *s)
{
    return session_command(s, list);
}

const struct command command_ps = {
    .name = "ps",
    .summary = "list the running proxies",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
