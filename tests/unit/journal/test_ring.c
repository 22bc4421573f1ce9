/* The ring of a journal: records pass in order and unchanged, within its limit, and its memory is used again.
 * Damaged files: test_ring_damage.c. Both sides at the same time: test_ring_model.c and test_ring_threads.c. */
#include "journal/ring.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SMALL 32768 /* the smallest ring where pages have 4096 bytes; a page is a step */

int __real_fallocate(int fd, int mode, off_t at, off_t n);
int __wrap_fallocate(int fd, int mode, off_t at, off_t n);
static bool no_memory;
static uint64_t memory_left = UINT64_MAX;
static unsigned interruptions, allocations;

int __wrap_fallocate(int fd, int mode, off_t at, off_t n)
{
    if (interruptions > 0) {
        interruptions--;
        errno = EINTR;
        return -1;
    }
    if (mode == 0 && (no_memory || (uint64_t)n > memory_left)) {
        errno = ENOSPC;
        return -1;
    }
    if (memory_left != UINT64_MAX)
        memory_left = mode == 0 ? memory_left - (uint64_t)n : memory_left + (uint64_t)n;
    allocations += mode == 0;
    return __real_fallocate(fd, mode, at, n);
}

/* The shared part, the table and the start of a ring of 128 MiB or less. */
#define OTHER_MEMORY 16384

