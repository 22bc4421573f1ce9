#include "base/os/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STAT_MAX 1024 /* bytes of /proc/PID/stat: a name of 64 and 50 numbers */

static ssize_t read_small(const char *path, char *to, size_t max)
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

/* The name is in parentheses and may contain any characters, also parentheses and blanks. */
static const char *take_name(const char *text, struct process *p)
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
    if (pid <= 0 || read_small(path, text, sizeof text) <= 0)
        return MI_ENOENT;
    const char *at = take_name(text, &p);
    long long field[25] = {0}; /* numbered as in proc(5): 3 is the state */
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
    p.threads = field[20];
    p.start_ticks = (uint64_t)field[22];
    p.rss_bytes = field[24] * (int64_t)sysconf(_SC_PAGESIZE);
    *ret = p;
    return 0;
}

/* A long list does not fit into one read; a number may be split between two. */
size_t process_children(pid_t pid, pid_t *ret, size_t max)
{
    char path[64];
    size_t n = 0;
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *f = pid > 0 ? fopen(path, "re") : NULL;
    if (f == NULL)
        return 0;
    while (n < max && fscanf(f, "%d", &child) == 1)
        ret[n++] = child;
    fclose(f);
    return n;
}

static bool lives(const struct process *p)
{
    return p->state != 'Z' && p->state != 'X';
}

size_t process_group(pid_t group, struct process *ret, size_t max)
{
    DIR *d = opendir("/proc");
    size_t n = 0;
    if (d == NULL)
        return 0;
    for (struct dirent *e; n < max && (e = readdir(d)) != NULL;)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
            process_read(atoi(e->d_name), &ret[n]) == 0 && ret[n].group == group && lives(&ret[n]))
            n++;
    closedir(d);
    return n;
}

uint64_t process_start(pid_t pid)
{
    struct process p;
    return process_read(pid, &p) == 0 && lives(&p) ? p.start_ticks : 0;
}

void process_boot(char *ret)
{
    ssize_t n = read_small("/proc/sys/kernel/random/boot_id", ret, PROCESS_BOOT_MAX);
    if (n < 0)
        n = 0;
    while (n > 0 && (ret[n - 1] == '\n' || ret[n - 1] == ' '))
        n--;
    ret[n] = '\0';
}

int64_t process_ticks_us(int64_t ticks)
{
    long hz = sysconf(_SC_CLK_TCK);
    return hz > 0 ? ticks * (1000000 / hz) : 0;
}
