/* One direction: lines are forwarded unchanged, and a peer that does not read stops the reading. */
#include "proxy/relay.h"

#include "tests/support/unit.h"

#include "base/buf.h"
#include "base/clock.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* Allocations of this size and more fail while it is not 0. */
static size_t no_memory_from;
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n)
{
    return no_memory_from != 0 && n >= no_memory_from ? NULL : __real_malloc(n);
}
void *__wrap_realloc(void *p, size_t n)
{
    return no_memory_from != 0 && n >= no_memory_from ? NULL : __real_realloc(p, n);
}

/* A relay from one pipe to another that forwards each line at once. */
struct fixture {
    struct ev_loop *loop;
    struct relay r;
    struct outbox box;
    int in_w, out_r; /* the test's ends of the pipes */
    struct buf got;  /* output */
    struct buf
        log; /* calls that were made: line, Long, last, end, broken (a write failed), unfinished */
    uint64_t bytes; /* reported by read_bytes */
    size_t lines;
    bool stage;        /* add lines to the outbox */
    bool waits;        /* lines of 10 bytes and more must wait */
    int64_t waited_us; /* as told last */
};

static void forward(struct fixture *f, const struct line *line)
{
    if (!f->stage)
        return;
    line->p[line->n] = '\n';
    assert_int_equal(outbox_add(&f->box, line->chunk, line->p, line->n + 1), 0);
    outbox_release_staged_bytes(&f->box);
}

static void on_line(struct relay *r, struct line *line)
{
    struct fixture *f = r->data;
    f->lines++;
    forward(f, line);
}

static void on_long(struct relay *r, struct line *line)
{
    struct fixture *f = r->data;
    assert_true(line->n > 0);
    buf_addc(&f->log, 'L');
}

static void on_last(struct relay *r, struct line *line)
{
    struct fixture *f = r->data;
    buf_addc(&f->log, 'l');
    forward(f, line);
}

static void on_ended(struct relay *r)
{
    struct fixture *f = r->data;
    assert_int_equal(r->in.fd, -1);
    buf_addc(&f->log, 'e');
}

static void on_write_failed(struct relay *r)
{
    struct fixture *f = r->data;
    assert_int_equal(r->out.fd, -1);
    buf_addc(&f->log, 'b');
}

static void on_bytes(struct relay *r, const char *p, size_t n)
{
    struct fixture *f = r->data;
    assert_non_null(p);
    f->bytes += n;
}

static void on_unfinished(struct relay *r, size_t n)
{
    struct fixture *f = r->data;
    buf_printf(&f->log, "u%zu", n);
}

static void on_no_memory(struct relay *r)
{
    struct fixture *f = r->data;
    no_memory_from = 0; /* for the log */
    buf_addc(&f->log, 'm');
}

static bool on_must_wait(struct relay *r, size_t n, int64_t waited_us)
{
    struct fixture *f = r->data;
    f->waited_us = waited_us;
    return f->waits && n >= 10;
}

static const struct relay_calls calls = {on_line,       on_long,         on_last,
                                         on_ended,      on_write_failed, on_bytes,
                                         on_unfinished, on_no_memory,    on_must_wait};

static int set_up(void **state)
{
    static struct fixture f;
    int in[2], out[2];
    f = (struct fixture){.stage = true};
    signal(SIGPIPE, SIG_IGN);
    f.loop = ev_loop_new(EVFLAG_AUTO);
    if (f.loop == NULL || pipe2(in, O_CLOEXEC | O_NONBLOCK) != 0 ||
        pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0 || fcntl(out[1], F_SETPIPE_SZ, 4096) < 0)
        return -1;
    f.in_w = in[1];
    f.out_r = out[0];
    outbox_open(&f.box);
    relay_open(&f.r, f.loop, &calls, &f, &f.box, (size_t)8 << 20);
    relay_set_input(&f.r, stream_take_over_fd(in[0]));
    relay_set_output(&f.r, stream_take_over_fd(out[1]));
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    no_memory_from = 0;
    relay_close(&f->r);
    relay_close(&f->r);
    outbox_close(&f->box);
    chunk_free_spare_memory();
    if (f->in_w >= 0)
        close(f->in_w);
    if (f->out_r >= 0)
        close(f->out_r);
    buf_close(&f->got);
    buf_close(&f->log);
    ev_loop_destroy(f->loop);
    return 0;
}

