/* confine_calls.c - installs a filter of system calls, seccomp(2), that libseccomp makes. */
#include "base/os/confine.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

/* The system calls of SQLite, libc, the sanitizer and the recorder, grouped by purpose. Some C
 * libraries use the older of two equivalent calls, such as open(2) instead of openat(2). */
static const char *const allowed[] = {
    /* descriptors */
    "read", "readv", "write", "writev", "pread64", "pwrite64", "preadv", "pwritev", "lseek",
    "close", "dup", "dup2", "dup3", "fcntl", "flock", "fsync", "fdatasync", "sync_file_range",
    "ftruncate", "fallocate", "fadvise64", "fchmod", "fchown", "fstat", "fstatfs", "getdents64",
    "poll", "ppoll", "select", "pselect6", "recvmsg", "recvfrom", "sendmsg", "sendto",
    /* calls with paths; Landlock restricts the paths */
    "open", "openat", "stat", "lstat", "newfstatat", "statx", "statfs", "access", "faccessat",
    "faccessat2", "readlink", "readlinkat", "getcwd", "truncate", "unlink", "unlinkat", "mkdir",
    "mkdirat", "rmdir", "rename", "renameat", "renameat2", "link", "linkat", "umask",
    /* memory */
    "brk", "mmap", "munmap", "mremap", "mprotect", "madvise", "msync", "mincore", "memfd_create",
    /* calls for the time, random numbers, and ids of processes and users */
    "clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time",
    "getrandom", "getpid", "getppid", "gettid", "getpgrp", "getpgid", "getsid", "getuid", "geteuid",
    "getgid", "getegid", "getrusage", "times", "sysinfo", "uname", "sched_getaffinity",
    "sched_yield",
    /* calls about the calling process: signals and exit */
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "sigaltstack", "setitimer",
    "futex", "restart_syscall", "exit", "exit_group"};

/* These calls are denied without a signal and are not counted, because libc makes them while it
 * blocks all signals. */
static const char *const quiet[] = {"clone", "clone3", "vfork"};

static struct confine_denied *denied;

/* The register from which the interrupted code takes the result of its system call, after the
 * handler of the signal has returned. */
#if defined __x86_64__
#define RESULT_OF(context) ((context)->uc_mcontext.gregs[REG_RAX])
#elif defined __aarch64__
#define RESULT_OF(context) ((context)->uc_mcontext.regs[0])
#endif

#ifdef RESULT_OF
/* Handles SIGSYS, which the kernel sends instead of executing a denied system call. */
static void on_denied_system_call(int number, siginfo_t *info, void *context)
{
    (void)number;
    atomic_store(&denied->last, (uint32_t)info->si_syscall);
    atomic_fetch_add(&denied->n, 1);
    RESULT_OF((ucontext_t *)context) = -EPERM;
}

static bool start_counting_denied_calls(struct confine_denied *d)
{
    struct sigaction action = {.sa_sigaction = on_denied_system_call,
                               .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigset_t set;
    denied = d;
    sigemptyset(&set);
    sigaddset(&set, SIGSYS);
    return sigaction(SIGSYS, &action, NULL) == 0 && sigprocmask(SIG_UNBLOCK, &set, NULL) == 0;
}
#define DENY SCMP_ACT_TRAP
#else
static bool start_counting_denied_calls(struct confine_denied *d)
{
    (void)d;
    return true;
}
#define DENY SCMP_ACT_ERRNO(EPERM)
#endif

static int confine_calls_add_rules(scmp_filter_ctx filter, uint32_t action, const char *const *name,
                                   size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int call = seccomp_syscall_resolve_name(name[i]);
        if (call < 0)
            continue; /* this processor does not have the system call */
        int st = seccomp_rule_add(filter, action, call, 0);
        if (st != 0)
            return st;
    }
    return 0;
}

/* Allows some calls with certain arguments only: for isatty(3), for abort(3), and to kill the
 * server's process group. */
static int allow_conditional_calls(scmp_filter_ctx filter)
{
    int st =
        seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1, SCMP_A1(SCMP_CMP_EQ, TCGETS));
    if (st == 0)
        st = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                              SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)getpid()));
    /* kill(2) with SIGKILL is allowed for negative process ids; the upper 32 bits of the argument
     * may be anything */
    if (st == 0)
        st = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(kill), 2,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, 0x80000000, 0x80000000),
                              SCMP_A1(SCMP_CMP_EQ, SIGKILL));
    return st;
}

/* libseccomp 2.5.4 runs for ever if an allocation fails in seccomp_load(): so a timer kills this
 * process with SIGVTALRM, and another recorder is started. Loading normally takes 1 ms. */
static int load_filter_with_time_limit(scmp_filter_ctx filter)
{
    const struct itimerval limit = {.it_value.tv_sec = 1}, none = {{0}, {0}};
    int st = setitimer(ITIMER_VIRTUAL, &limit, NULL) == 0 ? seccomp_load(filter) : MI_EIO;
    return setitimer(ITIMER_VIRTUAL, &none, NULL) == 0 ? st : MI_EIO;
}

int confine_system_calls(struct confine_denied *ret)
{
    scmp_filter_ctx filter = seccomp_init(DENY);
    int st = filter != NULL && start_counting_denied_calls(ret) ? 0 : MI_ENOMEM;
    if (st == 0)
        /* level 2 of libseccomp: the filter finds a system call by binary search */
        st = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (st == 0)
        st = confine_calls_add_rules(filter, SCMP_ACT_ALLOW, allowed, MI_COUNT(allowed));
    if (st == 0)
        st = confine_calls_add_rules(filter, SCMP_ACT_ERRNO(EPERM), quiet, MI_COUNT(quiet));
    if (st == 0)
        st = allow_conditional_calls(filter);
    if (st == 0)
        st = load_filter_with_time_limit(filter);
    if (filter != NULL)
        seccomp_release(filter);
    return st == 0 ? 0 : MI_EIO;
}

void system_call_append_name(uint32_t call, struct buf *b)
{
    char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)call);
    if (name != NULL)
        buf_adds(b, name);
    else
        buf_printf(b, "%u", call);
    free(name);
}

void libseccomp_append_version(struct buf *b)
{
    const struct scmp_version *v = seccomp_version();
    buf_printf(b, "libseccomp %u.%u.%u", v->major, v->minor, v->micro);
}