static int new_file(void)
{
    int fd = memfd_create("ring", MFD_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* A writer and a reader of one file. */
struct pair {
    int fd;
    struct ring w, r;
};

static void open_pair(struct pair *p, uint64_t size, uint64_t limit)
{
    p->fd = new_file();
    assert_int_equal(ring_create(&p->w, p->fd, size, limit, slice_of("about")), 0);
    assert_int_equal(ring_open(&p->r, p->fd), 0);
    assert_false(ring_release_records(&p->r));
}

static void close_pair(struct pair *p)
{
    ring_close(&p->w);
    ring_close(&p->r);
    close(p->fd);
}

/* The reader is gone, and another one takes its place. */
static void replace_reader(struct pair *p)
{
    ring_close(&p->r);
    assert_int_equal(ring_open(&p->r, p->fd), 0);
    (void)!ring_release_records(&p->r);
}

static uint64_t size_of_record(size_t n)
{
    return sizeof(struct ring_head) + (n + 7) / 8 * 8;
}

static char byte_of(uint64_t number, size_t i)
{
    return (char)(number * 31 + i * 7 + i / 256);
}

/* Adds a record, whose kind and bytes follow from its number. */
static bool add(struct pair *p, uint64_t number, size_t n)
{
    char *place = ring_reserve_record(&p->w, n);
    if (place == NULL)
        return false;
    assert_int_equal((uintptr_t)place % 8, 0);
    for (size_t i = 0; i < n; i++)
        place[i] = byte_of(number, i);
    ring_add_record_head(&p->w, (uint32_t)number, n);
    return true;
}

static void publish(struct pair *p, uint64_t number, size_t n)
{
    assert_true(add(p, number, n));
    assert_false(ring_publish_records(&p->w));
}

static uint64_t take(struct pair *p, uint64_t number, size_t n)
{
    uint32_t kind = 0;
    struct slice bytes = {NULL, 0};
    uint64_t at = RING_NONE;
    assert_int_equal(ring_read_next_record(&p->r, &kind, &bytes, &at), 0);
    assert_int_equal(kind, (uint32_t)number);
    assert_int_equal(bytes.n, n);
    for (size_t i = 0; i < n; i++)
        if (bytes.p[i] != byte_of(number, i))
            fail_msg("record %d of %d bytes: byte %d differs", (int)number, (int)n, (int)i);
    return at;
}

static int next(struct pair *p)
{
    uint32_t kind;
    struct slice bytes;
    uint64_t at;
    return ring_read_next_record(&p->r, &kind, &bytes, &at);
}

static uint64_t memory_of(const struct pair *p)
{
    struct stat s;
    assert_int_equal(fstat(p->fd, &s), 0);
    return (uint64_t)s.st_blocks * 512;
}

/* ---- records ---- */

static void test_ring_new_is_empty(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    assert_int_equal(next(&p), MI_ENOENT);
    assert_true(ring_has_stored_everything(&p.w));
    assert_int_equal(ring_count_unread_bytes(&p.r), 0);
    assert_false(ring_is_finished(&p.r));
    assert_false(ring_publish_records(&p.w));
    assert_int_equal(atomic_load(&p.r.shared->trying), RING_NONE);
    assert_int_equal(atomic_load(&p.r.shared->killed_by), RING_NONE);
    close_pair(&p);
    ring_close(&p.w); /* twice */
}

static void test_ring_keeps_the_bytes_about_the_session(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, RING_START_MAX};
    char *about = malloc(RING_START_MAX);
    assert_non_null(about);
    for (size_t i = 0; i < RING_START_MAX; i++)
        about[i] = byte_of(1, i);
    for (size_t i = 0; i < MI_COUNT(sizes); i++) {
        struct pair p = {.fd = new_file()};
        struct slice start = {about, sizes[i]};
        assert_int_equal(ring_create(&p.w, p.fd, SMALL, SMALL, start), 0);
        assert_int_equal(ring_open(&p.r, p.fd), 0);
        publish(&p, 1, 100);
        assert_true(slice_eq(ring_get_session_start(&p.r), start));
        assert_true(slice_eq(ring_get_session_start(&p.w), start));
        take(&p, 1, 100);
        close_pair(&p);
    }
    struct ring w;
    int fd = new_file();
    struct slice longer = {about, RING_START_MAX + 1};
    assert_int_equal(ring_create(&w, fd, SMALL, SMALL, longer), MI_EINVAL);
    assert_int_equal(ring_create(&w, fd, UINT64_MAX, SMALL, slice_of("")), MI_EINVAL);
    close(fd);
    free(about);
}

static void test_ring_passes_records_of_each_size(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    size_t max = ring_max_record_size(&p.w), step = unit_slow() ? 97 : unit_sample(3);
    assert_true(max > (size_t)2 * 4096);
    uint64_t end = 0;
    for (size_t n = 0; n <= max; n += step) {
        publish(&p, n, n);
        assert_false(ring_has_stored_everything(&p.w));
        uint64_t behind = ring_count_unread_bytes(&p.r), at = take(&p, n, n);
        assert_true(at >= end && at < end + 4096); /* the rest of a step may be skipped */
        assert_int_equal(behind, at - end + size_of_record(n));
        end = at + size_of_record(n);
        assert_int_equal(next(&p), MI_ENOENT);
        assert_false(ring_release_records(&p.r));
        assert_true(ring_has_stored_everything(&p.w));
    }
    publish(&p, 1, max);
    take(&p, 1, max);
    close_pair(&p);
}

static void test_ring_record_at_any_position_is_contiguous(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 8, 100, 4096, 5000};
    uint64_t step = unit_slow() ? 1000 : 8 * unit_sample(3);
    for (uint64_t start = 0; start <= SMALL - 4096; start += step) {
        struct pair p;
        uint64_t number = 0;
        open_pair(&p, SMALL, SMALL);
        /* moves both sides to `start`, in two records */
        for (uint64_t left = start; left >= 8;) {
            size_t n = left > SMALL / 2 ? SMALL / 2 - 8 : left - 8;
            publish(&p, ++number, n);
            take(&p, number, n);
            assert_false(ring_release_records(&p.r));
            left -= size_of_record(n);
        }
        for (size_t i = 0; i < MI_COUNT(sizes); i++)
            publish(&p, number + 1 + i, sizes[i]);
        for (size_t i = 0; i < MI_COUNT(sizes); i++)
            take(&p, number + 1 + i, sizes[i]);
        close_pair(&p);
    }
}

static void test_ring_shows_records_only_after_publish(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    assert_true(add(&p, 1, 10));
    assert_true(add(&p, 2, 20));
    assert_non_null(ring_reserve_record(&p.w, 5000)); /* forgotten */
    assert_int_equal(next(&p), MI_ENOENT);
    assert_int_equal(ring_count_unread_bytes(&p.r), 0);
    assert_false(ring_has_stored_everything(&p.w));
    assert_false(ring_publish_records(&p.w));
    assert_true(add(&p, 3, 30));
    take(&p, 1, 10);
    take(&p, 2, 20);
    assert_int_equal(next(&p), MI_ENOENT);
    assert_false(ring_publish_records(&p.w));
    take(&p, 3, 30);
    close_pair(&p);
}

/* ---- limits ---- */

