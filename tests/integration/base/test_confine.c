/* What a confined process can still do, and what it cannot. Each case runs in a child: confinement cannot be undone. */
#include "base/os/confine.h"

#include "base/os/process.h"
#include "tests/support/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

/* Two directories; the children are confined to the first. */
struct fixture {
    char inside[64], outside[64];
    char path[128]; /* path_in() */
};

static const char *path_in(struct fixture *f, const char *dir, const char *name)
{
    snprintf(f->path, sizeof f->path, "%s/%s", dir, name);
    return f->path;
}

static int make_directories(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -1;
    snprintf(f->inside, sizeof f->inside, "/tmp/confine-in.XXXXXX");
    snprintf(f->outside, sizeof f->outside, "/tmp/confine-out.XXXXXX");
    *state = f;
    return mkdtemp(f->inside) != NULL && mkdtemp(f->outside) != NULL ? 0 : -1;
}

static int remove_directories(void **state)
{
    struct fixture *f = *state;
    char command[256];
    snprintf(command, sizeof command, "rm -rf %s %s", f->inside, f->outside);
    int rc = system(command);
    free(f);
    return rc;
}

/* In a child. A false fact ends it with the line's number as its status. */
#define FACT(fact)                                                                                 \
    do {                                                                                           \
        if (!(fact)) {                                                                             \
            fprintf(stderr, "line %d: not true: %s (errno %d)\n", __LINE__, #fact, errno);         \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)
#define FAILS(error, call) FACT((errno = 0, (call)) < 0 && errno == (error))

static void confine(struct fixture *f, int version)
{
    int dir = open(f->inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    FACT(dir >= 0);
    FACT(confine_self(&dir, 1) >= version);
    FACT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    close(dir);
}

static void confined(struct fixture *f, int version, void (*body)(struct fixture *f))
{
    const char *why = "its Landlock is too old";
    if (confine_detect_kernel_support(&why) < version || unit_slow()) {
        /* valgrind does not know the system calls */
        print_message("skipped: version %d of Landlock is needed: %s\n", version, why);
        skip();
    }
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        confine(f, version);
        body(f);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void leave_file(struct fixture *f, const char *dir, const char *name)
{
    int fd = open(path_in(f, dir, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "text", 4), 4);
    close(fd);
}

static void use_files(struct fixture *f)
{
    char other[128];
    FACT(mkdir(path_in(f, f->inside, "dir"), 0700) == 0);
    snprintf(other, sizeof other, "%s", f->path);
    int fd = open(path_in(f, f->inside, "file"), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FACT(fd >= 0 && write(fd, "0123456789", 10) == 10 && fsync(fd) == 0);
    FACT(ftruncate(fd, 5) == 0 && truncate(f->path, 3) == 0 && chmod(f->path, 0640) == 0);
    FACT(mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED);
    close(fd);
    snprintf(other, sizeof other, "%s/dir/renamed", f->inside);
    FACT(rename(f->path, other) == 0); /* into another directory */
    FACT(link(other, f->path) == 0);   /* and back */
    FACT(unlink(f->path) == 0 && unlink(other) == 0);
    FACT(rmdir(path_in(f, f->inside, "dir")) == 0);
    FACT(open(f->inside, O_RDONLY | O_DIRECTORY | O_CLOEXEC) >= 0);
}

static void test_confine_files_of_its_directory_can_be_used(void **state)
{
    confined(*state, 2, use_files);
}

static void try_outside(struct fixture *f)
{
    char other[128];
    FAILS(EACCES, open(path_in(f, f->outside, "new"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    FAILS(EACCES, mkdir(f->path, 0700));
    FAILS(EACCES, open(path_in(f, f->outside, "file"), O_RDONLY | O_CLOEXEC));
    FAILS(EACCES, open(f->path, O_WRONLY | O_CLOEXEC));
    FAILS(EACCES, unlink(f->path));
    snprintf(other, sizeof other, "%s/stolen", f->inside);
    FACT(rename(f->path, other) < 0 && link(f->path, other) < 0);
    FAILS(EACCES, open(f->outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    FAILS(EACCES, open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    FAILS(EACCES, open("/dev/tty", O_RDWR | O_CLOEXEC));
}

static void test_confine_files_elsewhere_cannot_be_opened_made_or_moved(void **state)
{
    struct fixture *f = *state;
    leave_file(f, f->outside, "file");
    confined(f, 1, try_outside);
}

static void try_truncate(struct fixture *f)
{
    FAILS(EACCES, truncate(path_in(f, f->outside, "file"), 0));
}

static void test_confine_files_elsewhere_cannot_be_truncated(void **state)
{
    struct fixture *f = *state;
    leave_file(f, f->outside, "file");
    confined(f, 3, try_truncate);
}

static void try_special_files(struct fixture *f)
{
    FAILS(EACCES, symlink("/etc/passwd", path_in(f, f->inside, "special")));
    FAILS(EACCES, mkfifo(f->path, 0600));
    FAILS(EACCES, execl(path_in(f, f->inside, "program"), "program", (char *)NULL));
    FAILS(EACCES, execl("/bin/sh", "sh", "-c", "exit 0", (char *)NULL));
}

static void test_confine_nothing_is_executed_and_no_special_file_is_made(void **state)
{
    struct fixture *f = *state;
    leave_file(f, f->inside, "program");
    confined(f, 1, try_special_files);
}

static void read_what_libraries_need(struct fixture *f)
{
    (void)f;
    struct process p;
    char boot[PROCESS_BOOT_MAX];
    FACT(process_read(getpid(), &p) == 0 && p.pid == getpid());
    FACT(process_start(getppid()) > 0);
    process_read_boot_id(boot);
    FACT(boot[0] != '\0');
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    FACT(null >= 0 && write(null, "x", 1) == 1);
    char random[8];
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    FACT(fd >= 0 && read(fd, random, sizeof random) == (ssize_t)sizeof random);
    FAILS(EACCES, open("/dev/urandom", O_WRONLY | O_CLOEXEC));
    FAILS(EACCES, open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
}

static void test_confine_proc_and_random_numbers_are_readable(void **state)
{
    confined(*state, 1, read_what_libraries_need);
}

static void use_database(struct fixture *f)
{
    sqlite3 *db;
    FACT(sqlite3_open(path_in(f, f->inside, "test.db"), &db) == SQLITE_OK);
    FACT(sqlite3_exec(
             db,
             "PRAGMA journal_mode = WAL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = 10;"
             "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT UNIQUE);"
             "BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
             "  WHERE i < 20000) INSERT INTO t SELECT i, hex(randomblob(50)) FROM n;"
             "UPDATE t SET b = b || 'x' WHERE a IN (SELECT a FROM t ORDER BY b);"
             "COMMIT; PRAGMA wal_checkpoint(TRUNCATE); VACUUM",
             NULL, NULL, NULL) == SQLITE_OK);
    FACT(access(path_in(f, f->inside, "test.db-shm"), F_OK) == 0);
    FACT(sqlite3_close(db) == SQLITE_OK);
    FACT(access(f->path, F_OK) != 0);
}

static void test_confine_sqlite_can_write_checkpoint_and_sort(void **state)
{
    confined(*state, 3, use_database);
}

static int listener; /* a TCP socket on the loopback interface */
static struct sockaddr_in listener_address;

static void try_tcp(struct fixture *f)
{
    (void)f;
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FACT(s >= 0);
    FAILS(EACCES,
          connect(s, (struct sockaddr *)&listener_address, (socklen_t)sizeof listener_address));
    FAILS(EACCES, bind(s, (struct sockaddr *)&any, (socklen_t)sizeof any));
}

static void test_confine_no_tcp_connection_can_be_made_or_awaited(void **state)
{
    socklen_t n = sizeof listener_address;
    listener_address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&listener_address, n), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&listener_address, &n), 0);
    confined(*state, 4, try_tcp);
    close(listener);
}

/* A name in the abstract namespace begins with NUL. */
static struct sockaddr_un abstract_address(socklen_t *ret_n)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    *ret_n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                         (size_t)snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "confine-%d",
                                          (int)getpgrp()));
    return a;
}

static void try_abstract_socket(struct fixture *f)
{
    (void)f;
    socklen_t n;
    struct sockaddr_un a = abstract_address(&n);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    FACT(s >= 0);
    FAILS(EPERM, connect(s, (struct sockaddr *)&a, n));
}

static void test_confine_abstract_unix_sockets_of_others_are_out_of_reach(void **state)
{
    socklen_t n;
    struct sockaddr_un a = abstract_address(&n);
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s >= 0);
    assert_int_equal(bind(s, (struct sockaddr *)&a, n), 0);
    assert_int_equal(listen(s, 1), 0);
    confined(*state, 6, try_abstract_socket);
    close(s);
}

static pid_t sleeper; /* a process that is not confined, in a group of its own */

static void kill_group(struct fixture *f)
{
    (void)f;
    FAILS(EPERM, ptrace(PTRACE_SEIZE, sleeper, NULL, NULL));
    FACT(kill(-sleeper, 0) == 0);
    FACT(kill(-sleeper, SIGKILL) == 0);
}

static void test_confine_a_process_group_can_be_killed_but_not_traced(void **state)
{
    sleeper = unit_sleeper();
    assert_int_equal(setpgid(sleeper, sleeper), 0);
    confined(*state, 1, kill_group);
    int status;
    assert_int_equal(waitpid(sleeper, &status, 0), sleeper);
    assert_int_equal(WTERMSIG(status), SIGKILL);
}

static void confine_to_a_closed_descriptor(void)
{
    int closed = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
    close(closed);
    FACT(confine_self(&closed, 1) == 0);
    FACT(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
    FACT(open("/etc/passwd", O_RDONLY | O_CLOEXEC) >= 0);
    _exit(0);
}

static void test_confine_without_landlock_returns_zero_and_sets_no_new_privs(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0)
        confine_to_a_closed_descriptor();
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_directories, remove_directories)
    const struct CMUnitTest tests[] = {
        CASE(test_confine_files_of_its_directory_can_be_used),
        CASE(test_confine_files_elsewhere_cannot_be_opened_made_or_moved),
        CASE(test_confine_files_elsewhere_cannot_be_truncated),
        CASE(test_confine_nothing_is_executed_and_no_special_file_is_made),
        CASE(test_confine_proc_and_random_numbers_are_readable),
        CASE(test_confine_sqlite_can_write_checkpoint_and_sort),
        CASE(test_confine_no_tcp_connection_can_be_made_or_awaited),
        CASE(test_confine_abstract_unix_sockets_of_others_are_out_of_reach),
        CASE(test_confine_a_process_group_can_be_killed_but_not_traced),
        CASE(test_confine_without_landlock_returns_zero_and_sets_no_new_privs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
