/* Bodies too long for the database: one append-only file per session. */
#include "vault/store/bodies.h"

#include "tests/support/vault_unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

/* Replace the functions of the C library: record the system calls and their order. */
static struct {
    int writes, forgets;
    int64_t from, to;
    bool fails;
} asked;

int sync_file_range(int fd, off_t from, off_t n, unsigned how)
{
    assert_true(fd >= 0);
    assert_true((how & SYNC_FILE_RANGE_WAIT_AFTER) != 0); /* only written pages can be dropped */
    assert_int_equal(asked.forgets, asked.writes);
    asked.writes++;
    asked.from = from;
    asked.to = from + n;
    return asked.fails ? -1 : 0;
}

int posix_fadvise(int fd, off_t from, off_t n, int advice)
{
    assert_true(fd >= 0);
    assert_int_equal(advice, POSIX_FADV_DONTNEED);
    assert_int_equal(from, asked.from);
    assert_int_equal(from + n, asked.to);
    asked.forgets++;
    return 0;
}

#define UID "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define FILE_NAME "vault/Bodies/" UID

struct fixture {
    struct temp t;
    struct vault_dir d;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct buf error = {0};
    temp_make(&f.t);
    signal(SIGXFSZ, SIG_IGN);
    *state = &f;
    return vault_dir_open(&f.d, f.t.vault, true, &error);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    vault_dir_close(&f->d);
    temp_remove(&f->t);
    return 0;
}

static void limit_files(size_t bytes)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static void test_bodies_are_appended_each_with_a_newline(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    size_t n;
    bodies_open(&b, f->d.fd, false);
    assert_false(exists(temp_path(&f->t, "vault/Bodies"))); /* no body yet */
    assert_int_equal(bodies_append_body(&b, UID, slice_of("first"), &at), 0);
    assert_int_equal(at, 0);
    assert_int_equal(bodies_append_body(&b, UID, slice_of(""), &at), 0);
    assert_int_equal(at, 6);
    assert_int_equal(bodies_append_body(&b, UID, slice_of("third"), &at), 0);
    assert_int_equal(at, 7);
    bodies_close(&b);
    bodies_close(&b);
    char *text = slurp(temp_path(&f->t, FILE_NAME), &n);
    assert_string_equal(text, "first\n\nthird\n");
    free(text);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/Bodies")), 0700);
    assert_int_equal(mode_of(temp_path(&f->t, FILE_NAME)), 0600);
}

static void test_bodies_are_appended_after_reopening(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    for (int i = 0; i < 3; i++) {
        bodies_open(&b, f->d.fd, i == 1); /* synced or not */
        assert_int_equal(bodies_append_body(&b, UID, slice_of("text"), &at), 0);
        assert_int_equal(at, 5 * i);
        bodies_close(&b);
    }
}

static void test_bodies_large_body_is_complete(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    size_t n = (size_t)5 << 20;
    char *body = malloc(n);
    assert_non_null(body);
    for (size_t i = 0; i < n; i++)
        body[i] = (char)(i % 251);
    bodies_open(&b, f->d.fd, true);
    assert_int_equal(bodies_append_body(&b, UID, (struct slice){body, n}, &at), 0);
    assert_int_equal(b.tail, n + 1);
    bodies_close(&b);
    size_t got;
    char *text = slurp(temp_path(&f->t, FILE_NAME), &got);
    assert_int_equal(got, n + 1);
    assert_memory_equal(text, body, n);
    assert_int_equal(text[n], '\n');
    free(text);
    free(body);
}

/* Half of a body is on the disk: the next one overwrites it. */
static void test_bodies_failed_body_is_overwritten_by_the_next(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    char body[3000];
    memset(body, 'b', sizeof body);
    bodies_open(&b, f->d.fd, false);
    assert_int_equal(bodies_append_body(&b, UID, slice_of("first"), &at), 0);
    limit_files(1000);
    int st = bodies_append_body(&b, UID, (struct slice){body, sizeof body}, &at);
    int e = errno;
    limit_files(1 << 20);
    assert_int_equal(st, MI_EIO);
    assert_int_equal(e, EFBIG);
    assert_int_equal(b.tail, 6);
    assert_int_equal(bodies_append_body(&b, UID, slice_of("second"), &at), 0);
    assert_int_equal(at, 6);
    bodies_close(&b);
    char *text = slurp(temp_path(&f->t, FILE_NAME), NULL);
    assert_memory_equal(text, "first\nsecond\n", 13);
    free(text);
}