static void turn(struct fixture *f)
{
    ev_run(f->loop, EVRUN_NOWAIT);
    relay_flush(&f->r);
}

static size_t put(struct fixture *f, const char *p, size_t n)
{
    ssize_t done = write(f->in_w, p, n);
    return done > 0 ? (size_t)done : 0;
}

static size_t take(struct fixture *f, size_t most)
{
    char part[4096];
    ssize_t n = read(f->out_r, part, size_min(most, sizeof part));
    if (n > 0)
        buf_add(&f->got, part, (size_t)n);
    return n > 0 ? (size_t)n : 0;
}

/* Writes all of the text and runs the loop until all of it is forwarded. */
static void through(struct fixture *f, const char *text, size_t n)
{
    int64_t until = clock_mono_us() + 20000000;
    size_t at = 0, want = f->got.n + n;
    while (f->got.n < want) {
        at += put(f, text + at, n - at);
        turn(f);
        take(f, 4096);
        assert_true(clock_mono_us() < until);
    }
}

static void turn_until(struct fixture *f, const char *log)
{
    int64_t until = clock_mono_us() + 20000000;
    while (strcmp(buf_str(&f->log), log) != 0) {
        turn(f);
        take(f, 4096);
        if (clock_mono_us() > until)
            fail_msg("the calls were %s, wanted %s", buf_str(&f->log), log);
    }
}

static void test_relay_lines_are_forwarded_unchanged(void **state)
{
    struct fixture *f = *state;
    struct buf text = {0};
    struct unit_random rnd = {41};
    size_t lines = 0;
    while (text.n < (unit_slow() ? (size_t)300 << 10 : (size_t)6 << 20)) {
        size_t n = unit_random(&rnd, unit_random(&rnd, 50) == 0 ? 200000 : 300);
        for (size_t i = 0; i < n; i++)
            buf_addc(&text, (char)('a' + (text.n + i) % 26));
        buf_addc(&text, '\n');
        lines++;
    }
    through(f, text.p, text.n);
    assert_int_equal(f->got.n, text.n);
    assert_memory_equal(f->got.p, text.p, text.n);
    assert_int_equal(f->lines, lines);
    assert_int_equal(f->bytes, text.n);
    assert_string_equal(buf_str(&f->log), "");
    buf_close(&text);
}

static void test_relay_end_is_reported_once_after_the_last_line(void **state)
{
    struct fixture *f = *state;
    put(f, "one\ntwo", 7);
    turn(f);
    assert_string_equal(buf_str(&f->log), "");
    close(f->in_w);
    f->in_w = -1;
    turn_until(f, "le");
    for (int i = 0; i < 5; i++)
        turn(f);
    assert_string_equal(buf_str(&f->log), "le");
    take(f, 100);
    assert_string_equal(buf_str(&f->got), "one\ntwo\n");
    assert_true(relay_has_ended(&f->r));
}

static void test_relay_end_after_a_newline_has_no_last_line(void **state)
{
    struct fixture *f = *state;
    put(f, "one\n", 4);
    close(f->in_w);
    f->in_w = -1;
    turn_until(f, "e");
    assert_int_equal(f->lines, 1);
}

static void test_relay_too_long_line_is_reported_and_the_next_forwarded(void **state)
{
    struct fixture *f = *state;
    char lots[4096];
    memset(lots, 'x', sizeof lots);
    for (size_t done = 0; done <= (size_t)8 << 20;) {
        done += put(f, lots, sizeof lots);
        turn(f);
    }
    put(f, "\nnext\n", 6);
    turn_until(f, "L");
    int64_t until = clock_mono_us() + 20000000;
    while (f->got.n < 5 && clock_mono_us() < until) {
        turn(f);
        take(f, 4096);
    }
    assert_string_equal(buf_str(&f->got), "next\n");
}

/* Writes pieces of 1000 bytes, each with one newline, until no more are taken. Returns the number of bytes. */
static size_t put_until_full(struct fixture *f, size_t newline_at)
{
    char line[1000];
    memset(line, 'x', sizeof line);
    line[newline_at] = '\n';
    size_t in = 0, idle = 0;
    while (idle < 50) {
        size_t n = put(f, line, sizeof line); /* a write of less than a page is atomic */
        in += n;
        idle = n == 0 ? idle + 1 : 0;
        turn(f);
    }
    return in;
}

