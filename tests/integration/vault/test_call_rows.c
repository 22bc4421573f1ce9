/* call_rows_read: calls of the table, and those that are derived from messages, answer a question alike. */
#include "vault/query/reader.h"

#include "cli/frame/group_line.h"
#include "cli/lists/list.h"
#include "vault/query/count.h"
#include "vault/store/call_batch.h"
#include "vault/store/dir.h"

#include "tests/support/vault_unit.h"

#include <stdlib.h>

#define SESSIONS 9
#define CALLS 24 /* of a session */
#define HOUR ((int64_t)3600 * 1000000)

struct vault {
    struct temp temp;
    sqlite3 *db; /* owned; for writing */
};

static void add_message(struct vault *v, int session, int seq, const char *kind, const char *rest)
{
    char text[512];
    snprintf(text, sizeof text,
             "INSERT INTO messages (id, session_id, seq, t_us, direction, origin, kind, size,"
             " redactions, action, request_seq, finding, method, target) VALUES"
             " ((%d << 36) + %d, %d, %d, %d, %s, '%s', 7, 0, %s)",
             session, seq, session, seq, 1000 * seq * seq,
             strcmp(kind, "request") == 0 ? "'c2s', 'peer'" : "'s2c', 'peer'", kind, rest);
    sql_run(v->db, text);
}

/* Calls of three tools: answered, failed, open, and a `ping`. */
static void add_calls(struct vault *v, int session, int from, int to)
{
    char rest[128];
    for (int i = from; i < to; i++) {
        if (i % 8 == 7)
            snprintf(rest, sizeof rest, "'forwarded', NULL, NULL, 'ping', NULL");
        else
            snprintf(rest, sizeof rest, "'forwarded', NULL, NULL, 'tools/call', 'tool-%d'", i % 3);
        add_message(v, session, 2 * i + 1, "request", rest);
        snprintf(rest, sizeof rest, "'forwarded', %d, %s, NULL, NULL", 2 * i + 1,
                 i % 5 == 1 ? "'tool-error'" : "NULL");
        if (i % 6 != 4)
            add_message(v, session, 2 * i + 2, i % 7 == 3 ? "error" : "result", rest);
    }
}

static int set_up(void **state)
{
    static struct vault v;
    char text[512];
    temp_make(&v.temp);
    v.db = sql_vault(&v.temp);
    for (int i = 1; i <= SESSIONS; i++) {
        snprintf(text, sizeof text,
                 "INSERT INTO sessions (id, uid, name, command, started_at_us, pid, host,"
                 " record_level, interposer_version) VALUES"
                 " (%d, '%026d', 'server-%d', '[]', %lld, %d, 'h', 'full', '0')",
                 i, i, i % 2, (long long)(i * HOUR), i % 4);
        sql_run(v.db, text);
        add_calls(&v, i, 0, CALLS);
    }
    *state = &v;
    return 0;
}

static int tear_down(void **state)
{
    struct vault *v = *state;
    sqlite3_close(v->db);
    temp_remove(&v->temp);
    return 0;
}

/* Puts the calls of these sessions into the table. */
static void fill_in(struct vault *v, const char *sessions)
{
    char text[1024];
    snprintf(
        text, sizeof text,
        "BEGIN; INSERT OR REPLACE INTO calls (id, closing_seq, direction, origin, method, target,"
        " status, t_us, duration_us, request_size, response_size)"
        " SELECT (session_id << 36) + request_seq, response_seq, 'c2s', 'peer', method, target,"
        " status, i.started_at_us - s.started_at_us, duration_us, request_size, response_size"
        " FROM invocations i JOIN sessions s ON s.id = session_id WHERE s.id IN (%s);"
        "UPDATE sessions SET calls = 1 WHERE id IN (%s); COMMIT",
        sessions, sessions);
    sql_run(v->db, text);
}

static struct query *open_it(struct vault *v)
{
    struct query *q = NULL;
    struct buf error = {0};
    if (query_open(&q, v->temp.vault, &error) < 0)
        fail_msg("%s", buf_str(&error));
    buf_close(&error);
    return q;
}

