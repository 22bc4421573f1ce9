/* The SQL schema is an interface: its tables, their columns, and what the views make of them. */
#include "vault/schema.h"

#include "tests/unit/vault_unit.h"

#include <sys/wait.h>

struct fixture {
    struct temp t;
    char db_path[256];
    sqlite3 *db;
};

static int set_up(void **state)
{
    static struct fixture f;
    temp_make(&f.t);
    snprintf(f.db_path, sizeof f.db_path, "%s/interposer.db", f.t.root);
    *state = &f;
    return sqlite3_open(f.db_path, &f.db);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    sqlite3_close(f->db);
    temp_remove(&f->t);
    return 0;
}

static void run(sqlite3 *db, const char *sql)
{
    char *error = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
        fail_msg("%s: %s", sql, error);
}

static void test_schema_new_database_gets_the_documented_tables(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *table, *columns;
    } rows[] = {
        {"sessions", "id uid name command client_name client_version server_name server_version "
                     "protocol_version "
                     "started_at_us ended_at_us end_reason exit_status pid host record_level "
                     "interposer_version redact_rules"},
        {"messages", "id session_id seq t_us direction origin kind rpc_id method target body "
                     "body_offset body_length "
                     "size redactions action request_seq error_code batch_seq finding"},
        {"events", "id session_id t_us kind detail"},
        {"running", "session_id boot pid_namespace pid pid_start client_pid client_start "
                    "server_pid server_start server_group server_session"},
        {"invocations", "session_id request_seq response_seq method target status error_code "
                        "started_at_us duration_us "
                        "request_size response_size"},
    };
    assert_int_equal(schema_ready(f->db), 0);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "SELECT group_concat(name, ' ') FROM pragma_table_info('%s')",
                 rows[i].table);
        assert_string_equal(ask_file(f->db_path, sql), rows[i].columns);
    }
    assert_string_equal(ask_file(f->db_path, "PRAGMA user_version"), "2");
    assert_string_equal(ask_file(f->db_path,
                                 "SELECT count(*) FROM pragma_table_list WHERE strict AND "
                                 "name IN ('sessions','messages','events','running')"),
                        "4");
}

static void test_schema_ready_database_is_left_as_it_is(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(schema_ready(f->db), 0);
    run(f->db, "INSERT INTO events (session_id, t_us, kind) VALUES (1, 2, 'x')");
    assert_int_equal(schema_ready(f->db), 0);
    assert_string_equal(ask_file(f->db_path, "SELECT kind FROM events"), "x");
    assert_true(sqlite3_get_autocommit(f->db));
}

static void test_schema_of_a_newer_program_is_refused_and_not_touched(void **state)
{
    struct fixture *f = *state;
    run(f->db, "CREATE TABLE later (x); PRAGMA user_version = 3");
    assert_int_equal(schema_ready(f->db), MI_EINVAL);
    assert_string_equal(ask_file(f->db_path, "SELECT group_concat(name) FROM sqlite_schema"),
                        "later");
    assert_string_equal(ask_file(f->db_path, "PRAGMA user_version"), "3");
}

static void test_schema_of_version_1_is_upgraded_and_keeps_its_rows(void **state)
{
    struct fixture *f = *state;
    char *old = slurp("tests/unit/vault-1.sql", NULL);
    run(f->db, old);
    free(old);
    assert_int_equal(schema_ready(f->db), 0);
    assert_string_equal(ask_file(f->db_path, "PRAGMA user_version"), "2");
    assert_string_equal(ask_file(f->db_path, "SELECT uid, name, exit_status FROM sessions"),
                        "01M7Z9DM2SK3DS7R3K84HY2Z73|answer|0");
    assert_string_equal(ask_file(f->db_path, "SELECT count(*) FROM messages"), "5");
    assert_string_equal(ask_file(f->db_path, "SELECT group_concat(kind) FROM events"),
                        "spawn,exit");
    assert_string_equal(ask_file(f->db_path, "SELECT method, status FROM invocations ORDER BY 1"),
                        "initialize|ok;tools/call|ok");
    assert_string_equal(ask_file(f->db_path, "SELECT count(*) FROM running"), "0");
    assert_int_equal(schema_ready(f->db), 0);
}

