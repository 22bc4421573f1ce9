/* running_list.c - lists the running servers, for `mcp-interposer ps`. In `ui` the list also shows
 * what each server does now. */
#include "cli/lists/list.h"

#include "base/clock.h"
#include "cli/frame/journals.h"
#include "vault/query/page.h"
#include "vault/store/running.h"

#define GROUP_MAX 256 /* maximum number of processes of a server that are counted */
#define RECENT_MINUTES "5"
#define RECENT_US (5 * 60 * INT64_C(1000000))

/* clang-format off */
static const char about[] =
    "OPEN is the number of pending requests of the client. UNSTORED is the size of\n"
    "messages that were forwarded and wait in memory to be stored in the database.\n"
    "MEMORY is the memory of the proxy and its recorder. SERVER MEM is the memory of\n"
    "the server's process group. Shared memory is counted for each process.\n"
    "\n"
    "  mcp-interposer reap    end servers left by killed proxies\n";
/* clang-format on */

struct server {
    int64_t session_id, client_pid, pid, server_pid, server_group, recorder_pid, server_processes;
    struct slice uid, name;
    /* the client's name in initialize; if there is none, the name of its process */
    struct slice client;
    int64_t started_at_us, last_at_us, age_us;
    /* open: number of pending calls of the client; open_us: how long the oldest pending call has
     * waited, -1 if there is none */
    int64_t open, open_us;
    int64_t unstored_bytes, rss_bytes, recorder_rss_bytes, both_rss_bytes, server_rss_bytes;
    /* For `ui` only: each reading updates the following members with the events and calls since the
     * previous reading. */
    /* state of the server, such as "running", which the newest event about the state implies;
     * "starting": there was no such event yet */
    struct slice state;
    int64_t event, restarts; /* event: id of the last event that was read */
    int64_t open_from;       /* all calls with a lower seq than open_from have ended */
    int64_t calls, failed;   /* numbers of calls and failed calls in the last RECENT_MINUTES */
};

static enum out_style running_state_style(const void *row)
{
    return slice_is(((const struct server *)row)->state, "running") ? OUT_GREEN : OUT_RED;
}

/* clang-format off */
#define RECORD struct server
static const struct show_column columns[] = {
    {SHOW(session_id, NUMBER, NOT_NULL), .json = true, .table = {"ID", 20, 0}, .style = OUT_BOLD},
    {SHOW(uid, TEXT, NOT_NULL), .json = true},
    {SHOW(name, TEXT, NOT_NULL), .json = true, .table = {"SERVER", 24, 0}, .ui = {"server", 1, 0}, .style = OUT_CYAN},
    {SHOW(client, TEXT, NOT_NULL), .json = true, .table = {"CLIENT", 24, 2}},
    {SHOW(client_pid, NUMBER, ZERO), .json = true},
    {SHOW(pid, NUMBER, ZERO), .json = true, .table = {"PID", 10, 0}},
    {SHOW(server_pid, NUMBER, ZERO), .json = true, .ui = {"pid", 9, 60}, .style = OUT_DIM},
    {SHOW(server_group, NUMBER, ZERO), .json = true},
    {SHOW(server_processes, NUMBER, NOT_NULL), .json = true},
    {SHOW(started_at_us, TIME, NOT_NULL), .json = true},
    {SHOW(last_at_us, TIME, NOT_NULL), .json = true},
    {SHOW(age_us, TOOK, NOT_NULL), .json = true, .table = {"AGE", 10, 0}},
    {SHOW(state, TEXT, NOT_NULL), .ui = {"state", 12, 0}, .style_of = running_state_style},
    {SHOW(open, NUMBER, NOT_NULL), .json = true, .table = {"OPEN", 8, 0}, .ui = {"open", 5, 0}, .style = OUT_YELLOW},
    {SHOW(recorder_pid, NUMBER, ZERO), .json = true, .table = {"RECORDER", 10, 4}},
    {SHOW(unstored_bytes, SIZE, MINUS_ONE), .json = true, .table = {"UNSTORED", 10, 4}},
    {SHOW(rss_bytes, SIZE, NOT_NULL), .json = true},
    {SHOW(recorder_rss_bytes, SIZE, NOT_NULL), .json = true},
    {SHOW(server_rss_bytes, SIZE, NOT_NULL), .json = true},
    {SHOW(both_rss_bytes, SIZE, NOT_NULL), .table = {"MEMORY", 10, 1}},
    {SHOW(server_pid, NUMBER, ZERO), .table = {"SERVER PID", 10, 3}},
    {SHOW(server_rss_bytes, SIZE, NOT_NULL), .table = {"SERVER MEM", 10, 1}},
    {SHOW(open_us, TOOK, MINUS_ONE), .ui = {"since", 8, 50}, .style = OUT_YELLOW},
    {SHOW(calls, NUMBER, NOT_NULL), .ui = {"calls", 6, 40}},
    {SHOW(failed, NUMBER, NOT_NULL), .ui = {"failed", 7, 32}, .style = OUT_RED},
    {SHOW(restarts, NUMBER, NOT_NULL), .ui = {"restarts", 9, 70}, .style = OUT_RED},
    {SHOW(age_us, TOOK, NOT_NULL), .ui = {"up", 8, 76}, .style = OUT_DIM},
};
/* clang-format on */

