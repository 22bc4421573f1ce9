/* Output for a peer is staged, released and written in order, to the byte. */
#include "base/io/outbox.h"

#include "tests/support/unit.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* The N-th allocation fails. */
static int fail_after = -1;
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
    return fail_after >= 0 && fail_after-- == 0 ? NULL : __real_malloc(n);
}

/* A pipe of one page: a larger write blocks. */
struct peer {
    int r;
    struct stream out;
    char got[1 << 16];
    size_t n;
};

static void peer_open(struct peer *p)
{
    int fd[2];
    *p = (struct peer){0};
    assert_int_equal(pipe2(fd, O_CLOEXEC | O_NONBLOCK), 0);
    assert_int_equal(fcntl(fd[1], F_SETPIPE_SZ, 4096), 4096);
    p->r = fd[0];
    p->out = stream_take_over_fd(fd[1]);
}

static void peer_close(struct peer *p)
{
    close(p->r);
    stream_close(&p->out);
}

static void peer_read(struct peer *p)
{
    for (ssize_t n; (n = read(p->r, p->got + p->n, sizeof p->got - p->n)) > 0;)
        p->n += (size_t)n;
}

static void add_text(struct outbox *o, const char *text)
{
    assert_int_equal(outbox_add_copy(o, slice_of(text)), 0);
}

static void assert_totals(const struct outbox *o, uint64_t staged, uint64_t released,
                          uint64_t written)
{
    assert_int_equal(o->staged, staged);
    assert_int_equal(o->released, released);
    assert_int_equal(o->written, written);
    assert_int_equal(outbox_count_bytes(o), staged - written);
}

static void assert_got(struct peer *p, const char *text)
{
    peer_read(p);
    assert_int_equal(p->n, strlen(text));
    assert_memory_equal(p->got, text, p->n);
}

static void test_outbox_staged_bytes_are_not_written_before_their_release(void **state)
{
    (void)state;
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    assert_totals(&o, 0, 0, 0);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    add_text(&o, "one\n");
    assert_totals(&o, 4, 0, 0);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_got(&p, "");
    outbox_release_staged_bytes(&o);
    assert_totals(&o, 4, 4, 0);
    add_text(&o, "two\n");
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_totals(&o, 8, 4, 4);
    assert_got(&p, "one\n");
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_totals(&o, 8, 8, 8);
    assert_got(&p, "one\ntwo\n");
    outbox_close(&o);
    peer_close(&p);
}

/* Adjacent lines of one chunk are one segment; a release may end inside it. */
static void test_outbox_adjacent_bytes_of_a_chunk_merge_and_a_release_may_end_inside(void **state)
{
    (void)state;
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    struct chunk *c = chunk_new(16);
    assert_non_null(c);
    memcpy(c->data, "aaa\nbbb\nccc\nddd\n", 16);
    assert_int_equal(outbox_add(&o, c, c->data, 4), 0);
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_add(&o, c, c->data + 4, 4), 0);
    assert_int_equal(o.count, 1);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_got(&p, "aaa\n");
    assert_int_equal(outbox_add(&o, c, c->data + 12, 4), 0); /* not its neighbour */
    assert_int_equal(o.count, 2);
    assert_int_equal(c->refs, 3);
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_got(&p, "aaa\nbbb\nddd\n");
    assert_int_equal(c->refs, 1);
    assert_int_equal(o.count, 0);
    chunk_release(c);
    outbox_close(&o);
    peer_close(&p);
}

static void test_outbox_bytes_of_different_chunks_are_not_merged(void **state)
{
    (void)state;
    struct outbox o;
    outbox_open(&o);
    struct chunk *a = chunk_new(64), *b = chunk_new(64);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(outbox_add(&o, a, a->data, 8), 0);
    /* b is said to own the bytes behind: what counts is who is held */
    assert_int_equal(outbox_add(&o, b, a->data + 8, 8), 0);
    assert_int_equal(o.count, 2);
    assert_int_equal(a->refs, 2);
    assert_int_equal(b->refs, 2);
    outbox_close(&o);
    assert_int_equal(a->refs, 1);
    assert_int_equal(b->refs, 1);
    chunk_release(a);
    chunk_release(b);
}