/* All that makes an interface: what an old vault becomes is what a new one is. */
static void test_schema_upgraded_is_the_same_as_made_new(void **state)
{
    struct fixture *f = *state;
    static const char all[] = "SELECT type, name, sql FROM sqlite_schema ORDER BY type, name";
    char *old = slurp("tests/unit/vault-1.sql", NULL), fresh_path[300];
    run(f->db, old);
    free(old);
    assert_int_equal(schema_ready(f->db), 0);
    char *upgraded = strdup(ask_file(f->db_path, all));
    sqlite3 *fresh = NULL;
    snprintf(fresh_path, sizeof fresh_path, "%s/fresh.db", f->t.root);
    assert_int_equal(sqlite3_open(fresh_path, &fresh), SQLITE_OK);
    assert_int_equal(schema_ready(fresh), 0);
    sqlite3_close(fresh);
    assert_string_equal(upgraded, ask_file(fresh_path, all));
    free(upgraded);
}

static void test_schema_in_a_file_that_is_no_database_is_refused(void **state)
{
    struct fixture *f = *state;
    FILE *file = fopen(f->db_path, "we");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++)
        fputs("this is a text file, not a database\n", file);
    fclose(file);
    assert_int_equal(schema_ready(f->db), MI_ESTORE);
    assert_int_equal(sqlite3_errcode(f->db), SQLITE_NOTADB);
}

/* A database that somebody else made under our name: nothing of it is changed half-way. */
static void test_schema_that_cannot_be_made_leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    run(f->db, "CREATE TABLE events (mine)");
    assert_int_equal(schema_ready(f->db), MI_ESTORE);
    assert_true(sqlite3_get_autocommit(f->db));
    assert_string_equal(ask_file(f->db_path, "SELECT group_concat(name) FROM sqlite_schema"),
                        "events");
    assert_string_equal(ask_file(f->db_path, "PRAGMA user_version"), "0");
}

static void test_schema_database_locked_by_another_is_told_as_busy(void **state)
{
    struct fixture *f = *state;
    sqlite3 *other = NULL;
    assert_int_equal(sqlite3_open(f->db_path, &other), SQLITE_OK);
    run(other, "BEGIN IMMEDIATE");
    assert_int_equal(schema_ready(f->db), MI_ESTORE);
    assert_int_equal(sqlite3_errcode(f->db), SQLITE_BUSY);
    assert_true(sqlite3_get_autocommit(f->db));
    run(other, "ROLLBACK");
    assert_int_equal(schema_ready(f->db), 0);
    sqlite3_close(other);
}

