/* The schema of a database is compared with the one that schema_make_ready() makes. */
#include "vault/store/layout.h"

#include "tests/support/vault_unit.h"
#include "vault/store/schema.h"

static int open_made(void **state)
{
    sqlite3 *db;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK || schema_make_ready(db) < 0)
        return -1;
    *state = db;
    return 0;
}

static int close_made(void **state)
{
    sqlite3_close(*state);
    return 0;
}

struct faults {
    struct buf text; /* "added index more, deceives, misleads; " */
};

static void on_fault(void *ctx, const struct layout_fault *f)
{
    static const char *const kinds[] = {"added", "removed", "changed"};
    struct faults *x = ctx;
    buf_printf(&x->text, "%s ", kinds[f->kind]);
    layout_append_object_name(f, &x->text);
    buf_adds(&x->text, f->deceives ? ", deceives" : "");
    buf_adds(&x->text, f->misleads ? ", misleads; " : "; ");
}

static void expect_faults(sqlite3 *db, const char *expected)
{
    struct faults x = {0};
    assert_int_equal(layout_compare_objects(db, on_fault, &x), 0);
    assert_string_equal(buf_str(&x.text), expected);
    buf_close(&x.text);
}

static void expect_readers(sqlite3 *db, int status)
{
    struct buf error = {0};
    assert_int_equal(layout_find_misleading_table(db, &error), status);
    assert_int_equal(error.n > 0, status == MI_EINVAL);
    buf_close(&error);
}

static void test_layout_of_a_new_database_has_no_faults(void **state)
{
    expect_faults(*state, "");
    expect_readers(*state, 0);
}

static void test_layout_of_an_upgraded_database_has_no_faults(void **state)
{
    static const char *const old[] = {"tests/compat/files/vault-1.sql",
                                      "tests/compat/files/vault-2.sql"};
    (void)state;
    for (size_t i = 0; i < MI_COUNT(old); i++) {
        char text[16384];
        FILE *f = fopen(old[i], "r");
        assert_non_null(f);
        text[fread(text, 1, sizeof text - 1, f)] = '\0';
        fclose(f);
        sqlite3 *db;
        assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
        sql_run(db, text);
        expect_readers(db, 0);
        assert_int_equal(schema_make_ready(db), 0);
        expect_faults(db, "");
        expect_readers(db, 0);
        sqlite3_close(db);
    }
}

static void test_layout_without_additions_has_no_faults(void **state)
{
    sql_run(*state, "DROP VIEW invocations; DROP VIEW closings; DROP TABLE escalations;"
                    "DROP TABLE shipped; DROP TABLE ship_targets");
    expect_faults(*state, "");
    expect_readers(*state, 0);
}

#define REWRITE(set)                                                                               \
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET " set "; PRAGMA writable_schema = "     \
    "RESET"