/* The peer does not read: reading pauses near RELAY_HIGH, and continues when the peer has read. */
static void test_relay_reading_pauses_while_too_much_is_unsent(void **state)
{
    struct fixture *f = *state;
    size_t in = put_until_full(f, 999);
    assert_true(f->r.stops & RELAY_FULL);
    assert_false(ev_is_active(&f->r.read_watch));
    assert_in_range(outbox_count_bytes(&f->box), RELAY_HIGH, RELAY_HIGH + RELAY_TURN + LINE_CHUNK);
    uint64_t read_before = f->bytes;
    /* until RELAY_LOW */
    while (outbox_count_bytes(&f->box) > RELAY_LOW) {
        assert_int_equal(f->bytes, read_before);
        assert_true(f->r.stops & RELAY_FULL);
        take(f, 4096);
        turn(f);
    }
    assert_false(f->r.stops & RELAY_FULL);
    int64_t until = clock_mono_us() + 20000000;
    while (f->got.n < in) {
        take(f, 4096);
        turn(f);
        assert_true(clock_mono_us() < until);
    }
    assert_int_equal(f->got.n, in);
}

static void test_relay_held_reads_nothing_until_released(void **state)
{
    struct fixture *f = *state;
    relay_pause(&f->r, RELAY_HELD, true);
    put(f, "one\n", 4);
    for (int i = 0; i < 5; i++)
        turn(f);
    assert_int_equal(f->bytes, 0);
    relay_pause(&f->r, RELAY_HELD, true);
    relay_pause(&f->r, RELAY_HELD, false);
    through(f, "two\n", 4);
    take(f, 100);
    while (f->got.n < 8) {
        turn(f);
        take(f, 100);
    }
    assert_string_equal(buf_str(&f->got), "one\ntwo\n");
}

static void test_relay_paced_reads_only_when_told(void **state)
{
    struct fixture *f = *state;
    relay_pause(&f->r, RELAY_PACED, true);
    put(f, "one\n", 4);
    for (int i = 0; i < 5; i++)
        turn(f);
    assert_int_equal(f->bytes, 0);
    assert_false(relay_is_paused(&f->r));
    relay_read_available_bytes(&f->r);
    assert_int_equal(f->lines, 1);
    put(f, "two\n", 4);
    relay_pause(&f->r, RELAY_PACED, false);
    int64_t until = clock_mono_us() + 20000000;
    while (f->lines < 2 && clock_mono_us() < until)
        turn(f);
    assert_int_equal(f->lines, 2);
}

static void test_relay_write_failure_is_reported_once(void **state)
{
    struct fixture *f = *state;
    close(f->out_r);
    f->out_r = -1;
    put(f, "one\n", 4);
    turn_until(f, "b");
    assert_true(f->box.broken);
    put(f, "two\n", 4);
    for (int i = 0; i < 5; i++)
        turn(f);
    assert_string_equal(buf_str(&f->log), "b");
    assert_int_equal(f->lines, 2); /* the other peer is still read */
    close(f->in_w);
    f->in_w = -1;
    turn_until(f, "be");
}

static void test_relay_closed_counts_bytes_never_read(void **state)
{
    struct fixture *f = *state;
    char c[4];
    put(f, "one\ntwo\n", 8);
    while (outbox_count_accepted_bytes(&f->box) < 8)
        turn(f);
    assert_int_equal(read(f->out_r, c, 3), 3);
    int other = dup(f->out_r);
    struct stream out = stream_take_over_fd(dup(f->r.out.fd));
    relay_close_output(&f->r); /* it has a reader still */
    assert_int_equal(f->r.unread, 0);
    relay_set_output(&f->r, out);
    close(other);
    close(f->out_r);
    f->out_r = -1;
    relay_close_output(&f->r);
    assert_int_equal(f->r.unread, 5);
}

static void test_relay_closed_reader_is_noticed_without_a_write(void **state)
{
    struct fixture *f = *state;
    put(f, "one\n", 4);
    while (outbox_count_accepted_bytes(&f->box) < 4)
        turn(f);
    relay_watch_for_closing(&f->r);
    turn(f);
    assert_int_equal(f->log.n, 0); /* what waits in the pipe is not its end */
    close(f->out_r);
    f->out_r = -1;
    turn_until(f, "b");
    assert_true(f->box.broken);
    assert_int_equal(f->r.unread, 4);
}

