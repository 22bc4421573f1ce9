/* The index of words: updated, created again when it is invalid, deleted on request. */
#include "vault/search/index.h"

#include "vault/store/schema.h"

#include "tests/support/vault_unit.h"

struct vault {
    struct temp temp;
    struct query *q;
    struct search *s;
    int64_t found[64];
    size_t found_n, read_n;
};

static void put(struct vault *v, const char *sql)
{
    (void)sql_rows(&v->temp, sql);
}

/* Messages from `seq` on, one per word. */
static void say(struct vault *v, int64_t session, int64_t seq, const char *body)
{
    char sql[512];
    snprintf(
        sql, sizeof sql,
        "INSERT INTO messages (id, session_id, seq, t_us, direction, origin, kind, body, size,"
        " redactions, action) VALUES (%lld, %lld, %lld, 0, 'c2s', 'peer', 'stderr', '%s', 1, 0,"
        " 'forwarded')",
        (long long)schema_message_id(session, (uint64_t)seq), (long long)session, (long long)seq,
        body);
    put(v, sql);
}

static void session(struct vault *v, int64_t id, const char *uid)
{
    char sql[512];
    snprintf(sql, sizeof sql,
             "INSERT INTO sessions (id, uid, name, command, started_at_us, pid, host, record_level,"
             " interposer_version) VALUES (%lld, '%s', 'n', '[]', 0, 1, 'h', 'full', '0')",
             (long long)id, uid);
    put(v, sql);
}

static int set_up(void **state)
{
    struct vault *v = calloc(1, sizeof *v);
    struct buf error = {0};
    assert_non_null(v);
    temp_make(&v->temp);
    sqlite3_close(sql_vault(&v->temp));
    assert_int_equal(query_open(&v->q, v->temp.vault, &error), 0);
    assert_int_equal(search_open(&v->s, v->q), 0);
    *state = v;
    return 0;
}

static int tear_down(void **state)
{
    struct vault *v = *state;
    search_close(v->s);
    query_close(v->q);
    temp_remove(&v->temp);
    free(v);
    return 0;
}

static bool on_found(void *ctx, int64_t session_id, int64_t seq)
{
    struct vault *v = ctx;
    assert_true(v->found_n < MI_COUNT(v->found));
    v->found[v->found_n++] = schema_message_id(session_id, (uint64_t)seq);
    return true;
}

static void on_read(void *ctx)
{
    struct vault *v = ctx;
    v->read_n++;
}

