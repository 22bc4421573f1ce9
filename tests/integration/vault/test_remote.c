/* A store of two vaults in memory, read through the statements of vault/query. */
#include "tests/support/remote_unit.h"

#include "journal/uid.h"
#include "vault/query/count.h"
#include "vault/search/index.h"
#include "vault/store/columns.h"
#include "vault/store/schema.h"

#include <stdlib.h>

/* ---- sessions ---- */

struct listed {
    int n, expected;
};

static bool on_session(void *ctx, const struct query_session *x)
{
    struct listed *l = ctx;
    char uid[27];
    uid_of(l->expected, uid);
    assert_true(slice_is(x->uid, uid));
    assert_int_equal(x->number, l->expected / 2 + 1);
    assert_true(x->uid_unique > 8 && x->uid_unique <= 26);
    l->expected--;
    l->n++;
    return true;
}

static void test_remote_sessions_are_newest_first(void **state)
{
    (void)state;
    struct store s = {.sessions = SESSIONS};
    struct listed l = {.expected = SESSIONS - 1};
    struct query *q = open_store(&s);
    assert_int_equal(query_sessions(q, 0, on_session, &l), 0);
    assert_int_equal(l.n, SESSIONS);
    assert_int_equal(s.asked, 6); /* far fewer than sessions */
    query_close(q);
    assert_true(s.closed);
}

static void test_remote_many_sessions_are_read_in_pages_that_grow(void **state)
{
    (void)state;
    struct store s = {.sessions = 4000};
    struct listed l = {.expected = s.sessions - 1};
    struct query *q = open_store(&s);
    assert_int_equal(query_sessions(q, 0, on_session, &l), 0);
    assert_int_equal(l.n, s.sessions);
    assert_true(s.asked < 32); /* half of those that pages of 64 need */
    query_close(q);
}

/* A page that ends with session 1, the first that was read. */
static void test_remote_sessions_go_on_after_one_that_was_read_before(void **state)
{
    (void)state;
    for (int back = 60; back < 70; back++) {
        struct store s = {.sessions = SESSIONS};
        struct listed l = {.expected = SESSIONS - 1};
        struct query *q = open_store(&s);
        struct query_session x;
        char uid[27];
        uid_of(SESSIONS - back, uid);
        assert_int_equal(query_session(q, uid, &x), 0);
        assert_int_equal(x.id, 1);
        assert_int_equal(query_sessions(q, 0, on_session, &l), 0);
        assert_int_equal(l.n, SESSIONS);
        query_close(q);
    }
}

static void test_remote_session_is_found_by_each_reference(void **state)
{
    (void)state;
    struct store s = {.sessions = SESSIONS, .messages = 5};
    struct query *q = open_store(&s);
    struct query_session x;
    char uid[27];
    uid_of(41, uid);
    assert_int_equal(query_session(q, uid, &x), 0);
    assert_true(slice_is(x.uid, uid));
    assert_int_equal(query_session(q, NULL, &x), 0);
    uid_of(SESSIONS - 1, uid);
    assert_true(slice_is(x.uid, uid));
    assert_int_equal(query_session(q, "even", &x), 0);
    uid_of(SESSIONS - 2, uid);
    assert_true(slice_is(x.uid, uid));
    assert_int_equal(query_session(q, "01M82W32", &x), MI_EINVAL);
    assert_int_equal(query_session(q, "nothing", &x), MI_ENOENT);
    assert_int_equal(query_session(q, "7", &x), MI_EINVAL); /* in both vaults */
    assert_non_null(strstr(query_error(q), "several vaults have a session 7"));
    assert_int_equal(query_session(q, "999", &x), MI_ENOENT);
    s.sessions = 1;
    assert_int_equal(query_session(q, "1", &x), 0);
    assert_int_equal(x.number, 1);
    query_close(q);
}

static bool on_none(void *ctx, const struct query_session *x)
{
    (void)ctx, (void)x;
    fail_msg("a session");
    return false;
}

