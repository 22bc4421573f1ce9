#include "proxy/postmortem.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/text.h"
#include "base/units.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUSY_PERCENT 50 /* of one processor since the base: it is busy and does not wait */

/* ---- the tree ------------------------------------------------------------------------------- */

struct tree {
    size_t n;
    bool more;
    struct process process[POSTMORTEM_MAX];
    unsigned depth[POSTMORTEM_MAX];
};

static bool has(const struct tree *t, pid_t pid)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->process[i].pid == pid)
            return true;
    return false;
}

static bool add(struct tree *t, pid_t pid, unsigned depth)
{
    if (has(t, pid))
        return false;
    if (t->n == POSTMORTEM_MAX) {
        t->more = true;
        return false;
    }
    if (process_read(pid, &t->process[t->n]) < 0)
        return false;
    t->depth[t->n++] = depth;
    return true;
}

/* The server, processes of its group that we adopted, and all their descendants. */
static void gather(struct tree *t, pid_t pid, pid_t group)
{
    pid_t kids[POSTMORTEM_MAX];
    t->n = 0;
    t->more = false;
    if (pid > 0)
        add(t, pid, 0);
    size_t n = group > 0 ? process_children(getpid(), kids, MI_COUNT(kids)) : 0;
    for (size_t i = 0; i < n; i++) {
        struct process p;
        if (process_read(kids[i], &p) == 0 && p.group == group)
            add(t, kids[i], 0);
    }
    for (size_t at = 0; at < t->n; at++) {
        n = process_children(t->process[at].pid, kids, MI_COUNT(kids));
        for (size_t i = 0; i < n; i++)
            add(t, kids[i], t->depth[at] + 1);
    }
}

static int64_t sum_ticks(const struct tree *t)
{
    int64_t sum = 0;
    for (size_t i = 0; i < t->n; i++)
        sum += t->process[i].cpu_ticks;
    return sum;
}

void postmortem_base_take(struct postmortem_base *b, pid_t pid, pid_t group)
{
    struct tree t;
    gather(&t, pid, group);
    *b = (struct postmortem_base){.at_us = clock_mono_us(), .cpu_ticks = sum_ticks(&t)};
}

/* ---- system calls --------------------------------------------------------------------------- */

#define CALL(name, fd)                                                                             \
    {                                                                                              \
        SYS_##name, #name, fd                                                                      \
    }

/* System calls that may block, and whether their first argument is a descriptor. */
static const struct {
    long number;
    const char *name;
    bool fd;
} calls[] = {
    CALL(read, true),
    CALL(write, true),
    CALL(readv, true),
    CALL(writev, true),
    CALL(pread64, true),
    CALL(pwrite64, true),
    CALL(recvfrom, true),
    CALL(recvmsg, true),
    CALL(sendto, true),
    CALL(sendmsg, true),
    CALL(accept, true),
    CALL(accept4, true),
    CALL(connect, true),
    CALL(flock, true),
    CALL(fcntl, true),
    CALL(ioctl, true),
    CALL(fsync, true),
    CALL(fdatasync, true),
    CALL(openat, false),
    CALL(futex, false),
    CALL(ppoll, false),
    CALL(pselect6, false),
    CALL(epoll_pwait, true),
    CALL(wait4, false),
    CALL(waitid, false),
    CALL(nanosleep, false),
    CALL(clock_nanosleep, false),
    CALL(rt_sigsuspend, false),
    CALL(rt_sigtimedwait, false),
#ifdef SYS_epoll_wait /* on older architectures only */
    CALL(epoll_wait, true),
#endif
#ifdef SYS_poll
    CALL(poll, false),
#endif
#ifdef SYS_select
    CALL(select, false),
#endif
#ifdef SYS_pause
    CALL(pause, false),
#endif
#ifdef SYS_open
    CALL(open, false),
#endif
};

static int read_file(pid_t pid, const char *name, char *to, size_t max)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return MI_EIO;
    ssize_t n = read(fd, to, max - 1);
    close(fd);
    to[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : MI_EIO;
}

static void read_wchan(struct postmortem_process *p)
{
    if (read_file(p->p.pid, "wchan", p->wchan, sizeof p->wchan) < 0 || strcmp(p->wchan, "0") == 0)
        p->wchan[0] = '\0';
}