static void test_ring_at_its_limit_has_no_room_until_release(void **state)
{
    (void)state;
    enum { N = 120, RECORD = 128, LIMIT = 10 * RECORD }; /* nothing is skipped */
    struct pair p;
    open_pair(&p, SMALL, LIMIT);
    for (uint64_t lap = 0; lap < 500; lap++) {
        for (uint64_t i = 0; i < 10; i++)
            publish(&p, lap + i, N);
        errno = 0;
        assert_null(ring_reserve_record(&p.w, 0));
        assert_int_equal(errno, ENOBUFS);
        assert_null(ring_reserve_record(&p.w, N));
        for (uint64_t i = 0; i < 10; i++)
            take(&p, lap + i, N);
        assert_null(ring_reserve_record(&p.w, 0)); /* read, but not released */
        ring_rewind(&p.r);
        take(&p, lap, N);
        assert_false(ring_release_records(&p.r)); /* the first */
        assert_null(ring_reserve_record(&p.w, N + 8));
        publish(&p, lap + 10, N);
        for (uint64_t i = 1; i < 11; i++)
            take(&p, lap + i, N);
        assert_false(ring_release_records(&p.r));
    }
    close_pair(&p);
}

static void test_ring_accepts_a_long_record_only_while_empty(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, 100);
    size_t max = ring_max_record_size(&p.w);
    /* at every position: the end of the record before moves by 8 */
    for (size_t lap = 0; lap < 2100; lap++) {
        publish(&p, 1, 0);
        assert_null(ring_reserve_record(&p.w, max));
        assert_int_equal(errno, ENOBUFS);
        take(&p, 1, 0);
        assert_false(ring_release_records(&p.r));
        if (lap % 7 == 0 || lap > 2000) {
            publish(&p, lap, max);
            assert_null(ring_reserve_record(&p.w, 0));
            take(&p, lap, max);
            assert_false(ring_release_records(&p.r));
        }
        errno = 0;
        assert_null(ring_reserve_record(&p.w, max + 1));
        assert_int_equal(errno, EMSGSIZE);
        assert_null(ring_reserve_record(&p.w, SIZE_MAX));
    }
    close_pair(&p);
}

static void test_ring_of_any_limit_never_overwrites_records(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, UINT64_MAX);
    struct unit_random random = {7};
    uint64_t added = 0, taken = 0;
    size_t sizes[SMALL / 8 + 1];
    for (int i = 0; i < (unit_slow() ? 500 : 20000); i++) {
        size_t n = unit_random(&random, 3000) >> unit_random(&random, 8);
        if (unit_random(&random, 2) == 0) {
            if (!add(&p, added, n))
                continue;
            sizes[added++ % MI_COUNT(sizes)] = n;
            assert_false(ring_publish_records(&p.w));
        } else if (taken < added) {
            take(&p, taken, sizes[taken % MI_COUNT(sizes)]);
            taken++;
            if (unit_random(&random, 4) == 0)
                assert_false(ring_release_records(&p.r));
        }
        assert_true(ring_count_unread_bytes(&p.r) <= SMALL);
    }
    assert_true(added > 100);
    close_pair(&p);
}

/* ---- memory ---- */

static void test_ring_without_memory_gives_no_place(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    publish(&p, 1, 4000); /* the first step */
    no_memory = true;
    errno = 0;
    assert_null(ring_reserve_record(&p.w, 4000));
    assert_int_equal(errno, ENOSPC);
    publish(&p, 2, 50); /* fits into the first step */
    no_memory = false;
    interruptions = 2;
    publish(&p, 3, 4000);
    take(&p, 1, 4000);
    take(&p, 2, 50);
    take(&p, 3, 4000);
    assert_int_equal(interruptions, 0);
    assert_false(ring_release_records(&p.r));
    close_pair(&p);

    struct ring w;
    int fd = new_file();
    no_memory = true;
    assert_int_equal(ring_create(&w, fd, SMALL, SMALL, slice_of("about")), MI_EIO);
    assert_int_equal(errno, ENOSPC);
    no_memory = false;
    close(fd);
}