static void test_relay_muted_writes_nothing_and_counts_what_is_not_read(void **state)
{
    struct fixture *f = *state;
    relay_watch_for_closing(&f->r);
    put(f, "one\n", 4);
    while (outbox_count_accepted_bytes(&f->box) < 4)
        turn(f);
    relay_stop_writing(&f->r);
    put(f, "two\n", 4);
    while (f->lines < 2)
        turn(f);
    close(f->out_r);
    f->out_r = -1;
    turn(f);
    assert_int_equal(f->log.n, 0);
    assert_false(f->box.broken);
    relay_close_output(&f->r);
    assert_int_equal(f->r.unread, 4);
    assert_int_equal(outbox_count_accepted_bytes(&f->box), 4);
}

/* Nothing more can be staged: the peer must see the end of the stream. */
static void test_relay_broken_outbox_closes_the_stream_to_the_peer(void **state)
{
    struct fixture *f = *state;
    outbox_discard_after_error(&f->box);
    turn_until(f, "b");
    char c;
    assert_int_equal(read(f->out_r, &c, 1), 0);
}

static void test_relay_slow_peer_gets_the_rest_when_it_reads_again(void **state)
{
    struct fixture *f = *state;
    char line[20000];
    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    put(f, line, sizeof line);
    turn(f);
    assert_true(ev_is_active(&f->r.write_watch));
    size_t n = 0;
    while (n < sizeof line) { /* written by the watcher alone */
        n += take(f, 4096);
        ev_run(f->loop, EVRUN_NOWAIT);
    }
    assert_memory_equal(f->got.p, line, sizeof line);
    assert_false(ev_is_active(&f->r.write_watch)); /* no wake-ups when idle */
}

static void test_relay_stopped_reads_and_reports_nothing(void **state)
{
    struct fixture *f = *state;
    put(f, "one\n", 4);
    relay_stop_reading(&f->r);
    assert_true(relay_has_ended(&f->r));
    assert_int_equal(write(f->in_w, "x", 1), -1); /* there is no reader */
    for (int i = 0; i < 5; i++)
        turn(f);
    assert_string_equal(buf_str(&f->log), "");
    assert_int_equal(f->bytes, 0);
    relay_stop_reading(&f->r);
}

static void test_relay_closed_output_is_end_of_file_for_the_peer(void **state)
{
    struct fixture *f = *state;
    char c;
    relay_close_output(&f->r);
    assert_int_equal(read(f->out_r, &c, 1), 0);
    relay_close_output(&f->r);
    put(f, "one\n", 4);
    turn(f);
    relay_flush(&f->r);
    assert_int_equal(f->lines, 1);
    assert_string_equal(buf_str(&f->log), "");
}

static void test_relay_without_a_stream_waits_for_it(void **state)
{
    struct fixture *f = *state;
    struct relay r;
    int fd[2];
    relay_open(&r, f->loop, &calls, f, &f->box, 1000);
    relay_flush(&r);
    assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(write(fd[1], "one\n", 4), 4);
    ev_run(f->loop, EVRUN_NOWAIT);
    assert_int_equal(f->lines, 0);
    relay_set_input(&r, stream_take_over_fd(fd[0]));
    ev_run(f->loop, EVRUN_NOWAIT);
    assert_int_equal(f->lines, 1);
    close(fd[1]);
    relay_close(&r);
}

static void test_relay_unfinished_line_is_reported_once(void **state)
{
    struct fixture *f = *state;
    f->r.unfinished_s = 0.02;
    put(f, "one\ntw", 6);
    turn(f);
    assert_true(ev_is_active(&f->r.unfinished_timer));
    turn_until(f, "u2");
    assert_false(ev_is_active(&f->r.unfinished_timer)); /* no wake-ups when idle */
    put(f, "o", 1);
    turn(f);
    assert_false(ev_is_active(&f->r.unfinished_timer));
    put(f, "\nthree", 6); /* the next line is reported anew */
    turn_until(f, "u2u5");
    assert_int_equal(f->lines, 2);
    close(f->in_w);
    f->in_w = -1;
    turn_until(f, "u2u5le");
}