static void test_bodies_file_that_is_a_link_is_rejected(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    assert_int_equal(mkdir(temp_path(&f->t, "vault/Bodies"), 0700), 0);
    assert_int_equal(symlink("../../outside", temp_path(&f->t, FILE_NAME)), 0);
    bodies_open(&b, f->d.fd, false);
    assert_int_equal(bodies_append_body(&b, UID, slice_of("text"), &at), MI_EIO);
    assert_int_equal(errno, ELOOP);
    assert_true(b.fd < 0);
    assert_false(exists(temp_path(&f->t, "outside")));
    assert_int_equal(unlink(temp_path(&f->t, FILE_NAME)), 0); /* works once the link is removed */
    assert_int_equal(bodies_append_body(&b, UID, slice_of("text"), &at), 0);
    bodies_close(&b);
}

static void test_bodies_folder_that_is_a_link_is_rejected(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    assert_int_equal(mkdir(temp_path(&f->t, "outside"), 0700), 0);
    assert_int_equal(symlink("../outside", temp_path(&f->t, "vault/Bodies")), 0);
    bodies_open(&b, f->d.fd, false);
    assert_int_equal(bodies_append_body(&b, UID, slice_of("text"), &at), MI_EIO);
    assert_false(exists(temp_path(&f->t, "outside/" UID)));
    bodies_close(&b);
}

static void test_bodies_new_range_is_reported_once_and_from_1_mib(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at, from = -1, to = -1;
    static char body[300000];
    memset(body, 'b', sizeof body);
    bodies_open(&b, f->d.fd, false);
    assert_false(bodies_take_new_range(&b, &from, &to));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bodies_append_body(&b, UID, (struct slice){body, sizeof body}, &at), 0);
        assert_false(bodies_take_new_range(&b, &from, &to)); /* less than a MiB */
    }
    assert_int_equal(bodies_append_body(&b, UID, (struct slice){body, sizeof body}, &at), 0);
    assert_true(bodies_take_new_range(&b, &from, &to));
    assert_int_equal(from, 0);
    assert_int_equal(to, 4 * 300001);
    assert_false(bodies_take_new_range(&b, &from, &to));
    bodies_close(&b);
    bodies_open(&b, f->d.fd, false); /* earlier bodies are not new */
    assert_int_equal(bodies_append_body(&b, UID, slice_of("x"), &at), 0);
    assert_false(bodies_take_new_range(&b, &from, &to));
    bodies_close(&b);
}

static void test_bodies_only_written_range_is_dropped_from_the_cache(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    memset(&asked, 0, sizeof asked);
    bodies_write_to_disk(f->t.vault, UID, 0, 5); /* no folder, no file: does nothing */
    bodies_open(&b, f->d.fd, false);
    assert_int_equal(bodies_append_body(&b, UID, slice_of("0123456789"), &at), 0);
    bodies_close(&b);
    assert_int_equal(asked.writes, 0);
    bodies_write_to_disk(f->t.vault, UID, 2, 7);
    assert_int_equal(asked.writes, 1);
    assert_int_equal(asked.forgets, 1);
    assert_int_equal(asked.from, 2);
    assert_int_equal(asked.to, 7);
    bodies_write_to_disk(f->t.vault, UID, 3, 1000 + BODIES_WRITE_MOST); /* longer than the limit */
    assert_int_equal(asked.from, 1000);
    assert_int_equal(asked.to, 1000 + BODIES_WRITE_MOST);
    asked.writes = asked.forgets = 1;
    asked.fails = true;
    bodies_write_to_disk(f->t.vault, UID, 2, 7);
    assert_int_equal(asked.writes, 2);
    assert_int_equal(asked.forgets, 1); /* not dropped: it could not be written */
    assert_int_equal(unlink(temp_path(&f->t, FILE_NAME)), 0);
    assert_int_equal(symlink("../interposer.db", temp_path(&f->t, FILE_NAME)), 0);
    bodies_write_to_disk(f->t.vault, UID, 2, 7);
    assert_int_equal(asked.writes, 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_bodies_are_appended_each_with_a_newline),
        T(test_bodies_are_appended_after_reopening),
        T(test_bodies_large_body_is_complete),
        T(test_bodies_new_range_is_reported_once_and_from_1_mib),
        T(test_bodies_only_written_range_is_dropped_from_the_cache),
        T(test_bodies_failed_body_is_overwritten_by_the_next),
        T(test_bodies_file_that_is_a_link_is_rejected),
        T(test_bodies_folder_that_is_a_link_is_rejected),
    };
    return cmocka_run_group_tests_name("bodies", tests, NULL, NULL);
}
