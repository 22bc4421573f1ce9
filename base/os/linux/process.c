#include "base/os/process.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WAIT_STEP_MS 10 /* time between two checks of a process for which there is no pidfd */
#define STAT_MAX 1024   /* bytes of /proc/PID/stat: a name of 64 bytes and 50 numbers */

static ssize_t read_small_file(const char *path, char *to, size_t max)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    ssize_t n;
    do
        n = read(fd, to, max - 1);
    while (n < 0 && errno == EINTR);
    close(fd);
    if (n >= 0)
        to[n] = '\0';
    return n;
}

/* Returns the text after the name, or NULL. The name is in parentheses and may contain any
 * characters, even parentheses and blanks. */
static const char *parse_process_name(const char *text, struct process *p)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (open == NULL || close == NULL || close < open)
        return NULL;
    size_t n = size_min((size_t)(close - open - 1), sizeof p->name - 1);
    memcpy(p->name, open + 1, n);
    p->name[n] = '\0';
    return close + 1;
}

int process_read(pid_t pid, struct process *ret)
{
    char path[64], text[STAT_MAX];
    struct process p = {.pid = pid};
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (pid <= 0 || read_small_file(path, text, sizeof text) <= 0)
        return MI_ENOENT;
    const char *at = parse_process_name(text, &p);
    /* the index of `field` is the number of a field in proc(5), where the state is field 3 */
    long long field[25] = {0};
    if (at == NULL || at[0] != ' ')
        return MI_ENOENT;
    p.state = at[1];
    char *end = NULL;
    at += 2;
    for (size_t i = 4; i < MI_COUNT(field); i++, at = end) {
        field[i] = strtoll(at, &end, 10);
        if (end == at)
            return MI_ENOENT;
    }
    p.parent = (pid_t)field[4];
    p.group = (pid_t)field[5];
    p.session = (pid_t)field[6];
    p.cpu_ticks = field[14] + field[15] + field[16] + field[17];
    p.waited_ticks = field[16] + field[17];
    p.threads = field[20];
    p.start_ticks = (uint64_t)field[22];
    p.rss_bytes = field[24] * (int64_t)sysconf(_SC_PAGESIZE);
    *ret = p;
    return 0;
}

/* Parses the numbers in `text` that a blank ends, and removes them from `text`. A number without a
 * blank stays: after "12 13 1", `text` is "1". */
static size_t parse_complete_pids(char *text, size_t *text_n, pid_t *ret, size_t max)
{
    size_t n = 0;
    char *p = text;
    text[*text_n] = '\0';
    for (char *blank; n < max && (blank = strchr(p, ' ')) != NULL; p = blank + 1)
        ret[n++] = (pid_t)strtol(p, NULL, 10);
    *text_n -= (size_t)(p - text);
    memmove(text, p, *text_n);
    return n;
}

/* A long list needs several reads, and a number may be split between two reads. A blank follows
 * each number. */
size_t process_read_children(pid_t pid, pid_t *ret, size_t max)
{
    char text[4096];
    size_t n = 0, text_n = 0;
    snprintf(text, sizeof text, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    int fd = pid > 0 ? open(text, O_RDONLY | O_CLOEXEC) : -1;
    while (fd >= 0 && n < max) {
        ssize_t got = read(fd, text + text_n, sizeof text - 1 - text_n);
        if (got <= 0)
            break;
        text_n += (size_t)got;
        n += parse_complete_pids(text, &text_n, ret + n, max - n);
    }
    if (fd >= 0)
        close(fd);
    return n;
}

static bool process_is_alive(const struct process *p)
{
    return p->state != 'Z' && p->state != 'X';
}

size_t process_list_group_members(pid_t group, struct process *ret, size_t max)
{
    DIR *d = opendir("/proc");
    size_t n = 0;
    if (d == NULL)
        return 0;
    for (struct dirent *e; n < max && (e = readdir(d)) != NULL;)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
            process_read(atoi(e->d_name), &ret[n]) == 0 && ret[n].group == group &&
            process_is_alive(&ret[n]))
            n++;
    closedir(d);
    return n;
}

