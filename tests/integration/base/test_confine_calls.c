/* Which system calls a recorder may make. Each case runs in a child: a filter cannot be removed. */
#include "base/os/confine.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static struct confine_denied denied; /* in the child */
static char directory[64];           /* the child's working directory */

/* In a child. A false fact ends it. */
#define FACT(fact)                                                                                 \
    do {                                                                                           \
        if (!(fact)) {                                                                             \
            fprintf(stderr, "line %d: not true: %s (errno %d)\n", __LINE__, #fact, errno);         \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static int make_directory(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/confine-calls.XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", directory);
    return system(command);
}

static void filtered(void (*body)(void))
{
    enum { NO_FILTER = 7 };
    if (unit_slow())
        skip(); /* valgrind makes calls of its own */
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        FACT(chdir(directory) == 0);
        if (confine_system_calls(&denied) != 0)
            _exit(NO_FILTER);
        body();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_FILTER) {
        print_message("skipped: no filter of system calls is permitted here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void is_denied(long result, int line)
{
    static unsigned n;
    int error = errno;
    if (result < 0 && error == EPERM && atomic_load(&denied.n) == ++n)
        return;
    fprintf(stderr, "line %d: result %ld, errno %d, denied %u, not %u\n", line, result, error,
            atomic_load(&denied.n), n);
    _exit(1);
}
#define DENIED(call) is_denied((long)(call), __LINE__)

static void try_what_leads_out(void)
{
    char *const no_arguments[] = {NULL};
    const struct timespec now[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_NOW}};
    const struct iovec part = {directory, 1};
    int two[2];
    /* other programs: ssh-agent, docker and systemd listen on Unix sockets */
    DENIED(socket(AF_UNIX, SOCK_STREAM, 0));
    DENIED(socket(AF_INET, SOCK_DGRAM, 0));
    DENIED(socket(AF_INET6, SOCK_STREAM, 0));
    DENIED(socketpair(AF_UNIX, SOCK_STREAM, 0, two));
    DENIED(connect(0, NULL, 0));
    DENIED(execve("/bin/true", no_arguments, no_arguments));
    DENIED(ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
    DENIED(process_vm_writev(getppid(), &part, 1, &part, 1, 0));
    /* files that it cannot open */
    DENIED(chmod("/tmp", 0777));
    DENIED(fchmodat(AT_FDCWD, "/tmp", 0777, 0));
    DENIED(chown("/tmp", 0, 0));
    DENIED(utimensat(AT_FDCWD, "/tmp", now, 0));
    DENIED(setxattr("/tmp", "user.x", "x", 1, 0));
    DENIED(symlink("/tmp", "link"));
    DENIED(mknod("fifo", S_IFIFO | 0600, 0));
    /* the kernel */
    DENIED(syscall(SYS_io_uring_setup, 1, NULL));
    DENIED(syscall(SYS_bpf, 0, NULL, 0));
    DENIED(syscall(SYS_keyctl, 0, 0));
    DENIED(syscall(SYS_pidfd_open, getppid(), 0));
    DENIED(mount("a", "b", "c", 0, NULL));
    DENIED(unshare(CLONE_NEWUSER));
    DENIED(setns(0, 0));
    DENIED(chroot("/"));
    struct buf name = {0};
    system_call_append_name(atomic_load(&denied.last), &name);
    FACT(strcmp(buf_str(&name), "chroot") == 0);
}

static void test_confine_calls_that_lead_out_are_denied_and_counted(void **state)
{
    (void)state;
    filtered(try_what_leads_out);
}

/* libc blocks all signals in some of these, and a signal that is blocked would kill. */
static void *nothing(void *arg)
{
    return arg;
}

static void try_processes(void)
{
    pthread_t thread;
    pid_t pid;
    char name[] = "true";
    char *const arguments[] = {name, NULL};
    FACT(pthread_create(&thread, NULL, nothing, NULL) == EPERM);
    FACT(posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, arguments) == EPERM);
    FACT(fork() < 0 && errno == EPERM);
}

static void test_confine_calls_that_make_processes_and_threads_are_denied(void **state)
{
    (void)state;
    filtered(try_processes);
}

static void use_database(void)
{
    sqlite3 *db;
    FACT(sqlite3_open("test.db", &db) == SQLITE_OK);
    FACT(sqlite3_exec(db,
                      "PRAGMA journal_mode = WAL; PRAGMA temp_store = MEMORY;"
                      "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE);"
                      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
                      "  WHERE i < 2000) INSERT INTO t SELECT i, hex(randomblob(50)) FROM n;"
                      "PRAGMA wal_checkpoint(TRUNCATE); VACUUM",
                      NULL, NULL, NULL) == SQLITE_OK);
    FACT(sqlite3_close(db) == SQLITE_OK);
    FACT(rename("test.db", "moved.db") == 0 && unlink("moved.db") == 0);
    FACT(mkdir("d", 0700) == 0 && rmdir("d") == 0);
    FACT(isatty(0) >= 0); /* as libc does before it writes to a stream */
    FACT(atomic_load(&denied.n) == 0);
}

static void test_confine_calls_of_sqlite_are_allowed(void **state)
{
    (void)state;
    filtered(use_database);
}

static pid_t sleeper; /* in a group of its own */

static void kill_group(void)
{
    DENIED(
        kill(sleeper, SIGKILL)); /* ssh-agent and the like: no process alone, and no other signal */
    DENIED(kill(getppid(), 0));
    DENIED(kill(-sleeper, SIGSTOP));
    DENIED(syscall(SYS_tgkill, getppid(), getppid(), SIGTERM));
    FACT(syscall(SYS_tgkill, getpid(), getpid(), 0) == 0);
    FACT(kill(-sleeper, SIGKILL) == 0);
}

static void test_confine_calls_a_process_group_can_be_killed_and_nothing_else(void **state)
{
    (void)state;
    int status;
    sleeper = unit_sleeper();
    assert_int_equal(setpgid(sleeper, sleeper), 0);
    filtered(kill_group);
    assert_int_equal(waitpid(sleeper, &status, 0), sleeper);
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void test_confine_calls_without_a_name_are_numbers(void **state)
{
    (void)state;
    struct buf name = {0};
    system_call_append_name(4000, &name);
    assert_string_equal(buf_str(&name), "4000");
    buf_close(&name);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)
    const struct CMUnitTest tests[] = {
        CASE(test_confine_calls_that_lead_out_are_denied_and_counted),
        CASE(test_confine_calls_that_make_processes_and_threads_are_denied),
        CASE(test_confine_calls_of_sqlite_are_allowed),
        CASE(test_confine_calls_a_process_group_can_be_killed_and_nothing_else),
        CASE(test_confine_calls_without_a_name_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
