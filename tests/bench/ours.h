/* ours.h - memory and CPU time of the processes of the interposer, for the load generator.
 *
 * "Ours" are the processes below this one that run the command's executable: the proxy, and
 * processes that it starts with its own executable, but not the server. A process whose parent
 * exits becomes a child of this one (ours_watch()), so it is still found and its CPU time is
 * counted.
 *
 * Units    KiB; seconds.
 * Errors   a process that has just exited counts as nothing. */
#ifndef MI_TESTS_BENCH_OURS_H
#define MI_TESTS_BENCH_OURS_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OURS_MAX 64 /* processes below this one */

static inline bool ours_watch(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

/* Adds the descendants of process `of`. Returns the new number of pids. */
static size_t ours_below(pid_t of, pid_t pids[OURS_MAX], size_t n)
{
    char path[64];
    size_t first = n;
    int pid;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)of, (int)of);
    FILE *f = fopen(path, "re");
    while (f != NULL && n < OURS_MAX && fscanf(f, "%d", &pid) == 1)
        pids[n++] = pid;
    if (f != NULL)
        fclose(f);
    for (size_t i = first, end = n; i < end; i++)
        n = ours_below(pids[i], pids, n);
    return n;
}

static bool ours_is(pid_t pid, pid_t command)
{
    char path[64];
    struct stat one;
    struct stat other;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    if (stat(path, &one) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/%d/exe", (int)command);
    return stat(path, &other) == 0 && one.st_ino == other.st_ino && one.st_dev == other.st_dev;
}

static long ours_pss_of(pid_t pid)
{
    char path[64];
    char line[256];
    long kb = 0;
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    FILE *f = fopen(path, "re");
    while (f != NULL && kb == 0 && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "Pss:", 4) == 0)
            kb = strtol(line + 4, NULL, 10);
    if (f != NULL)
        fclose(f);
    return kb;
}

/* Current memory of all our processes. Shared memory, such as the journal, counts once. */
static long ours_pss_kb(pid_t command)
{
    pid_t pids[OURS_MAX];
    size_t n = ours_below(getpid(), pids, 0);
    long kb = 0;
    for (size_t i = 0; i < n; i++)
        if (ours_is(pids[i], command))
            kb += ours_pss_of(pids[i]);
    return kb;
}

/* CPU time so far of the processes below this one that are not ours. */
static double ours_others_cpu_s(pid_t command)
{
    pid_t pids[OURS_MAX];
    size_t n = ours_below(getpid(), pids, 0);
    double sum_s = 0;
    for (size_t i = 0; i < n; i++) {
        char path[64];
        unsigned long long ns = 0;
        snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pids[i]);
        FILE *f = ours_is(pids[i], command) ? NULL : fopen(path, "re");
        if (f != NULL) {
            if (fscanf(f, "%llu", &ns) == 1)
                sum_s += (double)ns / 1e9;
            fclose(f);
        }
    }
    return sum_s;
}

/* Waits for all children. Returns the CPU time of all children so far, and of their descendants. */
static double ours_wait_all_cpu_s(void)
{
    struct rusage u;
    while (wait(NULL) > 0)
        continue;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

#endif
