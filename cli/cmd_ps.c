/* cmd_ps.c - `mcp-interposer ps`: the proxies that run now. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/config.h"
#include "cli/session.h"
#include "cli/table.h"
#include "vault/running.h"

#define GROUP_MAX 256 /* processes of one server that are counted */

static const struct opt table_of_options[] = {
    COMMAND_OPT_VAULT,
    {.name = "json", .help = "a JSON object on a line for each proxy"},
    COMMAND_OPTS,
};

static const char about[] =
    "OPEN are requests of the client that are not answered yet. MEMORY is what the proxy has in\n"
    "memory, SERVER MEM what the processes of the server's group have; shared pages count for\n"
    "each of them.\n"
    "\n"
    "  mcp-interposer reap    end what is left of proxies that were killed\n";

static const struct table_column columns[] = {
    {"ID", true, 20, 0},     {"SERVER", false, 24, 0},    {"CLIENT", false, 24, 2},
    {"PID", true, 10, 0},    {"AGE", true, 10, 0},        {"OPEN", true, 8, 0},
    {"MEMORY", true, 10, 1}, {"SERVER PID", true, 10, 3}, {"SERVER MEM", true, 10, 1},
};

/* One proxy, as it is now. */
struct view {
    const struct running_row *row;
    const char *client; /* what it calls itself, else the name of its process */
    struct process self, starter;
    int64_t age_us, open;
    int64_t server_rss_bytes;
    size_t server_processes;
};

struct listing {
    struct query *q;
    struct out out;
    struct table table;
    struct buf text; /* owned; scratch */
    bool json;
    size_t left; /* proxies that were killed and have left something */
};

static void add_number(struct listing *l, int64_t n, enum out_style style)
{
    buf_int(&l->text, n);
    table_add_buf(&l->table, &l->text, style);
}

static void add_size(struct listing *l, int64_t bytes)
{
    units_show_size(&l->text, bytes);
    table_add_buf(&l->table, &l->text, OUT_PLAIN);
}

static void add_row(struct listing *l, const struct view *v)
{
    add_number(l, v->row->session_id, OUT_BOLD);
    table_add(&l->table, slice_of(v->row->name), OUT_CYAN);
    table_add(&l->table, slice_of(v->client), OUT_PLAIN);
    add_number(l, v->row->r.pid, OUT_PLAIN);
    units_show_duration(&l->text, v->age_us);
    table_add_buf(&l->table, &l->text, OUT_PLAIN);
    add_number(l, v->open, v->open > 0 ? OUT_YELLOW : OUT_PLAIN);
    add_size(l, v->self.rss_bytes);
    if (v->row->r.server_pid > 0)
        add_number(l, v->row->r.server_pid, OUT_PLAIN);
    else
        table_add(&l->table, slice_of("-"), OUT_PLAIN);
    add_size(l, v->server_rss_bytes);
}

static void json_text(struct buf *b, const char *name, const char *text)
{
    buf_printf(b, ",\"%s\":", name);
    text_json(b, slice_of(text));
}

static void json_number(struct buf *b, const char *name, int64_t n)
{
    buf_printf(b, ",\"%s\":%lld", name, (long long)n);
}

static void json_pid(struct buf *b, const char *name, pid_t pid)
{
    if (pid > 0)
        json_number(b, name, pid);
    else
        buf_printf(b, ",\"%s\":null", name);
}

static void json_row(struct buf *b, const struct view *v)
{
    const struct running *r = &v->row->r;
    buf_printf(b, "{\"session_id\":%lld", (long long)v->row->session_id);
    json_text(b, "uid", v->row->uid);
    json_text(b, "name", v->row->name);
    json_text(b, "client", v->client);
    json_pid(b, "client_pid", r->client_pid);
    json_pid(b, "pid", r->pid);
    json_pid(b, "server_pid", r->server_pid);
    json_pid(b, "server_group", r->server_group);
    json_number(b, "server_processes", (int64_t)v->server_processes);
    json_number(b, "started_at_us", v->row->started_at_us);
    json_number(b, "last_at_us", v->row->last_at_us);
    json_number(b, "age_us", v->age_us);
    json_number(b, "open", v->open);
    json_number(b, "rss_bytes", v->self.rss_bytes);
    json_number(b, "server_rss_bytes", v->server_rss_bytes);
    buf_addc(b, '}');
}

static int look(struct listing *l, const struct running_row *row, struct view *v)
{
    struct process group[GROUP_MAX];
    struct query_summary summary = {0};
    *v = (struct view){.row = row, .client = row->client};
    if (process_read(row->r.pid, &v->self) < 0)
        return MI_ENOENT; /* it has just ended */
    if (row->client[0] == '\0')
        v->client = process_read(row->r.client_pid, &v->starter) == 0 ? v->starter.name : "-";
    v->age_us = clock_wall_us() - row->started_at_us;
    v->server_processes = running_group(&row->r, group, GROUP_MAX);
    for (size_t i = 0; i < v->server_processes; i++)
        v->server_rss_bytes += group[i].rss_bytes;
    int st = query_summary(l->q, row->session_id, false, &summary);
    v->open = summary.open;
    return st;
}

static int list_row(struct listing *l, const struct running_row *row)
{
    struct view v;
    struct process any;
    enum running_state state = running_look(row);
    if (state == RUNNING_GONE && running_group(&row->r, &any, 1) > 0)
        l->left++;
    if (state != RUNNING_LIVE)
        return 0;
    int st = look(l, row, &v);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (l->json) {
        json_row(&l->out.b, &v);
        out_end_line(&l->out);
    } else {
        add_row(l, &v);
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
    for (size_t i = 0; st == 0 && i < rows.n; i++)
        st = list_row(&l, &rows.row[i]);
    if (st == 0 && l.table.cells_n > 0 && !table_print(&l.table, &l.out))
        st = MI_ENOMEM;
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "no memory" : read ? query_error(q) : buf_str(&error));
    else if (l.left > 0)
        log_warn("%zu killed %s left processes of a server; to end them: mcp-interposer reap",
                 l.left, l.left == 1 ? "proxy has" : "proxies have");
    running_close(&rows);
    table_close(&l.table);
    buf_close(&l.text);
    buf_close(&error);
    int status = out_close(&l.out);
    return st < 0 ? EXIT_TROUBLE : status;
}

static int run(int argc, char **argv)
{
    return session_command(&command_ps, argc, argv, list);
}

const struct command command_ps = {
    .name = "ps",
    .summary = "list the proxies that run now",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