static bool add_line(void *ctx, const struct query_call *c)
{
    buf_printf(ctx, "%lld.%lld %lld %s %.*s %.*s %s %lld %lld %lld %lld\n",
               (long long)c->session_id, (long long)c->request_seq, (long long)c->closing_seq,
               value_get_word(&row_directions, c->direction), (int)c->server.n, c->server.p,
               (int)c->target.n, c->target.p != NULL ? c->target.p : "",
               call_status_name(c->status), (long long)c->started_at_us, (long long)c->duration_us,
               (long long)c->request_size, (long long)c->response_size);
    return true;
}

static const struct filter filters[] = {
    {.since_us = INT64_MIN, .until_us = INT64_MAX},
    {.tool = "tool-1", .since_us = INT64_MIN, .until_us = INT64_MAX},
    {.tool = "*[02]", .server = "server-1", .since_us = INT64_MIN, .until_us = INT64_MAX},
    {.method = "ping", .since_us = INT64_MIN, .until_us = INT64_MAX},
    {.failed = true, .since_us = INT64_MIN, .until_us = INT64_MAX},
    {.statuses = 1u << CALL_OPEN, .since_us = INT64_MIN, .until_us = INT64_MAX},
    {.slow_us = 40000, .since_us = INT64_MIN, .until_us = INT64_MAX},
    {.session_id = 5, .since_us = INT64_MIN, .until_us = INT64_MAX},
    {.up_to_id = 3, .failed = true, .since_us = INT64_MIN, .until_us = INT64_MAX},
    {.since_us = 3 * HOUR + 100000, .until_us = 8 * HOUR + 200000},
};

/* What each filter selects, newest first. */
static struct buf answers(struct vault *v)
{
    struct query *q = open_it(v);
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(filters); i++) {
        struct call_question x = {
            .filter = &filters[i], .newest_first = true, .recorded = i % 2 != 0};
        size_t before = b.n;
        assert_int_equal(query_calls_of(q, &x, add_line, &b), 0);
        if (b.n == before)
            fail_msg("filter %zu selects nothing", i);
        buf_addc(&b, '\n');
    }
    query_close(q);
    return b;
}

static void test_call_rows_stored_and_derived_calls_answer_alike(void **state)
{
    struct vault *v = *state;
    static const char *const steps[] = {"1, 4, 9", "5", "2, 3, 6, 7, 8"};
    struct buf derived = answers(v);
    for (size_t i = 0; i < MI_COUNT(steps); i++) {
        fill_in(v, steps[i]);
        struct buf now = answers(v);
        assert_string_equal(buf_str(&now), buf_str(&derived));
        buf_close(&now);
    }
    buf_close(&derived);
}

/* Rows without the mark are those of a recorder that was killed while it filled a session in. */
static void test_call_rows_of_a_session_without_the_mark_are_not_believed(void **state)
{
    struct vault *v = *state;
    struct buf before = answers(v);
    fill_in(v, "3");
    sql_run(v->db, "UPDATE sessions SET calls = NULL; DELETE FROM calls WHERE id % 3 = 1;"
                   "UPDATE calls SET status = 'timeout'");
    struct buf now = answers(v);
    assert_string_equal(buf_str(&now), buf_str(&before));
    buf_close(&now);
    buf_close(&before);
}

static bool is_at(void *ctx, const struct query_call *c)
{
    int64_t *last = ctx, id = query_call_id(c->session_id, c->request_seq);
    assert_true(id < *last);
    *last = id;
    return c->session_id > 2;
}

static void test_call_rows_newest_first_continue_where_they_are_told_to(void **state)
{
    struct vault *v = *state;
    struct filter all = FILTER_ANY;
    struct call_question x = {.filter = &all, .newest_first = true};
    fill_in(v, "2, 4, 6");
    struct query *q = open_it(v);
    int64_t last = INT64_MAX;
    x.up_to = query_call_id(5, 0);
    assert_int_equal(query_calls_of(q, &x, is_at, &last), 0);
    assert_int_equal(last, query_call_id(2, 2 * CALLS - 1)); /* the callback has ended it */
    x.up_to = last = query_call_id(4, 5) + 1;
    assert_int_equal(query_calls_of(q, &x, is_at, &last), 0);
    query_close(q);
}

struct sorted {
    int64_t last, last_id;
    int n;
};

static bool is_slower(void *ctx, const struct query_call *c)
{
    struct sorted *s = ctx;
    int64_t id = query_call_id(c->session_id, c->request_seq);
    assert_true(c->duration_us < s->last || (c->duration_us == s->last && id < s->last_id));
    s->last = c->duration_us;
    s->last_id = id;
    s->n++;
    return true;
}