/* A list that begins at a time does not read older sessions: their UIDs have their time. */
static void test_remote_sessions_before_since_are_not_read(void **state)
{
    (void)state;
    struct store s = {.sessions = 4000};
    struct query *q = open_store(&s);
    struct filter f = FILTER_ANY;
    char uid[27], since[UID_TIME_LEN + 1];
    f.since_us = INT64_C(1795392900) * 1000000; /* a second later than all UIDs */
    uid_of(s.sessions - 1, uid);
    uid_make_time_prefix(f.since_us, since);
    assert_true(strcmp(uid, since) < 0);
    assert_int_equal(query_matching_sessions(q, &f, FILTER_BEGAN, 0, on_none, NULL), 0);
    assert_int_equal(s.asked, 1);
    query_close(q);
}

static bool is_even(void *ctx, const struct query_session *x)
{
    assert_true(slice_is(x->name, "even"));
    ++*(int *)ctx;
    return true;
}

/* The store is asked for a name; a glob is compared here. */
static void test_remote_sessions_of_a_server_are_asked_for(void **state)
{
    (void)state;
    static const char *const names[] = {"even", "e*"};
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        struct store s = {.sessions = SESSIONS};
        struct query *q = open_store(&s);
        struct filter f = FILTER_ANY;
        int n = 0;
        f.server = names[i];
        assert_int_equal(query_matching_sessions(q, &f, FILTER_BEGAN, 0, is_even, &n), 0);
        assert_int_equal(n, SESSIONS / 2);
        assert_true(i > 0 || s.named > 0);
        query_close(q);
    }
}

/* Of all sessions, without their messages. */
static void test_remote_calls_are_counted(void **state)
{
    (void)state;
    struct store s = {.sessions = SESSIONS, .messages = 2 * BACK};
    struct query *q = open_store(&s);
    struct count c = {.by = COUNT_SERVER, .filter = FILTER_ANY};
    int64_t calls[2] = {0}; /* of `even` and `odd` */
    for (int i = 0; i < SESSIONS; i++)
        calls[i % 2] += calls_n(i);
    assert_int_equal(count_calls(&c, q), 0);
    assert_int_equal(tally_sort_durations(&c.tally), 0);
    assert_int_equal(c.tally.n, 2);
    size_t even = c.tally.group[0].calls == calls[0] ? 0 : 1;
    assert_int_equal(c.tally.group[even].calls, calls[0]);
    assert_int_equal(c.tally.group[1 - even].calls, calls[1]);
    assert_int_equal(tally_compute_percentile(&c.tally.group[even], 50), 10);
    assert_int_equal(s.scans, 0);
    assert_true(s.asked < 60);
    count_close(&c);
    query_close(q);
}

/* Session 1 was read first; what is older than it does not have its id. */
static void test_remote_an_empty_range_of_ids_has_no_session(void **state)
{
    (void)state;
    struct store s = {.sessions = SESSIONS};
    struct query *q = open_store(&s);
    struct query_session x;
    char uid[27];
    sqlite3_stmt *st = NULL;
    uid_of(41, uid);
    assert_int_equal(query_session(q, uid, &x), 0);
    assert_int_equal(x.id, 1);
    assert_int_equal(
        sqlite3_prepare_v2(q->d.db, "SELECT id FROM sessions WHERE id = 1 AND id BETWEEN ?1 AND ?2",
                           -1, &st, NULL),
        SQLITE_OK);
    sqlite3_bind_int64(st, 1, INT64_MIN);
    sqlite3_bind_int64(st, 2, 0);
    assert_int_equal(sqlite3_step(st), SQLITE_DONE);
    sqlite3_reset(st);
    sqlite3_bind_int64(st, 2, 1);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    sqlite3_finalize(st);
    query_close(q);
}

/* ---- messages ---- */

struct read_rows {
    int64_t next, n;
};

