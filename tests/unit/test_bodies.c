/* Bodies too long for the database: one append-only file a session, whose end is where its owner says. */
#include "vault/bodies.h"

#include "tests/unit/vault_unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

/* Stand before the C library's: what was asked of the kernel, and in which order. */
static struct {
    int writes, forgets;
    int64_t from, to;
    bool fails;
} asked;

int sync_file_range(int fd, off_t from, off_t n, unsigned how)
{
    assert_true(fd >= 0);
    assert_true((how & SYNC_FILE_RANGE_WAIT_AFTER) != 0); /* only what is written can be let go */
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

static void test_bodies_stand_one_behind_the_other_each_with_a_newline(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    size_t n;
    bodies_open(&b, f->d.fd, false);
    assert_false(exists(temp_path(&f->t, "vault/Bodies"))); /* no body yet */
    assert_int_equal(bodies_add(&b, UID, slice_of("first"), &at), 0);
    assert_int_equal(at, 0);
    assert_int_equal(bodies_add(&b, UID, slice_of(""), &at), 0);
    assert_int_equal(at, 6);
    assert_int_equal(bodies_add(&b, UID, slice_of("third"), &at), 0);
    assert_int_equal(at, 7);
    bodies_close(&b);
    bodies_close(&b);
    char *text = slurp(temp_path(&f->t, FILE_NAME), &n);
    assert_string_equal(text, "first\n\nthird\n");
    free(text);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/Bodies")), 0700);
    assert_int_equal(mode_of(temp_path(&f->t, FILE_NAME)), 0600);
}

static void test_bodies_of_a_session_go_on_after_they_were_opened_anew(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    for (int i = 0; i < 3; i++) {
        bodies_open(&b, f->d.fd, i == 1); /* synced or not */
        assert_int_equal(bodies_add(&b, UID, slice_of("text"), &at), 0);
        assert_int_equal(at, 5 * i);
        bodies_close(&b);
    }
}

static void test_bodies_large_one_is_whole(void **state)
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
    assert_int_equal(bodies_add(&b, UID, (struct slice){body, n}, &at), 0);
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

/* Half of a body is on the disk: the next one takes its place. */
static void test_bodies_that_did_not_fit_leave_the_end_where_it_was(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    char body[3000];
    memset(body, 'b', sizeof body);
    bodies_open(&b, f->d.fd, false);
    assert_int_equal(bodies_add(&b, UID, slice_of("first"), &at), 0);
    limit_files(1000);
    int st = bodies_add(&b, UID, (struct slice){body, sizeof body}, &at);
    int e = errno;
    limit_files(1 << 20);
    assert_int_equal(st, MI_EIO);
    assert_int_equal(e, EFBIG);
    assert_int_equal(b.tail, 6);
    assert_int_equal(bodies_add(&b, UID, slice_of("second"), &at), 0);
    assert_int_equal(at, 6);
    bodies_close(&b);
    char *text = slurp(temp_path(&f->t, FILE_NAME), NULL);
    assert_memory_equal(text, "first\nsecond\n", 13);
    free(text);
}

static void test_bodies_file_that_is_a_link_is_refused(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    assert_int_equal(mkdir(temp_path(&f->t, "vault/Bodies"), 0700), 0);
    assert_int_equal(symlink("../../outside", temp_path(&f->t, FILE_NAME)), 0);
    bodies_open(&b, f->d.fd, false);
    assert_int_equal(bodies_add(&b, UID, slice_of("text"), &at), MI_EIO);
    assert_int_equal(errno, ELOOP);
    assert_true(b.fd < 0);
    assert_false(exists(temp_path(&f->t, "outside")));
    assert_int_equal(unlink(temp_path(&f->t, FILE_NAME)), 0); /* and once it is gone, it goes */
    assert_int_equal(bodies_add(&b, UID, slice_of("text"), &at), 0);
    bodies_close(&b);
}

static void test_bodies_folder_that_is_a_link_is_refused(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    assert_int_equal(mkdir(temp_path(&f->t, "outside"), 0700), 0);
    assert_int_equal(symlink("../outside", temp_path(&f->t, "vault/Bodies")), 0);
    bodies_open(&b, f->d.fd, false);
    assert_int_equal(bodies_add(&b, UID, slice_of("text"), &at), MI_EIO);
    assert_false(exists(temp_path(&f->t, "outside/" UID)));
    bodies_close(&b);
}

static void test_bodies_new_ones_are_handed_out_once_and_when_they_are_many(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at, from = -1, to = -1;
    static char body[300000];
    memset(body, 'b', sizeof body);
    bodies_open(&b, f->d.fd, false);
    assert_false(bodies_new(&b, &from, &to));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(bodies_add(&b, UID, (struct slice){body, sizeof body}, &at), 0);
        assert_false(bodies_new(&b, &from, &to)); /* less than a MiB */
    }
    assert_int_equal(bodies_add(&b, UID, (struct slice){body, sizeof body}, &at), 0);
    assert_true(bodies_new(&b, &from, &to));
    assert_int_equal(from, 0);
    assert_int_equal(to, 4 * 300001);
    assert_false(bodies_new(&b, &from, &to));
    bodies_close(&b);
    bodies_open(&b, f->d.fd, false); /* what was there before is nothing new */
    assert_int_equal(bodies_add(&b, UID, slice_of("x"), &at), 0);
    assert_false(bodies_new(&b, &from, &to));
    bodies_close(&b);
}