static void test_outbox_empty_add_holds_no_chunk(void **state)
{
    (void)state;
    struct outbox o;
    outbox_open(&o);
    struct chunk *c = chunk_new(4);
    assert_non_null(c);
    assert_int_equal(outbox_add(&o, c, c->data, 0), 0);
    assert_int_equal(outbox_add_copy(&o, slice_of("")), 0);
    assert_int_equal(o.count, 0);
    assert_int_equal(c->refs, 1);
    assert_totals(&o, 0, 0, 0);
    chunk_release(c);
    outbox_close(&o);
}

/* Random lines, releases, partial writes: the peer gets every byte once and in order, no more than was
 * released, and the ring wraps and grows meanwhile. */
static void test_outbox_slow_peer_gets_every_byte_once_and_in_order(void **state)
{
    (void)state;
    struct unit_random rnd = {11};
    const size_t total = unit_slow() ? 200000 : 3000000;
    static char piece[6000];
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    uint64_t put = 0, seen = 0;
    size_t most = 0;
    bool stopped = false;
    while (seen < total) {
        if (put < total && o.count < 300) {
            size_t n = 1 + unit_random(&rnd, unit_random(&rnd, 8) == 0 ? sizeof piece : 40);
            for (size_t i = 0; i < n; i++)
                piece[i] = (char)((put + i) % 251);
            struct chunk *c = chunk_new(n);
            assert_non_null(c);
            memcpy(c->data, piece, n);
            size_t first = unit_random(&rnd, n + 1); /* in two parts, which merge */
            assert_int_equal(outbox_add(&o, c, c->data, first), 0);
            assert_int_equal(outbox_add(&o, c, c->data + first, n - first), 0);
            chunk_release(c);
            put += n;
        }
        if (unit_random(&rnd, 4) == 0 || put >= total)
            outbox_release_staged_bytes(&o);
        if (unit_random(&rnd, 60) == 0 || put >= total || o.count >= 300) {
            int st = outbox_flush(&o, &p.out);
            assert_true(st == 0 || st == 1);
            assert_true((st == 0) == (o.written == o.released));
            stopped = stopped || st == 1;
            peer_read(&p);
            for (size_t i = 0; i < p.n; i++)
                assert_int_equal((unsigned char)p.got[i], (seen + i) % 251);
            seen += p.n;
            p.n = 0;
            assert_int_equal(seen, o.written);
        }
        assert_int_equal(o.staged, put);
        most = o.count > most ? o.count : most;
    }
    assert_true(stopped);
    assert_true(most > 200); /* several rounds of what one write takes */
    assert_int_equal(o.count, 0);
    assert_totals(&o, put, put, put);
    outbox_close(&o);
    peer_close(&p);
}

static void test_outbox_drop_staged_drops_only_unreleased_bytes(void **state)
{
    (void)state;
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    outbox_discard_staged_bytes(&o); /* nothing there */
    struct chunk *c = chunk_new(12);
    assert_non_null(c);
    memcpy(c->data, "aaa\nbbb\nccc\n", 12);
    assert_int_equal(outbox_add(&o, c, c->data, 4), 0);
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_add(&o, c, c->data + 4, 8), 0); /* the same segment */
    add_text(&o, "ddd\n");
    add_text(&o, "eee\n");
    assert_totals(&o, 20, 4, 0);
    outbox_discard_staged_bytes(&o);
    assert_totals(&o, 4, 4, 0);
    assert_int_equal(o.count, 1);
    assert_int_equal(c->refs, 2);
    outbox_discard_staged_bytes(&o); /* again: nothing left to forget */
    assert_totals(&o, 4, 4, 0);
    add_text(&o, "fff\n");
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_got(&p, "aaa\nfff\n");
    add_text(&o, "ggg\n");
    outbox_discard_staged_bytes(&o);
    assert_int_equal(o.count, 0);
    assert_totals(&o, 8, 8, 8);
    assert_int_equal(c->refs, 1);
    chunk_release(c);
    outbox_close(&o);
    peer_close(&p);
}