static void test_relay_growing_line_is_not_reported(void **state)
{
    struct fixture *f = *state;
    int64_t end = clock_mono_us() + 100000;
    f->r.unfinished_s = 0.05;
    while (clock_mono_us() < end) { /* every turn reads a byte, however late it is */
        put(f, "x", 1);
        turn(f);
        usleep(5000);
    }
    assert_string_equal(buf_str(&f->log), "");
    put(f, "\n", 1);
    turn(f);
    assert_int_equal(f->lines, 1);
    assert_false(ev_is_active(&f->r.unfinished_timer));
}

static void test_relay_line_that_must_wait_is_handled_later_and_in_order(void **state)
{
    struct fixture *f = *state;
    static const char text[] = "one\na longer line\nlast\n";
    f->waits = true;
    put(f, text, sizeof text - 1);
    while ((f->r.stops & RELAY_WAITS) == 0)
        turn(f);
    assert_int_equal(f->lines, 1);
    assert_int_equal(f->r.waiting_n, strlen("a longer line"));
    assert_int_equal(f->waited_us, 0);
    assert_true(relay_is_paused(&f->r));
    put(f, "more\n", 5);
    usleep(2000);
    turn(f);
    relay_read_available_bytes(&f->r); /* nothing more is read */
    assert_int_equal(f->bytes, sizeof text - 1);
    relay_continue(&f->r); /* it must still wait */
    assert_in_range(f->waited_us, 1, 20000000);
    f->waits = false;
    relay_pause(&f->r, RELAY_HELD, true);
    relay_continue(&f->r);
    assert_int_equal(f->lines, 1);
    relay_pause(&f->r, RELAY_HELD, false);
    relay_continue(&f->r);
    assert_int_equal(f->lines, 3);
    assert_false(relay_is_paused(&f->r));
    while (f->got.n < sizeof text - 1 + 5) {
        turn(f);
        take(f, 100);
    }
    assert_string_equal(buf_str(&f->got), "one\na longer line\nlast\nmore\n");
    relay_continue(&f->r); /* nothing waits */
    assert_int_equal(f->lines, 4);
}

static void test_relay_stopped_forgets_the_line_that_waits(void **state)
{
    struct fixture *f = *state;
    f->waits = true;
    put(f, "a longer line\n", 14);
    while ((f->r.stops & RELAY_WAITS) == 0)
        turn(f);
    relay_stop_reading(&f->r);
    relay_continue(&f->r);
    assert_int_equal(f->lines, 0);
    assert_false(f->r.stops & RELAY_WAITS);
}

static size_t pipe_size(int fd)
{
    int n = fcntl(fd, F_GETPIPE_SZ);
    assert_true(n > 0);
    return (size_t)n;
}

/* Reads n bytes of a line, and does not take what is written. */
static void put_part(struct fixture *f, size_t n)
{
    char part[4096];
    memset(part, 'x', sizeof part);
    int64_t until = clock_mono_us() + 20000000;
    for (size_t to = line_count_partial_bytes(&f->r.lines) + n, left = n;
         line_count_partial_bytes(&f->r.lines) < to;) {
        left -= put(f, part, size_min(left, sizeof part));
        turn(f);
        assert_true(clock_mono_us() < until);
    }
}

static void test_relay_pipes_are_wide_while_a_long_line_passes(void **state)
{
    struct fixture *f = *state;
    size_t in = pipe_size(f->in_w), out = pipe_size(f->out_r);
    put_part(f, RELAY_WIDE_AT / 2);
    assert_int_equal(pipe_size(f->in_w), in);
    assert_false(relay_has_wide_pipe(&f->r));
    put_part(f, 3 * RELAY_WIDE_AT);
    assert_int_equal(pipe_size(f->in_w), RELAY_WIDE);
    assert_int_equal(pipe_size(f->out_r), out);
    put(f, "\n", 1);
    while (f->lines == 0)
        turn(f);
    assert_int_equal(pipe_size(f->out_r), RELAY_WIDE);
    relay_shrink_pipes(&f->r);
    assert_int_equal(pipe_size(f->in_w), in);
    assert_int_equal(pipe_size(f->out_r), RELAY_WIDE); /* it is full */
    turn(f);
    assert_false(
        relay_has_wide_pipe(&f->r)); /* nobody need try again before something is read from it */
    while (f->got.n <= 3 * RELAY_WIDE_AT + RELAY_WIDE_AT / 2) {
        turn(f);
        take(f, 4096);
    }
    assert_true(relay_has_wide_pipe(&f->r));
    relay_shrink_pipes(&f->r);
    assert_int_equal(pipe_size(f->out_r), out);
    assert_false(relay_has_wide_pipe(&f->r));
}

