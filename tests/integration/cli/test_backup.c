/* The original text of a configuration file is kept in a private directory, under a name that no other file has. */
#include "cli/wrap/backup.h"

#include "tests/support/vault_unit.h"

#include <fcntl.h>
#include <unistd.h>

static struct temp t;
static struct buf error, kept;

static int make(void **state)
{
    (void)state;
    temp_make(&t);
    return 0;
}

static int drop(void **state)
{
    (void)state;
    temp_remove(&t);
    buf_close(&error);
    buf_close(&kept);
    return 0;
}

static void backup_path(const char *name, char *ret, size_t n)
{
    assert_true(snprintf(ret, n, "%s/%s", t.vault, name) < (int)n);
}

static void test_backup_is_named_by_the_whole_path(void **state)
{
    (void)state;
    static const struct {
        const char *path, *name;
    } rows[] = {
        {"/home/me/.mcp.json", "%2Fhome%2Fme%2F.mcp.json"},
        {"/a b/c", "%2Fa b%2Fc"},
        {"/a%2Fb", "%2Fa%252Fb"},
        {"/\n\x7f\xc3\xa4", "%2F%0A%7F%C3%A4"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char at[512];
        assert_false(backup_exists(t.vault, rows[i].path));
        assert_int_equal(backup_make(t.vault, rows[i].path, slice_of("old"), &error), 0);
        assert_true(backup_exists(t.vault, rows[i].path));
        backup_path(rows[i].name, at, sizeof at);
        assert_int_equal(access(at, F_OK), 0);
        backup_remove_copies_of_text(t.vault, rows[i].path, slice_of("old"), &kept);
        assert_int_equal(kept.n, 0);
        assert_false(backup_exists(t.vault, rows[i].path));
    }
}

static void test_backup_list_has_the_path_of_each_file(void **state)
{
    (void)state;
    static const char *const paths[] = {"/home/me/.mcp.json", "/a b%2Fc", "/\n\x7f\xc3\xa4"};
    static const char *const others[] = {"12.part", "a", "%2", "%2Fa%G0", "%2fa"};
    struct buf list = {0};
    assert_int_equal(backup_list(t.vault, &list), 0); /* there is no directory */
    assert_int_equal(list.n, 0);
    for (size_t i = 0; i < MI_COUNT(paths); i++)
        assert_int_equal(backup_make(t.vault, paths[i], slice_of("old"), &error), 0);
    for (size_t i = 0; i < MI_COUNT(others); i++) {
        char at[512];
        backup_path(others[i], at, sizeof at);
        assert_int_equal(close(open(at, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)), 0);
    }
    assert_int_equal(backup_list(t.vault, &list), 0);
    size_t found = 0, listed = 0;
    for (size_t at = 0; at < list.n; at += strlen(list.p + at) + 1, listed++)
        for (size_t i = 0; i < MI_COUNT(paths); i++)
            found += strcmp(list.p + at, paths[i]) == 0;
    assert_int_equal(found, MI_COUNT(paths));
    assert_int_equal(listed, MI_COUNT(paths));
    buf_close(&list);
}

static void test_backup_that_differs_is_kept(void **state)
{
    (void)state;
    static const char *const others[] = {"", "ol", "older", "new"};
    assert_int_equal(backup_make(t.vault, "/x", slice_of("new"), &error), 0);
    assert_int_equal(backup_make(t.vault, "/x", slice_of("old"), &error), 0);
    for (size_t i = 0; i < MI_COUNT(others); i++) {
        char at[512];
        backup_path("%2Fx", at, sizeof at);
        buf_clear(&kept);
        backup_remove_copies_of_text(t.vault, "/x", slice_of(others[i]), &kept);
        assert_string_equal(buf_str(&kept), at);
        assert_true(backup_exists(t.vault, "/x"));
    }
}

static void test_backup_of_a_long_path_is_refused(void **state)
{
    (void)state;
    char path[300];
    memset(path, 'x', sizeof path);
    path[0] = '/';
    path[sizeof path - 1] = '\0';
    assert_int_equal(backup_make(t.vault, path, slice_of("old"), &error), MI_EIO);
    assert_non_null(strstr(buf_str(&error), "the path of the file is too long"));
}

static void test_backup_directory_that_is_a_link_is_not_followed(void **state)
{
    (void)state;
    assert_int_equal(symlink("/tmp", t.vault), 0);
    assert_int_equal(backup_make(t.vault, "/x", slice_of("old"), &error), MI_EIO);
    assert_non_null(strstr(buf_str(&error), "cannot open "));
    assert_false(backup_exists(t.vault, "/x"));
}

static void test_backup_directory_becomes_private(void **state)
{
    (void)state;
    struct stat st;
    assert_int_equal(mkdir(t.vault, 0755), 0);
    assert_int_equal(backup_make(t.vault, "/x", slice_of("old"), &error), 0);
    assert_int_equal(stat(t.vault, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_backup_is_named_by_the_whole_path, make, drop),
        cmocka_unit_test_setup_teardown(test_backup_list_has_the_path_of_each_file, make, drop),
        cmocka_unit_test_setup_teardown(test_backup_that_differs_is_kept, make, drop),
        cmocka_unit_test_setup_teardown(test_backup_of_a_long_path_is_refused, make, drop),
        cmocka_unit_test_setup_teardown(test_backup_directory_becomes_private, make, drop),
        cmocka_unit_test_setup_teardown(test_backup_directory_that_is_a_link_is_not_followed, make,
                                        drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
