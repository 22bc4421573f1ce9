/* reap.c - `mcp-interposer reap`: stop servers of killed proxies, and idle proxies whose client has exited. */
#include "cli/upkeep/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/frame/out.h"
#include "cli/frame/session.h"
#include "cli/settings/config.h"
#include "vault/store/running.h"

#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#define GROUP_MAX 256
#define NAMES_MAX 8           /* processes listed in a line of the report */
#define TERM_US 1000000       /* from SIGTERM to SIGKILL */
#define KILL_US 1000000       /* from SIGKILL to giving up */
#define PROXY_TERM_US 5000000 /* from SIGTERM to SIGKILL for a proxy; more than its grace period */

static const struct opt table_of_options[] = {
    {.letter = 'd', .name = "dry-run", .help = "print what would be ended; end nothing"},
    {.name = "idle",
     .arg = "AGE",
     .def = "10m",
     .help = "how long a proxy without a parent process must have been idle"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Ends the process groups of servers whose proxy was killed, and closes their\n"
    "sessions as `killed`. A proxy whose parent process has exited, and that has been\n"
    "idle for --idle, is asked to exit; a client started by a shell may lose its\n"
    "parent and still work.\n"
    "Processes are identified by id and start time, never by name; those of other\n"
    "machines and other containers are skipped. They get SIGTERM, and SIGKILL a\n"
    "second later.\n"
    "Exit status: 0 nothing is left; 1 with --dry-run if there is something to end;\n"
    "3 something could not be ended.\n";
/* clang-format on */

struct reaper {
    const char *vault;
    struct out out;
    bool dry;
    int64_t idle_us;
    bool found, failed;
};

static bool becomes_true(int64_t us, bool (*condition)(const struct running *),
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
    return running_group(r, &any, 1) == 0;
}

static bool proxy_has_exited(const struct running *r)
{
    return process_start(r->pid) != r->pid_start;
}

/* running_group() verifies before SIGTERM and SIGKILL that the group is still the recorded one. */
static bool stop_group(const struct running *r)
{
    if (group_has_exited(r))
        return true;
    kill(-r->server_group, SIGTERM);
    kill(-r->server_group, SIGCONT); /* a stopped process handles SIGTERM only after SIGCONT */
    if (becomes_true(TERM_US, group_has_exited, r))
        return true;
    kill(-r->server_group, SIGKILL);
    return becomes_true(KILL_US, group_has_exited, r);
}

/* The pidfd guarantees that the signal does not reach another process with the same id. */
static bool stop_proxy(const struct running *r)
{
    int fd = pidfd_open(r->pid, 0);
    bool exited = fd < 0 && errno == ESRCH;
    if (fd >= 0 && !proxy_has_exited(r)) {
        exited = pidfd_send_signal(fd, SIGTERM, NULL, 0) == 0 &&
                 becomes_true(PROXY_TERM_US, proxy_has_exited, r);
        if (!exited)
            exited = pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0 &&
                     becomes_true(KILL_US, proxy_has_exited, r);
    } else if (fd >= 0) {
        exited = true;
    }
    if (fd >= 0)
        close(fd);
    return exited;
}

static void print_session(struct reaper *p, const struct running_row *row)
{
    out_printf(&p->out, "session %lld (", (long long)row->session_id);
    out_text(&p->out, slice_of(row->name));
    out_raw(&p->out, "): ");
}

static void print_group(struct reaper *p, const struct running *r, const struct process *group,
                        size_t n)
{
    out_printf(&p->out, "%zu %s of group %d (", n, n == 1 ? "process" : "processes",
               (int)r->server_group);
    for (size_t i = 0; i < n && i < NAMES_MAX; i++) {
        out_raw(&p->out, i > 0 ? ", " : "");
        out_text(&p->out, slice_of(group[i].name));
        out_printf(&p->out, " %d", (int)group[i].pid);
    }
    out_raw(&p->out, n > NAMES_MAX ? ", ...)" : ")");
}

static void close_record(struct reaper *p, const struct running_row *row)
{
    struct buf error = {0};
    int st = running_end(p->vault, row->session_id, true, &error);
    if (st < 0) {
        log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
        p->failed = true;
    }
    buf_close(&error);
}

static void reap_left(struct reaper *p, const struct running_row *row)
{
    struct process group[GROUP_MAX];
    size_t n = running_group(&row->r, group, GROUP_MAX);
    p->found = true;
    print_session(p, row);
    out_printf(&p->out, "the proxy %d has exited; ", (int)row->r.pid);
    bool ended = p->dry || stop_group(&row->r);
    if (n == 0) {
        out_raw(&p->out,
                p->dry ? "would close the session" : "no process was left, closed the session");
    } else {
        out_raw(&p->out, p->dry ? "would stop " : ended ? "stopped " : "could not stop ");
        print_group(p, &row->r, group, n);
    }
    out_end_line(&p->out);
    p->failed |= !ended;
    if (ended && !p->dry)
        close_record(p, row);
}

static void reap_idle(struct reaper *p, const struct running_row *row, int64_t idle_us)
{
    struct buf text = {0};
    p->found = true;
    units_show_duration(&text, idle_us);
    print_session(p, row);
    out_printf(&p->out, "the client %d has exited, and no message has passed for %s; ",
               (int)row->r.client_pid, buf_str(&text));
    buf_close(&text);
    bool ended = p->dry || (stop_proxy(&row->r) && stop_group(&row->r));
    out_printf(&p->out, "%s the proxy %d and its server",
               p->dry  ? "would stop"
               : ended ? "stopped"
                       : "could not stop",
               (int)row->r.pid);
    out_end_line(&p->out);
    p->failed |= !ended;
    if (ended && !p->dry)
        close_record(p, row); /* does nothing if the proxy has closed the session */
}

static void process_row(struct reaper *p, const struct running_row *row)
{
    enum running_state state = running_look(row);
    if (state == RUNNING_EXITED) {
        reap_left(p, row);
    } else if (state == RUNNING_LIVE && running_client_exited(&row->r)) {
        int64_t idle_us = clock_wall_us() - row->last_at_us;
        if (idle_us >= p->idle_us)
            reap_idle(p, row, idle_us);
    }
}

static int reap(struct query *q, const struct settings *s)
{
    struct reaper p = {
        .vault = query_vault(q),
        .dry = settings_on(s, "dry-run"),
        .idle_us = settings_duration_us(s, "idle"),
    };
    struct running_list rows;
    struct buf error = {0};
    int st = running_open(&rows, p.vault, &error);
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    out_open(&p.out);
    for (size_t i = 0; st == 0 && i < rows.n; i++)
        process_row(&p, &rows.row[i]);
    if (st == 0 && !p.found && (p.out.is_terminal || !query_is_stored(q)))
        session_none(q, "nothing to end");
    running_close(&rows);
    buf_close(&error);
    int status = out_close(&p.out);
    if (st < 0 || p.failed)
        return EXIT_TROUBLE;
    return p.dry && p.found ? EXIT_FOUND : status;
}

static int run(const struct settings *s)
{
    return session_command(s, reap);
}

const struct command command_reap = {
    .name = "reap",
    .summary = "end servers left by killed proxies",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
