/* reap.c - `mcp-interposer reap`: stops servers of killed proxies, and idle proxies whose client
 * has exited. */
#include "cli/upkeep/commands.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/frame/journals.h"
#include "cli/frame/out.h"
#include "cli/frame/session.h"
#include "cli/settings/config.h"
#include "vault/store/running.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#define GROUP_MAX 256   /* maximum number of processes read of a server's group */
#define NAMES_MAX 8     /* maximum number of processes named in a line of the report */
#define TERM_US 1000000 /* microseconds from SIGTERM to SIGKILL */
#define KILL_US 1000000 /* microseconds to wait for the exit after SIGKILL */
/* microseconds from SIGTERM to SIGKILL for a proxy; longer than the proxy's grace period */
#define PROXY_TERM_US 5000000

static const struct opt table_of_options[] = {
    {.letter = 'd', .name = "dry-run", .help = "print what would be ended; end nothing"},
    {.name = "idle",
     .arg = "AGE",
     .def = "10m",
     .help = "stop a proxy without a parent process if it has been idle this long"},
    {.name = "journals",
     .help = "also remove journals that cannot be read, or whose vault is gone"},
    {.name = "json", .help = "print one JSON object per line for each session"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Ends the process groups of servers whose proxy was killed, and closes their\n"
    "sessions as `killed`. A proxy is asked to exit if its parent process has exited\n"
    "and it has been idle for --idle: a client started by a shell may lose its parent\n"
    "and still work.\n"
    "Processes are identified by id and start time, never by name; those of other\n"
    "machines and other containers are skipped. Processes get SIGTERM, and SIGKILL a\n"
    "second later.\n"
    "Two kinds of journals are kept: journals that this version cannot read, because\n"
    "they are damaged or another version wrote them, and journals whose vault is gone\n"
    "or cannot be written. --journals removes both kinds with their messages, for\n"
    "every vault of the user, if no process has them open.\n"
    "Exit status: 0 nothing is left; 1 with --dry-run if something would be ended;\n"
    "3 something could not be ended.\n";
/* clang-format on */

struct reaper {
    const char *vault;
    struct out out;
    bool dry, json;
    int64_t idle_us; /* value of --idle */
    /* found: there was a process, a session or a journal to end, close or remove; failed: one of
     * these actions failed, or the journals could not be read */
    bool found, failed;
};

static bool wait_for_condition(int64_t us, bool (*condition)(const struct running *),
                               const struct running *r)
{
    int64_t until = clock_mono_us() + us;
    while (!condition(r)) {
        if (clock_mono_us() >= until)
            return false;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return true;
}

static bool group_has_exited(const struct running *r)
{
    struct process any;
    return read_running_process_group(r, &any, 1) == 0;
}

static bool proxy_has_exited(const struct running *r)
{
    return process_start(r->pid) != r->pid_start;
}

/* Ends a process group. group_has_exited() verifies before SIGTERM, and again before SIGKILL, that
 * the group still is the one that was recorded. */
static bool stop_process_group(const struct running *r)
{
    if (group_has_exited(r))
        return true;
    kill(-r->server_group, SIGTERM);
    kill(-r->server_group, SIGCONT); /* a stopped process handles SIGTERM only after SIGCONT */
    if (wait_for_condition(TERM_US, group_has_exited, r))
        return true;
    kill(-r->server_group, SIGKILL);
    return wait_for_condition(KILL_US, group_has_exited, r);
}

static bool stop_proxy(const struct running *r)
{
    int st = process_send_signal(r->pid, r->pid_start, SIGTERM);
    if (st == 0 && wait_for_condition(PROXY_TERM_US, proxy_has_exited, r))
        return true;
    if (st != MI_ENOENT)
        st = process_send_signal(r->pid, r->pid_start, SIGKILL);
    return st == MI_ENOENT || (st == 0 && wait_for_condition(KILL_US, proxy_has_exited, r));
}

/* ---- output ---- */

/* The action taken, or planned with --dry-run, for one session. */
struct reaped {
    const struct running_row *row;
    /* the server's processes, as they were before the server was stopped */
    struct process group[GROUP_MAX];
    size_t n;
    /* how long the proxy, whose client has exited, has been idle; -1: the proxy has exited */
    int64_t idle_us;
    bool ended;
};

static void reap_print_text(struct out *o, const struct reaped *d, bool dry)
{
    const char *verb = dry ? "would stop " : d->ended ? "stopped " : "could not stop ";
    out_printf(o, "session %lld (", (long long)d->row->session_id);
    out_add_text(o, slice_of(d->row->name));
    out_add_raw(o, "): ");
    if (d->idle_us >= 0) {
        out_printf(o, "the client %d has exited, and the proxy has been idle for %s; ",
                   (int)d->row->r.client_pid, units_format_duration(d->idle_us).s);
        out_printf(o, "%sthe proxy %d and its server", verb, (int)d->row->r.pid);
        return;
    }
    out_printf(o, "the proxy %d has exited; ", (int)d->row->r.pid);
    if (d->n == 0) {
        out_add_raw(o, dry ? "would close the session"
                           : "no process was left; the session was closed");
        return;
    }
    out_printf(o, "%s%zu %s of group %d (", verb, d->n, d->n == 1 ? "process" : "processes",
               (int)d->row->r.server_group);
    for (size_t i = 0; i < d->n && i < NAMES_MAX; i++) {
        out_add_raw(o, i > 0 ? ", " : "");
        out_add_text(o, slice_of(d->group[i].name));
        out_printf(o, " %d", (int)d->group[i].pid);
    }
    out_add_raw(o, d->n > NAMES_MAX ? ", ...)" : ")");
}

static void json_add_pid(struct json_out *j, const char *name, pid_t pid)
{
    if (pid > 0)
        json_out_int(j, name, pid);
    else
        json_out_null(j, name);
}

static void reap_print_json(struct out *o, const struct reaped *d, bool dry)
{
    const struct running *r = &d->row->r;
    struct json_out j = json_out_to(&o->b);
    json_out_object(&j, NULL);
    json_out_str(&j, "type", "reaped");
    json_out_str(&j, "state", dry ? "found" : d->ended ? "ended" : "failed");
    json_out_int(&j, "session_id", d->row->session_id);
    json_out_str(&j, "uid", d->row->uid);
    json_out_str(&j, "name", d->row->name);
    json_out_str(&j, "exited", d->idle_us >= 0 ? "client" : "proxy");
    if (d->idle_us >= 0)
        json_out_int(&j, "idle_us", d->idle_us);
    else
        json_out_null(&j, "idle_us");
    json_add_pid(&j, "client_pid", r->client_pid);
    json_add_pid(&j, "pid", r->pid);
    json_add_pid(&j, "server_group", r->server_group);
    json_out_array(&j, "server_processes");
    for (size_t i = 0; i < d->n; i++) {
        json_out_object(&j, NULL);
        json_out_int(&j, "pid", d->group[i].pid);
        json_out_str(&j, "name", d->group[i].name);
        json_out_end(&j);
    }
    json_out_end(&j);
    json_out_end(&j);
}

/* ---- one session ---- */

/* idle_us: how long the proxy has been idle; -1: the proxy has exited. */
static void reap_running_server(struct reaper *p, const struct running_row *row, int64_t idle_us)
{
    struct reaped d = {.row = row, .idle_us = idle_us};
    d.n = read_running_process_group(&row->r, d.group, GROUP_MAX);
    d.ended = p->dry || ((idle_us < 0 || stop_proxy(&row->r)) && stop_process_group(&row->r));
    if (p->json)
        reap_print_json(&p->out, &d, p->dry);
    else
        reap_print_text(&p->out, &d, p->dry);
    out_end_line(&p->out);
    p->found = true;
    p->failed |= !d.ended;
    if (d.ended && !p->dry) {
        /* If the proxy has recorded the session's end itself, end_dead_running_session() keeps that
         * end. */
        struct buf error = {0};
        int st = end_dead_running_session(p->vault, row->session_id, true, &error);
        if (st < 0) {
            log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
            p->failed = true;
        }
        buf_close(&error);
    }
}

static void reap_row_if_abandoned(struct reaper *p, const struct running_list *rows,
                                  const struct running_row *row)
{
    enum session_state state = running_row_get_state(rows, row);
    if (state == SESSION_DIED) {
        reap_running_server(p, row, -1);
    } else if (state == SESSION_LIVE && running_pids_are_valid(&row->r) &&
               running_client_has_exited(&row->r)) {
        int64_t idle_us = clock_wall_us() - row->last_at_us;
        if (idle_us >= p->idle_us)
            reap_running_server(p, row, idle_us);
    }
}

/* ---- --journals ---- */

static void print_journals(struct reaper *p, size_t unreadable, const struct stranded *stranded)
{
    const char *verb = p->dry ? "would remove" : "removed";
    if (unreadable > 0)
        out_printf(&p->out, "%s %zu journal%s that this version cannot read", verb, unreadable,
                   unreadable == 1 ? "" : "s");
    if (unreadable > 0 && stranded->n > 0)
        out_end_line(&p->out);
    if (stranded->n > 0) {
        out_printf(&p->out,
                   "%s %zu journal%s with %s of messages for a vault that is gone or cannot be "
                   "written: ",
                   verb, stranded->n, stranded->n == 1 ? "" : "s",
                   units_format_bytes((int64_t)stranded->bytes).s);
        out_add_text(&p->out, slice_of(stranded->vault));
    }
    out_end_line(&p->out);
}

static void reap_journals(struct reaper *p)
{
    struct journals l = {.n = 0};
    size_t unreadable = 0;
    struct stranded stranded = {.n = 0};
    int st = p->dry ? journals_open(&l, p->vault) : journals_remove(&unreadable, &stranded);
    if (p->dry) {
        unreadable = l.unreadable;
        stranded = l.stranded;
    }
    journals_close(&l);
    if (st < 0) {
        log_error("the journals cannot be read: %s",
                  st == MI_ENOMEM ? "out of memory" : strerror(errno));
        p->failed = true;
    }
    if (unreadable + stranded.n == 0)
        return;
    p->found = true;
    if (!p->json) {
        print_journals(p, unreadable, &stranded);
        return;
    }
    struct json_out j = json_out_to(&p->out.b);
    json_out_object(&j, NULL);
    json_out_str(&j, "type", "journals");
    json_out_bool(&j, "removed", !p->dry);
    json_out_uint(&j, "journals", unreadable + stranded.n);
    json_out_uint(&j, "without_vault", stranded.n);
    json_out_end(&j);
    out_end_line(&p->out);
}

static int reap_all(struct query *q, const struct settings *s)
{
    struct reaper p = {
        .vault = query_vault(q),
        .dry = settings_is_on(s, "dry-run"),
        .json = settings_is_on(s, "json"),
        .idle_us = settings_duration_us(s, "idle"),
    };
    struct running_list rows;
    struct buf error = {0};
    int st = running_list_open(&rows, p.vault, &error);
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    out_open(&p.out);
    for (size_t i = 0; st == 0 && i < rows.n; i++)
        reap_row_if_abandoned(&p, &rows, &rows.row[i]);
    if (st == 0 && settings_is_on(s, "journals"))
        reap_journals(&p);
    if (st == 0 && !p.found && !p.json && (p.out.is_terminal || !query_is_stored(q)))
        session_warn_empty_list(q, "nothing to end");
    running_list_close(&rows);
    buf_close(&error);
    int status = out_close(&p.out);
    if (st < 0 || p.failed)
        return EXIT_TROUBLE;
    return p.dry && p.found ? EXIT_FOUND : status;
}

static int reap_run(const struct settings *s)
{
    struct query *q;
    int status = session_vault_open_without_reaping(s, &q);
    if (status == EXIT_TROUBLE && settings_is_on(s, "journals")) {
        /* Journals are removed even if the vault cannot be opened. Perhaps they were left because
         * their recorders could not open the vault either. */
        struct reaper p = {
            .vault = "", .dry = settings_is_on(s, "dry-run"), .json = settings_is_on(s, "json")};
        out_open(&p.out);
        reap_journals(&p);
        (void)out_close(&p.out);
        return EXIT_TROUBLE;
    }
    if (status != EXIT_FINE)
        return status;
    status = reap_all(q, s);
    query_close(q);
    return status;
}

const struct command command_reap = {
    .name = "reap",
    .summary = "end servers left by killed proxies",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = reap_run,
};
