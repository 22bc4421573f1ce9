/* Files in memory: what they can do, and what a mapping of them hides from others. */
#include "base/os/memory.h"

#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 64

static size_t size(void)
{
    return PAGES * (size_t)sysconf(_SC_PAGESIZE);
}

static int open_file(void)
{
    int fd = memory_file("test");
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)size()), 0);
    return fd;
}

static void *map(int fd)
{
    void *p = mmap(NULL, size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

static int64_t allocated(int fd)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    return (int64_t)st.st_blocks * 512;
}

static void test_memory_dir_is_in_memory(void **state)
{
    (void)state;
    int dir = open(memory_get_directory(), O_RDONLY | O_DIRECTORY);
    int proc = open("/proc/self", O_RDONLY | O_DIRECTORY);
    assert_true(dir >= 0);
    assert_true(memory_contains_file(dir));
    assert_false(memory_contains_file(proc));
    close(dir);
    close(proc);
}

static void test_memory_file_has_no_name_and_can_be_locked(void **state)
{
    (void)state;
    struct stat st;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
    int fd = open_file();
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_nlink, 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
    assert_true(memory_contains_file(fd));
    close(fd);
}

static void test_memory_is_allocated_and_returned(void **state)
{
    (void)state;
    size_t half = size() / 2;
    int fd = open_file();
    char *p = map(fd);
    assert_int_equal(allocated(fd), 0);
    assert_int_equal(memory_allocate(fd, 0, size()), 0);
    assert_int_equal(allocated(fd), size());
    memory_map_all_pages(p, size());
    memset(p, 'x', size());
    assert_int_equal(memory_free(fd, half, half), 0);
    assert_int_equal(allocated(fd), half);
    assert_int_equal(p[half - 1], 'x');
    assert_int_equal(p[half], 0);
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, size());
    munmap(p, size());
    close(fd);
}

/* How a child process ends that writes to the first byte. */
static int write_in_child(char *p)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler would report it */
        *(volatile char *)p = 'c';
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void test_memory_kept_private_is_not_inherited(void **state)
{
    (void)state;
    int fd = open_file();
    char *p = map(fd);
    assert_int_equal(write_in_child(p), 0);
    assert_int_equal(*p, 'c');
    *p = 'p';
    assert_int_equal(memory_make_private(p, size()), 0);
    int status = write_in_child(p);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
    assert_int_equal(*p, 'p');
    munmap(p, size());
    close(fd);
}

int main(void)
{
#define T(f) cmocka_unit_test(f)
    const struct CMUnitTest tests[] = {
        T(test_memory_dir_is_in_memory),
        T(test_memory_file_has_no_name_and_can_be_locked),
        T(test_memory_is_allocated_and_returned),
        T(test_memory_kept_private_is_not_inherited),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
