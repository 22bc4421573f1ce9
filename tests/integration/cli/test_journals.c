/* The list of a vault's journals: which ones, and how their recorders are doing. */
#include "cli/frame/journals.h"

#include "base/clock.h"
#include "journal/entry_form.h"
#include "journal/journal_file.h"
#include "tests/support/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#define KIND 1

struct fixture {
    char dir[64], vault[80], other[80], link[80];
};

/* One session: its proxy's side, and its recorder's side if there is one. */
struct session {
    struct journal_file writer, reader;
    struct ring w, r;
};

static int make_directories(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (f == NULL)
        return -1;
    snprintf(f->dir, sizeof f->dir, "/dev/shm/test-journals.XXXXXX");
    if (mkdtemp(f->dir) == NULL)
        return -1;
    snprintf(f->vault, sizeof f->vault, "%s/.vault", f->dir);
    snprintf(f->other, sizeof f->other, "%s/.other", f->dir);
    snprintf(f->link, sizeof f->link, "%s/.link", f->dir);
    journal_file_set_dir(f->dir);
    *state = f;
    return mkdir(f->vault, 0700) == 0 && mkdir(f->other, 0700) == 0 &&
                   symlink(f->vault, f->link) == 0
               ? 0
               : -1;
}

static int remove_directories(void **state)
{
    struct fixture *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", f->dir);
    int rc = system(command);
    journal_file_set_dir(NULL);
    free(f);
    return rc;
}

static void begin(struct session *s, const char *vault, const char *name)
{
    struct buf start = {0}, problem = {0};
    char uid[UID_LEN + 1];
    journal_file_find_problem(&problem);
    if (problem.n > 0) {
        print_message("skipped: %s\n", buf_str(&problem));
        buf_close(&problem);
        skip();
    }
    *s = (struct session){.reader.fd = -1};
    assert_int_equal(uid_make(clock_wall_us(), uid), 0);
    struct session_start about = {.uid = slice_of(uid),
                                  .vault = slice_of(vault),
                                  .name = slice_of(name),
                                  .command = slice_of("[\"x\"]"),
                                  .host = slice_of("host"),
                                  .level = RECORD_STANDARD,
                                  .started_wall_us = 1795256137000000,
                                  .pid = 1};
    form_append_session_start(&start, &about);
    assert_int_equal(journal_file_create(&s->writer, uid, NULL), 0);
    assert_true(s->writer.has_name);
    assert_int_equal(ring_create(&s->w, s->writer.fd, 1 << 20, 1 << 20, buf_slice(&start)), 0);
    buf_close(&start);
}

static void attach(struct session *s, pid_t pid)
{
    assert_int_equal(journal_file_reopen(&s->reader, &s->writer), 0);
    assert_int_equal(ring_open(&s->r, s->reader.fd), 0);
    (void)!ring_release_records(&s->r);
    atomic_store(&s->r.shared->reader_pid, pid);
    atomic_store(&s->r.shared->confined, 7);
    atomic_store(&s->r.shared->filtered, 1);
    atomic_store(&s->r.shared->denied.n, 3);
    atomic_store(&s->r.shared->denied.last, 42);
}

static void put(struct session *s, size_t n)
{
    char *p = ring_reserve_record(&s->w, n);
    assert_non_null(p);
    memset(p, 'x', n);
    ring_add_record_head(&s->w, KIND, n);
    (void)!ring_publish_records(&s->w);
}

static void store_all(struct session *s)
{
    uint32_t kind;
    struct slice bytes;
    uint64_t at;
    while (ring_read_next_record(&s->r, &kind, &bytes, &at) == 0)
        continue;
    (void)!ring_release_records(&s->r);
}

static void end(struct session *s)
{
    ring_close(&s->w);
    ring_close(&s->r);
    journal_file_close(&s->writer);
    journal_file_close(&s->reader);
}

static void test_journals_of_a_vault_are_listed_with_their_recorders(void **state)
{
    struct fixture *f = *state;
    struct session a, b;
    struct journals l;
    begin(&a, f->vault, "files");
    begin(&b, f->vault, "git");
    attach(&b, 4711);
    put(&b, 1000);
    assert_false(ring_set_recorder_trouble(&b.r, RING_BUSY));
    assert_int_equal(journals_open(&l, f->vault), 0);
    assert_int_equal(l.n, 2);
    assert_int_equal(l.unreadable, 0);
    const struct journal_view *v = journals_find(&l, a.writer.uid);
    assert_non_null(v);
    assert_string_equal(v->name, "files");
    assert_true(v->writer && !v->reader);
    assert_true(v->recorder == 0 && v->unstored == 0 && v->trouble == RING_FINE);
    v = journals_find(&l, b.writer.uid);
    assert_non_null(v);
    assert_string_equal(v->name, "git");
    assert_true(v->writer && v->reader);
    assert_int_equal(v->recorder, 4711);
    assert_true(v->unstored >= 1000 && v->unstored <= 1016);
    assert_true(v->trouble == RING_BUSY && v->confined == 7);
    assert_true(v->filtered && v->denied == 3 && v->last_denied == 42);
    assert_true(v->started_wall_us == 1795256137000000);
    assert_null(journals_find(&l, "01ARZ3NDEKTSV4RRFFQ69G5FAV"));
    journals_close(&l);
    end(&a);
    end(&b);
}

