/* Channels: whole messages, in order, with files; what a sender learns of the other end. */
#include "base/os/pipe.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int end[2];

static int set_up(void **state)
{
    (void)state;
    return channel_open(end);
}

static void close_end(int i)
{
    if (end[i] >= 0)
        close(end[i]);
    end[i] = -1;
}

static int tear_down(void **state)
{
    (void)state;
    close_end(0);
    close_end(1);
    return 0;
}

static void test_pipe_descriptors_are_not_inherited(void **state)
{
    (void)state;
    int fd[2];
    char c;
    assert_int_equal(pipe_open(fd, O_NONBLOCK), 0);
    assert_int_equal(read(fd[0], &c, 1), -1);
    assert_int_equal(errno, EAGAIN);
    const int all[] = {fd[0], fd[1], end[0], end[1]};
    for (size_t i = 0; i < MI_COUNT(all); i++)
        assert_int_equal(fcntl(all[i], F_GETFD), FD_CLOEXEC);
    close(fd[0]);
    close(fd[1]);
}

static void test_pipe_is_wide_until_it_is_narrowed(void **state)
{
    (void)state;
    int fd[2];
    char lots[8192] = {0};
    assert_int_equal(pipe_open(fd, O_NONBLOCK), 0);
    assert_int_equal(fcntl(fd[1], F_SETPIPE_SZ, 4096), 4096);
    assert_int_equal(pipe_widen(fd[0], 65536), 4096);
    assert_int_equal(fcntl(fd[1], F_GETPIPE_SZ), 65536);
    assert_int_equal(pipe_widen(fd[0], 32768), 0); /* it holds more */
    assert_int_equal(write(fd[1], lots, sizeof lots), sizeof lots);
    assert_false(pipe_reduce_buffer(fd[0], 4096));
    assert_int_equal(read(fd[0], lots, sizeof lots), sizeof lots);
    assert_true(pipe_reduce_buffer(fd[0], 4096));
    assert_int_equal(fcntl(fd[1], F_GETPIPE_SZ), 4096);
    close(fd[0]);
    close(fd[1]);
    assert_int_equal(pipe_widen(end[0], 65536), 0); /* a socket */
    assert_true(pipe_reduce_buffer(end[0], 4096));
}

static void test_channel_messages_keep_their_boundaries(void **state)
{
    (void)state;
    char text[16];
    assert_int_equal(channel_receive(end[1], text, sizeof text, NULL), 0);
    assert_true(channel_send(end[0], "one", 3));
    assert_true(channel_send(end[0], "three", 5));
    assert_int_equal(channel_receive(end[1], text, sizeof text, NULL), 3);
    assert_int_equal(channel_receive(end[1], text, 2, NULL), 2); /* "ree" is lost */
    assert_memory_equal(text, "th", 2);
    assert_int_equal(channel_receive(end[1], text, sizeof text, NULL), 0);
    assert_true(channel_send(end[1], "back", 4));
    assert_int_equal(channel_receive(end[0], text, sizeof text, NULL), 4);
}

static void test_channel_full_loses_messages_and_does_not_block(void **state)
{
    (void)state;
    static char text[4096];
    int sent = 0;
    while (channel_send(end[0], text, sizeof text))
        sent++;
    assert_true(sent > 0);
    for (int i = 0; i < sent; i++)
        assert_int_equal(channel_receive(end[1], text, sizeof text, NULL), sizeof text);
    assert_int_equal(channel_receive(end[1], text, sizeof text, NULL), 0);
    assert_true(channel_send(end[0], text, 1));
}

static void test_channel_tells_of_its_other_end(void **state)
{
    (void)state;
    char c;
    assert_true(channel_send(end[0], "x", 1));
    close_end(0);
    assert_int_equal(channel_receive(end[1], &c, 1, NULL), 1);
    assert_int_equal(channel_receive(end[1], &c, 1, NULL), MI_ENOENT);
    assert_false(channel_send(end[1], "y", 1)); /* and no SIGPIPE */
}

/* What the other end had not received is an error once, and then the end. */
static void test_channel_that_is_reset_has_ended(void **state)
{
    (void)state;
    char c;
    assert_true(channel_send(end[1], "x", 1));
    close_end(0);
    assert_int_equal(channel_receive(end[1], &c, 1, NULL), MI_ENOENT);
}

static void test_channel_passes_a_file(void **state)
{
    (void)state;
    char what, c;
    int fd[2], file = -2;
    assert_int_equal(pipe_open(fd, 0), 0);
    assert_true(channel_send_file(end[0], 't', fd[1]));
    assert_true(channel_send(end[0], "w", 1));
    close(fd[1]);
    assert_int_equal(channel_receive(end[1], &what, 1, &file), 1);
    assert_int_equal(what, 't');
    assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
    assert_int_equal(write(file, "z", 1), 1);
    assert_int_equal(read(fd[0], &c, 1), 1);
    close(file);
    assert_int_equal(channel_receive(end[1], &what, 1, &file), 1);
    assert_int_equal(file, -1);
    assert_int_equal(read(fd[0], &c, 1), 0); /* no descriptor was left */
    close(fd[0]);
}

static void test_channel_drops_a_file_that_nobody_wants(void **state)
{
    (void)state;
    char c;
    int fd[2];
    assert_int_equal(pipe_open(fd, 0), 0);
    assert_true(channel_send_file(end[0], 't', fd[1]));
    close(fd[1]);
    assert_int_equal(channel_receive(end[1], &c, 1, NULL), 1);
    assert_int_equal(read(fd[0], &c, 1), 0);
    close(fd[0]);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_pipe_descriptors_are_not_inherited),
        T(test_pipe_is_wide_until_it_is_narrowed),
        T(test_channel_messages_keep_their_boundaries),
        T(test_channel_full_loses_messages_and_does_not_block),
        T(test_channel_tells_of_its_other_end),
        T(test_channel_that_is_reset_has_ended),
        T(test_channel_passes_a_file),
        T(test_channel_drops_a_file_that_nobody_wants),
    };
    return cmocka_run_group_tests_name("pipe", tests, NULL, NULL);
}
