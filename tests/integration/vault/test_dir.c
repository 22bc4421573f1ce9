/* The vault's directory: found or made, private, and symbolic links in it are not followed. */
#include "vault/store/dir.h"

#include "tests/support/vault_unit.h"

#include <errno.h>
#include <sys/wait.h>

static int set_up(void **state)
{
    static struct temp t;
    temp_make(&t);
    umask(022);
    *state = &t;
    return 0;
}

static int tear_down(void **state)
{
    temp_remove(*state);
    return 0;
}

/* The status of vault_dir_open(); the error must contain `says`, and be empty on success. */
static int open_at(struct vault_dir *d, const char *path, bool create, const char *says)
{
    struct buf error = {0};
    buf_adds(&error, "left over");
    int st = vault_dir_open(d, path, create, &error);
    if (says == NULL)
        assert_int_equal(error.n, 0);
    else if (strstr(buf_str(&error), says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", buf_str(&error), says);
    assert_true((st < 0) == (says != NULL));
    if (st < 0) {
        assert_int_equal(d->fd, -1);
        assert_null(d->path);
        assert_null(memchr(error.p, '\n', error.n)); /* one sentence */
    }
    buf_close(&error);
    return st;
}

static void test_dir_missing_parents_are_made_and_private(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    umask(0);
    assert_int_equal(open_at(&d, temp_path(t, "a/b/c/vault"), true, NULL), 0);
    umask(022);
    static const char *const made[] = {"a", "a/b", "a/b/c", "a/b/c/vault"};
    for (size_t i = 0; i < MI_COUNT(made); i++)
        assert_int_equal(mode_of(temp_path(t, made[i])), 0700);
    assert_string_equal(d.path, temp_path(t, "a/b/c/vault"));
    assert_true(fcntl(d.fd, F_GETFD) & FD_CLOEXEC);
    vault_dir_close(&d);
    assert_int_equal(d.fd, -1);
    assert_null(d.path);
    vault_dir_close(&d);
}

static void test_dir_existing_parents_keep_their_mode(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    assert_int_equal(mkdir(temp_path(t, "open"), 0755), 0);
    assert_int_equal(open_at(&d, temp_path(t, "open/vault"), true, NULL), 0);
    assert_int_equal(mode_of(temp_path(t, "open")), 0755);
    assert_int_equal(mode_of(temp_path(t, "open/vault")), 0700);
    vault_dir_close(&d);
}

static void test_dir_different_spellings_of_a_path_are_one_directory(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    static const char *const paths[] = {"x//vault", "x/vault/", "x/./vault", "x/../x/vault///"};
    for (size_t i = 0; i < MI_COUNT(paths); i++) {
        assert_int_equal(open_at(&d, temp_path(t, paths[i]), true, NULL), 0);
        assert_string_equal(d.path, temp_path(t, "x/vault"));
        vault_dir_close(&d);
    }
}

static void test_dir_relative_path_becomes_absolute(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(t->root), 0);
    assert_int_equal(open_at(&d, "rel/vault", true, NULL), 0);
    assert_int_equal(chdir(here), 0);
    assert_string_equal(d.path, temp_path(t, "rel/vault"));
    vault_dir_close(&d);
}

static void test_dir_missing_directory_is_made_only_on_request(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    assert_int_equal(open_at(&d, t->vault, false, "cannot open vault"), MI_ENOENT);
    assert_false(exists(t->vault));
    assert_int_equal(open_at(&d, temp_path(t, "no/such"), false, "--vault"), MI_ENOENT);
    assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
    vault_dir_close(&d);
    assert_int_equal(open_at(&d, t->vault, false, NULL), 0);
    vault_dir_close(&d);
}

static void test_dir_that_is_a_file_is_rejected(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    FILE *f = fopen(t->vault, "we");
    assert_non_null(f);
    fclose(f);
    assert_int_equal(open_at(&d, t->vault, true, "Not a directory"), MI_EIO);
    assert_int_equal(open_at(&d, t->vault, false, "Not a directory"), MI_EIO);
    assert_int_equal(open_at(&d, temp_path(t, "vault/below"), true, "Not a directory"), MI_EIO);
}

static void test_dir_accessible_to_others_becomes_private_if_empty(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    static const mode_t modes[] = {0755, 0777, 0750, 0701, 01777};
    for (size_t i = 0; i < MI_COUNT(modes); i++) {
        assert_int_equal(mkdir(t->vault, 0700), 0);
        assert_int_equal(chmod(t->vault, modes[i]), 0);
        assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
        assert_int_equal(mode_of(t->vault), 0700);
        vault_dir_close(&d);
        assert_int_equal(rmdir(t->vault), 0);
    }
}

static void test_dir_vault_accessible_to_others_becomes_private_again(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
    int fd = vault_dir_open_file(d.fd, VAULT_DB, O_RDWR | O_CREAT);
    assert_true(fd >= 0);
    close(fd);
    vault_dir_close(&d);
    assert_int_equal(chmod(t->vault, 0777), 0);
    assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
    assert_int_equal(mode_of(t->vault), 0700);
    vault_dir_close(&d);
}

/* --vault /tmp, or a home directory: must not become private. */
static void test_dir_with_other_files_is_rejected_and_not_changed(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    assert_int_equal(mkdir(t->vault, 0755), 0);
    assert_int_equal(mkdir(temp_path(t, "vault/photos"), 0755), 0);
    assert_int_equal(open_at(&d, t->vault, true, "other files"), MI_EIO);
    assert_int_equal(mode_of(t->vault), 0755);
    assert_int_equal(chmod(t->vault, 0700), 0); /* accepted if it is private already */
    assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
    vault_dir_close(&d);
}

static void test_dir_of_another_user_is_rejected(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    if (geteuid() != 0)
        skip();
    assert_int_equal(mkdir(t->vault, 0700), 0);
    assert_int_equal(chown(t->vault, 12345, 12345), 0);
    assert_int_equal(open_at(&d, t->vault, true, "belongs to another user"), MI_EIO);
    assert_int_equal(mode_of(t->vault), 0700);
}

static void test_dir_that_cannot_be_made_reports_the_reason(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    char name[300];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(open_at(&d, temp_path(t, name), true, "File name too long"), MI_EIO);
    assert_int_equal(open_at(&d, "/proc/no/vault", true, "cannot make vault /proc/no/vault"),
                     MI_EIO);
    assert_int_equal(open_at(&d, "/proc/no/vault", true, "choose another with --vault"), MI_EIO);
    assert_int_equal(open_at(&d, "", true, "cannot"), MI_EIO);
}

/* The path given by the user may be a link; below the vault, links are not followed. */
static void test_dir_link_to_the_vault_is_followed_and_resolved(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    assert_int_equal(mkdir(temp_path(t, "real"), 0700), 0);
    assert_int_equal(symlink("real", t->vault), 0);
    assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
    assert_string_equal(d.path, temp_path(t, "real"));
    vault_dir_close(&d);
}

static void test_dir_sub_is_made_private_and_only_on_request(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
    assert_int_equal(vault_dir_open_sub(d.fd, "Logs", false), MI_EIO);
    assert_int_equal(errno, ENOENT);
    umask(0);
    int sub = vault_dir_open_sub(d.fd, "Logs", true);
    umask(022);
    assert_true(sub >= 0);
    assert_true(fcntl(sub, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(mode_of(temp_path(t, "vault/Logs")), 0700);
    close(sub);
    sub = vault_dir_open_sub(d.fd, "Logs", true); /* again */
    assert_true(sub >= 0);
    close(sub);
    vault_dir_close(&d);
}

static void test_dir_sub_that_is_a_link_or_a_file_is_rejected(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
    assert_int_equal(mkdir(temp_path(t, "elsewhere"), 0700), 0);
    assert_int_equal(symlink("../elsewhere", temp_path(t, "vault/Logs")), 0);
    assert_int_equal(vault_dir_open_sub(d.fd, "Logs", true), MI_EIO);
    assert_int_equal(vault_dir_open_sub(d.fd, "Logs", false), MI_EIO);
    int fd = vault_dir_open_file(d.fd, "Bodies", O_WRONLY | O_CREAT);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(vault_dir_open_sub(d.fd, "Bodies", true), MI_EIO);
    assert_int_equal(errno, ENOTDIR);
    assert_int_equal(symlink("nowhere", temp_path(t, "vault/Dangling")), 0);
    assert_int_equal(vault_dir_open_sub(d.fd, "Dangling", true), MI_EIO);
    assert_false(exists(temp_path(t, "vault/nowhere")));
    vault_dir_close(&d);
}

static void test_dir_file_is_private_and_never_a_link(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
    umask(0);
    int fd = vault_dir_open_file(d.fd, "f", O_RDWR | O_CREAT);
    umask(022);
    assert_true(fd >= 0);
    assert_int_equal(mode_of(temp_path(t, "vault/f")), 0600);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_true(vault_dir_file_still_exists(fd));
    assert_int_equal(unlink(temp_path(t, "vault/f")), 0);
    assert_false(vault_dir_file_still_exists(fd));
    close(fd);
    assert_int_equal(vault_dir_open_file(d.fd, "f", O_RDWR), MI_EIO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(symlink("target", temp_path(t, "vault/f")), 0);
    assert_int_equal(vault_dir_open_file(d.fd, "f", O_RDWR | O_CREAT), MI_EIO);
    assert_int_equal(errno, ELOOP);
    assert_false(exists(temp_path(t, "vault/target")));
    assert_false(vault_dir_file_still_exists(-1));
    vault_dir_close(&d);
}

/* Opening a fifo without a peer would block. */
static void test_dir_file_that_is_a_fifo_does_not_block(void **state)
{
    const struct temp *t = *state;
    struct vault_dir d;
    assert_int_equal(open_at(&d, t->vault, true, NULL), 0);
    assert_int_equal(mkfifo(temp_path(t, "vault/f"), 0600), 0);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        int fd = vault_dir_open_file(d.fd, "f", O_WRONLY | O_APPEND | O_CREAT);
        _exit(fd >= 0 ? 1 : 0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    vault_dir_close(&d);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_dir_missing_parents_are_made_and_private),
        T(test_dir_existing_parents_keep_their_mode),
        T(test_dir_different_spellings_of_a_path_are_one_directory),
        T(test_dir_relative_path_becomes_absolute),
        T(test_dir_missing_directory_is_made_only_on_request),
        T(test_dir_that_is_a_file_is_rejected),
        T(test_dir_accessible_to_others_becomes_private_if_empty),
        T(test_dir_vault_accessible_to_others_becomes_private_again),
        T(test_dir_with_other_files_is_rejected_and_not_changed),
        T(test_dir_of_another_user_is_rejected),
        T(test_dir_that_cannot_be_made_reports_the_reason),
        T(test_dir_link_to_the_vault_is_followed_and_resolved),
        T(test_dir_sub_is_made_private_and_only_on_request),
        T(test_dir_sub_that_is_a_link_or_a_file_is_rejected),
        T(test_dir_file_is_private_and_never_a_link),
        T(test_dir_file_that_is_a_fifo_does_not_block),
    };
    return cmocka_run_group_tests_name("dir", tests, NULL, NULL);
}
