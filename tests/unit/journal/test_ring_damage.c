/* The ring of a journal whose file is damaged or hostile: an error, and never an access outside its mapping. */
#include "journal/ring.h"

#include "tests/support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define SIZE 32768
#define PAGE 4096
#define TABLE PAGE
#define DATA (3 * PAGE) /* after the shared part, the table, and what is about the session */
#define RECORDS 5
#define RECORD 1000 /* bytes, without its head */

int __real_fallocate(int fd, int mode, off_t at, off_t n);
int __wrap_fallocate(int fd, int mode, off_t at, off_t n);
static bool full;

/* A full file system allocates only what is there. */
int __wrap_fallocate(int fd, int mode, off_t at, off_t n)
{
    if (full && mode == 0 && lseek(fd, at, SEEK_HOLE) < at + n) {
        errno = ENOSPC;
        return -1;
    }
    return __real_fallocate(fd, mode, at, n);
}

static const uint64_t hostile[] = {
    0,
    1,
    7,
    8,
    9,
    PAGE - 8,
    PAGE,
    SIZE - 8,
    SIZE - 1,
    SIZE,
    SIZE + 8,
    2 * SIZE,
    (uint64_t)1 << 31,
    UINT32_MAX - 15,
    UINT32_MAX - 7,
    UINT32_MAX,
    (uint64_t)1 << 32,
    (uint64_t)1 << 40,
    (uint64_t)1 << 41,
    ((uint64_t)1 << 62) - 8,
    (uint64_t)1 << 62,
    (uint64_t)1 << 63,
    UINT64_MAX - SIZE + 1,
    UINT64_MAX - 15,
    UINT64_MAX - 7,
    UINT64_MAX,
};

/* A file with RECORDS records that are not released, after others that are. */
static int make_file(uint64_t released)
{
    struct ring w, r;
    int fd = memfd_create("ring", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ring_create(&w, fd, SIZE, SIZE, slice_of("about")), 0);
    assert_int_equal(ring_open(&r, fd), 0);
    for (uint64_t i = 0; i < released + RECORDS; i++) {
        char *place = ring_reserve_record(&w, RECORD);
        assert_non_null(place);
        memset(place, 'a', RECORD);
        ring_add_record_head(&w, 1, RECORD);
        assert_false(ring_publish_records(&w));
        if (i >= released)
            continue;
        uint32_t kind;
        struct slice bytes;
        uint64_t at;
        assert_int_equal(ring_read_next_record(&r, &kind, &bytes, &at), 0);
        assert_false(ring_release_records(&r));
    }
    ring_close(&r);
    ring_close(&w);
    return fd;
}

static void put(int fd, size_t at, const void *bytes, size_t n)
{
    assert_int_equal(pwrite(fd, bytes, n, (off_t)at), (ssize_t)n);
}

/* Reads everything, and checks that it lies within the mapping. Returns the last status. */
static int read_all(struct ring *r, size_t *ret_n)
{
    uint32_t kind;
    struct slice bytes;
    uint64_t at, before = 0;
    volatile char last = 0;
    size_t n = 0;
    int st;
    const char *all = (const char *)r->shared;
    assert_true(ring_get_session_start(r).p >= all &&
                ring_get_session_start(r).p + ring_get_session_start(r).n <= r->data);
    while ((st = ring_read_next_record(r, &kind, &bytes, &at)) == 0) {
        assert_true(bytes.p >= r->data && bytes.p <= all + r->mapped);
        assert_true(bytes.n <= (size_t)(all + r->mapped - bytes.p));
        for (size_t i = 0; i < bytes.n; i++)
            last = bytes.p[i];
        assert_true(n == 0 || at > before);
        before = at;
        assert_true(++n <= SIZE / 8);
    }
    (void)last;
    *ret_n = n;
    return st;
}

/* Opens a file and reads it as a recorder does. The status of the first error; 0: none. */
static int use(int fd, size_t *ret_n)
{
    struct ring r;
    *ret_n = 0;
    int st = ring_open(&r, fd);
    if (st < 0) {
        assert_null(r.shared);
        return st;
    }
    (void)!ring_release_records(&r);
    st = read_all(&r, ret_n);
    (void)!ring_release_records(&r);
    (void)!ring_put_reader_to_sleep(&r);
    (void)ring_is_finished(&r);
    (void)ring_count_unread_bytes(&r);
    ring_close(&r);
    assert_true(st == MI_ENOENT || st == MI_EPROTO);
    return st == MI_ENOENT ? 0 : st;
}

