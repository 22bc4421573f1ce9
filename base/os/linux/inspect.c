#include "base/os/inspect.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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
#ifdef SYS_epoll_wait /* only older architectures have epoll_wait(2) */
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

/* Reads /proc/PID/NAME. Returns the number of bytes read; 0: the file is not readable. */
static size_t read_proc_file(pid_t pid, const char *name, char *to, size_t max)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return 0;
    ssize_t n = read(fd, to, max - 1);
    close(fd);
    to[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

static int read_fd_link(pid_t pid, int fd, char *to, size_t max)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    ssize_t n = readlink(path, to, max - 1);
    to[n > 0 ? n : 0] = '\0';
    return n > 0 ? 0 : MI_EIO;
}

/* Reads the type of a descriptor from the link's text: "pipe:[123]" is a pipe, "/etc/passwd" a
 * file. The name of a file is not reported, because it may be private. */
static void read_fd_kind(pid_t pid, int fd, char *ret, size_t max)
{
    static const char *const kinds[] = {"pipe", "socket", "eventfd", "eventpoll", "inotify"};
    char link[64];
    ret[0] = '\0';
    if (read_fd_link(pid, fd, link, sizeof link) < 0)
        return;
    const char *kind = "file";
    for (size_t i = 0; i < MI_COUNT(kinds); i++)
        if (strstr(link, kinds[i]) != NULL && link[0] != '/')
            kind = kinds[i];
    if (strncmp(link, "/dev/pts/", 9) == 0 || strcmp(link, "/dev/tty") == 0)
        kind = "terminal";
    snprintf(ret, max, "%s", kind);
}

/* /proc/PID/syscall has the number and the arguments of the system call, such as "0 0x3 0x7ffd… …";
 * outside of a call it has "running" or "-1 …". */
static void read_system_call(pid_t pid, struct inspect_wait *w)
{
    char text[256], *end = NULL;
    if (read_proc_file(pid, "syscall", text, sizeof text) == 0)
        return;
    long number = strtol(text, &end, 10);
    if (end == text)
        return;
    for (size_t i = 0; i < MI_COUNT(calls); i++) {
        if (calls[i].number != number)
            continue;
        snprintf(w->call, sizeof w->call, "%s", calls[i].name);
        unsigned long long first = strtoull(end, NULL, 16);
        if (calls[i].fd && first <= INT32_MAX) {
            w->call_fd = (int)first;
            read_fd_kind(pid, w->call_fd, w->call_on, sizeof w->call_on);
        }
    }
}

void inspect_wait(pid_t pid, struct inspect_wait *ret)
{
    *ret = (struct inspect_wait){.call_fd = -1};
    if (read_proc_file(pid, "wchan", ret->wchan, sizeof ret->wchan) == 0 ||
        strcmp(ret->wchan, "0") == 0)
        ret->wchan[0] = '\0';
    read_system_call(pid, ret);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

bool processes_have_same_open_file(pid_t a, pid_t b, int fd)
{
    char of_a[64], of_b[64];
    return read_fd_link(a, fd, of_a, sizeof of_a) == 0 &&
           read_fd_link(b, fd, of_b, sizeof of_b) == 0 && strcmp(of_a, of_b) == 0;
}

bool processes_have_same_command(pid_t a, pid_t b)
{
    char of_a[1024], of_b[1024]; /* each argument ends with a NUL */
    size_t a_n = read_proc_file(a, "cmdline", of_a, sizeof of_a);
    size_t b_n = read_proc_file(b, "cmdline", of_b, sizeof of_b);
    return a_n > 0 && a_n == b_n && memcmp(of_a, of_b, a_n) == 0;
}

bool count_pipes_of_process(pid_t pid, int max, int *ret_pipes, int *ret_sockets)
{
    char path[64], kind[16];
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *d = opendir(path);
    if (d == NULL)
        return false;
    int left = max, pipes = 0, sockets = 0;
    for (struct dirent *e; left > 0 && (e = readdir(d)) != NULL; left--) {
        if (e->d_name[0] == '.')
            continue;
        read_fd_kind(pid, atoi(e->d_name), kind, sizeof kind);
        pipes += strcmp(kind, "pipe") == 0;
        sockets += strcmp(kind, "socket") == 0;
    }
    closedir(d);
    *ret_pipes = pipes;
    *ret_sockets = sockets;
    return true;
}

int64_t count_unread_bytes_of_fd(int fd)
{
    int n;
    return ioctl(fd, SIOCOUTQ, &n) == 0 || ioctl(fd, FIONREAD, &n) == 0 ? n : -1;
}
