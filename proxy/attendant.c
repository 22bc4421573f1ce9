#include "proxy/attendant.h"

#include "base/clock.h"
#include "base/log.h"
#include "proxy/apart.h"
#include "vault/bodies.h"
#include "vault/checkpoint.h"
#include "vault/running.h"
#include "vault/uid.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the proxy says: one datagram each (SOCK_SEQPACKET keeps them apart and tells of the end). */
struct order {
    enum { ORDER_GUARD, ORDER_CHECKPOINT, ORDER_WRITE_OUT } what;
    pid_t group;
    char uid[UID_LEN + 1]; /* whose bodies are to be written out */
    int64_t from, to;
};

/* ---- the attendant's side ------------------------------------------------------------------- */

#define DAY_US ((int64_t)86400 * 1000000)
#define STEP_PAUSE_US 20000 /* between two steps of pruning */

/* What is done by itself, now and then. */
struct house {
    const char *vault;
    struct retention rule;
    int64_t due_us; /* 0: nothing more is to be done */
    bool buried;
    struct prune *prune; /* owned; under way */
};

static bool has_rule(const struct retention *r)
{
    return r->older_us > 0 || r->keep_last > 0 || r->max_bytes > 0;
}

/* How long until the next step. */
static int64_t prune_some(struct house *h)
{
    struct buf error = {0};
    bool done = false;
    int st = 0;
    if (h->prune == NULL) {
        st = prune_open(&h->prune, h->vault, &h->rule, clock_wall_us(), &error);
    } else if (!prune_is_quiet(h->prune)) {
        return ATTENDANT_QUIET_US;
    } else {
        st = prune_step(h->prune, &done, &error);
    }
    buf_close(&error); /* nobody would read it: `doctor` finds out */
    if (st == MI_EFULL || (st == 0 && !done))
        return st == 0 ? STEP_PAUSE_US : ATTENDANT_QUIET_US;
    bool moved = st == 0 && checkpoint_vault(h->vault) == 0;
    (void)moved; /* or the next checkpoint does it */
    prune_close(h->prune);
    h->prune = NULL;
    return DAY_US;
}

/* The sessions of proxies that were killed are closed once, when the start is over and done with; then old ones
 * are removed. An order goes first. */
static void keep_house(int fd, struct house *h)
{
    struct pollfd p = {fd, POLLIN, 0};
    while (h->due_us != 0) {
        int64_t left_us = h->due_us - clock_mono_us();
        int64_t ms = left_us > 0 ? left_us / 1000 + 1 : 0;
        if (poll(&p, 1, ms < INT_MAX ? (int)ms : INT_MAX) != 0)
            return;
        if (clock_mono_us() < h->due_us)
            continue;
        int64_t next_us = STEP_PAUSE_US;
        if (h->buried)
            next_us = prune_some(h);
        else
            (void)running_bury(h->vault); /* or the next proxy does */
        h->buried = true;
        h->due_us = has_rule(&h->rule) ? clock_mono_us() + next_us : 0;
    }
}

/* Does what may take as long as the disk likes, and tells what it has done. */
static char do_disk_work(const struct order *o, const char *vault)
{
    if (o->what == ORDER_CHECKPOINT)
        return checkpoint_vault(vault) == 0 ? 'y' : 'n';
    bodies_write_out(vault, o->uid, o->from, o->to);
    return 'w';
}

static void attend(int fd, const char *vault, const struct retention *retention)
{
    pid_t group = 0;
    struct house h = {
        .vault = vault,
        .rule = *retention,
        .due_us = clock_mono_us() + ATTENDANT_BURY_US,
    };
    for (;;) {
        struct order o;
        keep_house(fd, &h);
        ssize_t n = recv(fd, &o, sizeof o, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof o)
            break; /* the proxy is gone */
        if (o.what == ORDER_GUARD) {
            group = o.group;
            continue;
        }
        char done = do_disk_work(&o, vault);
        if (send(fd, &done, 1, MSG_NOSIGNAL) != 1)
            break;
    }
    if (group > 0)
        kill(-group, SIGKILL);
    _exit(0);
}

/* ---- the proxy's side ----------------------------------------------------------------------- */

void attendant_open(struct attendant *a, const char *vault, const struct retention *retention)
{
    int fd[2];
    *a = (struct attendant){.fd = -1, .unwritten_from = -1};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd) != 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        apart_begin(fd[1], "mcp-attendant");
        attend(APART_FD, vault, retention);
    }
    close(fd[1]);
    if (pid < 0) {
        log_warn("no attendant process: %s", strerror(errno));
        close(fd[0]);
        return;
    }
    *a = (struct attendant){.pid = pid, .fd = fd[0], .unwritten_from = -1};
}

static bool tell(struct attendant *a, struct order o)
{
    if (a->fd < 0)
        return false;
    if (send(a->fd, &o, sizeof o, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof o)
        return true;
    if (errno != EAGAIN && errno != ENOBUFS) { /* it died; nobody else would have */
        log_warn("the attendant process is gone: %s", strerror(errno));
        close(a->fd);
        a->fd = -1;
    }
    return false;
}

void attendant_guard(struct attendant *a, pid_t group)
{
    (void)tell(a, (struct order){.what = ORDER_GUARD, .group = group});
}

/* What it has done meanwhile. */
static void hear(struct attendant *a)
{
    char done;
    while ((a->busy || a->writing) && recv(a->fd, &done, 1, MSG_DONTWAIT) == 1) {
        if (done == 'w')
            a->writing = false;
        else
            a->busy = false;
    }
}

bool attendant_checkpoint(struct attendant *a)
{
    hear(a);
    if (!a->busy)
        a->busy = tell(a, (struct order){.what = ORDER_CHECKPOINT});
    return a->fd >= 0;
}

void attendant_write_out(struct attendant *a, const char *uid, int64_t from, int64_t to)
{
    struct order o = {.what = ORDER_WRITE_OUT, .to = to};
    if (a->unwritten_from < 0)
        a->unwritten_from = from;
    hear(a);
    if (a->writing)
        return;
    o.from = a->unwritten_from;
    memcpy(o.uid, uid, UID_LEN);
    a->writing = tell(a, o);
    if (a->writing)
        a->unwritten_from = -1;
}

void attendant_close(struct attendant *a)
{
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
    int64_t until = clock_mono_us() + ATTENDANT_END_US;
    while (a->pid > 0 && waitpid(a->pid, NULL, WNOHANG) == 0) {
        if (clock_mono_us() >= until)
            kill(a->pid, SIGKILL); /* in the middle of a checkpoint: somebody else's will do it */
        nanosleep(&(struct timespec){0, 200000}, NULL);
    }
    a->pid = 0;
}