/* ---- for ui ---- */

static bool count_recent_call(void *ctx, const struct query_call *c)
{
    struct server *s = ctx;
    if (c->started_at_us < clock_wall_us() - RECENT_US)
        return false; /* calls come newest first, so all following calls are older than RECENT_US */
    s->calls++;
    s->failed += call_status_failed(c->status);
    return true;
}

static bool count_open_call(void *ctx, const struct query_call *c)
{
    struct server *s = ctx;
    if (s->open++ == 0) {
        s->open_us = clock_wall_us() - c->started_at_us;
        s->open_from = c->request_seq;
    }
    return true;
}

static int read_call_counts(struct query *q, struct server *s)
{
    struct filter session = FILTER_ANY;
    struct call_question recent = {.filter = &session, .newest_first = true},
                         open = {.filter = &session};
    session.session_id = s->session_id;
    s->open_us = -1;
    int st = query_calls_of(q, &recent, count_recent_call, s);
    session.statuses = 1u << CALL_OPEN;
    open.from = query_call_id(s->session_id, s->open_from);
    return st == 0 ? query_calls_of(q, &open, count_open_call, s) : st;
}

static int read_server_state(struct query *q, struct server *s)
{
    static const struct {
        const char *kind, *state;
    } states[] = {
        {"spawn", "running"}, {"alive", "running"},      {"asked", "silent"}, {"hang", "hangs"},
        {"kill", "stopping"}, {"restart", "restarting"}, {"exit", "exited"},
    };
    struct page_row *page = NULL;
    int st = page_read_events(q, NULL, s->session_id, s->event, &page);
    for (const struct page_row *e = page; e != NULL; e = e->next) {
        s->event = e->event.id;
        s->restarts += slice_is(e->event.kind, "restart");
        for (size_t i = 0; i < MI_COUNT(states); i++)
            if (slice_is(e->event.kind, states[i].kind))
                s->state = slice_of(states[i].state);
    }
    page_free(page);
    return st;
}

/* Reads the current state of the server. Starts from the server's row in the previous reading. */
static int read_server_activity(const struct list_reading *r, struct server *s)
{
    s->state = slice_of("starting");
    s->event = INT64_MIN;
    s->open_from = 1;
    for (size_t i = 0; i < r->before_n; i++) {
        const struct server *before = r->before[i];
        if (before->session_id != s->session_id)
            continue;
        s->state = before->state;
        s->event = before->event;
        s->restarts = before->restarts;
        s->open_from = before->open_from;
    }
    int st = read_call_counts(r->q, s);
    return st == 0 ? read_server_state(r->q, s) : st;
}

/* ---- for ps ---- */

/* Reads the processes of a session. Sets *starter to the process of the client; s->client may point
 * to the name in *starter. */