/* "pipe:[123]" is a pipe, "/etc/passwd" a file. The name of a file is not reported: it may be private. */
static void kind_of_fd(pid_t pid, int fd, char *ret, size_t max)
{
    static const char *const kinds[] = {"pipe", "socket", "eventfd", "eventpoll", "inotify"};
    char path[64], link[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t n = readlink(path, link, sizeof link - 1);
    ret[0] = '\0';
    if (n <= 0)
        return;
    link[n] = '\0';
    const char *kind = "file";
    for (size_t i = 0; i < MI_COUNT(kinds); i++)
        if (strstr(link, kinds[i]) != NULL && link[0] != '/')
            kind = kinds[i];
    if (strncmp(link, "/dev/pts/", 9) == 0 || strcmp(link, "/dev/tty") == 0)
        kind = "terminal";
    snprintf(ret, max, "%s", kind);
}

/* "0 0x3 0x7ffd… …": number and arguments of the system call; "running" or "-1 …" outside of a call. */
static void read_call(struct postmortem_process *p)
{
    char text[256], *end = NULL;
    p->call_fd = -1;
    if (read_file(p->p.pid, "syscall", text, sizeof text) < 0)
        return;
    long number = strtol(text, &end, 10);
    if (end == text)
        return;
    for (size_t i = 0; i < MI_COUNT(calls); i++) {
        if (calls[i].number != number)
            continue;
        snprintf(p->call, sizeof p->call, "%s", calls[i].name);
        unsigned long long first = strtoull(end, NULL, 16);
        if (calls[i].fd && first <= INT32_MAX) {
            p->call_fd = (int)first;
            kind_of_fd(p->p.pid, p->call_fd, p->call_on, sizeof p->call_on);
        }
    }
}

/* ---- the process that is reported ----------------------------------------------------------- */

/* Is this descriptor the same file in both processes? false if it cannot be read. */
static bool same_fd(pid_t a, pid_t b, int fd)
{
    char path[64], link[2][64];
    const pid_t pid[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid[i], fd);
        ssize_t n = readlink(path, link[i], sizeof link[i] - 1);
        if (n <= 0)
            return false;
        link[i][n] = '\0';
    }
    return strcmp(link[0], link[1]) == 0;
}

/* The only child with the server's stdin and stdout, or the only child if these cannot be read. 0: there is none, or
 * several. */
static size_t real_server_below(const struct postmortem *pm, size_t of)
{
    pid_t server = pm->process[0].p.pid;
    bool visible = same_fd(server, server, STDIN_FILENO);
    size_t found = 0, n = 0;
    for (size_t i = 1; i < pm->n; i++) {
        pid_t pid = pm->process[i].p.pid;
        if (pm->process[i].p.parent != pm->process[of].p.pid)
            continue;
        if (visible && !(same_fd(server, pid, STDIN_FILENO) && same_fd(server, pid, STDOUT_FILENO)))
            continue;
        found = i;
        n++;
    }
    return n == 1 ? found : 0;
}

static size_t find_real_server(const struct postmortem *pm)
{
    size_t at = 0;
    for (size_t next; (next = real_server_below(pm, at)) != 0;)
        at = next;
    return at;
}

static bool is_stuck(const struct postmortem_process *p)
{
    return strchr("DTt", p->p.state) != NULL;
}

static size_t choose(const struct postmortem *pm)
{
    size_t server = find_real_server(pm);
    if (is_stuck(&pm->process[server]))
        return server;
    for (size_t i = 0; i < pm->n; i++)
        if (is_stuck(&pm->process[i]))
            return i;
    if (pm->has_base && pm->cpu_us * 100 > pm->since_us * BUSY_PERCENT)
        for (size_t i = 0; i < pm->n; i++)
            if (pm->process[i].p.state == 'R')
                return i;
    return server;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void count_fds(struct postmortem *pm)
{
    char path[64], kind[16];
    pid_t pid = pm->process[pm->chosen].p.pid;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    if (d == NULL)
        return;
    int left = POSTMORTEM_FDS, pipes = 0, sockets = 0;
    for (struct dirent *e; left > 0 && (e = readdir(d)) != NULL; left--) {
        if (e->d_name[0] == '.')
            continue;
        kind_of_fd(pid, atoi(e->d_name), kind, sizeof kind);
        pipes += strcmp(kind, "pipe") == 0;
        sockets += strcmp(kind, "socket") == 0;
    }
    closedir(d);
    pm->pipes = pipes;
    pm->sockets = sockets;
}

void postmortem_read(struct postmortem *ret, pid_t pid, pid_t group, int stdin_fd,
                     const struct postmortem_base *base)
{
    struct tree t;
    int unread;
    gather(&t, pid, group);
    *ret = (struct postmortem){
        .n = t.n, .more = t.more, .pipes = -1, .sockets = -1, .unread_bytes = -1};
    for (size_t i = 0; i < t.n; i++) {
        struct postmortem_process *p = &ret->process[i];
        p->p = t.process[i];
        p->depth = t.depth[i];
        read_wchan(p);
        read_call(p);
    }
    if (base != NULL && base->at_us != 0) {
        int64_t ticks = sum_ticks(&t) - base->cpu_ticks;
        ret->has_base = true;
        ret->since_us = clock_mono_us() - base->at_us;
        ret->cpu_us = ticks > 0 ? process_ticks_us(ticks) : 0;
    }
    if (stdin_fd >= 0 && ioctl(stdin_fd, FIONREAD, &unread) == 0)
        ret->unread_bytes = unread;
    if (ret->n == 0)
        return;
    ret->chosen = choose(ret);
    count_fds(ret);
}

/* ---- writing -------------------------------------------------------------------------------- */

static const char *state_word(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
    case 'I':
        return "sleeping";
    case 'D':
        return "in a wait that no signal ends";
    case 'T':
        return "stopped";
    case 't':
        return "stopped by a debugger";
    case 'Z':
    case 'X':
        return "dead";
    default:
        return "in an unknown state";
    }
}

