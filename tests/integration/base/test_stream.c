/* Non-blocking streams that do not change the flags of shared descriptors. */
#include "base/io/stream.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static void make_pipe(int fd[2])
{
    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
}

static ssize_t put(const struct stream *s, const char *text, size_t n)
{
    struct iovec v = {.iov_base = (void *)(uintptr_t)text, .iov_len = n};
    return stream_write(s, &v, 1);
}

static void test_stream_of_a_pipe_is_private_and_the_original_stays_blocking(void **state)
{
    (void)state;
    int fd[2];
    struct stream in, out;
    char got[64];
    make_pipe(fd);
    assert_int_equal(stream_open(&in, fd[0], false), 0);
    assert_int_equal(stream_open(&out, fd[1], true), 0);
    assert_int_not_equal(in.fd, fd[0]);
    assert_int_not_equal(out.fd, fd[1]);
    assert_false(in.shared || in.socket || out.shared || out.socket);
    assert_true(fcntl(in.fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(out.fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(in.fd, F_GETFD) & FD_CLOEXEC);
    assert_true(fcntl(out.fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(fcntl(fd[0], F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(fd[1], F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(stream_read(&in, got, sizeof got), 0); /* nothing there: does not block */
    assert_int_equal(put(&out, "hello", 5), 5);
    assert_int_equal(stream_read(&in, got, sizeof got), 5);
    assert_memory_equal(got, "hello", 5);
    stream_close(&out);
    assert_int_equal(out.fd, -1);
    stream_close(&out);
    assert_int_equal(stream_read(&in, got, sizeof got), 0); /* the original writer is still there */
    close(fd[1]);
    assert_int_equal(stream_read(&in, got, sizeof got), MI_ENOENT);
    stream_close(&in);
    assert_int_equal(fcntl(fd[0], F_GETFD), FD_CLOEXEC); /* which stayed open */
    close(fd[0]);
}

static void test_stream_full_pipe_accepts_what_fits_and_then_nothing(void **state)
{
    (void)state;
    int fd[2];
    struct stream out;
    static char lots[100000];
    make_pipe(fd);
    assert_int_equal(fcntl(fd[1], F_SETPIPE_SZ, 4096), 4096);
    assert_int_equal(stream_open(&out, fd[1], true), 0);
    assert_int_equal(put(&out, lots, sizeof lots), 4096);
    assert_int_equal(put(&out, lots, 1), 0);
    stream_close(&out);
    close(fd[0]);
    close(fd[1]);
}

static void test_stream_several_pieces_are_written_in_order(void **state)
{
    (void)state;
    int fd[2];
    struct stream out;
    char got[64];
    make_pipe(fd);
    assert_int_equal(stream_open(&out, fd[1], true), 0);
    char a[] = "one ", b[] = "two ", c[] = "three";
    struct iovec v[] = {{a, 4}, {b, 4}, {c, 5}};
    assert_int_equal(stream_write(&out, v, 3), 13);
    assert_int_equal(read(fd[0], got, sizeof got), 13);
    assert_memory_equal(got, "one two three", 13);
    stream_close(&out);
    close(fd[0]);
    close(fd[1]);
}

static void test_stream_of_a_socket_does_not_block_or_change_its_flags(void **state)
{
    (void)state;
    int fd[2];
    struct stream a, b;
    char got[64];
    static char lots[1 << 20];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    assert_int_equal(stream_open(&a, fd[0], false), 0);
    assert_int_equal(stream_open(&b, fd[1], true), 0);
    assert_true(a.socket && b.socket);
    assert_int_not_equal(a.fd, fd[0]);
    assert_int_equal(stream_read(&a, got, sizeof got), 0);
    assert_int_equal(put(&b, "hello", 5), 5);
    assert_int_equal(stream_read(&a, got, sizeof got), 5);
    char x[] = "x", y[] = "yz";
    struct iovec v[] = {{x, 1}, {y, 2}};
    assert_int_equal(stream_write(&b, v, 2), 3);
    assert_int_equal(stream_read(&a, got, sizeof got), 3);
    assert_memory_equal(got, "xyz", 3);
    ssize_t n;
    while ((n = put(&b, lots, sizeof lots)) > 0)
        continue;
    assert_int_equal(n, 0);
    assert_int_equal(fcntl(fd[0], F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(fcntl(fd[1], F_GETFL) & O_NONBLOCK, 0);
    stream_close(&a);
    close(fd[0]);
    signal(SIGPIPE, SIG_DFL); /* a socket never raises it */
    assert_int_equal(put(&b, "x", 1), MI_EIO);
    signal(SIGPIPE, SIG_IGN);
    stream_close(&b);
    close(fd[1]);
}

static void test_stream_socket_with_a_closed_peer_is_at_its_end(void **state)
{
    (void)state;
    int fd[2];
    struct stream a;
    char got[8];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
    assert_int_equal(stream_open(&a, fd[0], false), 0);
    close(fd[1]);
    assert_int_equal(stream_read(&a, got, sizeof got), MI_ENOENT);
    stream_close(&a);
    close(fd[0]);
}

static void test_stream_write_without_a_reader_is_an_error(void **state)
{
    (void)state;
    int fd[2];
    struct stream out;
    signal(SIGPIPE, SIG_IGN);
    make_pipe(fd);
    assert_int_equal(stream_open(&out, fd[1], true), 0);
    close(fd[0]);
    assert_int_equal(put(&out, "x", 1), MI_EIO);
    assert_int_equal(errno, EPIPE);
    stream_close(&out);
    close(fd[1]);
}

static void test_stream_of_a_file_shares_the_offset_of_the_original(void **state)
{
    (void)state;
    FILE *f = tmpfile();
    struct stream s;
    char got[8];
    assert_non_null(f);
    assert_int_equal(write(fileno(f), "abc", 3), 3);
    assert_int_equal(stream_open(&s, fileno(f), true), 0);
    assert_false(s.shared || s.socket);
    assert_int_equal(put(&s, "def", 3), 3);
    assert_int_equal(lseek(fileno(f), 0, SEEK_CUR),
                     6); /* one open file: appended, not overwritten */
    assert_int_equal(lseek(fileno(f), 0, SEEK_SET), 0);
    assert_int_equal(stream_read(&s, got, sizeof got), 6);
    assert_memory_equal(got, "abcdef", 6);
    assert_int_equal(stream_read(&s, got, sizeof got), MI_ENOENT);
    stream_close(&s);
    fclose(f);
}

static void test_stream_of_a_terminal_does_not_change_its_flags(void **state)
{
    (void)state;
    char got[64];
    struct stream s;
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0)
        skip();
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    int tty = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(tty >= 0);
    assert_int_equal(stream_open(&s, tty, false), 0);
    assert_false(s.shared);
    assert_int_equal(fcntl(tty, F_GETFL) & O_NONBLOCK, 0);
    assert_int_equal(stream_read(&s, got, sizeof got), 0);
    assert_int_equal(write(master, "line\n", 5), 5);
    assert_int_equal(stream_read(&s, got, sizeof got), 5);
    close(master);
    assert_true(stream_read(&s, got, sizeof got) < 0); /* hung up: EIO or its end */
    stream_close(&s);
    close(tty);
}

/* The last resort: writes to a blocking descriptor are limited to what a writable pipe must accept. */
static void test_stream_shared_pipe_is_written_in_pieces_that_cannot_block(void **state)
{
    (void)state;
    int fd[2];
    static char lots[3 * PIPE_BUF];
    make_pipe(fd);
    struct stream s = {.fd = fd[1], .shared = true};
    assert_int_equal(put(&s, lots, sizeof lots), PIPE_BUF);
    char a[] = "first", b[] = "second";
    struct iovec v[] = {{a, 5}, {b, 6}};
    assert_int_equal(stream_write(&s, v, 2), 5);
    stream_close(&s);
    close(fd[0]);
}

static void test_stream_own_descriptor_is_taken_over(void **state)
{
    (void)state;
    int fd[2];
    char got[4];
    assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
    struct stream in = stream_take_over_fd(fd[0]);
    assert_int_equal(in.fd, fd[0]);
    assert_false(in.shared || in.socket);
    assert_int_equal(stream_read(&in, got, sizeof got), 0);
    stream_close(&in);
    assert_int_equal(fcntl(fd[0], F_GETFD), -1);
    close(fd[1]);
}

static void test_stream_of_a_closed_descriptor_fails_with_errno(void **state)
{
    (void)state;
    struct stream s;
    int fd[2];
    make_pipe(fd);
    close(fd[0]);
    close(fd[1]);
    errno = 0;
    assert_int_equal(stream_open(&s, fd[0], false), MI_EIO);
    assert_int_equal(errno, EBADF);
    assert_int_equal(s.fd, -1);
    stream_close(&s);
}

static void test_stream_read_error_is_not_the_end_of_the_stream(void **state)
{
    (void)state;
    char got[4];
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct stream s = stream_take_over_fd(fd);
    assert_int_equal(stream_read(&s, got, sizeof got), MI_EIO);
    stream_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream_of_a_pipe_is_private_and_the_original_stays_blocking),
        cmocka_unit_test(test_stream_full_pipe_accepts_what_fits_and_then_nothing),
        cmocka_unit_test(test_stream_several_pieces_are_written_in_order),
        cmocka_unit_test(test_stream_of_a_socket_does_not_block_or_change_its_flags),
        cmocka_unit_test(test_stream_socket_with_a_closed_peer_is_at_its_end),
        cmocka_unit_test(test_stream_write_without_a_reader_is_an_error),
        cmocka_unit_test(test_stream_of_a_file_shares_the_offset_of_the_original),
        cmocka_unit_test(test_stream_of_a_terminal_does_not_change_its_flags),
        cmocka_unit_test(test_stream_shared_pipe_is_written_in_pieces_that_cannot_block),
        cmocka_unit_test(test_stream_own_descriptor_is_taken_over),
        cmocka_unit_test(test_stream_of_a_closed_descriptor_fails_with_errno),
        cmocka_unit_test(test_stream_read_error_is_not_the_end_of_the_stream),
    };
    return cmocka_run_group_tests_name("stream", tests, NULL, NULL);
}
