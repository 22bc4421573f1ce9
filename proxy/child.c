#include "proxy/child.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/os/pipe.h"
#include "base/os/process.h"
#include "base/os/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NOT_READ_S 0.5 /* seconds until the owner is asked again whether the output is being read */
/* seconds for which the rest of the output is read after SIGKILL and the exit of the process */
#define LAST_OUTPUT_S 0.02
/* Maximum number of processes that are signalled at once. Further processes are signalled after
 * these have exited. */
#define CHILDREN_MAX 512

static const struct {
    const char *name;
    unsigned next; /* the states that may follow; bit i: the state with the value i */
} child_states[CHILD_NSTATES] = {
    [CHILD_IDLE] = {"idle", 1u << CHILD_RUNNING},
    [CHILD_RUNNING] = {"running",
                       1u << CHILD_STOPPING | 1u << CHILD_SIGTERM | 1u << CHILD_FINISHED},
    [CHILD_STOPPING] = {"stopping", 1u << CHILD_SIGTERM | 1u << CHILD_FINISHED},
    [CHILD_SIGTERM] = {"terminated", 1u << CHILD_SIGKILL | 1u << CHILD_FINISHED},
    [CHILD_SIGKILL] = {"killed", 1u << CHILD_FINISHED},
    [CHILD_FINISHED] = {"finished", 1u << CHILD_RUNNING},
};

static void child_enter_state(struct child *c, enum child_state to)
{
    assert(child_states[c->state].next & 1u << to);
    log_info("server %s -> %s: pid=%d", child_states[c->state].name, child_states[to].name,
             (int)c->group);
    c->state = to;
}

static void child_finish_if_done(struct child *c)
{
    if (!c->reaped || !c->output_ended || c->state == CHILD_FINISHED)
        return;
    ev_timer_stop(c->loop, &c->kill_timer);
    child_enter_state(c, CHILD_FINISHED);
    if (c->on_finished != NULL)
        c->on_finished(c);
}

/* sig: SIGTERM or SIGKILL. */
static void child_send_signal(struct child *c, int sig)
{
    child_enter_state(c, sig == SIGTERM ? CHILD_SIGTERM : CHILD_SIGKILL);
    if (kill(-c->group, sig) != 0 && errno == ESRCH && c->pid > 0)
        kill(c->pid, sig); /* the process has left its group, or has not created the group yet */
    if (c->on_kill != NULL)
        c->on_kill(c, sig);
}

static void child_arm_kill_timer(struct child *c, double in_s)
{
    ev_timer_stop(c->loop, &c->kill_timer);
    ev_now_update(c->loop); /* the timer counts from now, not from the start of this turn */
    ev_timer_set(&c->kill_timer, in_s, 0.);
    ev_timer_start(c->loop, &c->kill_timer);
}

static double compute_half_of_grace_period(const struct child *c)
{
    return (double)c->grace_us / 2e6;
}

static void on_kill_timer(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct child *c = w->data;
    if (c->state == CHILD_STOPPING) {
        child_send_signal(c, SIGTERM);
        child_arm_kill_timer(c, compute_half_of_grace_period(c));
        return;
    }
    if (c->state == CHILD_SIGTERM)
        child_send_signal(c, SIGKILL);
    if (!c->reaped)
        return;
    /* A process outside of the group holds the pipe open, or the pipe is not read. Nothing is
     * signalled: hours may have passed, and another group may have the number of this one. */
    if (c->on_last_output != NULL && !c->on_last_output(c))
        child_arm_kill_timer(c, NOT_READ_S);
    else
        child_set_output_ended(c);
}

static void on_exit_event(struct ev_loop *loop, ev_child *w, int revents)
{
    (void)revents;
    struct child *c = w->data;
    ev_child_stop(loop, w);
    c->status = w->rstatus;
    c->reaped = true;
    c->pid = 0;
    if (c->on_exit != NULL)
        c->on_exit(c);
    /* A descendant may hold the output open. After a crash the descendant is stopped. After a clean
     * exit the descendant may be the real server, started by a launcher. */
    if (c->state == CHILD_RUNNING && !c->output_ended && child_exit_status(c) != 0)
        child_stop(c);
    /* If a process still has the output open after SIGKILL, that process has left the group. */
    if (c->state == CHILD_SIGKILL && !c->output_ended)
        child_arm_kill_timer(c, LAST_OUTPUT_S);
    child_finish_if_done(c);
}