/* Several meet one new vault at once: all of them find it ready. */
static void test_schema_made_by_many_at_once_is_made_once(void **state)
{
    struct fixture *f = *state;
    run(f->db, "PRAGMA journal_mode = WAL");
    pid_t pid[6];
    for (size_t i = 0; i < MI_COUNT(pid); i++) {
        pid[i] = fork();
        if (pid[i] != 0)
            continue;
        sqlite3 *db = NULL;
        int st = sqlite3_open(f->db_path, &db) == SQLITE_OK ? 0 : 1;
        sqlite3_busy_timeout(db, 10000);
        if (st == 0)
            st = schema_ready(db) == 0 ? 0 : 2;
        sqlite3_close(db);
        _exit(st);
    }
    for (size_t i = 0; i < MI_COUNT(pid); i++) {
        int status = -1;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    assert_string_equal(ask_file(f->db_path,
                                 "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                                 "name NOT LIKE 'sqlite%'"),
                        "4");
}

static void test_schema_message_id_is_session_and_seq(void **state)
{
    (void)state;
    assert_true(schema_message_id(1, 1) == ((int64_t)1 << 36) + 1);
    assert_true(schema_message_id(3, 7) == 3 * (int64_t)68719476736 + 7);
    assert_true(schema_message_id(1, ((uint64_t)1 << 36) - 1) < schema_message_id(2, 1));
    assert_true(schema_message_id(((int64_t)1 << 27) - 1, ((uint64_t)1 << 36) - 1) == INT64_MAX);
}

static void add(sqlite3 *db, int seq, const char *values)
{
    char sql[600];
    snprintf(sql, sizeof sql,
             "INSERT INTO messages (id, session_id, seq, t_us, size, redactions, direction, "
             "origin, kind,"
             " action, request_seq, method, target, body, finding, error_code)"
             " VALUES ((1 << 36) + %d, 1, %d, %d * 10, %d + 100, 0, %s)",
             seq, seq, seq, seq, values);
    run(db, sql);
}

static void test_schema_invocations_tell_the_end_of_each_request_of_the_client(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(schema_ready(f->db), 0);
    run(f->db,
        "INSERT INTO sessions (id, uid, name, command, started_at_us, pid, host, record_level,"
        " interposer_version) VALUES (1, 'U', 'n', '[]', 1000000, 1, 'h', 'full', '0')");
    add(f->db, 1, "'c2s','peer','request','forwarded',NULL,'tools/call','a',NULL,NULL,NULL");
    add(f->db, 2, "'c2s','peer','request','forwarded',NULL,'tools/call','b',NULL,NULL,NULL");
    add(f->db, 3, "'c2s','peer','request','forwarded',NULL,'x','c',NULL,NULL,NULL");
    add(f->db, 4, "'c2s','peer','request','forwarded',NULL,'x','d',NULL,NULL,NULL");
    add(f->db, 5, "'c2s','peer','request','forwarded',NULL,'x','e',NULL,NULL,NULL");
    add(f->db, 6, "'c2s','peer','request','refused',NULL,'x','f',NULL,NULL,NULL");
    add(f->db, 7, "'c2s','peer','request','forwarded',NULL,'x','g',NULL,NULL,NULL");
    add(f->db, 8, "'s2c','peer','request','forwarded',NULL,'roots/list',NULL,NULL,NULL,NULL");
    add(f->db, 11, "'s2c','peer','result','forwarded',1,NULL,NULL,NULL,NULL,NULL");
    add(f->db, 12, "'s2c','peer','result','forwarded',2,NULL,NULL,NULL,'tool-error',NULL");
    add(f->db, 13, "'s2c','peer','error','forwarded',3,NULL,NULL,'{',NULL,-32602");
    add(f->db, 14,
        "'c2s','peer','notification','forwarded',4,'notifications/cancelled',NULL,NULL,NULL,NULL");
    add(f->db, 15, "'s2c','peer','result','swallowed',4,NULL,NULL,NULL,'late-answer',NULL");
    add(f->db, 16, "'s2c','interposer','error','forwarded',5,NULL,NULL,NULL,'server-gone',-32000");
    add(f->db, 17, "'s2c','interposer','error','forwarded',6,NULL,NULL,NULL,NULL,-32600");
    add(f->db, 18, "'c2s','peer','result','forwarded',8,NULL,NULL,NULL,NULL,NULL");
    assert_string_equal(
        ask_file(f->db_path,
                 "SELECT request_seq, response_seq, target, status, error_code, started_at_us,"
                 " duration_us, request_size, response_size FROM invocations ORDER BY request_seq"),
        "1|11|a|ok|-|1000010|100|101|111;"
        "2|12|b|tool-error|-|1000020|100|102|112;"
        "3|13|c|error|-32602|1000030|100|103|113;"
        "4|-|d|cancelled|-|1000040|100|104|-;"
        "5|16|e|server-gone|-32000|1000050|110|105|116;"
        "6|17|f|refused|-32600|1000060|110|106|117;"
        "7|-|g|open|-|1000070|-|107|-");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_schema_new_database_gets_the_documented_tables),
        T(test_schema_ready_database_is_left_as_it_is),
        T(test_schema_of_a_newer_program_is_refused_and_not_touched),
        T(test_schema_of_version_1_is_upgraded_and_keeps_its_rows),
        T(test_schema_upgraded_is_the_same_as_made_new),
        T(test_schema_in_a_file_that_is_no_database_is_refused),
        T(test_schema_that_cannot_be_made_leaves_nothing_behind),
        T(test_schema_database_locked_by_another_is_told_as_busy),
        T(test_schema_made_by_many_at_once_is_made_once),
        T(test_schema_message_id_is_session_and_seq),
        T(test_schema_invocations_tell_the_end_of_each_request_of_the_client),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
