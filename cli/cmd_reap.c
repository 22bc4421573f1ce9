/* cmd_reap.c - `mcp-interposer reap`: end what killed proxies and vanished clients have left. */
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/config.h"
#include "cli/out.h"
#include "cli/session.h"
#include "vault/running.h"

#include <errno.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <time.h>
#include <unistd.h>

#define GROUP_MAX 256
#define NAMES_MAX 8       /* of processes, in a line of the report */
#define POLITE_US 1000000 /* from SIGTERM to SIGKILL */
#define KILLED_US 1000000 /* from SIGKILL to giving up */
#define PROXY_US 5000000  /* a proxy that was told to end has its grace, and then some */

static const struct opt table_of_options[] = {
    COMMAND_OPT_VAULT,
    {.name = "dry-run", .help = "say what would be ended, and end nothing"},
    {.name = "idle",
     .arg = "DURATION",
     .def = "10m",
     .help = "how long nothing must have passed when only the client is gone"},
    COMMAND_OPTS,
};

static const char about[] =
    "Ends the process group of a server whose proxy is gone, and closes the session as `killed`.\n"
    "A proxy whose starter is gone, and through which nothing has passed for --idle, is told to\n"
    "end; what a client has started with a shell may lose its starter and be well.\n"
    "Processes are known by id and start time, never by name; those of other machines and other\n"
    "containers are left alone. SIGTERM, and SIGKILL a second later.\n"
    "Exit status: 0 nothing is left; 1 with --dry-run: there is something to end; 3 something\n"
    "could not be ended.\n";

struct reaper {
    const char *vault;
    struct out out;
    bool dry;
    int64_t idle_us;
    bool found, failed;
};

static bool within(int64_t us, bool (*fact)(const struct running *), const struct running *r)
{
    int64_t until = clock_mono_us() + us;
    while (!fact(r)) {
        if (clock_mono_us() >= until)
            return false;
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    }
    return true;
}

static bool group_is_gone(const struct running *r)
{
    struct process any;
    return running_group(r, &any, 1) == 0;
}

static bool proxy_is_gone(const struct running *r)
{
    return process_start(r->pid) != r->pid_start;
}

/* The group is looked at right before each signal: it is still the one that was recorded. */
static bool end_group(const struct running *r)
{
    if (group_is_gone(r))
        return true;
    kill(-r->server_group, SIGTERM);
    kill(-r->server_group, SIGCONT); /* one that is stopped would not hear of it */
    if (within(POLITE_US, group_is_gone, r))
        return true;
    kill(-r->server_group, SIGKILL);
    return within(KILLED_US, group_is_gone, r);
}

/* A descriptor of the process makes sure that it is still the same when the signal comes. */
static bool end_proxy(const struct running *r)
{
    int fd = pidfd_open(r->pid, 0);
    bool gone = fd < 0 && errno == ESRCH;
    if (fd >= 0 && !proxy_is_gone(r)) {
        gone = pidfd_send_signal(fd, SIGTERM, NULL, 0) == 0 && within(PROXY_US, proxy_is_gone, r);
        if (!gone)
            gone =
                pidfd_send_signal(fd, SIGKILL, NULL, 0) == 0 && within(KILLED_US, proxy_is_gone, r);
    } else if (fd >= 0) {
        gone = true;
    }
    if (fd >= 0)
        close(fd);
    return gone;
}

static void say_session(struct reaper *p, const struct running_row *row)
{
    out_printf(&p->out, "session %lld (", (long long)row->session_id);
    out_text(&p->out, slice_of(row->name));
    out_raw(&p->out, "): ");
}

static void say_group(struct reaper *p, const struct running *r, const struct process *group,
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
        log_error("%s", st == MI_ENOMEM ? "no memory" : buf_str(&error));
        p->failed = true;
    }
    buf_close(&error);
}

static void reap_left(struct reaper *p, const struct running_row *row)
{
    struct process group[GROUP_MAX];
    size_t n = running_group(&row->r, group, GROUP_MAX);
    p->found = true;
    say_session(p, row);
    out_printf(&p->out, "the proxy %d is gone; ", (int)row->r.pid);
    bool ended = p->dry || end_group(&row->r);
    if (n == 0) {
        out_raw(&p->out, p->dry ? "would close the record" : "nothing was left, closed the record");
    } else {
        out_raw(&p->out, p->dry ? "would end " : ended ? "ended " : "could not end ");
        say_group(p, &row->r, group, n);
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
    say_session(p, row);
    out_printf(&p->out, "the client %d is gone, and nothing has passed for %s; ",
               (int)row->r.client_pid, buf_str(&text));
    buf_close(&text);
    bool ended = p->dry || (end_proxy(&row->r) && end_group(&row->r));
    out_printf(&p->out, "%s the proxy %d and its server",
               p->dry  ? "would end"
               : ended ? "ended"
                       : "could not end",
               (int)row->r.pid);
    out_end_line(&p->out);
    p->failed |= !ended;
    if (ended && !p->dry)
        close_record(p, row); /* does nothing when the proxy could do so itself */
}

static void look_at(struct reaper *p, const struct running_row *row)
{
    enum running_state state = running_look(row);
    if (state == RUNNING_GONE) {
        reap_left(p, row);
    } else if (state == RUNNING_LIVE && running_client_gone(&row->r)) {
        int64_t idle_us = clock_wall_us() - row->last_at_us;
        if (idle_us >= p->idle_us)
            reap_idle(p, row, idle_us);
    }
}

/* The query says what is wrong with the vault, as every command does, and no more. */
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
        log_error("%s", st == MI_ENOMEM ? "no memory" : buf_str(&error));
    out_open(&p.out);
    for (size_t i = 0; st == 0 && i < rows.n; i++)
        look_at(&p, &rows.row[i]);
    running_close(&rows);
    buf_close(&error);
    int status = out_close(&p.out);
    if (st < 0 || p.failed)
        return EXIT_TROUBLE;
    return p.dry && p.found ? EXIT_FOUND : status;
}

static int run(int argc, char **argv)
{
    return session_command(&command_reap, argc, argv, reap);
}

const struct command command_reap = {
    .name = "reap",
    .summary = "end what killed proxies have left of their servers",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