void child_open(struct child *c, struct ev_loop *loop, int64_t grace_us, const sigset_t *mask)
{
    *c = (struct child){.loop = loop, .grace_us = grace_us, .mask = *mask};
    ev_init(&c->exit_watch, on_exit_event);
    ev_init(&c->kill_timer, on_kill_timer);
    c->exit_watch.data = c->kill_timer.data = c;
}

/* ---- starting ------------------------------------------------------------------------------- */

int child_start(struct child *c, char *const argv[], struct process_pipes *ret)
{
    struct process_start how = {
        .argv = argv,
        .mask = &c->mask,
        .own_stderr = true,
        .before_exec = c->before_exec,
        .owner = c->data,
    };
    pid_t pid;
    if (process_start_server(&how, &pid, ret) < 0)
        return MI_EIO;
    c->pid = c->group = pid;
    c->reaped = c->output_ended = false;
    ev_child_set(&c->exit_watch, pid, 0);
    ev_child_start(c->loop, &c->exit_watch);
    child_enter_state(c, CHILD_RUNNING);
    return 0;
}

/* ---- stopping ------------------------------------------------------------------------------- */

void child_stop(struct child *c)
{
    if (c->state != CHILD_RUNNING)
        return;
    child_enter_state(c, CHILD_STOPPING);
    child_arm_kill_timer(c, compute_half_of_grace_period(c));
}

void child_kill(struct child *c)
{
    if (c->state != CHILD_RUNNING && c->state != CHILD_STOPPING)
        return;
    child_send_signal(c, SIGTERM);
    kill(-c->group, SIGCONT); /* a stopped process cannot handle SIGTERM */
    child_arm_kill_timer(c, compute_half_of_grace_period(c));
}

void child_extend_grace_period(struct child *c, int64_t us, int64_t least_us)
{
    bool runs = ev_is_active(&c->kill_timer) || ev_is_pending(&c->kill_timer);
    if (!runs || c->state == CHILD_SIGKILL) /* no signal is scheduled, or SIGKILL was sent */
        return;
    double in_s = ev_timer_remaining(c->loop, &c->kill_timer) + (double)us / 1e6;
    double least_s = (double)least_us / 1e6;
    in_s = in_s > least_s ? in_s : least_s;
    child_arm_kill_timer(
        c, in_s < compute_half_of_grace_period(c) ? in_s : compute_half_of_grace_period(c));
}

void child_set_output_ended(struct child *c)
{
    c->output_ended = true;
    child_finish_if_done(c);
}

/* Signals all children of this process except `spare`, and returns their number. Grandchildren
 * become children when their parent exits (process_adopt_orphans()). */
static int signal_children(pid_t spare, int sig)
{
    pid_t pid[CHILDREN_MAX];
    size_t all = process_read_children(getpid(), pid, MI_COUNT(pid));
    int n = 0;
    for (size_t i = 0; i < all; i++) {
        if (pid[i] == spare)
            continue;
        kill(pid[i], sig);
        n++;
    }
    return n;
}

void child_kill_leftovers(struct child *c, pid_t spare)
{
    if (c->group > 0)
        kill(-c->group, SIGKILL);
    signal_children(spare, SIGTERM);
}

static void reap_all_children(pid_t spare)
{
    siginfo_t si;
    for (;;) {
        si.si_pid = 0;
        if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG | WNOWAIT) != 0 || si.si_pid == 0)
            return;
        if (si.si_pid == spare)
            /* waitid() found the spare child, which must not be reaped; other children are
             * reaped later */
            return;
        waitpid(si.si_pid, NULL, WNOHANG);
    }
}

void child_kill_descendants(struct child *c, int64_t wait_us, pid_t spare)
{
    int64_t start = clock_mono_us();
    bool first = true;
    for (;;) {
        int64_t used = clock_mono_us() - start;
        bool late = used >= wait_us / 2;
        reap_all_children(spare);
        /* SIGTERM is sent once. SIGKILL is repeated, because more processes may be adopted
         * meanwhile. */
        int sig = late ? SIGKILL : first ? SIGTERM : 0;
        bool group = c->group > 0 && kill(-c->group, sig) == 0;
        int left = signal_children(spare, sig);
        first = false;
        if ((!group && left == 0) || used >= wait_us)
            return;
        struct timespec t = {0, 1000000};
        nanosleep(&t, NULL);
    }
}

int child_exit_status(const struct child *c)
{
    int status = c->status; /* copied, because the macros below need not accept a const object */
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
