/* A file of another program is replaced atomically with its mode, or not changed. */
#include "cli/wrap/replace.h"

#include "tests/support/unit.h"

#include <unistd.h>

static char dir[] = "/tmp/test-replace-XXXXXX";
static char path[64], backup[96];

static int make(void **state)
{
    (void)state;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/file", dir);
    snprintf(backup, sizeof backup, "%s.mcp-interposer.bak", path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("old", f);
    fclose(f);
    assert_int_equal(chmod(path, 0640), 0);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(backup);
    return rmdir(dir); /* fails unless the directory is empty */
}

static bool says(const char *name, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(name, "r");
    if (f == NULL)
        return false;
    size_t n = fread(got, 1, sizeof got - 1, f);
    fclose(f);
    return n == strlen(text) && memcmp(got, text, n) == 0;
}

static void test_replace_file_keeps_its_mode_and_gets_a_backup(void **state)
{
    (void)state;
    struct replace r;
    struct stat st;
    assert_int_equal(replace_open(&r, path), 0);
    assert_true(slice_is(buf_slice(&r.text), "old"));
    assert_false(replace_has_backup(&r));
    assert_int_equal(replace_make_backup(&r), 0);
    assert_true(replace_has_backup(&r));
    assert_int_equal(replace_write(&r, slice_of("new text")), 0);
    assert_true(says(path, "new text") && says(backup, "old"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stat(i == 0 ? path : backup, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0640);
    }
    assert_false(replace_drop_backup(&r, slice_of("other")));
    assert_true(replace_drop_backup(&r, slice_of("old")));
    assert_false(replace_has_backup(&r));
    replace_close(&r);
}

static void test_replace_changed_file_is_not_replaced(void **state)
{
    (void)state;
    struct replace r;
    assert_int_equal(replace_open(&r, path), 0);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    fputs("er", f);
    fclose(f);
    assert_int_equal(replace_write(&r, slice_of("new")), MI_EINVAL);
    assert_string_equal(buf_str(&r.error), "another program has changed it meanwhile; try again");
    assert_true(says(path, "older"));
    replace_close(&r);
}

static void test_replace_backup_other_than_a_regular_file_is_not_replaced(void **state)
{
    (void)state;
    struct replace r;
    assert_int_equal(symlink("/etc/passwd", backup), 0);
    assert_int_equal(replace_open(&r, path), 0);
    assert_int_equal(replace_make_backup(&r), MI_EINVAL);
    assert_true(slice_begins(slice_of(buf_str(&r.error)), "its backup is not a regular file"));
    assert_false(replace_drop_backup(&r, slice_of("")));
    replace_close(&r);
}

static void test_replace_read_only_and_missing_files_are_rejected(void **state)
{
    (void)state;
    struct replace r;
    assert_int_equal(chmod(path, 0440), 0);
    assert_int_equal(replace_open(&r, path), 0);
    assert_int_equal(replace_write(&r, slice_of("new")), MI_EINVAL);
    assert_true(says(path, "old"));
    replace_close(&r);
    assert_int_equal(replace_open(&r, backup), MI_EIO);
    assert_true(r.error.n > 0);
    replace_close(&r);
    assert_int_equal(replace_open(&r, dir), MI_EINVAL);
    replace_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_replace_file_keeps_its_mode_and_gets_a_backup, make,
                                        drop),
        cmocka_unit_test_setup_teardown(test_replace_changed_file_is_not_replaced, make, drop),
        cmocka_unit_test_setup_teardown(
            test_replace_backup_other_than_a_regular_file_is_not_replaced, make, drop),
        cmocka_unit_test_setup_teardown(test_replace_read_only_and_missing_files_are_rejected, make,
                                        drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