/* A line that is not read may be complete. */
static void test_relay_unfinished_line_is_not_reported_while_held(void **state)
{
    struct fixture *f = *state;
    f->r.unfinished_s = 0.01;
    put(f, "one", 3);
    turn(f);
    relay_pause(&f->r, RELAY_HELD, true);
    put(f, "\n", 1);
    for (int i = 0; i < 20; i++) {
        usleep(2000);
        turn(f);
    }
    assert_string_equal(buf_str(&f->log), "");
    relay_pause(&f->r, RELAY_HELD, false);
    int64_t until = clock_mono_us() + 20000000;
    while (f->lines == 0 && clock_mono_us() < until)
        turn(f);
    assert_int_equal(f->lines, 1);
    assert_string_equal(buf_str(&f->log), "");
}

/* The peer does not read, and the last line that was read is incomplete: waiting for its rest reads nothing more. */
static void test_relay_unfinished_line_is_not_read_while_too_much_is_unsent(void **state)
{
    struct fixture *f = *state;
    f->r.unfinished_s = 0.01;
    put_until_full(f, 499);
    assert_true(f->r.stops & RELAY_FULL);
    uint64_t read_before = f->bytes;
    assert_true(line_count_partial_bytes(&f->r.lines) > 0);
    assert_false(ev_is_active(&f->r.unfinished_timer)); /* no wake-ups when idle */
    for (int i = 0; i < 20; i++) {
        usleep(2000);
        turn(f);
    }
    assert_int_equal(f->bytes, read_before);
    assert_string_equal(buf_str(&f->log), "");
    int64_t until = clock_mono_us() + 20000000;
    while (f->r.stops & RELAY_FULL && clock_mono_us() < until) {
        take(f, 4096);
        turn(f);
    }
    assert_false(f->r.stops & RELAY_FULL); /* the peer reads, and the rest of the line is read */
}

/* This process was stopped: the newline has come, and the timer fires first. */
static void test_relay_complete_unread_line_is_not_reported(void **state)
{
    struct fixture *f = *state;
    f->r.unfinished_s = 0.01;
    put(f, "one", 3);
    turn(f);
    put(f, "\n", 1);
    usleep(20000);
    ev_now_update(f->loop);
    ev_invoke(f->loop, &f->r.unfinished_timer, EV_TIMER);
    assert_int_equal(f->lines, 1);
    turn(f);
    assert_string_equal(buf_str(&f->log), "");
}

/* The line that needs the memory is dropped; smaller ones are forwarded. */
static void test_relay_without_memory_drops_a_long_line_and_forwards_the_next(void **state)
{
    struct fixture *f = *state;
    char lots[4096];
    memset(lots, 'x', sizeof lots);
    no_memory_from = 100000;
    for (size_t done = 0; done < 200000;) {
        done += put(f, lots, sizeof lots);
        turn(f);
    }
    put(f, "\nnext\n", 6);
    turn_until(f, "L");
    no_memory_from = 0;
    int64_t until = clock_mono_us() + 20000000;
    while (f->got.n < 5 && clock_mono_us() < until) {
        turn(f);
        take(f, 4096);
    }
    assert_string_equal(buf_str(&f->got), "next\n");
}

static void test_relay_without_any_memory_waits_and_continues(void **state)
{
    struct fixture *f = *state;
    no_memory_from = 1;
    put(f, "one\n", 4);
    for (int i = 0; i < 5; i++)
        turn(f);
    assert_int_equal(f->bytes, 0);
    no_memory_from = 0;
    int64_t until = clock_mono_us() + 20000000;
    while (f->got.n < 4 && clock_mono_us() < until) {
        turn(f);
        take(f, 4096);
    }
    assert_string_equal(buf_str(&f->got), "one\n");
}

