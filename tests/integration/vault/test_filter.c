/* filter: the condition of SQL selects what the check in C selects. */
#include "vault/query/reader.h"

#include "journal/uid.h"
#include "vault/store/dir.h"

#include "tests/support/vault_unit.h"

#define SESSIONS 40
#define HOUR ((int64_t)3600 * 1000000)

struct vault {
    struct temp temp;
    sqlite3 *db; /* owned; for writing */
};

/* Sessions of a few servers and clients, one an hour; of every third neither client nor end is known. */
static int set_up(void **state)
{
    static struct vault v;
    static const char *const servers[] = {"mail", "git*", "github", "gitlab", "", "Ünï"};
    static const char *const clients[] = {"claude-code", "", "cursor"};
    char text[512];
    temp_make(&v.temp);
    v.db = sql_vault(&v.temp);
    for (int i = 1; i <= SESSIONS; i++) {
        char client[32] = "NULL", ended[32] = "NULL", uid[UID_LEN + 1] = {0};
        assert_int_equal(uid_make(i * HOUR, uid), 0);
        if (i % 3 != 0) {
            snprintf(client, sizeof client, "'%s'", clients[i % 3]);
            snprintf(ended, sizeof ended, "%lld", (long long)(i * HOUR + i % 5 * HOUR));
        }
        snprintf(text, sizeof text,
                 "INSERT INTO sessions (id, uid, name, command, client_name, started_at_us,"
                 " ended_at_us, pid, host, record_level, interposer_version) VALUES"
                 " (%d, '%s', '%s', '[]', %s, %lld, %s, 4, 'h', 'full', '0')",
                 i, uid, servers[(size_t)i % MI_COUNT(servers)], client, (long long)(i * HOUR),
                 ended);
        sql_run(v.db, text);
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

static const struct filter filters[] = {
    {.until_us = INT64_MAX, .since_us = INT64_MIN},
    {.server = "mail", .until_us = INT64_MAX},
    {.server = "git*", .until_us = INT64_MAX},
    {.server = "git\\*", .until_us = INT64_MAX},
    {.server = "?i[tx]*b", .until_us = INT64_MAX},
    {.server = "", .until_us = INT64_MAX},
    {.server = "Ün?", .until_us = INT64_MAX},
    {.server = "*", .client = "", .until_us = INT64_MAX},
    {.client = "c*", .until_us = INT64_MAX},
    {.client = "cursor", .since_us = 7 * HOUR, .until_us = 30 * HOUR},
    {.since_us = 7 * HOUR + 1, .until_us = INT64_MAX},
    {.until_us = 9 * HOUR},
    {.until_us = 9 * HOUR + 1},
    {.session_id = 12, .until_us = INT64_MAX},
    {.session_id = 12, .server = "none", .until_us = INT64_MAX},
    {.up_to_id = 8, .server = "git*", .until_us = INT64_MAX},
};

struct selected {
    const struct filter *f;
    enum filter_time time;
    bool by_sql[SESSIONS + 1], by_check[SESSIONS + 1];
};

static bool on_selected(void *ctx, const struct query_session *s)
{
    struct selected *x = ctx;
    x->by_sql[s->id] = true;
    return true;
}

static bool on_any(void *ctx, const struct query_session *s)
{
    struct selected *x = ctx;
    x->by_check[s->id] = filter_matches_session(x->f, x->time, s);
    return true;
}

static void test_filter_condition_agrees_with_the_check(void **state)
{
    struct vault *v = *state;
    struct buf error = {0};
    struct query *q;
    assert_int_equal(query_open(&q, v->temp.vault, &error), 0);
    for (size_t i = 0; i < 2 * MI_COUNT(filters); i++) {
        struct selected x = {&filters[i / 2], i % 2 != 0 ? FILTER_BEGAN : FILTER_HOLDS, {0}, {0}};
        assert_int_equal(query_matching_sessions(q, x.f, x.time, 0, on_selected, &x), 0);
        assert_int_equal(query_sessions(q, 0, on_any, &x), 0);
        if (memcmp(x.by_sql, x.by_check, sizeof x.by_sql) != 0)
            fail_msg("filter %zu, time %d", i / 2, (int)x.time);
    }
    query_close(q);
    buf_close(&error);
}

/* The limit counts sessions that match. */
static bool count_one(void *ctx, const struct query_session *s)
{
    (void)s;
    ++*(int *)ctx;
    return true;
}

static void test_filter_condition_of_a_limited_list_selects_that_many(void **state)
{
    struct vault *v = *state;
    struct buf error = {0};
    struct query *q;
    struct filter f = FILTER_ANY;
    int n = 0;
    f.server = "git*";
    assert_int_equal(query_open(&q, v->temp.vault, &error), 0);
    assert_int_equal(query_matching_sessions(q, &f, FILTER_BEGAN, 7, count_one, &n), 0);
    assert_int_equal(n, 7);
    query_close(q);
    buf_close(&error);
}

static void test_filter_project_is_a_directory_and_those_below_it(void **state)
{
    (void)state;
    static const struct {
        const char *project, *cwd;
        bool matches;
    } rows[] = {
        {NULL, NULL, true},
        {"/home/me/app", NULL, false},
        {"/home/me/app", "/home/me/app", true},
        {"/home/me/app/", "/home/me/app", true},
        {"/home/me/app", "/home/me/app/src", true},
        {"/home/me/app", "/home/me/application", false},
        {"/home/me/app", "/home/me", false},
        {"/", "/home", true},
        {"*/app", "/home/me/app", true},
        {"*/app", "/home/me/app/src", false},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct query_session s = {.name = slice_of("files")};
        struct filter f = FILTER_ANY;
        if (rows[i].cwd != NULL)
            s.cwd = slice_of(rows[i].cwd);
        f.project = rows[i].project;
        if (filter_matches_session(&f, FILTER_HOLDS, &s) != rows[i].matches)
            fail_msg("row %zu", i);
    }
}

/* ---- messages ---- */

#define MESSAGES 900

/* Messages of all kinds in session 7, many of which are answers to others, late or in time, or to a request that is missing. */
static void add_messages(struct vault *v)
{
    static const char *const kinds[] = {"request", "result", "error", "notification",
                                        "noise",   "stderr", "batch", "frame"};
    static const char *const methods[] = {"'tools/call'", "'tools/list'", "'ping'", "NULL"};
    static const char *const targets[] = {"'send'", "'read*'", "''", "NULL"};
    static const char *const found[] = {"NULL", "'timeout'", "'crlf,tool-error'", "'server-gone'",
                                        "'interrupted'"};
    static const char *const actions[] = {"forwarded", "forwarded", "refused", "swallowed"};
    struct unit_random r = {.s = 20261126};
    char text[512], request[32];
    sql_run(v->db, "BEGIN");
    for (int seq = 1; seq <= MESSAGES; seq++) {
        size_t of = unit_random(&r, 40);
        snprintf(request, sizeof request, "%d", seq - (int)of);
        snprintf(text, sizeof text,
                 "INSERT INTO messages (id, session_id, seq, t_us, direction, origin, kind, size,"
                 " redactions, action, request_seq, finding, method, target) VALUES"
                 " ((7 << 36) + %d, 7, %d, %d, 'c2s', '%s', '%s', 7, 0, '%s', %s, %s, %s, %s)",
                 seq, seq, seq * 1000, unit_random(&r, 2) == 0 ? "peer" : "interposer",
                 kinds[unit_random(&r, MI_COUNT(kinds))],
                 actions[unit_random(&r, MI_COUNT(actions))], of > 0 && of < 30 ? request : "NULL",
                 found[unit_random(&r, MI_COUNT(found))],
                 methods[unit_random(&r, MI_COUNT(methods))],
                 targets[unit_random(&r, MI_COUNT(targets))]);
        sql_run(v->db, text);
    }
    for (int i = 0; i < 20; i++) {
        snprintf(text, sizeof text,
                 "INSERT INTO events (session_id, t_us, kind) VALUES (7, %d, 'e')", i * 50000);
        sql_run(v->db, text);
    }
    sql_run(v->db, "DELETE FROM messages WHERE seq % 17 = 3; COMMIT");
}

static const struct filter field = {
    .tool = "s*", .failed = true, .since_us = INT64_MIN, .until_us = INT64_MAX};
static const struct filter message_filters[] = {
    {.method = "tools/call", .until_us = INT64_MAX},
    {.method = "tools/*", .until_us = INT64_MAX},
    {.method = "", .until_us = INT64_MAX},
    {.tool = "send", .until_us = INT64_MAX},
    {.tool = "read\\*", .until_us = INT64_MAX},
    {.tool = "*", .until_us = INT64_MAX},
    {.tool = "", .until_us = INT64_MAX},
    {.failed = true, .until_us = INT64_MAX},
    {.failed = true, .method = "*l*", .until_us = INT64_MAX},
    {.kinds = 1u << KIND_ERROR | 1u << KIND_STDERR, .until_us = INT64_MAX},
    {.kinds = 1u << KIND_RESULT, .statuses = 1u << CALL_OK, .until_us = INT64_MAX},
    {.statuses = 1u << CALL_REFUSED, .until_us = INT64_MAX},
    {.statuses = 1u << CALL_TOOL_ERROR | 1u << CALL_ERROR, .until_us = INT64_MAX},
    {.slow_us = 12000, .until_us = INT64_MAX},
    {.slow_us = 12000, .failed = true, .tool = "send", .until_us = INT64_MAX},
    {.since_us = 7 * HOUR + 100000, .until_us = 7 * HOUR + 800000},
    {.since_us = 7 * HOUR + 100001, .until_us = INT64_MAX, .also = &field},
};

struct messages {
    const struct filter *f;
    bool by_sql[MESSAGES + 1], by_check[MESSAGES + 1], listed[MESSAGES + 1];
    int events, events_by_check;
};

static bool on_selected_message(void *ctx, const struct query_message *m)
{
    ((struct messages *)ctx)->by_sql[m->seq] = true;
    return true;
}

static bool on_selected_event(void *ctx, const struct query_event *e)
{
    (void)e;
    ((struct messages *)ctx)->events++;
    return true;
}

static bool on_any_message(void *ctx, const struct query_message *m)
{
    struct messages *x = ctx;
    x->by_check[m->seq] = filter_matches_message(x->f, 7 * HOUR, m);
    return true;
}

static bool on_any_event(void *ctx, const struct query_event *e)
{
    struct messages *x = ctx;
    x->events_by_check += filter_matches_event(x->f, 7 * HOUR, e);
    return true;
}

static void test_filter_condition_of_messages_agrees_with_the_check(void **state)
{
    struct vault *v = *state;
    struct buf error = {0};
    struct query *q;
    add_messages(v);
    assert_int_equal(query_open(&q, v->temp.vault, &error), 0);
    for (size_t i = 0; i < MI_COUNT(message_filters); i++) {
        struct messages x = {.f = &message_filters[i]};
        struct message_question question = {x.f, 7, 7 * HOUR, 0, INT64_MAX};
        int64_t seq[MESSAGES];
        size_t n = 0;
        assert_int_equal(
            query_messages_and_events(q, &question, on_selected_message, on_selected_event, &x), 0);
        assert_int_equal(query_timeline(q, 7, 0, INT64_MAX, on_any_message, on_any_event, &x), 0);
        assert_int_equal(query_find_matching_messages(q, &question, MESSAGES, seq, &n), 0);
        for (size_t k = 0; k < n; k++)
            x.listed[seq[k]] = true;
        if (memcmp(x.by_sql, x.by_check, sizeof x.by_sql) != 0 || n == 0 ||
            memcmp(x.listed, x.by_check, sizeof x.listed) != 0 || x.events != x.events_by_check)
            fail_msg("filter %zu: %zu messages", i, n);
    }
    query_close(q);
    buf_close(&error);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_condition_agrees_with_the_check),
        cmocka_unit_test(test_filter_condition_of_a_limited_list_selects_that_many),
        cmocka_unit_test(test_filter_condition_of_messages_agrees_with_the_check),
        cmocka_unit_test(test_filter_project_is_a_directory_and_those_below_it),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