uint64_t process_start(pid_t pid)
{
    struct process p;
    return process_read(pid, &p) == 0 && process_is_alive(&p) ? p.start_ticks : 0;
}

int64_t process_start_time_us(pid_t pid)
{
    struct process p;
    struct timespec boot;
    if (process_read(pid, &p) < 0 || clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
        return 0;
    int64_t since_boot_us = (int64_t)boot.tv_sec * 1000000 + boot.tv_nsec / 1000;
    return clock_wall_us() - since_boot_us + process_ticks_to_us((int64_t)p.start_ticks);
}

/* A pidfd always refers to the same process. If its process has a start time other than `start`,
 * the process to be signalled has exited. */
int process_send_signal(pid_t pid, uint64_t start, int sig)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ESRCH ? MI_ENOENT : MI_EIO;
    int st = MI_ENOENT;
    if (process_start(pid) == start && start != 0) {
        bool sent = syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) == 0;
        st = sent ? 0 : errno == ESRCH ? MI_ENOENT : MI_EIO;
    }
    int e = errno;
    close(fd);
    errno = e;
    return st;
}

/* Without /proc every start time is 0; then only kill(2) shows whether the process has exited. */
static bool process_has_exited(pid_t pid, uint64_t start)
{
    return pid <= 0 || process_start(pid) != start || (kill(pid, 0) < 0 && errno == ESRCH);
}

bool process_wait_for_exit(pid_t pid, uint64_t start, int64_t us)
{
    int64_t until = clock_mono_us() + us;
    struct pollfd f = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
    bool exited = process_has_exited(pid, start);
    for (int64_t left = us; !exited && left > 0; left = until - clock_mono_us()) {
        int ms = (int)(left / 1000) + 1;
        /* f.fd is -1 if a filter of system calls denies pidfd_open(). */
        bool ended = poll(&f, 1, f.fd >= 0 || ms < WAIT_STEP_MS ? ms : WAIT_STEP_MS) > 0;
        exited = ended || (f.fd < 0 && process_has_exited(pid, start));
    }
    if (f.fd >= 0)
        close(f.fd);
    return exited;
}

/* ---- this machine, and this program ---- */

void process_read_boot_id(char *ret)
{
    ssize_t n = read_small_file("/proc/sys/kernel/random/boot_id", ret, PROCESS_BOOT_MAX);
    if (n < 0)
        n = 0;
    while (n > 0 && (ret[n - 1] == '\n' || ret[n - 1] == ' '))
        n--;
    ret[n] = '\0';
}

int64_t process_ticks_to_us(int64_t ticks)
{
    long hz = sysconf(_SC_CLK_TCK);
    return hz > 0 ? ticks * (1000000 / hz) : 0;
}

int64_t process_pid_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 ? (int64_t)st.st_ino : 0;
}

char *process_program_path(void)
{
    return realpath("/proc/self/exe", NULL);
}

const char *process_get_platform_name(void)
{
#if defined __x86_64__
    return "linux-x64";
#elif defined __aarch64__
    return "linux-arm64";
#else
    return "linux";
#endif
}

const char *process_libc_version(void)
{
#ifdef __GLIBC__
    static char text[32];
    snprintf(text, sizeof text, "glibc %s", gnu_get_libc_version());
    return text;
#else
    return "";
#endif
}

bool process_is_statically_linked(void)
{
    return getauxval(AT_BASE) == 0; /* AT_BASE is the address of the dynamic linker */
}

/* getpwuid() would load shared libraries (NSS), which a static program cannot do. */
const char *process_find_home_directory(void)
{
    FILE *file = fopen("/etc/passwd", "re");
    const struct passwd *pw;
    if (file == NULL)
        return NULL;
    do
        pw = fgetpwent(file);
    while (pw != NULL && pw->pw_uid != getuid());
    fclose(file);
    return pw != NULL ? pw->pw_dir : NULL;
}

/* ---- this process and those that it starts ---- */

bool process_adopt_orphans(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

bool process_die_with_parent(pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent; /* the parent may have died before the prctl() took effect */
}