static bool on_message(void *ctx, const struct query_message *m)
{
    struct read_rows *r = ctx;
    char method[24], body[40];
    snprintf(method, sizeof method, "m%lld", (long long)(m->seq - BACK));
    snprintf(body, sizeof body, "{\"seq\":%lld}", (long long)m->seq);
    assert_int_equal(m->seq, r->next);
    assert_int_equal(m->has_request, m->seq > BACK);
    if (m->seq > BACK && m->seq <= 2 * BACK)
        assert_true(slice_is(m->request_method, method));
    assert_int_equal(m->body.n, BODY);
    assert_memory_equal(m->body.p, body, strlen(body));
    r->next++;
    r->n++;
    return true;
}

static int64_t first_session(struct query *q)
{
    struct query_session x;
    assert_int_equal(query_session(q, NULL, &x), 0);
    return x.id;
}

static void test_remote_timeline_has_each_message_and_its_request(void **state)
{
    (void)state;
    struct store s = {.sessions = 1, .messages = MESSAGES};
    struct read_rows r = {.next = 1};
    struct query *q = open_store(&s);
    assert_int_equal(query_timeline(q, first_session(q), 0, INT64_MAX, on_message, NULL, &r), 0);
    assert_int_equal(r.n, MESSAGES);
    /* a MiB has 35 of them; a block of requests has 256 */
    assert_true(s.asked < MESSAGES / 35 + MESSAGES / 256 + 10);
    query_close(q);
}

static bool count_one(void *ctx, const struct query_message *m)
{
    (void)m;
    ++*(int64_t *)ctx;
    return true;
}

static void test_remote_facts_are_read_without_bodies(void **state)
{
    (void)state;
    struct store s = {.sessions = 1, .messages = MESSAGES};
    int64_t n = 0;
    struct query *q = open_store(&s);
    int64_t id = first_session(q);
    struct message_question all = {.session_id = id, .to = INT64_MAX};
    assert_int_equal(query_messages_without_bodies(q, &all, QUERY_FORWARD, count_one, &n), 0);
    assert_int_equal(n, MESSAGES);
    assert_int_equal(s.bodies, 0);
    query_close(q);
}

static bool count_back(void *ctx, const struct query_message *m)
{
    struct read_rows *r = ctx;
    assert_int_equal(m->seq, r->next--);
    assert_int_equal(m->has_request, m->seq > BACK);
    r->n++;
    return true;
}

/* Ranges in both orders, each of which begins somewhere in what was read before, or not. */
static void test_remote_messages_that_are_kept_are_those_of_the_range(void **state)
{
    (void)state;
    struct store s = {.sessions = 1, .messages = MESSAGES};
    struct query *q = open_store(&s);
    int64_t id = first_session(q);
    for (int64_t i = 0; i < 60; i++) {
        int64_t from = 1 + i * 977 % MESSAGES;
        int64_t to = from + i * 37 < MESSAGES ? from + i * 37 : MESSAGES;
        struct read_rows r = {.next = i % 2 == 0 ? from : to};
        enum query_order order = i % 2 == 0 ? QUERY_FORWARD : QUERY_BACKWARD;
        bool bodies = i % 2 == 0 && i % 3 == 0;
        int64_t n = 0;
        if (bodies)
            assert_int_equal(query_message_rows(q, id, from, to, order, true, on_message, &r), 0);
        else if (order == QUERY_BACKWARD)
            assert_int_equal(query_message_rows(q, id, from, to, order, false, count_back, &r), 0);
        else
            assert_int_equal(query_message_rows(q, id, from, to, order, false, count_one, &n), 0);
        assert_int_equal(r.n + n, to - from + 1);
    }
    query_close(q);
}