static void test_ring_with_a_damaged_shape_is_rejected(void **state)
{
    (void)state;
    static const struct {
        size_t at, n;
    } fields[] = {
        {offsetof(struct ring_shared, magic), 4},
        {offsetof(struct ring_shared, version), 4},
        {offsetof(struct ring_shared, size), 8},
        {offsetof(struct ring_shared, start_n), 8},
    };
    for (size_t f = 0; f < MI_COUNT(fields); f++)
        for (size_t i = 0; i < MI_COUNT(hostile); i++) {
            uint64_t old = 0;
            size_t n;
            int fd = make_file(0);
            assert_true(pread(fd, &old, fields[f].n, (off_t)fields[f].at) > 0);
            put(fd, fields[f].at, &hostile[i], fields[f].n);
            bool same = memcmp(&old, &hostile[i], fields[f].n) == 0;
            /* the length of the start is rounded up to pages: some others are possible */
            bool fits = f == 3 && hostile[i] > 0 && hostile[i] <= PAGE;
            int st = use(fd, &n);
            if (same || fits || (f == 1 && (uint32_t)hostile[i] == RING_VERSION))
                assert_true(st == 0 && n == RECORDS);
            else
                assert_int_equal(st, MI_EINVAL);
            close(fd);
        }
}

static void test_ring_with_damaged_positions_is_rejected(void **state)
{
    (void)state;
    static const size_t fields[] = {
        offsetof(struct ring_shared, head),
        offsetof(struct ring_shared, tail),
    };
    size_t rejected = 0, damaged = 0, n;
    for (uint64_t records = 0; records < 40; records += 13)
        for (size_t f = 0; f < MI_COUNT(fields); f++)
            for (size_t i = 0; i < MI_COUNT(hostile); i++) {
                int fd = make_file(records);
                put(fd, fields[f], &hostile[i], 8);
                int st = use(fd, &n);
                rejected += st == MI_EINVAL;
                damaged += st == MI_EPROTO;
                assert_true(st == 0 || st == MI_EINVAL || st == MI_EPROTO);
                if (hostile[i] % 8 != 0 || hostile[i] >= (uint64_t)1 << 31)
                    assert_int_equal(st, MI_EINVAL);
                close(fd);
            }
    assert_true(rejected > 100 && damaged > 10);
}

/* The other fields mean something else to a recorder, but nothing to the ring. */
static void test_ring_with_other_damaged_fields_is_read(void **state)
{
    (void)state;
    size_t n;
    for (size_t at = offsetof(struct ring_shared, start_n) + 8; at < PAGE; at += 4) {
        if (at / 8 == offsetof(struct ring_shared, head) / 8 ||
            at / 8 == offsetof(struct ring_shared, tail) / 8)
            continue;
        int fd = make_file(20);
        put(fd, at, &hostile[MI_COUNT(hostile) - 1], 4);
        assert_int_equal(use(fd, &n), 0);
        assert_int_equal(n, RECORDS);
        close(fd);
    }
}

/* Where the record k of those not released is in the file; *ret_left: bytes after its head. */
static size_t find_record(int fd, size_t k, uint64_t *ret_left)
{
    struct ring r;
    uint32_t kind;
    struct slice bytes;
    uint64_t position;
    assert_int_equal(ring_open(&r, fd), 0);
    for (size_t i = 0; i <= k; i++)
        assert_int_equal(ring_read_next_record(&r, &kind, &bytes, &position), 0);
    *ret_left = atomic_load(&r.shared->head) - position - sizeof(struct ring_head);
    size_t at = (size_t)(bytes.p - (char *)r.shared) - sizeof(struct ring_head);
    ring_close(&r);
    return at;
}

static void test_ring_with_a_damaged_record_ends_before_it(void **state)
{
    (void)state;
    size_t n;
    /* 20 records before: their pages are used again */
    for (size_t k = 0; k < RECORDS; k++)
        for (size_t i = 0; i < MI_COUNT(hostile); i++) {
            int fd = make_file(20);
            uint64_t left;
            size_t at = find_record(fd, k, &left);
            uint32_t value = (uint32_t)hostile[i];
            put(fd, at, &value, 4);
            int st = use(fd, &n);
            assert_true(st == 0 || st == MI_EPROTO);
            if (value > left) {
                assert_int_equal(st, MI_EPROTO);
                assert_int_equal(n, k);
            } else {
                assert_true(n > k);
            }
            close(fd);
        }
}

static void test_ring_with_a_damaged_table_ends_before_it(void **state)
{
    (void)state;
    size_t n, damaged = 0;
    for (size_t k = 0; k < SIZE / PAGE; k++)
        for (size_t i = 0; i < MI_COUNT(hostile); i++) {
            uint32_t value = (uint32_t)hostile[i];
            int fd = make_file(20);
            put(fd, TABLE + k * sizeof value, &value, sizeof value);
            int st = use(fd, &n);
            assert_true(st == 0 || st == MI_EPROTO);
            damaged += st == MI_EPROTO;
            close(fd);
        }
    assert_true(damaged > 20);
}

static void test_ring_of_random_bytes_is_never_read_outside(void **state)
{
    (void)state;
    struct unit_random random = {11};
    size_t n, opened = 0;
    for (int lap = 0; lap < (unit_slow() ? 200 : 5000); lap++) {
        int fd = make_file(unit_random(&random, 40));
        for (size_t k = unit_random(&random, 8) + 1; k > 0; k--) {
            /* most of them in the first page or in the head of a record */
            size_t at = unit_random(&random, DATA + SIZE) & ~(size_t)3;
            uint64_t value =
                hostile[unit_random(&random, MI_COUNT(hostile))] + unit_random(&random, 3) * 8;
            if (unit_random(&random, 3) == 0)
                at = offsetof(struct ring_shared, head) + unit_random(&random, 16) * 8;
            else if (unit_random(&random, 2) == 0)
                at = DATA + unit_random(&random, 32) * (RECORD + 8);
            put(fd, at, &value, 4 + 4 * unit_random(&random, 2));
        }
        opened += use(fd, &n) != MI_EINVAL;
        close(fd);
    }
    assert_true(opened > 20);
}