static void test_journals_of_other_vaults_are_not_listed(void **state)
{
    struct fixture *f = *state;
    struct session a, b;
    struct journals l;
    begin(&a, f->vault, "files");
    begin(&b, f->other, "git");
    assert_int_equal(journals_open(&l, f->link), 0); /* another name of the same directory */
    assert_int_equal(l.n, 1);
    assert_string_equal(l.row[0].uid, a.writer.uid);
    journals_close(&l);
    assert_int_equal(journals_open(&l, "/nowhere"), 0);
    assert_int_equal(l.n, 0);
    journals_close(&l);
    end(&a);
    end(&b);
}

static void test_journals_of_killed_processes_have_neither_side(void **state)
{
    struct fixture *f = *state;
    struct session a;
    struct journals l;
    begin(&a, f->vault, "files");
    put(&a, 10);
    end(&a);
    assert_int_equal(journals_open(&l, f->vault), 0);
    assert_int_equal(l.n, 1);
    assert_true(!l.row[0].writer && !l.row[0].reader && l.row[0].unstored > 0);
    journals_close(&l);
}

static void counted(const struct fixture *f, size_t readable, size_t unreadable)
{
    struct journals l;
    assert_int_equal(journals_open(&l, f->vault), 0);
    assert_int_equal(l.n, readable);
    assert_int_equal(l.unreadable, unreadable);
    journals_close(&l);
}

static void removed(size_t want)
{
    size_t n;
    struct stranded stranded;
    assert_int_equal(journals_remove(&n, &stranded), 0);
    assert_int_equal(n, want);
    assert_int_equal(stranded.n, 0);
}

static void test_journals_whose_vault_is_gone_are_counted_and_removed(void **state)
{
    struct fixture *f = *state;
    struct session gone, file, fine;
    struct journals l;
    struct stranded stranded;
    size_t unreadable;
    char path[300];
    snprintf(path, sizeof path, "%s/a file", f->vault);
    fclose(fopen(path, "we"));
    begin(&gone, "/nowhere/vault", "files");
    begin(&file, path, "files");
    begin(&fine, f->vault, "fine");
    put(&gone, 1000);
    put(&file, 1000);
    put(&fine, 1000);
    counted(f, 1, 0);
    removed(0); /* they run */
    end(&gone);
    end(&file);
    end(&fine);
    assert_int_equal(journals_open(&l, f->vault), 0);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.stranded.n, 2);
    assert_true(l.stranded.bytes >= 2000 && l.stranded.bytes <= 2100);
    assert_true(strcmp(l.stranded.vault, "/nowhere/vault") == 0 ||
                strcmp(l.stranded.vault, path) == 0);
    journals_close(&l);
    assert_int_equal(journals_remove(&unreadable, &stranded), 0);
    assert_int_equal(stranded.n, 2);
    assert_int_equal(unreadable, 0);
    assert_int_equal(journals_open(&l, f->vault), 0);
    assert_int_equal(l.n, 1);
    assert_int_equal(l.stranded.n, 0);
    journals_close(&l);
}

static void test_journals_that_are_damaged_are_counted_and_removed(void **state)
{
    struct fixture *f = *state;
    struct session a, b, fine;
    begin(&fine, f->vault, "fine");
    begin(&a, f->vault, "files");
    begin(&b, f->vault, "files");
    attach(&b, 4711);
    a.w.shared->version++;
    b.w.shared->version++;
    counted(f, 1, 0); /* their proxies run: perhaps they just begin */
    removed(0);
    ring_close(&b.w);
    journal_file_close(&b.writer);
    counted(f, 1, 0); /* a recorder of another version stores it */
    removed(0);
    end(&a);
    end(&b);
    end(&fine);
    counted(f, 1, 2);
    removed(2);
    counted(f, 1, 0);
}

static void test_journals_settle_when_what_was_there_is_stored(void **state)
{
    struct fixture *f = *state;
    struct session a;
    struct journals l;
    begin(&a, f->vault, "files");
    attach(&a, 4711);
    put(&a, 100);
    assert_int_equal(journals_open(&l, f->vault), 0);
    assert_int_equal(l.n, 1);
    assert_false(journals_wait_until_stored(&l.row[0], 0));
    store_all(&a);
    put(&a, 200); /* later messages are not waited for */
    assert_true(journals_wait_until_stored(&l.row[0], 10000));
    assert_true(l.row[0].unstored >= 200);
    assert_false(journals_wait_until_stored(&l.row[0], 0));
    journal_file_remove(&a.writer);
    assert_true(journals_wait_until_stored(&l.row[0], 10000));
    journals_close(&l);
    end(&a);
}

static void test_journals_without_a_recorder_do_not_settle(void **state)
{
    struct fixture *f = *state;
    struct session a;
    struct journals l;
    begin(&a, f->vault, "files");
    assert_int_equal(journals_open(&l, f->vault), 0);
    assert_int_equal(l.n, 1);
    assert_false(journals_wait_until_stored(&l.row[0], 0));
    attach(&a, 4711);
    assert_true(journals_wait_until_stored(&l.row[0], 10000));
    assert_int_equal(l.row[0].recorder, 4711);
    journals_close(&l);
    end(&a);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, make_directories, remove_directories)
    const struct CMUnitTest tests[] = {
        CASE(test_journals_of_a_vault_are_listed_with_their_recorders),
        CASE(test_journals_of_other_vaults_are_not_listed),
        CASE(test_journals_of_killed_processes_have_neither_side),
        CASE(test_journals_that_are_damaged_are_counted_and_removed),
        CASE(test_journals_whose_vault_is_gone_are_counted_and_removed),
        CASE(test_journals_settle_when_what_was_there_is_stored),
        CASE(test_journals_without_a_recorder_do_not_settle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