/* Calls are read only if some are open, and messages never. */
static void test_remote_summary_reads_no_message(void **state)
{
    (void)state;
    for (int i = 2; i <= 3; i++) {
        struct store s = {.sessions = 4, .messages = 200};
        struct query_summary sum;
        struct query *q = open_store(&s);
        struct query_session x;
        char uid[27];
        uid_of(i, uid);
        assert_int_equal(query_session(q, uid, &x), 0);
        int asked = s.asked, scans = s.scans;
        assert_int_equal(query_summary(q, x.id, true, &sum), 0);
        assert_int_equal(sum.last_seq, 2 * calls_n(i) + i % 2);
        assert_int_equal(sum.calls, calls_n(i));
        for (int64_t seq = 0; seq <= sum.last_seq; seq++)
            assert_int_equal(query_summary_request_is_open(&sum, seq),
                             i == 3 && seq == 2 * calls_n(i) - 1);
        query_summary_close(&sum);
        assert_int_equal(s.asked - asked, 1 + i % 2);
        assert_int_equal(s.scans, scans);
        query_close(q);
    }
}

static bool has_request(void *ctx, const struct query_message *m)
{
    *(bool *)ctx = m->has_request;
    return true;
}

static void test_remote_requests_that_came_later_are_found(void **state)
{
    (void)state;
    struct store s = {.sessions = 1, .messages = BACK + 1};
    bool found = false;
    struct query *q = open_store(&s);
    int64_t id = first_session(q);
    assert_int_equal(query_timeline(q, id, BACK + 1, BACK + 1, has_request, NULL, &found), 0);
    assert_true(found);
    s.messages = 2 * BACK; /* the block that has message 500 was read when it ended with 501 */
    assert_int_equal(query_timeline(q, id, 2 * BACK, 2 * BACK, has_request, NULL, &found), 0);
    assert_true(found);
    s.messages = 3 * BACK;
    for (int64_t seq = 2 * BACK + 1; seq <= 3 * BACK; seq += 100) {
        assert_int_equal(query_timeline(q, id, seq, seq, has_request, NULL, &found), 0);
        assert_true(found);
    }
    query_close(q);
}

static void test_remote_large_body_is_asked_from_the_store(void **state)
{
    (void)state;
    struct store s = {.sessions = 1, .messages = 1};
    struct query *q = open_store(&s);
    char uid[27];
    uid_of(0, uid);
    struct query_message m = {.seq = 12, .is_large = true, .body_length = 1 << 20};
    struct buf b = {0};
    assert_int_equal(query_body(q, slice_of(uid), &m, 99, &b), MI_ESTORE); /* not read yet */
    (void)first_session(q);
    assert_int_equal(query_body(q, slice_of(uid), &m, 99, &b), 0);
    assert_string_equal(buf_str(&b), "VAULT0 01M82W32000000000000000000 12 99");
    buf_close(&b);
    query_close(q);
}

/* ---- words ---- */

struct matches {
    struct query *q;
    int64_t session, seq, n, ends_after;
};

static bool on_match(void *ctx, int64_t session, int64_t seq)
{
    struct matches *m = ctx;
    int64_t one = 0;
    if (session != m->session)
        assert_int_equal(seq, 450);
    else
        assert_int_equal(seq, m->seq - 1);
    m->session = session;
    m->seq = seq;
    assert_int_equal(query_timeline(m->q, session, seq, seq, count_one, NULL, &one), 0);
    assert_int_equal(one, 1);
    return ++m->n != m->ends_after;
}