static void test_call_rows_slowest_first_come_in_parts_and_are_counted(void **state)
{
    struct vault *v = *state;
    struct filter all = FILTER_ANY;
    struct call_question x = {.filter = &all, .sort = CALLS_SLOWEST, .limit = 50};
    struct sorted s = {.last = INT64_MAX};
    int64_t total;
    bool counted;
    fill_in(v, "2, 4, 6");
    struct query *q = open_it(v);
    for (; x.skip <= SESSIONS * CALLS; x.skip += x.limit)
        assert_int_equal(query_calls_of(q, &x, is_slower, &s), 0);
    assert_int_equal(s.n, SESSIONS * CALLS);
    assert_int_equal(s.last, -1); /* open calls are the last ones */
    assert_int_equal(query_count_calls(q, &x, 60 * 1000000, &total, &counted), 0);
    assert_true(counted);
    assert_int_equal(total, SESSIONS * CALLS);
    all.failed = true;
    assert_int_equal(query_count_calls(q, &x, 60 * 1000000, &total, &counted), 0);
    assert_true(counted && total > 0 && total < SESSIONS * CALLS);
    query_close(q);
}

static bool count_one(void *ctx, const struct query_call *c)
{
    (void)c;
    ++*(int *)ctx;
    return true;
}

static int count_calls_of(struct query *q, int64_t session)
{
    struct filter one = FILTER_ANY;
    int n = 0;
    one.session_id = session;
    assert_int_equal(query_calls_of(q, &(struct call_question){.filter = &one}, count_one, &n), 0);
    return n;
}

static void test_call_rows_of_a_session_that_grows_are_derived_again(void **state)
{
    struct vault *v = *state;
    struct query *q = open_it(v);
    assert_int_equal(count_calls_of(q, 7), CALLS);
    add_calls(v, 7, CALLS, CALLS + 5);
    assert_int_equal(count_calls_of(q, 7), CALLS + 5);
    fill_in(v, "7"); /* from now on it is in the table */
    sql_run(v->db, "DELETE FROM calls WHERE id = (7 << 36) + 1");
    assert_int_equal(count_calls_of(q, 7), CALLS + 4);
    query_close(q);
}

/* The counts of all ways, stored and derived. */
static struct buf counts(struct vault *v)
{
    struct buf b = {0};
    struct query *q = open_it(v);
    for (int by = 0; by < COUNT_WAYS; by++) {
        struct group_line *l;
        struct count c = {.by = (enum count_by)by, .filter = FILTER_ANY};
        assert_int_equal(count_calls(&c, q), 0);
        assert_int_equal(make_group_lines(&c, &c, NULL, &l), 0);
        for (size_t i = 0; i < c.tally.n; i++) {
            buf_slice_add(&b, l[i].key);
            buf_printf(&b, " %lld %lld %lld %lld %lld\n", (long long)l[i].g.calls,
                       (long long)l[i].g.errors, (long long)l[i].g.open, (long long)l[i].p50_us,
                       (long long)l[i].max_us);
        }
        free(l);
        count_close(&c);
    }
    query_close(q);
    return b;
}

static bool goes_on_once(void *ctx)
{
    return ++*(int *)ctx < 2;
}

static void test_call_rows_are_not_read_for_whoever_does_not_go_on(void **state)
{
    struct vault *v = *state;
    struct query *q = open_it(v);
    struct filter any = FILTER_ANY;
    int asked = 0, n = 0;
    struct call_question x = {.filter = &any, .goes_on = goes_on_once, .ctx = &asked};
    assert_int_equal(query_calls_of(q, &x, count_one, &n), 0);
    assert_int_equal(n, SESSIONS * CALLS);
    assert_int_equal(query_calls_of(q, &x, count_one, &n), 0);
    assert_int_equal(n, SESSIONS * CALLS);
    /* once for those whom servers asked, then for the calls */
    struct count c = {.by = COUNT_METHOD, .filter = FILTER_ANY, .goes_on = goes_on_once};
    asked = 0;
    c.ctx = &asked;
    assert_int_equal(count_calls(&c, q), 0);
    assert_int_equal(c.tally.n, 0);
    assert_int_equal(asked, 2);
    count_close(&c);
    query_close(q);
}

struct target {
    struct slice method, status;
    int64_t calls, longest_us;
};