static void finds(struct vault *v, const char *query, size_t n, const int64_t *ids)
{
    v->found_n = 0;
    assert_int_equal(search_find_messages(v->s, NULL, 0, query, on_found, v), 0);
    assert_int_equal(v->found_n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(v->found[i], ids[i]);
}

static size_t update(struct vault *v, const struct search_session *x, size_t n)
{
    v->read_n = 0;
    assert_int_equal(search_index_update_file(v->s, x, n, on_read, v), 0);
    return v->read_n;
}

static const struct search_session two[] = {{2, "B"}, {1, "A"}};

static void fill(struct vault *v)
{
    session(v, 1, "A");
    session(v, 2, "B");
    say(v, 1, 1, "red green");
    say(v, 1, 2, "green blue");
    say(v, 2, 1, "red");
}

static void test_search_reads_new_messages_and_finds_newest_first(void **state)
{
    struct vault *v = *state;
    int64_t one = schema_message_id(1, 0), other = schema_message_id(2, 0);
    fill(v);
    assert_int_equal(update(v, two, 2), 3);
    finds(v, "\"red\"", 2, (int64_t[]){other + 1, one + 1});
    finds(v, "\"red\" AND \"green\"", 1, (int64_t[]){one + 1});
    finds(v, "\"white\"", 0, NULL);
    assert_int_equal(update(v, two, 2), 0);
    say(v, 1, 3, "white");
    assert_int_equal(update(v, two, 2), 1);
    finds(v, "\"white\"", 1, (int64_t[]){one + 3});
    assert_int_equal(mode_of(temp_path(&v->temp, "vault/Search/0000.db")), 0600);
    assert_int_equal(mode_of(temp_path(&v->temp, "vault/Search")), 0700);
}

static void test_search_sessions_of_another_file_are_separate(void **state)
{
    struct vault *v = *state;
    struct search_session far = {SEARCH_SESSIONS, "F"};
    fill(v);
    session(v, far.id, far.uid);
    say(v, far.id, 1, "red");
    assert_int_equal(update(v, &far, 1), 1);
    finds(v, "\"red\"", 1, (int64_t[]){schema_message_id(far.id, 1)});
    assert_int_equal(update(v, two, 2), 3);
    assert_true(exists(temp_path(&v->temp, "vault/Search/0001.db")));
    assert_int_equal(search_delete_index(v->temp.vault, far.id + 1), 0);
    assert_false(exists(temp_path(&v->temp, "vault/Search/0001.db")));
    assert_true(exists(temp_path(&v->temp, "vault/Search/0000.db")));
    assert_int_equal(search_delete_index(v->temp.vault, far.id + 1),
                     0); /* no file is not an error */
}

static void test_search_removed_session_recreates_the_file(void **state)
{
    struct vault *v = *state;
    fill(v);
    assert_int_equal(update(v, two, 2), 3);
    put(v, "DELETE FROM sessions WHERE id = 2");
    put(v, "DELETE FROM messages WHERE session_id = 2");
    assert_int_equal(update(v, &two[1], 1), 2); /* everything is indexed again */
    finds(v, "\"red\"", 1, (int64_t[]){schema_message_id(1, 1)});
    session(v, 2, "C"); /* the id is used again */
    say(v, 2, 1, "violet");
    struct search_session now[] = {{2, "C"}, {1, "A"}};
    assert_int_equal(update(v, now, 2), 1);
    struct search_session other[] = {{2, "D"}, {1, "A"}};
    assert_int_equal(update(v, other, 2), 3);
}

static void write_junk(const char *path)
{
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    for (int i = 0; i < 5000; i++)
        fputs("junk", f);
    fclose(f);
}

static void test_search_broken_file_is_recreated(void **state)
{
    struct vault *v = *state;
    fill(v);
    assert_int_equal(update(v, two, 2), 3);
    search_close(v->s);
    v->s = NULL;
    write_junk(temp_path(&v->temp, "vault/Search/0000.db"));
    assert_int_equal(search_open(&v->s, v->q), 0);
    assert_int_equal(update(v, two, 2), 3);
    finds(v, "\"blue\"", 1, (int64_t[]){schema_message_id(1, 2)});
    search_close(v->s); /* another format */
    v->s = NULL;
    (void)ask_file(temp_path(&v->temp, "vault/Search/0000.db"), "PRAGMA user_version = 99");
    assert_int_equal(search_open(&v->s, v->q), 0);
    assert_int_equal(update(v, two, 2), 3);
}

static void test_search_two_searches_index_nothing_twice(void **state)
{
    struct vault *v = *state;
    struct search *other = NULL;
    fill(v);
    assert_int_equal(search_open(&other, v->q), 0);
    assert_int_equal(update(v, two, 2), 3);
    v->read_n = 0;
    assert_int_equal(search_index_update_file(other, two, 2, on_read, v), 0);
    assert_int_equal(v->read_n, 0);
    say(v, 2, 2, "white");
    assert_int_equal(search_index_update_file(other, two, 2, on_read, v), 0);
    assert_int_equal(update(v, two, 2), 0);
    finds(v, "\"white\"", 1, (int64_t[]){schema_message_id(2, 2)});
    search_close(other);
}

static void test_search_without_a_folder_is_an_error(void **state)
{
    struct vault *v = *state;
    struct search *s = NULL;
    fill(v);
    assert_int_equal(rmdir(temp_path(&v->temp, "vault/Search")), 0);
    assert_int_equal(symlink("/tmp", temp_path(&v->temp, "vault/Search")), 0);
    assert_int_equal(search_open(&s, v->q), 0);
    assert_int_equal(search_index_update_file(s, two, 2, NULL, NULL), MI_EIO);
    assert_int_equal(search_delete_index(v->temp.vault, 1), MI_EIO);
    search_close(s);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        TEST(test_search_reads_new_messages_and_finds_newest_first),
        TEST(test_search_sessions_of_another_file_are_separate),
        TEST(test_search_removed_session_recreates_the_file),
        TEST(test_search_broken_file_is_recreated),
        TEST(test_search_two_searches_index_nothing_twice),
        TEST(test_search_without_a_folder_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
