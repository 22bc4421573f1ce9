/* The ring of a journal with a writer and a reader that run at the same time. `make tsan` builds this test with
 * ThreadSanitizer, which reports bytes that are accessed without the order that ring.h promises.
 *
 * The program has no threads; two threads stand for its two processes, because ThreadSanitizer sees only one process.
 * They use one mapping: it compares addresses. */
#include "journal/ring.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

enum { SECONDS = 60 }; /* until a wake-up counts as lost */

struct test {
    struct ring w, r;
    int to_writer, to_reader; /* eventfd(2) */
    uint64_t records;
    size_t longest;
    bool sync;
};

/* Errors in threads end the process: cmocka handles them in the first thread only. */
static void require(bool fact, const char *otherwise)
{
    if (fact)
        return;
    fprintf(stderr, "test_ring_threads: %s\n", otherwise);
    abort();
}

static void wake(int fd)
{
    uint64_t one = 1;
    require(write(fd, &one, sizeof one) == (ssize_t)sizeof one, "cannot wake");
}

static void wait_until_woken(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t n;
    require(poll(&p, 1, SECONDS * 1000) == 1, "a wake-up was lost");
    require(read(fd, &n, sizeof n) == (ssize_t)sizeof n, "cannot receive a wake-up");
}

static size_t length_of(const struct test *t, uint64_t number)
{
    uint64_t x = number * 0x9e3779b97f4a7c15u;
    return (size_t)(x >> 20) % t->longest >> (x >> 60);
}

static char *wait_for_place(struct test *t, size_t n)
{
    char *place = ring_reserve_record(&t->w, n);
    if (place != NULL)
        return place;
    if (ring_publish_records(&t->w))
        wake(t->to_reader);
    ring_set_writer_waits(&t->w, true);
    while ((place = ring_reserve_record(&t->w, n)) == NULL) {
        require(errno == ENOBUFS, "no memory");
        wait_until_woken(t->to_writer);
    }
    ring_set_writer_waits(&t->w, false);
    return place;
}

static void wait_until_stored(struct test *t)
{
    ring_set_writer_waits(&t->w, true);
    while (!ring_has_stored_everything(&t->w))
        wait_until_woken(t->to_writer);
    ring_set_writer_waits(&t->w, false);
}

static void *run_writer(void *ctx)
{
    struct test *t = ctx;
    for (uint64_t i = 0; i < t->records; i++) {
        size_t n = length_of(t, i);
        memset(wait_for_place(t, n), (int)(i % 251), n);
        ring_add_record_head(&t->w, (uint32_t)i, n);
        if ((i % 3 == 0 || t->sync) && ring_publish_records(&t->w))
            wake(t->to_reader);
        if (t->sync)
            wait_until_stored(t);
    }
    if (ring_mark_ended(&t->w))
        wake(t->to_reader);
    return NULL;
}

static bool is_filled(struct slice bytes, char with)
{
    return bytes.n == 0 || (bytes.p[0] == with && memcmp(bytes.p, bytes.p + 1, bytes.n - 1) == 0);
}

static void *run_reader(void *ctx)
{
    struct test *t = ctx;
    uint32_t kind;
    struct slice bytes;
    uint64_t at, number = 0;
    while (!ring_is_finished(&t->r)) {
        int st = 0;
        uint64_t n = 0;
        while (n < 50 && (st = ring_read_next_record(&t->r, &kind, &bytes, &at)) == 0) {
            require(kind == (uint32_t)number, "the order is not kept");
            require(bytes.n == length_of(t, number), "the length is not kept");
            require(is_filled(bytes, (char)(number % 251)), "the bytes are not kept");
            number++;
            n++;
        }
        require(st == 0 || st == MI_ENOENT, "a record is damaged");
        if (n > 0) {
            if (ring_release_records(&t->r))
                wake(t->to_writer);
        } else if (ring_put_reader_to_sleep(&t->r)) {
            wait_until_woken(t->to_reader);
            ring_mark_reader_awake(&t->r);
        }
    }
    require(number == t->records, "records are missing");
    return NULL;
}

static void check(uint64_t size, uint64_t limit, struct test t)
{
    pthread_t threads[2];
    int fd = memfd_create("ring", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ring_create(&t.w, fd, size, limit, slice_of("about")), 0);
    t.r = t.w; /* `at` is 0: the reader's start */
    t.to_writer = eventfd(0, EFD_CLOEXEC);
    t.to_reader = eventfd(0, EFD_CLOEXEC);
    assert_true(t.to_writer >= 0 && t.to_reader >= 0);
    if (unit_slow())
        t.records /= 50;
    assert_int_equal(pthread_create(&threads[0], NULL, run_writer, &t), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, run_reader, &t), 0);
    for (size_t i = 0; i < MI_COUNT(threads); i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_true(ring_is_finished(&t.w));
    close(t.to_writer);
    close(t.to_reader);
    ring_close(&t.w);
    close(fd);
}

static void test_ring_with_two_threads_keeps_order_and_bytes(void **state)
{
    (void)state;
    check((uint64_t)4 << 20, (uint64_t)2 << 20, (struct test){.records = 100000, .longest = 8000});
}

static void test_ring_with_two_threads_and_little_room_loses_no_wake_up(void **state)
{
    (void)state;
    check(16384, 1000, (struct test){.records = 20000, .longest = 2000});
    check(16384, 16384, (struct test){.records = 20000, .longest = 12000});
}

static void test_ring_with_two_threads_stores_each_record_before_the_next(void **state)
{
    (void)state;
    check(16384, 16384, (struct test){.records = 5000, .longest = 300, .sync = true});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_with_two_threads_keeps_order_and_bytes),
        cmocka_unit_test(test_ring_with_two_threads_and_little_room_loses_no_wake_up),
        cmocka_unit_test(test_ring_with_two_threads_stores_each_record_before_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