static const struct {
    const char *sql, *faults;
    int readers;
} changes[] = {
    {"CREATE INDEX more ON messages (id, body)", "added index more, deceives, misleads; ",
     MI_EINVAL},
    {"CREATE INDEX more ON RUNNING (pid)", "added index more, deceives, misleads; ", MI_EINVAL},
    {"CREATE TABLE more (x); CREATE INDEX \"a;b\" ON more (x)", "added table more; added index; ",
     0},
    {"CREATE VIEW more AS SELECT 1", "added view more; ", 0},
    {"CREATE TRIGGER more AFTER INSERT ON messages BEGIN SELECT 1; END", "added trigger more; ", 0},
    {"DROP INDEX events_by_session", "removed index events_by_session, deceives, misleads; ",
     MI_EINVAL},
    {"DROP INDEX events_by_session;"
     "CREATE INDEX events_by_session ON events (session_id, id) WHERE id > 5",
     "changed index events_by_session, deceives, misleads; ", MI_EINVAL},
    {"DROP TABLE leaves", "removed table leaves, deceives; ", 0},
    {"DROP TABLE messages; CREATE VIEW messages AS SELECT 1 AS id",
     "added view messages, deceives, misleads; removed table messages, deceives; ", MI_EINVAL},
    {"DROP TABLE leaves; CREATE VIEW Leaves AS SELECT 1 AS n",
     "added view Leaves, deceives, misleads; removed table leaves, deceives; ", MI_EINVAL},
    {"DROP TABLE running; CREATE VIRTUAL TABLE running USING fts5 (session_id)",
     "changed table running, deceives, misleads; added table running_data; added table "
     "running_idx; "
     "added table running_content; added table running_docsize; added table running_config; ",
     MI_EINVAL},
    {"ALTER TABLE events ADD COLUMN more TEXT", "changed table events, deceives; ", 0},
    {"ALTER TABLE events ADD COLUMN more TEXT AS ('x')",
     "changed table events, deceives, misleads; ", MI_EINVAL},
    {"DROP TABLE leaves; CREATE TABLE leaves (n INTEGER PRIMARY KEY, leaf TEXT NOT NULL)",
     "changed table leaves, deceives; ", 0},
    {"DROP TABLE leaves; CREATE TABLE leaves (n INTEGER, leaf TEXT NOT NULL) STRICT",
     "changed table leaves, deceives, misleads; ", MI_EINVAL},
    {"DROP TABLE leaves; CREATE TABLE leaves (n INTEGER PRIMARY KEY, leaf TEXT NOT NULL UNIQUE) "
     "STRICT",
     "added index sqlite_autoindex_leaves_1, deceives, misleads; ", MI_EINVAL},
    {"DROP VIEW closings; CREATE VIEW closings AS SELECT 1", "changed view closings; ", 0},
    /* what the list of columns does not show */
    {REWRITE("sql = replace(sql, 'leaf TEXT', 'leaf TEXT COLLATE NOCASE') WHERE name = 'leaves'"),
     "changed table leaves, deceives; ", 0},
    {REWRITE("sql = replace(sql, ') STRICT', ', CHECK (length(hex(zeroblob(1000000000))))) STRICT')"
             " WHERE name = 'leaves'"),
     "changed table leaves, deceives; ", 0},
    {REWRITE("sql = replace(sql, 'KEY', 'KEY ON CONFLICT REPLACE') WHERE name = 'leaves'"),
     "changed table leaves, deceives; ", 0},
    {REWRITE("sql = replace(sql, 'KEY', 'KEY AUTOINCREMENT') WHERE name = 'leaves'"),
     "changed table leaves, deceives; ", 0},
    {REWRITE("sql = replace(sql, 'leaf TEXT', 'leaf TEXT /**/') WHERE name = 'leaves'"),
     "changed table leaves, deceives; ", 0},
    {REWRITE("sql = replace(sql, 'id <= 0', 'id <= 0 OR 1') WHERE name = 'sessions'"),
     "changed table sessions, deceives; ", 0},
};

static void test_layout_names_each_change(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(changes); i++) {
        void *db;
        assert_int_equal(open_made(&db), 0);
        sql_run(db, changes[i].sql);
        print_message("%s\n", changes[i].sql);
        expect_faults(db, changes[i].faults);
        expect_readers(db, changes[i].readers);
        close_made(&db);
    }
}

/* layout.c relies on it. */
static void test_layout_sqlite_refuses_a_row_with_another_name_than_its_object(void **state)
{
    static const char *const rows[] = {
        "CREATE INDEX more ON messages (id, body);" REWRITE(
            "name = 'q', tbl_name = 'q' WHERE name = 'more'"),
        "CREATE INDEX more ON messages (id, body);" REWRITE(
            "type = 'view', name = 'q' WHERE name = 'more'"),
        "CREATE TABLE more (x);" REWRITE("name = 'q', tbl_name = 'q' WHERE name = 'more'"),
    };
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        void *db;
        assert_int_equal(open_made(&db), 0);
        (void)sqlite3_exec(db, rows[i], NULL, NULL, NULL);
        print_message("%s\n", rows[i]);
        expect_readers(db, MI_ESTORE);
        close_made(&db);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_layout_of_a_new_database_has_no_faults, open_made,
                                        close_made),
        cmocka_unit_test(test_layout_of_an_upgraded_database_has_no_faults),
        cmocka_unit_test_setup_teardown(test_layout_without_additions_has_no_faults, open_made,
                                        close_made),
        cmocka_unit_test(test_layout_names_each_change),
        cmocka_unit_test(test_layout_sqlite_refuses_a_row_with_another_name_than_its_object),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