/* The sessions are the last ten, without the third; each has 450 messages. */
static void test_remote_words_are_found_in_the_sessions_that_are_searched(void **state)
{
    (void)state;
    struct store s = {.sessions = 30, .messages = 450};
    struct query *q = open_store(&s);
    struct search *index;
    struct search_terms terms;
    struct search_session group[9];
    struct buf match = {0};
    for (int i = 29, n = 0; i >= 20; i--) {
        struct query_session x;
        char uid[27];
        uid_of(i, uid);
        assert_int_equal(query_session(q, uid, &x), 0);
        if (i == 27)
            continue;
        group[n].id = x.id;
        memcpy(group[n++].uid, uid, sizeof uid);
    }
    assert_int_equal(search_open(&index, q), 0);
    assert_int_equal(search_terms_open(&terms), 0);
    assert_int_equal(search_terms_add(&terms, "Red", false), 0);
    assert_true(search_index_make_query(index, &terms, &match));
    assert_int_equal(search_index_update_file(index, group, 9, NULL, NULL), 0);
    struct matches m = {.q = q};
    assert_int_equal(search_find_messages(index, group, 9, buf_str(&match), on_match, &m), 0);
    assert_int_equal(m.n, 9 * 450);
    int asked = s.asked;
    m = (struct matches){.q = q, .ends_after = 5};
    assert_int_equal(search_find_messages(index, group, 9, buf_str(&match), on_match, &m), 0);
    assert_int_equal(m.n, 5);
    assert_true(s.asked - asked < 20);
    buf_close(&match);
    search_terms_close(&terms);
    search_close(index);
    query_close(q);
}

/* ---- calls ---- */