#define RECORD struct target
static const struct show_column columns_of_target[] = {
    {SHOW(method, TEXT, NO_TEXT)},
    {SHOW(status, TEXT, NO_TEXT)},
    {SHOW(calls, NUMBER, NOT_NULL)},
    {SHOW(longest_us, TOOK, MINUS_ONE)},
};
static const struct list list_of_targets = {
    .shown = {SHOW_LIST("target", columns_of_target)},
    .sql = "SELECT method, status, count(*), max(duration_us) FROM @calls WHERE session_id < 6 AND "
           "request_seq > 2 AND server IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2"};

static bool add_target(void *ctx, const void *row)
{
    const struct target *t = row;
    buf_printf(ctx, "%.*s %.*s %lld %lld\n", (int)t->method.n, t->method.p, (int)t->status.n,
               t->status.p, (long long)t->calls, (long long)t->longest_us);
    return true;
}

static struct buf targets(struct vault *v)
{
    struct buf b = {0};
    struct query *q = open_it(v);
    struct list_reading r = {.q = q, .row = add_target, .ctx = &b};
    assert_int_equal(list_read_rows(&list_of_targets, &r), 0);
    query_close(q);
    return b;
}

static void test_call_rows_answer_the_statement_of_a_list(void **state)
{
    struct vault *v = *state;
    struct buf derived = targets(v);
    fill_in(v, "1, 3, 5");
    struct buf some = targets(v);
    fill_in(v, "1, 2, 3, 4, 5, 6");
    struct buf now = targets(v);
    assert_non_null(strstr(buf_str(&now), "tools/call open "));
    assert_non_null(strstr(buf_str(&now), " -1\n")); /* of open calls */
    assert_string_equal(buf_str(&some), buf_str(&derived));
    assert_string_equal(buf_str(&now), buf_str(&derived));
    buf_close(&derived);
    buf_close(&some);
    buf_close(&now);
}

static void test_call_rows_are_counted_alike(void **state)
{
    struct vault *v = *state;
    struct buf derived = counts(v);
    fill_in(v, "1, 2, 3, 4, 5, 6");
    struct buf now = counts(v);
    assert_true(now.n > 100);
    assert_string_equal(buf_str(&now), buf_str(&derived));
    buf_close(&now);
    buf_close(&derived);
}

/* The work for a part of a session does not depend on the length of the session. */
static void test_call_rows_of_a_part_are_found_without_reading_the_rest(void **state)
{
    struct vault *v = *state;
    static const char *const sql[] = {CALL_MESSAGES("0"), CALL_MESSAGES("1")};
    sql_run(v->db, "UPDATE sessions SET protocol_version = '2025-11-25'");
    sql_run(v->db,
            "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n LIMIT 4000)"
            " INSERT INTO messages (id, session_id, seq, t_us, direction, origin, kind, size,"
            " redactions, action, method) SELECT (1 << 36) + i, 1, i, i, 'c2s', 'peer',"
            " 'request', 7, 0, 'forwarded', 'ping' FROM n");
    for (size_t i = 0; i < MI_COUNT(sql); i++) {
        sqlite3_stmt *q = NULL;
        int rows = 0;
        assert_int_equal(sqlite3_prepare_v2(v->db, sql[i], -1, &q, NULL), SQLITE_OK);
        sqlite3_bind_int64(q, 1, schema_message_id(1, 101));
        sqlite3_bind_int64(q, 2, schema_message_id(1, 110));
        while (sqlite3_step(q) == SQLITE_ROW)
            rows++;
        assert_int_equal(rows, 10);
        assert_in_range(sqlite3_stmt_status(q, SQLITE_STMTSTATUS_VM_STEP, 0), 10, 1000);
        sqlite3_finalize(q);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_call_rows_stored_and_derived_calls_answer_alike),
        TEST(test_call_rows_of_a_session_without_the_mark_are_not_believed),
        TEST(test_call_rows_newest_first_continue_where_they_are_told_to),
        TEST(test_call_rows_slowest_first_come_in_parts_and_are_counted),
        TEST(test_call_rows_of_a_session_that_grows_are_derived_again),
        TEST(test_call_rows_are_not_read_for_whoever_does_not_go_on),
        TEST(test_call_rows_answer_the_statement_of_a_list),
        TEST(test_call_rows_are_counted_alike),
        TEST(test_call_rows_of_a_part_are_found_without_reading_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