static void test_outbox_drop_staged_after_a_partial_write_drops_the_other_half(void **state)
{
    (void)state;
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    struct chunk *c = chunk_new(8);
    assert_non_null(c);
    memcpy(c->data, "aaa\nbbb\n", 8);
    assert_int_equal(outbox_add(&o, c, c->data, 4), 0);
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_add(&o, c, c->data + 4, 4), 0);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    outbox_discard_staged_bytes(&o);
    assert_int_equal(o.count, 0);
    assert_int_equal(c->refs, 1);
    chunk_release(c);
    add_text(&o, "end\n");
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_got(&p, "aaa\nend\n");
    outbox_close(&o);
    peer_close(&p);
}

static void test_outbox_staged_iterates_over_unreleased_bytes(void **state)
{
    (void)state;
    struct outbox o;
    struct peer p;
    struct slice piece;
    char seen[64];
    peer_open(&p);
    outbox_open(&o);
    struct chunk *c = chunk_new(12);
    assert_non_null(c);
    memcpy(c->data, "aaa\nbbb\nccc\n", 12);
    for (int flushed = 0; flushed < 3; flushed++) {
        size_t at = 0, n = 0;
        if (flushed == 0)
            assert_false(outbox_next_staged_piece(&o, &at, &piece));
        add_text(&o, "old\n");
        assert_int_equal(outbox_add(&o, c, c->data, 4), 0);
        outbox_release_staged_bytes(&o);
        if (flushed == 1)
            assert_int_equal(outbox_flush(&o, &p.out), 0);
        at = 0;
        assert_false(outbox_next_staged_piece(&o, &at, &piece));
        assert_int_equal(outbox_add(&o, c, c->data + 4, 8), 0); /* half of a segment */
        add_text(&o, "ddd\n");
        if (flushed == 2)
            assert_int_equal(outbox_flush(&o, &p.out), 0);
        for (at = 0; outbox_next_staged_piece(&o, &at, &piece); n += piece.n)
            memcpy(seen + n, piece.p, piece.n);
        assert_int_equal(n, 12);
        assert_memory_equal(seen, "bbb\nccc\nddd\n", 12);
        outbox_discard_staged_bytes(&o);
        assert_int_equal(outbox_flush(&o, &p.out), 0);
    }
    assert_got(&p, "old\naaa\nold\naaa\nold\naaa\n");
    chunk_release(c);
    outbox_close(&o);
    peer_close(&p);
}

static void test_outbox_broken_drops_everything(void **state)
{
    (void)state;
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    struct chunk *c = chunk_new(8);
    assert_non_null(c);
    memset(c->data, 'x', 8);
    assert_int_equal(outbox_add(&o, c, c->data, 4), 0);
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_add(&o, c, c->data + 4, 4), 0);
    outbox_discard_after_error(&o);
    assert_true(o.broken);
    assert_int_equal(c->refs, 1);
    assert_totals(&o, 8, 8, 8);
    assert_int_equal(outbox_add(&o, c, c->data, 8), 0);
    assert_int_equal(outbox_add_copy(&o, slice_of("more")), 0);
    assert_int_equal(c->refs, 1);
    assert_totals(&o, 8, 8, 8);
    outbox_release_staged_bytes(&o);
    outbox_discard_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_got(&p, "");
    chunk_release(c);
    outbox_close(&o);
    outbox_close(&o);
    peer_close(&p);
}

static void test_outbox_reset_accepts_again_and_counts_bytes_of_the_old_peer(void **state)
{
    (void)state;
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    assert_int_equal(outbox_add_copy(&o, slice_of("one")), 0);
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_int_equal(outbox_add_copy(&o, slice_of("lost")), 0);
    outbox_discard_after_error(&o);
    assert_int_equal(outbox_count_accepted_bytes(&o), 3);
    outbox_reset(&o);
    assert_int_equal(outbox_add_copy(&o, slice_of("two")), 0);
    assert_totals(&o, 10, 7, 7);
    assert_int_equal(outbox_count_accepted_bytes(&o), 3);
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_int_equal(outbox_count_accepted_bytes(&o), 6);
    assert_got(&p, "onetwo");
    outbox_close(&o);
    peer_close(&p);
}