static void test_relay_without_any_memory_reports_it_once_and_does_not_spin(void **state)
{
    struct fixture *f = *state;
    no_memory_from = 1;
    put(f, "one\n", 4);
    int64_t until = clock_mono_us() + 20000000;
    int turns = 0;
    for (; f->log.n == 0 && clock_mono_us() < until; turns++)
        ev_run(f->loop, EVRUN_ONCE);
    assert_in_range(turns, 1, 1000);
    for (int i = 0; i < 5; i++)
        turn(f);
    assert_string_equal(buf_str(&f->log), "m");
}

/* A flood in one direction returns to the loop regularly, so that the other direction is served. */
/* A timer in the turn in which it was staged may flush before the end of the turn releases it. */
static void test_relay_priority_that_is_not_released_stays_before_the_outbox(void **state)
{
    struct fixture *f = *state;
    struct outbox first;
    char got[16] = "";
    outbox_open(&first);
    relay_set_priority_outbox(&f->r, &first);
    assert_int_equal(outbox_add_copy(&first, slice_of("first\n")), 0);
    assert_int_equal(outbox_add_copy(&f->box, slice_of("then\n")), 0);
    relay_mark_priority_complete(&f->r);
    relay_flush(&f->r);
    outbox_release_staged_bytes(&f->box);
    relay_flush(&f->r);
    assert_int_equal(read(f->out_r, got, sizeof got), -1);
    outbox_release_staged_bytes(&first);
    relay_flush(&f->r);
    assert_int_equal(read(f->out_r, got, sizeof got), 11);
    assert_memory_equal(got, "first\nthen\n", 11);
    outbox_close(&first);
}

static void test_relay_flood_does_not_block_the_loop(void **state)
{
    struct fixture *f = *state;
    f->stage = false; /* so nothing pauses the reading */
    assert_true(fcntl(f->in_w, F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
    char lots[65536];
    for (size_t i = 0; i < sizeof lots; i++)
        lots[i] = i % 100 == 99 ? '\n' : 'x';
    while (put(f, lots, sizeof lots) > 0)
        continue;
    ev_run(f->loop, EVRUN_NOWAIT);
    assert_in_range(f->bytes, LINE_CHUNK, RELAY_TURN + LINE_CHUNK);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_relay_lines_are_forwarded_unchanged),
        T(test_relay_end_is_reported_once_after_the_last_line),
        T(test_relay_end_after_a_newline_has_no_last_line),
        T(test_relay_too_long_line_is_reported_and_the_next_forwarded),
        T(test_relay_reading_pauses_while_too_much_is_unsent),
        T(test_relay_held_reads_nothing_until_released),
        T(test_relay_paced_reads_only_when_told),
        T(test_relay_line_that_must_wait_is_handled_later_and_in_order),
        T(test_relay_stopped_forgets_the_line_that_waits),
        T(test_relay_pipes_are_wide_while_a_long_line_passes),
        T(test_relay_write_failure_is_reported_once),
        T(test_relay_closed_counts_bytes_never_read),
        T(test_relay_closed_reader_is_noticed_without_a_write),
        T(test_relay_muted_writes_nothing_and_counts_what_is_not_read),
        T(test_relay_broken_outbox_closes_the_stream_to_the_peer),
        T(test_relay_slow_peer_gets_the_rest_when_it_reads_again),
        T(test_relay_stopped_reads_and_reports_nothing),
        T(test_relay_closed_output_is_end_of_file_for_the_peer),
        T(test_relay_without_a_stream_waits_for_it),
        T(test_relay_unfinished_line_is_reported_once),
        T(test_relay_growing_line_is_not_reported),
        T(test_relay_unfinished_line_is_not_reported_while_held),
        T(test_relay_unfinished_line_is_not_read_while_too_much_is_unsent),
        T(test_relay_complete_unread_line_is_not_reported),
        T(test_relay_without_memory_drops_a_long_line_and_forwards_the_next),
        T(test_relay_without_any_memory_waits_and_continues),
        T(test_relay_without_any_memory_reports_it_once_and_does_not_spin),
        T(test_relay_priority_that_is_not_released_stays_before_the_outbox),
        T(test_relay_flood_does_not_block_the_loop),
    };
    return cmocka_run_group_tests_name("relay", tests, NULL, NULL);
}