/* In a file system that really is full. */
static void fill_file_system(const char *dir)
{
    char path[64];
    struct pair p = {0};
    uint64_t n = 0, read = 0;
    snprintf(path, sizeof path, "%s/ring", dir);
    p.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(p.fd >= 0);
    assert_int_equal(ring_create(&p.w, p.fd, (uint64_t)64 << 20, UINT64_MAX, slice_of("x")), 0);
    assert_int_equal(ring_open(&p.r, p.fd), 0);
    for (int lap = 0; lap < 3; lap++) {
        errno = 0;
        while (add(&p, n, 1000))
            n++;
        assert_int_equal(errno, ENOSPC);
        assert_false(ring_publish_records(&p.w));
        assert_true(n - read > 400);
        for (; read < n; read++)
            take(&p, read, 1000);
        assert_false(ring_release_records(&p.r));
    }
    close_pair(&p);
}

static void test_ring_in_a_full_file_system_gives_no_place(void **state)
{
    (void)state;
    char dir[] = "/tmp/ring.XXXXXX";
    assert_non_null(mkdtemp(dir));
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* a mount that only the child sees, and that ends with it */
        if ((unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) ||
            mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", dir, "tmpfs", MS_NOSUID, "size=1m") < 0)
            _exit(77);
        fill_file_system(dir);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    rmdir(dir);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip(); /* mounting is not permitted here */
    assert_int_equal(status, 0);
}

static void test_ring_with_light_traffic_needs_little_memory(void **state)
{
    (void)state;
    struct pair p;
    uint64_t total = (uint64_t)(unit_slow() ? 16 : 1024 / unit_sample(4)) << 20, done = 0, most = 0;
    open_pair(&p, (uint64_t)128 << 20, (uint64_t)64 << 20);
    struct unit_random random = {3};
    while (done < total) {
        size_t n = unit_random(&random, 60000) >> unit_random(&random, 8);
        char *place = ring_reserve_record(&p.w, n);
        assert_non_null(place);
        if (n > 0)
            place[0] = place[n - 1] = 'x';
        ring_add_record_head(&p.w, 1, n);
        assert_false(ring_publish_records(&p.w));
        done += size_of_record(n);
        assert_int_equal(next(&p), 0);
        assert_false(ring_release_records(&p.r));
        uint64_t memory = memory_of(&p);
        most = memory > most ? memory : most;
    }
    assert_true(most > RING_STEP && most <= 2 * RING_STEP + OTHER_MEMORY);
    close_pair(&p);
}

/* Publishes as much as the limit permits, and reads it. */
static void pass_burst(struct pair *p)
{
    uint64_t n = 0;
    while (add(p, n, 10000))
        n++;
    assert_false(ring_publish_records(&p->w));
    assert_true(memory_of(p) > (uint64_t)8 << 20);
    for (uint64_t i = 0; i < n; i++)
        take(p, i, 10000);
    assert_false(ring_release_records(&p->r));
}

static void test_ring_uses_the_memory_of_a_burst_again(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, (uint64_t)16 << 20, (uint64_t)8 << 20);
    pass_burst(&p);
    uint64_t memory = memory_of(&p);
    pass_burst(&p); /* begins in the middle of a step */
    assert_true(memory_of(&p) <= memory + RING_STEP);
    allocations = 0;
    for (int lap = 0; lap < 5; lap++)
        pass_burst(&p);
    assert_int_equal(allocations, 0);
    close_pair(&p);
}

static void test_ring_returns_its_memory_in_parts(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, (uint64_t)16 << 20, (uint64_t)8 << 20);
    for (int lap = 0; lap < 3; lap++) {
        pass_burst(&p);
        assert_true(ring_memory_size(&p.w) >= (size_t)8 << 20);
        while (ring_memory_size(&p.w) > RING_KEPT) {
            size_t before = ring_memory_size(&p.w);
            ring_free_unused_memory(&p.w, (size_t)1 << 20);
            assert_true(ring_memory_size(&p.w) < before);
            assert_true(before - ring_memory_size(&p.w) <= (size_t)1 << 20);
            assert_true(memory_of(&p) <= ring_memory_size(&p.w) + OTHER_MEMORY);
        }
        ring_free_unused_memory(&p.w, SIZE_MAX);
        assert_int_equal(ring_memory_size(&p.w), RING_KEPT);
    }
    /* not that of records */
    assert_true(add(&p, 1, 600000));
    assert_true(add(&p, 2, 600000));
    assert_false(ring_publish_records(&p.w));
    take(&p, 1, 600000);
    assert_false(ring_release_records(&p.r));
    ring_free_unused_memory(&p.w, SIZE_MAX);
    take(&p, 2, 600000);
    close_pair(&p);
}