/* Runs a statement whose rows are session uid and seq; checks that they are all calls of all sessions, in this order. */
static void check_calls(struct query *q, const char *sql, int sessions, bool newest_first,
                        bool backwards)
{
    sqlite3_stmt *st = NULL;
    assert_int_equal(sqlite3_prepare_v2(q->d.db, sql, -1, &st, NULL), SQLITE_OK);
    for (int k = 0; k < sessions; k++) {
        int i = newest_first ? sessions - 1 - k : k;
        char uid[27];
        uid_of(i, uid);
        for (int c = 1; c <= calls_n(i); c++) {
            assert_int_equal(sqlite3_step(st), SQLITE_ROW);
            assert_string_equal(sqlite3_column_text(st, 0), uid);
            assert_int_equal(sqlite3_column_int(st, 1),
                             2 * (backwards ? calls_n(i) + 1 - c : c) - 1);
            assert_int_equal(atoi((const char *)sqlite3_column_text(st, 2)), i);
        }
    }
    assert_int_equal(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
}

#define SELECT_CALLS "SELECT s.uid, c.id & 68719476735, c.target FROM sessions s CROSS JOIN "
#define OF_SESSION "c.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735"

static void test_remote_calls_of_many_sessions_are_read_together(void **state)
{
    (void)state;
    struct store s = {.sessions = SESSIONS};
    struct query *q = open_store(&s);
    check_calls(q, SELECT_CALLS "calls c ON " OF_SESSION " WHERE s.calls = 1", SESSIONS, false,
                false);
    /* 20 of them have more than a page each */
    assert_true(s.asked < 60);
    check_calls(q, SELECT_CALLS "main.calls c ON " OF_SESSION " ORDER BY s.id DESC", SESSIONS, true,
                false);
    query_close(q);
}

/* A statement for each session, as for a list of them. */
static void test_remote_calls_of_each_session_in_a_list_are_read_together(void **state)
{
    (void)state;
    for (int backwards = 0; backwards < 2; backwards++) {
        struct store s = {.sessions = SESSIONS};
        struct query *q = open_store(&s);
        sqlite3_stmt *list = NULL, *calls = NULL;
        const char *sql =
            backwards
                ? "SELECT count(*), min(c.id) & 68719476735 FROM (SELECT id FROM calls"
                  " WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735 ORDER BY id DESC) c"
                : "SELECT count(*), min(id) & 68719476735 FROM calls"
                  " WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735";
        assert_int_equal(sqlite3_prepare_v2(q->d.db, "SELECT id FROM sessions ORDER BY uid DESC",
                                            -1, &list, NULL),
                         SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(q->d.db, sql, -1, &calls, NULL), SQLITE_OK);
        for (int i = SESSIONS - 1; i >= 0; i--) {
            assert_int_equal(sqlite3_step(list), SQLITE_ROW);
            sqlite3_bind_int64(calls, 1, sqlite3_column_int64(list, 0));
            assert_int_equal(sqlite3_step(calls), SQLITE_ROW);
            assert_int_equal(sqlite3_column_int(calls, 0), calls_n(i));
            assert_int_equal(sqlite3_column_int(calls, 1), calls_n(i) > 0);
            sqlite3_reset(calls);
        }
        assert_true(s.asked < 60);
        sqlite3_finalize(list);
        sqlite3_finalize(calls);
        query_close(q);
    }
}

struct summaries {
    struct query *q;
    int next;
};

static bool on_summarized(void *ctx, const struct query_session *x)
{
    struct summaries *s = ctx;
    struct query_summary sum;
    int i = s->next--;
    assert_int_equal(query_summary(s->q, x->id, false, &sum), 0);
    assert_int_equal(sum.last_seq, 2 * calls_n(i) + i % 2);
    assert_int_equal(sum.last_t_us, 10 * sum.last_seq);
    assert_int_equal(sum.tools_changed, i % 3 == 0);
    assert_int_equal(sum.by_status[CALL_OK], calls_n(i) - i % 2);
    assert_int_equal(sum.by_status[CALL_OPEN], i % 2);
    assert_int_equal(sum.calls, calls_n(i));
    assert_null(sum.waiting);
    return true;
}

static void test_remote_summaries_of_a_list_are_read_together(void **state)
{
    (void)state;
    struct store s = {.sessions = SESSIONS, .messages = MESSAGES};
    struct summaries x = {open_store(&s), SESSIONS - 1};
    assert_int_equal(query_sessions(x.q, 0, on_summarized, &x), 0);
    assert_int_equal(x.next, -1);
    assert_int_equal(s.scans, 0);
    assert_true(s.asked < 16); /* 6 of them for the list */
    query_close(x.q);
}

static void test_remote_calls_are_found_by_their_ids_and_ranges(void **state)
{
    (void)state;
    struct store s = {.sessions = 28};
    struct query *q = open_store(&s);
    int64_t session = first_session(q);
    int n = calls_n(27);
    sqlite3_stmt *one = NULL, *range = NULL;
    assert_int_equal(
        sqlite3_prepare_v2(q->d.db, "SELECT closing_seq, operation_seq FROM calls WHERE id = ?1",
                           -1, &one, NULL),
        SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(
            q->d.db,
            "SELECT id & 68719476735 FROM calls WHERE id BETWEEN ?1 AND ?2 ORDER BY id DESC", -1,
            &range, NULL),
        SQLITE_OK);
    for (int seq = 2 * n + 2; seq > 0; seq -= 3) {
        sqlite3_bind_int64(one, 1, session << 36 | seq);
        assert_int_equal(sqlite3_step(one), seq % 2 == 1 && seq < 2 * n ? SQLITE_ROW : SQLITE_DONE);
        if (seq % 2 == 1 && seq < 2 * n) {
            assert_int_equal(sqlite3_column_int(one, 0), seq + 1);
            assert_int_equal(sqlite3_column_type(one, 1), SQLITE_NULL);
        }
        sqlite3_reset(one);
    }
    assert_true(s.asked < 3 * (n / 128 + 3));
    for (int from = 1; from < 2 * n; from += 501) {
        int to = from + 2 * (from % 1000), seq = to < 2 * n ? to : 2 * n - 1;
        sqlite3_bind_int64(range, 1, session << 36 | from);
        sqlite3_bind_int64(range, 2, session << 36 | to);
        for (seq -= seq % 2 == 0; seq >= from; seq -= 2) {
            assert_int_equal(sqlite3_step(range), SQLITE_ROW);
            assert_int_equal(sqlite3_column_int(range, 0), seq);
        }
        assert_int_equal(sqlite3_step(range), SQLITE_DONE);
        sqlite3_reset(range);
    }
    sqlite3_finalize(one);
    sqlite3_finalize(range);
    query_close(q);
}

/* ---- plans and errors ---- */

/* A statement that sorts, or reads a table without a condition for each row, would read the whole store. */
static void test_remote_no_statement_sorts(void **state)
{
    (void)state;
    struct store s = {.sessions = 1, .messages = 1};
    struct query *q = open_store(&s);
    for (int i = 0; i < Q_COUNT; i++) {
        struct buf sql = {0};
        sqlite3_stmt *st = NULL;
        if (i == Q_VERSION || i == Q_SCHEMA) /* a PRAGMA */
            continue;
        if ((i >= Q_DERIVED && i <= Q_DERIVE_DONE) || i == Q_MATCHING_ENDS) /* not of the store */
            continue;
        buf_adds(&sql, "EXPLAIN QUERY PLAN ");
        columns_expand_statement(query_sql[i], SCHEMA_VERSION, true, &sql);
        assert_int_equal(sqlite3_prepare_v2(q->d.db, buf_str(&sql), -1, &st, NULL), SQLITE_OK);
        while (sqlite3_step(st) == SQLITE_ROW) {
            const char *step = (const char *)sqlite3_column_text(st, 3);
            if (strstr(step, "TEMP B-TREE") != NULL || strstr(step, "AUTOMATIC") != NULL)
                fail_msg("statement %d: %s", i, step);
        }
        sqlite3_finalize(st);
        buf_close(&sql);
    }
    query_close(q);
}

static int read_all(struct query *q)
{
    struct query_session x;
    int64_t n = 0;
    int st = query_session(q, "odd", &x);
    if (st == 0)
        st = query_timeline(q, x.id, 0, INT64_MAX, count_one, NULL, &n);
    return st == 0 && n != 600 ? -999 : st;
}

static void test_remote_every_call_may_fail(void **state)
{
    (void)state;
    static const int errors[] = {MI_ESTORE, MI_ENOMEM};
    for (size_t e = 0; e < MI_COUNT(errors); e++)
        for (int at = 1;; at++) {
            struct store s = {.sessions = 3, .messages = 600, .fails_at = at, .error = errors[e]};
            struct query *q = open_store(&s);
            int st = read_all(q);
            if (s.asked < at) {
                assert_int_equal(st, 0);
                assert_true(at > 10);
                query_close(q);
                break;
            }
            assert_int_equal(st, errors[e]);
            if (errors[e] == MI_ESTORE)
                assert_string_equal(query_error(q), "cannot read store: the line is cut");
            assert_int_equal(read_all(q), 0); /* it goes on afterwards */
            query_close(q);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_remote_sessions_are_newest_first),
        cmocka_unit_test(test_remote_many_sessions_are_read_in_pages_that_grow),
        cmocka_unit_test(test_remote_sessions_go_on_after_one_that_was_read_before),
        cmocka_unit_test(test_remote_session_is_found_by_each_reference),
        cmocka_unit_test(test_remote_sessions_before_since_are_not_read),
        cmocka_unit_test(test_remote_sessions_of_a_server_are_asked_for),
        cmocka_unit_test(test_remote_calls_are_counted),
        cmocka_unit_test(test_remote_an_empty_range_of_ids_has_no_session),
        cmocka_unit_test(test_remote_timeline_has_each_message_and_its_request),
        cmocka_unit_test(test_remote_facts_are_read_without_bodies),
        cmocka_unit_test(test_remote_messages_that_are_kept_are_those_of_the_range),
        cmocka_unit_test(test_remote_summary_reads_no_message),
        cmocka_unit_test(test_remote_requests_that_came_later_are_found),
        cmocka_unit_test(test_remote_large_body_is_asked_from_the_store),
        cmocka_unit_test(test_remote_words_are_found_in_the_sessions_that_are_searched),
        cmocka_unit_test(test_remote_calls_of_many_sessions_are_read_together),
        cmocka_unit_test(test_remote_calls_of_each_session_in_a_list_are_read_together),
        cmocka_unit_test(test_remote_summaries_of_a_list_are_read_together),
        cmocka_unit_test(test_remote_calls_are_found_by_their_ids_and_ranges),
        cmocka_unit_test(test_remote_no_statement_sorts),
        cmocka_unit_test(test_remote_every_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
