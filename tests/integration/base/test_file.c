/* What file.h adds to POSIX: descriptions of their own, names that are not replaced, space that is there. */
#include "base/os/file.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

static char path[64];
static int dir;

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/test-file-XXXXXX");
    return mkdtemp(path) != NULL && (dir = file_open_dir(path, 0)) >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    static const char *const names[] = {"a", "b", "c", "link"};
    (void)state;
    for (size_t i = 0; i < MI_COUNT(names); i++)
        unlinkat(dir, names[i], 0);
    close(dir);
    return rmdir(path); /* fails if something else was left */
}

static void make_file(const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static char first_byte(const char *name)
{
    char c = 0;
    int fd = openat(dir, name, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, &c, 1), 1);
    close(fd);
    return c;
}

static void test_file_reopened_has_its_own_flags(void **state)
{
    (void)state;
    int fd[2];
    char c;
    assert_int_equal(pipe(fd), 0);
    int again = file_reopen(fd[0], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(again >= 0);
    assert_int_equal(fcntl(fd[0], F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(again, F_GETFD), FD_CLOEXEC);
    assert_int_equal(read(again, &c, 1), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(write(fd[1], "x", 1), 1);
    assert_int_equal(read(again, &c, 1), 1);
    close(again);
    close(fd[0]);
    close(fd[1]);
}

static void test_file_renamed_to_a_new_name_replaces_nothing(void **state)
{
    (void)state;
    make_file("a", "a");
    make_file("b", "b");
    assert_int_equal(file_rename_no_replace(dir, "a", "b"), MI_EIO);
    assert_true(errno == EEXIST || errno == ENOTSUP);
    assert_int_equal(first_byte("b"), 'b');
    assert_int_equal(file_rename_no_replace(dir, "missing", "c"), MI_EIO);
    if (file_rename_no_replace(dir, "a", "c") == 0)
        assert_int_equal(first_byte("c"), 'a');
    else
        assert_int_equal(errno, ENOTSUP);
}

static void test_file_dir_may_not_be_a_link_on_request(void **state)
{
    (void)state;
    char name[96];
    assert_int_equal(symlinkat(".", dir, "link"), 0);
    snprintf(name, sizeof name, "%s/link", path);
    int fd = file_open_dir(name, 0);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(file_open_dir(name, O_NOFOLLOW), -1);
    make_file("a", "x");
    snprintf(name, sizeof name, "%s/a", path);
    assert_int_equal(file_open_dir(name, 0), -1);
    assert_int_equal(errno, ENOTDIR);
}

static void test_file_space_is_tried_without_a_trace(void **state)
{
    (void)state;
    struct rlimit before, low;
    assert_int_equal(file_test_free_space(dir, ".", 65536), 0);
    assert_int_equal(file_test_free_space(dir, "missing", 65536), 0);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    low = (struct rlimit){4096, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
    int e = file_test_free_space(dir, ".", 65536);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_true(e == EFBIG || e == 0); /* 0: not a file system that can do it */
}

static void test_file_change_has_nanoseconds(void **state)
{
    (void)state;
    struct stat st;
    make_file("a", "a");
    const struct timespec times[2] = {{1, 2}, {1000000000, 123456789}};
    assert_int_equal(utimensat(dir, "a", times, 0), 0);
    assert_int_equal(fstatat(dir, "a", &st, 0), 0);
    assert_int_equal(file_get_change_time(&st).tv_sec, 1000000000);
    assert_int_equal(file_get_change_time(&st).tv_nsec, 123456789);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_file_reopened_has_its_own_flags),
        T(test_file_renamed_to_a_new_name_replaces_nothing),
        T(test_file_dir_may_not_be_a_link_on_request),
        T(test_file_space_is_tried_without_a_trace),
        T(test_file_change_has_nanoseconds),
    };
    return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