static void test_bodies_written_out_are_let_go_after_that_and_nothing_else_is(void **state)
{
    struct fixture *f = *state;
    struct bodies b;
    int64_t at;
    memset(&asked, 0, sizeof asked);
    bodies_write_out(f->t.vault, UID, 0, 5); /* no folder, no file: nothing */
    bodies_open(&b, f->d.fd, false);
    assert_int_equal(bodies_add(&b, UID, slice_of("0123456789"), &at), 0);
    bodies_close(&b);
    assert_int_equal(asked.writes, 0);
    bodies_write_out(f->t.vault, UID, 2, 7);
    assert_int_equal(asked.writes, 1);
    assert_int_equal(asked.forgets, 1);
    assert_int_equal(asked.from, 2);
    assert_int_equal(asked.to, 7);
    bodies_write_out(f->t.vault, UID, 3, 1000 + BODIES_WRITE_MOST); /* nobody waits that long */
    assert_int_equal(asked.from, 1000);
    assert_int_equal(asked.to, 1000 + BODIES_WRITE_MOST);
    asked.writes = asked.forgets = 1;
    asked.fails = true;
    bodies_write_out(f->t.vault, UID, 2, 7);
    assert_int_equal(asked.writes, 2);
    assert_int_equal(asked.forgets, 1); /* not on the disk: the memory has the only copy */
    assert_int_equal(unlink(temp_path(&f->t, FILE_NAME)), 0);
    assert_int_equal(symlink("../interposer.db", temp_path(&f->t, FILE_NAME)), 0);
    bodies_write_out(f->t.vault, UID, 2, 7);
    assert_int_equal(asked.writes, 2);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_bodies_stand_one_behind_the_other_each_with_a_newline),
        T(test_bodies_of_a_session_go_on_after_they_were_opened_anew),
        T(test_bodies_large_one_is_whole),
        T(test_bodies_new_ones_are_handed_out_once_and_when_they_are_many),
        T(test_bodies_written_out_are_let_go_after_that_and_nothing_else_is),
        T(test_bodies_that_did_not_fit_leave_the_end_where_it_was),
        T(test_bodies_file_that_is_a_link_is_refused),
        T(test_bodies_folder_that_is_a_link_is_refused),
    };
    return cmocka_run_group_tests_name("bodies", tests, NULL, NULL);
}