static void test_outbox_closed_peer_is_an_error(void **state)
{
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    close(p.r);
    add_text(&o, "x\n");
    assert_int_equal(outbox_flush(&o, &p.out), 0); /* not released: nothing was tried */
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), MI_EIO);
    assert_totals(&o, 2, 2, 0);
    outbox_close(&o);
    stream_close(&p.out);
}

/* Segments are not copied: the bytes written are those in the chunk. */
static void test_outbox_segment_points_into_its_chunk(void **state)
{
    (void)state;
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    struct chunk *c = chunk_new(4);
    assert_non_null(c);
    memcpy(c->data, "old\n", 4);
    assert_int_equal(outbox_add(&o, c, c->data, 4), 0);
    memcpy(c->data, "new\n", 4);
    chunk_release(c);
    char text[] = "copy\n";
    assert_int_equal(outbox_add_copy(&o, slice_of(text)), 0);
    memset(text, 'x', 4);
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    assert_got(&p, "new\ncopy\n");
    outbox_close(&o);
    peer_close(&p);
}

static void test_outbox_out_of_memory_stages_nothing(void **state)
{
    (void)state;
    struct outbox o;
    struct peer p;
    peer_open(&p);
    outbox_open(&o);
    struct chunk *c = chunk_new(4096);
    assert_non_null(c);
    memset(c->data, 'x', c->cap);
    int failures = 0;
    for (size_t i = 0; i < 200; i++) { /* far past the first ring, with a hole before each */
        fail_after = 0;
        int st = outbox_add(&o, c, c->data + 2 * i, 1);
        fail_after = -1;
        if (st != 0) {
            assert_int_equal(st, MI_ENOMEM);
            assert_totals(&o, i, 0, 0);
            assert_int_equal(c->refs, 1 + i);
            failures++;
            assert_int_equal(outbox_add(&o, c, c->data + 2 * i, 1), 0); /* and then it goes */
        }
        assert_int_equal(o.staged, i + 1);
    }
    assert_int_equal(failures, 5); /* 16, 32, 64, 128, 256 */
    fail_after = 0;
    assert_int_equal(outbox_add_copy(&o, slice_of("text")), MI_ENOMEM);
    fail_after = -1;
    assert_int_equal(o.staged, 200);
    outbox_release_staged_bytes(&o);
    assert_int_equal(outbox_flush(&o, &p.out), 0);
    peer_read(&p);
    assert_int_equal(p.n, 200);
    assert_int_equal(c->refs, 1);
    chunk_release(c);
    outbox_close(&o);
    peer_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outbox_staged_bytes_are_not_written_before_their_release),
        cmocka_unit_test(test_outbox_adjacent_bytes_of_a_chunk_merge_and_a_release_may_end_inside),
        cmocka_unit_test(test_outbox_bytes_of_different_chunks_are_not_merged),
        cmocka_unit_test(test_outbox_empty_add_holds_no_chunk),
        cmocka_unit_test(test_outbox_slow_peer_gets_every_byte_once_and_in_order),
        cmocka_unit_test(test_outbox_drop_staged_drops_only_unreleased_bytes),
        cmocka_unit_test(test_outbox_drop_staged_after_a_partial_write_drops_the_other_half),
        cmocka_unit_test(test_outbox_staged_iterates_over_unreleased_bytes),
        cmocka_unit_test(test_outbox_broken_drops_everything),
        cmocka_unit_test(test_outbox_reset_accepts_again_and_counts_bytes_of_the_old_peer),
        cmocka_unit_test(test_outbox_closed_peer_is_an_error),
        cmocka_unit_test(test_outbox_segment_points_into_its_chunk),
        cmocka_unit_test(test_outbox_out_of_memory_stages_nothing),
    };
    return cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
}