/* Memory that free steps keep is given to those that need it in one piece. */
static void test_ring_moves_its_memory_when_there_is_no_more(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, (uint64_t)16 << 20, (uint64_t)8 << 20);
    for (uint64_t i = 0; i < 3; i++) /* two steps and a little each */
        publish(&p, i, 2 * RING_STEP);
    take(&p, 0, 2 * RING_STEP);
    take(&p, 1, 2 * RING_STEP);
    assert_false(ring_release_records(&p.r));
    memory_left = 2 * RING_STEP; /* and four steps are free */
    publish(&p, 3, 5 * RING_STEP);
    memory_left = UINT64_MAX;
    take(&p, 2, 2 * RING_STEP);
    take(&p, 3, 5 * RING_STEP);
    close_pair(&p);
}

static void test_ring_is_not_inherited_by_a_child(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) { /* msync() fails with ENOMEM for memory that is not mapped */
        bool mapped = msync(p.w.shared, 4096, MS_ASYNC) == 0 || errno != ENOMEM ||
                      msync(p.w.data, 4096, MS_ASYNC) == 0 || errno != ENOMEM;
        _exit(mapped ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    close_pair(&p);
}

/* ---- a reader is replaced ---- */

static void test_ring_new_reader_continues_at_the_first_record_not_released(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    for (uint64_t lap = 0; lap < 100; lap++) {
        for (uint64_t i = 0; i < 6; i++)
            publish(&p, lap + i, 300);
        take(&p, lap, 300);
        take(&p, lap + 1, 300);
        assert_false(ring_release_records(&p.r));
        take(&p, lap + 2, 300);
        replace_reader(&p); /* before the third is released */
        uint64_t third = take(&p, lap + 2, 300);
        take(&p, lap + 3, 300);
        ring_rewind(&p.r);
        assert_int_equal(take(&p, lap + 2, 300), third);
        take(&p, lap + 3, 300);
        assert_false(ring_release_records(&p.r));
        replace_reader(&p); /* after */
        take(&p, lap + 4, 300);
        take(&p, lap + 5, 300);
        assert_int_equal(next(&p), MI_ENOENT);
        assert_false(ring_release_records(&p.r));
    }
    close_pair(&p);
}

/* The reader was killed after it moved `tail`, before it woke the writer. */
static void test_ring_new_reader_finishes_an_interrupted_release(void **state)
{
    (void)state;
    struct pair p;
    uint64_t n = 0;
    open_pair(&p, (uint64_t)2 << 20, UINT64_MAX);
    while (add(&p, n, 1000))
        n++;
    assert_int_equal(errno, ENOBUFS);
    assert_false(ring_publish_records(&p.w));
    ring_set_writer_waits(&p.w, true);
    atomic_store(&p.w.shared->tail, atomic_load(&p.w.shared->head));
    ring_close(&p.r);
    assert_int_equal(ring_open(&p.r, p.fd), 0);
    assert_true(ring_release_records(&p.r));
    ring_set_writer_waits(&p.w, false);
    publish(&p, 5, 1000);
    take(&p, 5, 1000);
    close_pair(&p);
}

static void test_ring_outlives_its_writer(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    publish(&p, 1, 1000);
    publish(&p, 2, 2000);
    assert_true(add(&p, 3, 100)); /* not published */
    ring_close(&p.w);
    replace_reader(&p);
    take(&p, 1, 1000);
    take(&p, 2, 2000);
    assert_int_equal(next(&p), MI_ENOENT);
    assert_false(ring_release_records(&p.r));
    close_pair(&p);
}

/* ---- wake-ups ---- */

static void test_ring_wakes_a_sleeping_reader_once(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    publish(&p, 1, 10);
    assert_false(ring_put_reader_to_sleep(&p.r)); /* there is a record */
    publish(&p, 2, 10);
    take(&p, 1, 10);
    take(&p, 2, 10);
    assert_true(ring_put_reader_to_sleep(&p.r)); /* although nothing is released */
    assert_false(ring_publish_records(&p.w));
    assert_true(add(&p, 3, 10));
    assert_true(ring_publish_records(&p.w));
    publish(&p, 4, 10); /* it is being woken */
    ring_mark_reader_awake(&p.r);
    take(&p, 3, 10);
    take(&p, 4, 10);
    assert_true(ring_put_reader_to_sleep(&p.r));
    ring_mark_reader_awake(&p.r);
    publish(&p, 5, 10); /* it woke up for another reason */
    close_pair(&p);
}

static void test_ring_wakes_a_waiting_writer_until_it_stops_waiting(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    publish(&p, 1, 10);
    publish(&p, 2, 10);
    ring_set_writer_waits(&p.w, true);
    take(&p, 1, 10);
    assert_true(ring_release_records(&p.r));
    take(&p, 2, 10);
    assert_true(ring_release_records(&p.r));
    assert_true(ring_set_recorder_trouble(&p.r, RING_BUSY));
    assert_false(ring_set_recorder_trouble(&p.r, RING_BUSY)); /* no change */
    assert_int_equal(atomic_load(&p.w.shared->trouble), RING_BUSY);
    ring_set_writer_waits(&p.w, false);
    assert_false(ring_set_recorder_trouble(&p.r, RING_FINE));
    assert_false(ring_release_records(&p.r));
    close_pair(&p);
}

static void test_ring_that_ended_is_finished_when_all_is_stored(void **state)
{
    (void)state;
    struct pair p;
    open_pair(&p, SMALL, SMALL);
    assert_true(ring_put_reader_to_sleep(&p.r));
    assert_true(add(&p, 1, 10));
    assert_true(ring_mark_ended(&p.w)); /* publishes, and wakes */
    assert_false(ring_put_reader_to_sleep(&p.r));
    assert_false(ring_is_finished(&p.r));
    take(&p, 1, 10);
    assert_false(ring_is_finished(&p.r));
    assert_false(ring_put_reader_to_sleep(&p.r)); /* not even without records */
    assert_false(ring_release_records(&p.r));
    assert_true(ring_is_finished(&p.r));
    assert_true(ring_is_finished(&p.w));
    assert_true(ring_has_stored_everything(&p.w));
    close_pair(&p);
}

/* tests/e2e/lib.py reads these, to see whether everything is stored. */
static void test_ring_shared_has_the_offsets_that_other_tests_read(void **state)
{
    (void)state;
    assert_int_equal(offsetof(struct ring_shared, head), 64);
    assert_int_equal(offsetof(struct ring_shared, ended), 80);
    assert_int_equal(offsetof(struct ring_shared, tail), 128);
    assert_int_equal(offsetof(struct ring_shared, reader_sleeps), 136);
    assert_int_equal(offsetof(struct ring_shared, trouble), 140);
    assert_int_equal(offsetof(struct ring_shared, reader_pid), 144);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_new_is_empty),
        cmocka_unit_test(test_ring_shared_has_the_offsets_that_other_tests_read),
        cmocka_unit_test(test_ring_keeps_the_bytes_about_the_session),
        cmocka_unit_test(test_ring_passes_records_of_each_size),
        cmocka_unit_test(test_ring_record_at_any_position_is_contiguous),
        cmocka_unit_test(test_ring_shows_records_only_after_publish),
        cmocka_unit_test(test_ring_at_its_limit_has_no_room_until_release),
        cmocka_unit_test(test_ring_accepts_a_long_record_only_while_empty),
        cmocka_unit_test(test_ring_of_any_limit_never_overwrites_records),
        cmocka_unit_test(test_ring_without_memory_gives_no_place),
        cmocka_unit_test(test_ring_in_a_full_file_system_gives_no_place),
        cmocka_unit_test(test_ring_with_light_traffic_needs_little_memory),
        cmocka_unit_test(test_ring_uses_the_memory_of_a_burst_again),
        cmocka_unit_test(test_ring_returns_its_memory_in_parts),
        cmocka_unit_test(test_ring_moves_its_memory_when_there_is_no_more),
        cmocka_unit_test(test_ring_is_not_inherited_by_a_child),
        cmocka_unit_test(test_ring_new_reader_continues_at_the_first_record_not_released),
        cmocka_unit_test(test_ring_new_reader_finishes_an_interrupted_release),
        cmocka_unit_test(test_ring_outlives_its_writer),
        cmocka_unit_test(test_ring_wakes_a_sleeping_reader_once),
        cmocka_unit_test(test_ring_wakes_a_waiting_writer_until_it_stops_waiting),
        cmocka_unit_test(test_ring_that_ended_is_finished_when_all_is_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