static void test_ring_of_another_length_is_rejected(void **state)
{
    (void)state;
    static const off_t sizes[] = {0, 1, 64, sizeof(struct ring_shared), PAGE, 2 * PAGE, DATA,
                                  DATA + SIZE - 1,
                                  /* longer */
                                  DATA + SIZE + 1, DATA + SIZE + PAGE};
    size_t n;
    for (size_t i = 0; i < MI_COUNT(sizes); i++) {
        int fd = make_file(0);
        assert_int_equal(ftruncate(fd, sizes[i]), 0);
        assert_int_equal(use(fd, &n), MI_EINVAL);
        close(fd);
    }
}

static void test_ring_in_something_else_than_a_file_is_an_error(void **state)
{
    (void)state;
    struct ring r;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(ring_open(&r, ends[0]), MI_EIO);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(ring_open(&r, -1), MI_EIO);
    assert_int_equal(errno, EBADF);
    assert_int_equal(ring_create(&r, -1, SIZE, SIZE, slice_of("")), MI_EIO);
    assert_int_equal(errno, EBADF);
    int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ring_open(&r, fd), MI_EINVAL);
    close(fd);
    fd = open("/", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ring_open(&r, fd), MI_EIO);
    assert_int_equal(errno, EISDIR);
    close(fd);
    ring_close(&r);
}

/* Reading a missing page allocates it; in a full file system that is a SIGBUS. */
static void test_ring_with_missing_pages_is_damaged_if_there_is_no_memory(void **state)
{
    (void)state;
    size_t n;
    int fd = make_file(0);
    full = true;
    assert_int_equal(use(fd, &n), 0);
    assert_int_equal(n, RECORDS);
    full = false;
    close(fd);

    fd = make_file(0);
    int punch = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    assert_int_equal(__real_fallocate(fd, punch, DATA, PAGE), 0);
    full = true;
    assert_int_equal(use(fd, &n), MI_EPROTO);
    assert_int_equal(n, 0);
    assert_int_equal(__real_fallocate(fd, punch, PAGE, PAGE), 0); /* about the session */
    assert_int_equal(use(fd, &n), MI_EIO);
    full = false;
    close(fd);
}

/* The shared page changes while both sides use it. */
static void test_ring_damaged_in_use_stays_within_its_mapping(void **state)
{
    (void)state;
    static const size_t fields[] = {
        offsetof(struct ring_shared, size),
        offsetof(struct ring_shared, start_n),
        offsetof(struct ring_shared, head),
        offsetof(struct ring_shared, tail),
    };
    for (size_t f = 0; f < MI_COUNT(fields); f++)
        for (size_t i = 0; i < MI_COUNT(hostile); i++) {
            struct ring w, r;
            size_t n;
            int fd = memfd_create("ring", MFD_CLOEXEC);
            assert_true(fd >= 0);
            assert_int_equal(ring_create(&w, fd, SIZE, SIZE, slice_of("about")), 0);
            assert_int_equal(ring_open(&r, fd), 0);
            for (int lap = 0; lap < 60; lap++) {
                char *place = ring_reserve_record(&w, RECORD);
                if (place != NULL) {
                    assert_true(place >= w.data && place + RECORD <= (char *)w.shared + w.mapped);
                    memset(place, 'a', RECORD);
                    ring_add_record_head(&w, 1, RECORD);
                }
                if (lap % 20 == 7)
                    put(fd, fields[f], &hostile[i], 8);
                (void)!ring_publish_records(&w);
                (void)ring_has_stored_everything(&w);
                int st = read_all(&r, &n);
                assert_true(st == MI_ENOENT || st == MI_EPROTO);
                (void)!ring_release_records(&r);
                if (lap % 10 == 9)
                    ring_rewind(&r);
            }
            ring_close(&w);
            ring_close(&r);
            close(fd);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ring_with_a_damaged_shape_is_rejected),
        cmocka_unit_test(test_ring_with_damaged_positions_is_rejected),
        cmocka_unit_test(test_ring_with_other_damaged_fields_is_read),
        cmocka_unit_test(test_ring_with_a_damaged_record_ends_before_it),
        cmocka_unit_test(test_ring_with_a_damaged_table_ends_before_it),
        cmocka_unit_test(test_ring_of_random_bytes_is_never_read_outside),
        cmocka_unit_test(test_ring_of_another_length_is_rejected),
        cmocka_unit_test(test_ring_in_something_else_than_a_file_is_an_error),
        cmocka_unit_test(test_ring_with_missing_pages_is_damaged_if_there_is_no_memory),
        cmocka_unit_test(test_ring_damaged_in_use_stays_within_its_mapping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
