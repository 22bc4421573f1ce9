/* A database is put aside if it is damaged, and only then; once, and without overwriting anything. */
#include "vault/store/damaged_db.h"

#include "tests/support/vault_unit.h"
#include "vault/store/schema.h"

struct fixture {
    struct temp t;
    struct vault_dir dir;
    struct buf why;
};

static int set_up(void **state)
{
    static struct fixture f;
    struct buf error = {0};
    temp_make(&f.t);
    sqlite3 *db = sql_vault(&f.t);
    sql_run(db, "INSERT INTO sessions (uid, name, command, started_at_us, pid, host, record_level, "
                "interposer_version) VALUES ('u', 'n', '[]', 1, 1, 'h', 'full', '1')");
    sqlite3_close(db);
    assert_int_equal(vault_dir_open(&f.dir, f.t.vault, false, &error), 0);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    vault_dir_close(&f->dir);
    buf_close(&f->why);
    temp_remove(&f->t);
    return 0;
}

static const char *in_vault(const struct fixture *f, const char *name, const char *more)
{
    static char path[2][600];
    static int at;
    at ^= 1;
    snprintf(path[at], sizeof path[at], "%s/%s%s", f->t.vault, name, more);
    return path[at];
}

static void write_at(const char *path, long at, const char *text, size_t n)
{
    FILE *file = fopen(path, exists(path) ? "r+e" : "we");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(fwrite(text, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void test_damaged_leaves_a_sound_database(void **state)
{
    struct fixture *f = *state;
    char name[DAMAGED_NAME_MAX];
    assert_int_equal(damaged_db_move_aside(&f->dir, name, &f->why), MI_ENOENT);
    pid_t locker = sql_lock(&f->t, 0);
    assert_int_equal(damaged_db_move_aside(&f->dir, name, &f->why), MI_ENOENT);
    sql_unlock(locker);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM sessions"), "1");
    assert_int_equal(unlink(in_vault(f, VAULT_DB, "")), 0);
    assert_int_equal(damaged_db_move_aside(&f->dir, name, &f->why), MI_ENOENT);
    assert_int_equal(damaged_db_count(f->dir.fd, name), 0);
}

static void test_damaged_renames_all_files_and_overwrites_none(void **state)
{
    struct fixture *f = *state;
    char name[4][DAMAGED_NAME_MAX], newest[DAMAGED_NAME_MAX];
    static const char text[] = "not a database, but a text";
    for (size_t i = 0; i < MI_COUNT(name); i++) { /* several within a second */
        char part[8];
        snprintf(part, sizeof part, "%zu", i);
        write_at(in_vault(f, VAULT_DB, ""), 0, text, sizeof text);
        write_at(in_vault(f, VAULT_DB, ""), 26, part, 1);
        write_at(in_vault(f, VAULT_DB, "-wal"), 0, part, 1);
        assert_int_equal(damaged_db_move_aside(&f->dir, name[i], &f->why), 0);
        assert_string_equal(buf_str(&f->why), "file is not a database");
        assert_false(exists(in_vault(f, VAULT_DB, "")) || exists(in_vault(f, VAULT_DB, "-wal")));
        assert_int_equal(damaged_db_count(f->dir.fd, newest), i + 1);
    }
    for (size_t i = 0; i < MI_COUNT(name); i++) {
        char *db = slurp(in_vault(f, name[i], ""), NULL);
        char *wal = slurp(in_vault(f, name[i], "-wal"), NULL);
        assert_int_equal(db[26] - '0', i);
        assert_int_equal(wal[0] - '0', i);
        free(db);
        free(wal);
    }
}

static void test_damaged_of_several_processes_renames_once(void **state)
{
    struct fixture *f = *state;
    pid_t pid[4];
    int done = 0;
    write_at(in_vault(f, VAULT_DB, ""), 100, "\x99\x99\x99\x99\x99\x99\x99\x99", 8);
    for (size_t i = 0; i < MI_COUNT(pid); i++) {
        pid[i] = fork();
        if (pid[i] == 0) {
            char name[DAMAGED_NAME_MAX];
            struct buf why = {0};
            int st = damaged_db_move_aside(&f->dir, name, &why);
            _exit(st == 0 ? 10 : st == MI_ENOENT ? 0 : 1);
        }
    }
    for (size_t i = 0; i < MI_COUNT(pid); i++) {
        int status;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_true(WIFEXITED(status));
        assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 10);
        done += WEXITSTATUS(status) == 10;
    }
    assert_int_equal(done, 1);
    assert_int_equal(damaged_db_count(f->dir.fd, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_damaged_leaves_a_sound_database, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_renames_all_files_and_overwrites_none, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_of_several_processes_renames_once, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests_name("aside", tests, NULL, NULL);
}