static void json_process(struct json_out *j, const struct postmortem_process *p)
{
    json_out_int(j, "pid", p->p.pid);
    json_out_int(j, "parent", p->p.parent);
    json_out_str(j, "name", p->p.name);
    json_out_str(j, "state", state_word(p->p.state));
    if (p->wchan[0] != '\0')
        json_out_str(j, "wchan", p->wchan);
    if (p->call[0] != '\0')
        json_out_str(j, "call", p->call);
    if (p->call_fd >= 0)
        json_out_int(j, "call_fd", p->call_fd);
    if (p->call_on[0] != '\0')
        json_out_str(j, "call_on", p->call_on);
    json_out_int(j, "threads", p->p.threads);
    json_out_int(j, "rss_bytes", p->p.rss_bytes);
}

void postmortem_json(struct buf *b, const struct postmortem *pm)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    if (pm->n > 0)
        json_process(&j, &pm->process[pm->chosen]);
    if (pm->has_base) {
        json_out_int(&j, "cpu_ms", pm->cpu_us / 1000);
        json_out_int(&j, "since_ms", pm->since_us / 1000);
    }
    if (pm->pipes >= 0) {
        json_out_int(&j, "pipes", pm->pipes);
        json_out_int(&j, "sockets", pm->sockets);
    }
    if (pm->unread_bytes >= 0)
        json_out_int(&j, "unread_bytes", pm->unread_bytes);
    json_out_array(&j, "processes");
    for (size_t i = 0; i < pm->n; i++) {
        if (i == pm->chosen)
            continue;
        json_out_object(&j, NULL);
        json_process(&j, &pm->process[i]);
        json_out_end(&j);
    }
    json_out_end(&j);
    if (pm->more)
        json_out_bool(&j, "more", true);
    json_out_end(&j);
}

static const struct postmortem_process *parent_of(const struct postmortem *pm, size_t i)
{
    for (size_t k = 0; k < pm->n; k++)
        if (pm->process[k].p.pid == pm->process[i].p.parent)
            return &pm->process[k];
    return NULL;
}

static void add_system_call(struct buf *b, const struct postmortem_process *p)
{
    static const char *const stdio[] = {" of its standard input", " of its standard output",
                                        " of its standard error"};
    if (p->call[0] == '\0' && p->wchan[0] == '\0')
        return;
    buf_adds(b, " in ");
    text_visible(b, slice_of(p->call[0] != '\0' ? p->call : p->wchan));
    bool epoll = strncmp(p->call, "epoll", 5) == 0;
    if (p->call_fd >= 0 && p->call_fd <= 2)
        buf_adds(b, stdio[p->call_fd]);
    else if (p->call_on[0] != '\0' && !epoll)
        buf_printf(b, " on a %s", p->call_on);
    if (p->call[0] != '\0' && p->wchan[0] != '\0') {
        buf_adds(b, " (");
        text_visible(b, slice_of(p->wchan));
        buf_addc(b, ')');
    }
}

static void add_children(struct buf *b, const struct postmortem *pm)
{
    pid_t pid = pm->process[pm->chosen].p.pid;
    size_t n = 0;
    for (size_t i = 0; i < pm->n; i++)
        n += pm->process[i].p.parent == pid;
    if (n == 0) {
        buf_adds(b, " and had no children");
        return;
    }
    buf_printf(b, " and had %zu %s (", n, n == 1 ? "child" : "children");
    size_t said = 0;
    for (size_t i = 0; i < pm->n && said < 4; i++) {
        if (pm->process[i].p.parent != pid)
            continue;
        buf_adds(b, said++ > 0 ? ", " : "");
        text_visible(b, slice_of(pm->process[i].p.name));
    }
    buf_adds(b, n > said ? ", …)" : ")");
}

void postmortem_sentence(struct buf *b, const struct postmortem *pm)
{
    if (pm->n == 0) {
        buf_adds(b, "no process of the server was left");
        return;
    }
    const struct postmortem_process *p = &pm->process[pm->chosen];
    const struct postmortem_process *parent = parent_of(pm, pm->chosen);
    text_visible(b, slice_of(p->p.name));
    buf_printf(b, " (pid %d", (int)p->p.pid);
    if (parent != NULL) {
        buf_adds(b, ", started by ");
        text_visible(b, slice_of(parent->p.name));
    }
    buf_printf(b, ") was %s", state_word(p->p.state));
    if (p->p.state != 'R')
        add_system_call(b, p);
    if (pm->unread_bytes > 0) {
        buf_adds(b, ", had not read ");
        units_show_size(b, pm->unread_bytes);
        buf_adds(b, " of its input");
    }
    if (pm->has_base)
        buf_printf(b, ", used %.2f s of CPU in the last %.1f s", (double)pm->cpu_us / 1e6,
                   (double)pm->since_us / 1e6);
    add_children(b, pm);
}
