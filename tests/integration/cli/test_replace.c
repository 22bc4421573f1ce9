/* A file of another program is replaced atomically with its mode, or not changed. */
#include "cli/frame/replace.h"

#include "tests/support/unit.h"

#include <unistd.h>

static char dir[] = "/tmp/test-replace-XXXXXX";
static char path[64], missing[96];

static int make(void **state)
{
    (void)state;
    strcpy(dir + strlen(dir) - 6, "XXXXXX");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/file", dir);
    snprintf(missing, sizeof missing, "%s/missing", dir);
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

static void test_replace_file_keeps_its_mode(void **state)
{
    (void)state;
    struct replace r;
    struct stat st;
    assert_int_equal(replace_open(&r, path), 0);
    assert_true(slice_is(buf_slice(&r.text), "old"));
    assert_int_equal(replace_write_file(&r, slice_of("new text")), 0);
    assert_true(says(path, "new text"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0640);
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
    assert_int_equal(replace_write_file(&r, slice_of("new")), MI_EINVAL);
    assert_string_equal(buf_str(&r.error),
                        "another program has changed the file meanwhile; try again");
    assert_true(says(path, "older"));
    replace_close(&r);
}

static void test_replace_read_only_and_missing_files_are_rejected(void **state)
{
    (void)state;
    struct replace r;
    assert_int_equal(chmod(path, 0440), 0);
    assert_int_equal(replace_open(&r, path), 0);
    assert_int_equal(replace_write_file(&r, slice_of("new")), MI_EINVAL);
    assert_true(says(path, "old"));
    replace_close(&r);
    assert_int_equal(replace_open(&r, missing), MI_EIO);
    assert_true(r.error.n > 0);
    replace_close(&r);
    assert_int_equal(replace_open(&r, dir), MI_EINVAL);
    replace_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_replace_file_keeps_its_mode, make, drop),
        cmocka_unit_test_setup_teardown(test_replace_changed_file_is_not_replaced, make, drop),
        cmocka_unit_test_setup_teardown(test_replace_read_only_and_missing_files_are_rejected, make,
                                        drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