static int read_process_numbers(const struct list_reading *r, const struct journals *journals,
                                const struct running_row *row, struct process *starter,
                                struct server *s)
{
    struct process self, recorder, group[GROUP_MAX];
    struct query_summary summary = {0};
    if (!running_pids_are_valid(&row->r) || process_read(row->r.pid, &self) < 0)
        return MI_ENOENT; /* the process is in another container, or has exited meanwhile */
    if (row->client[0] == '\0')
        s->client = slice_of(process_read(row->r.client_pid, starter) == 0 ? starter->name : "-");
    s->server_processes = (int64_t)read_running_process_group(&row->r, group, GROUP_MAX);
    for (int64_t i = 0; i < s->server_processes; i++)
        s->server_rss_bytes += group[i].rss_bytes;
    const struct journal_view *journal = journals_find(journals, row->uid);
    s->unstored_bytes = journal != NULL ? (int64_t)journal->unstored : -1;
    if (journal != NULL && journal->reader && process_read(journal->recorder, &recorder) == 0) {
        s->recorder_pid = recorder.pid;
        s->recorder_rss_bytes = recorder.rss_bytes;
    }
    s->rss_bytes = self.rss_bytes;
    s->both_rss_bytes = s->rss_bytes + s->recorder_rss_bytes;
    int st = query_summary(r->q, row->session_id, false, &summary);
    s->open = summary.by_status[CALL_OPEN];
    return st;
}

/* ---- the list ---- */

static int read_running_server(struct list_reading *r, const struct journals *journals,
                               const struct running_row *row, bool *ret_more)
{
    struct process starter;
    struct server s = {
        .session_id = row->session_id,
        .client_pid = row->r.client_pid,
        .pid = row->r.pid,
        .server_pid = row->r.server_pid,
        .server_group = row->r.server_group,
        .uid = slice_of(row->uid),
        .name = slice_of(row->name),
        .client = slice_of(row->client),
        .started_at_us = row->started_at_us,
        .last_at_us = row->last_at_us,
        .age_us = clock_wall_us() - row->started_at_us,
    };
    int st = r->watched ? read_server_activity(r, &s)
                        : read_process_numbers(r, journals, row, &starter, &s);
    if (st == 0)
        *ret_more = r->row(r->ctx, &s);
    return st == MI_ENOENT ? 0 : st;
}

static int read_running_servers(struct list_reading *r)
{
    struct running_list rows;
    struct journals journals = {0};
    struct process any;
    size_t left = 0; /* the number of killed proxies whose servers still run */
    bool more = true;
    int st = running_list_open(&rows, r->vault, &r->error);
    if (st == 0 && !r->watched && journals_open(&journals, r->vault) < 0)
        journals.n = 0; /* the state of the journals is shown as unknown */
    for (size_t i = 0; st == 0 && i < rows.n; i++) {
        /* newest first */
        const struct running_row *row = &rows.row[r->watched ? rows.n - 1 - i : i];
        enum session_state state = running_row_get_state(&rows, row);
        left += state == SESSION_DIED && read_running_process_group(&row->r, &any, 1) > 0;
        if (state == SESSION_LIVE && more)
            st = read_running_server(r, &journals, row, &more);
    }
    if (left > 0)
        buf_printf(&r->note,
                   "%zu killed %s left server processes running; clean up with: "
                   "mcp-interposer reap",
                   left, left == 1 ? "proxy has" : "proxies have");
    journals_close(&journals);
    running_list_close(&rows);
    return st;
}

const struct list list_running = {
    .command = {.name = "ps",
                .summary = "list the running proxies",
                .usage = "[OPTIONS]",
                .about = about,
                .table = list_options,
                .run = list_run},
    .shown = {SHOW_LIST(NULL, columns)},
    .name = "running",
    .one = "running server; calls of the last " RECENT_MINUTES " minutes",
    .all = "running servers; calls of the last " RECENT_MINUTES " minutes",
    .none = "no session runs",
    .read = read_running_servers,
};
