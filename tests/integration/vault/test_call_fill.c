/* Rows of `calls`: written with their messages, and added later to sessions of older versions. */
#include "vault/store/call_fill.h"

#include "tests/support/vault_unit.h"
#include "vault/query/reader.h"

#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#define UID "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define MESSAGES 4000
/* Everything but the sessions' marks. */
#define ALL_CALLS                                                                                  \
    "SELECT count(*) || ':' || group_concat(concat, char(10)) FROM (SELECT id || '|' ||"           \
    " ifnull(closing_seq, '-') || '|' || direction || origin || '|' || ifnull(method, '-') ||"     \
    " ifnull(target, '-') || '|' || status || '|' || ifnull(error_code, '-') || '|' || t_us ||"    \
    " '|' || ifnull(duration_us, '-') || '|' || request_size || '|' || ifnull(response_size, '-')" \
    " AS concat FROM calls ORDER BY id)"
/* What people see of the client's calls; from the table, or from messages if the session has no mark. */
#define ALL_INVOCATIONS                                                                            \
    "SELECT count(*) || ':' || group_concat(concat, char(10)) FROM (SELECT session_id || '|' ||"   \
    " request_seq || '|' || ifnull(response_seq, '-') || '|' || ifnull(method, '-') ||"            \
    " ifnull(target, '-') || '|' || status || '|' || ifnull(error_code, '-') || '|' ||"            \
    " started_at_us || '|' || ifnull(duration_us, '-') || '|' || request_size || '|' ||"           \
    " ifnull(response_size, '-') AS concat FROM invocations ORDER BY session_id, request_seq)"

struct fixture {
    struct temp t;
    struct vault_dir d;
    struct writer *w;
    struct buf error;
    struct unit_random random;
    uint64_t open[64]; /* requests of the client without an answer */
    size_t open_n;
    uint64_t own; /* the last request of the proxy */
};

static void open_writer(struct fixture *f)
{
    assert_int_equal(vault_dir_open(&f->d, f->t.vault, true, &f->error), 0);
    assert_int_equal(writer_open(&f->w, &f->d, false, &f->error), 0);
}

static void close_writer(struct fixture *f)
{
    writer_close(f->w);
    f->w = NULL;
    vault_dir_close(&f->d);
}

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){.d = {.fd = -1}, .random = {11}};
    temp_make(&f.t);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    close_writer(f);
    buf_close(&f->error);
    temp_remove(&f->t);
    return 0;
}

/* ---- a session with everything that a proxy records ----------------------------------------- */

static struct row next_request(struct fixture *f, uint64_t seq)
{
    static const char *const methods[] = {"tools/call", "resources/read", "ping"};
    struct row r = {.kind = KIND_REQUEST, .method = slice_of(methods[unit_random(&f->random, 3)])};
    if (unit_random(&f->random, 2) == 0)
        r.target = slice_of("it");
    if (unit_random(&f->random, 20) == 0) {
        r.action = ROW_REFUSED;
    } else if (unit_random(&f->random, 20) == 0) {
        r.origin = ROW_INTERPOSER;
        r.rpc_id = slice_of("\"i-1\"");
        f->own = seq;
        return r;
    } else if (unit_random(&f->random, 10) == 0) {
        r.direction = ROW_S2C;
        return r;
    }
    if (f->open_n < MI_COUNT(f->open))
        f->open[f->open_n++] = seq;
    return r;
}

static struct row next_answer(struct fixture *f)
{
    size_t i = unit_random(&f->random, f->open_n), what = unit_random(&f->random, 12);
    struct row r = {.kind = KIND_RESULT, .direction = ROW_S2C, .request_seq = f->open[i]};
    f->open[i] = f->open[--f->open_n];
    if (what < 4) {
        static const findings found[] = {FINDING(FIND_TIMEOUT), FINDING(FIND_SERVER_GONE),
                                         FINDING(FIND_INTERRUPTED), 0};
        r.kind = KIND_ERROR;
        r.origin = ROW_INTERPOSER;
        r.findings = found[what];
    } else if (what == 4) {
        r.findings = FINDING(FIND_TOOL_ERROR) | FINDING(FIND_CRLF);
    } else if (what == 5) {
        r.kind = KIND_NOTIFICATION;
        r.direction = ROW_C2S;
    } else if (what == 6) { /* rejected, and never answered */
        r.action = ROW_REFUSED;
    }
    r.has_error_code = r.kind == KIND_ERROR;
    r.error_code = -32000;
    return r;
}

static struct row next_message(struct fixture *f, uint64_t seq)
{
    size_t what = unit_random(&f->random, 20);
    if (what < 9)
        return next_request(f, seq);
    if (what == 9 && f->own != 0) {
        f->own = 0;
        return (struct row){.kind = KIND_RESULT,
                            .direction = ROW_S2C,
                            .action = ROW_SWALLOWED,
                            .rpc_id = slice_of("\"i-1\""),
                            .findings = FINDING(FIND_OWN_REQUEST)};
    }
    if (what < 19 && f->open_n > 0)
        return next_answer(f);
    return (struct row){.kind = KIND_NOTIFICATION, .method = slice_of("notifications/message")};
}

static int64_t add_session(struct fixture *f, const char *uid)
{
    int64_t id = 0;
    struct session_record s = {.uid = slice_of(uid),
                               .name = slice_of("files"),
                               .command = slice_of("[]"),
                               .host = slice_of("here"),
                               .record_level = slice_of("full"),
                               .started_at_us = 1000,
                               .pid = 7};
    assert_int_equal(writer_add_session(f->w, &s, &id), 0);
    return id;
}

static void end_session(struct fixture *f, int64_t id)
{
    struct session_update u = {.ended_at_us = 9000000, .end_reason = slice_of("client-closed")};
    assert_int_equal(writer_update_session(f->w, id, &u), 0);
}

/* batch: most messages of a transaction. */
static int64_t write_session(struct fixture *f, const char *uid, size_t batch, bool ends)
{
    int64_t id = add_session(f, uid);
    f->open_n = 0;
    for (uint64_t seq = 1; seq <= MESSAGES;) {
        assert_int_equal(writer_begin(f->w, 0), 0);
        for (size_t n = 1 + unit_random(&f->random, batch); n > 0 && seq <= MESSAGES; n--, seq++) {
            struct row r = next_message(f, seq);
            r.seq = seq;
            r.t_us = (int64_t)seq * 10;
            r.body = slice_of("{}");
            r.size = 2 + unit_random(&f->random, 100);
            assert_int_equal(writer_add_row(f->w, id, uid, &r), 0);
        }
        assert_int_equal(writer_commit(f->w), 0);
    }
    if (ends)
        end_session(f, id);
    return id;
}

static char *answer_of(struct fixture *f, const char *sql)
{
    return strdup(sql_rows(&f->t, sql));
}

static void assert_answer(struct fixture *f, const char *sql, const char *want)
{
    const char *got = sql_rows(&f->t, sql);
    size_t i = 0;
    while (want[i] != '\0' && want[i] == got[i])
        i++;
    if (want[i] != got[i])
        fail_msg("%s\nwant …%.200s\ngot …%.200s", sql, want + (i > 40 ? i - 40 : 0),
                 got + (i > 40 ? i - 40 : 0));
}

static void forget_calls(struct fixture *f)
{
    sql_rows(&f->t, "UPDATE sessions SET calls = NULL");
    sql_rows(&f->t, "DELETE FROM calls");
}

static void fill_all(struct fixture *f)
{
    struct call_fill fill = {0};
    bool more = true;
    for (int n = 0; more; n++) {
        assert_int_equal(call_fill_add_next_rows(&fill, f->w, 0, &more), 0);
        assert_true(n < 1000);
    }
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* The view reads messages by rules of its own if a session has no mark: both must say the same. */
static void test_calls_of_a_session_are_those_that_its_messages_say(void **state)
{
    struct fixture *f = *state;
    open_writer(f);
    write_session(f, UID, 300, true);
    assert_string_equal(sql_rows(&f->t, "SELECT calls FROM sessions"), "1");
    char *from_calls = answer_of(f, ALL_INVOCATIONS);
    assert_true(strlen(from_calls) > 10000);
    sql_rows(&f->t, "UPDATE sessions SET calls = NULL");
    /* these have no row there: they were rejected, and their answer is not recorded */
    sql_rows(&f->t,
             "DELETE FROM messages WHERE kind = 'request' AND action = 'refused' AND id NOT IN"
             " (SELECT (session_id << 36) + request_seq FROM closings)");
    sql_rows(&f->t, "DELETE FROM calls WHERE status = 'refused' AND closing_seq IS NULL");
    char *from_messages = answer_of(f, ALL_INVOCATIONS);
    sql_rows(&f->t, "UPDATE sessions SET calls = 1");
    assert_answer(f, ALL_INVOCATIONS, from_messages);
    free(from_calls);
    free(from_messages);
}

static void test_call_fill_adds_the_rows_that_the_recorder_writes(void **state)
{
    struct fixture *f = *state;
    open_writer(f);
    write_session(f, UID, 30, true);
    write_session(f, "01ARZ3NDEKTSV4RRFFQ69G5FAW", 1, true);
    write_session(f, "01ARZ3NDEKTSV4RRFFQ69G5FAX", 512, true);
    char *want = answer_of(f, ALL_CALLS);
    forget_calls(f);
    fill_all(f);
    assert_answer(f, ALL_CALLS, want);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM sessions WHERE calls = 1"), "3");
    free(want);
}

/* The requests of a task of revision 2025-11-25 are one operation, also when their rows are added later. */
static void test_call_fill_finds_the_requests_of_a_task(void **state)
{
    struct fixture *f = *state;
#define RPC(more) "{\"jsonrpc\":\"2.0\",\"id\":1," more "}"
    static const struct {
        const char *method, *body;
        uint64_t request_seq;
    } rows[] = {
        {"tools/call", RPC("\"method\":\"tools/call\",\"params\":{\"name\":\"it\",\"task\":{}}"),
         0},
        {NULL, RPC("\"result\":{\"task\":{\"taskId\":\"t\",\"status\":\"working\"}}"), 1},
        {"tasks/result", RPC("\"method\":\"tasks/result\",\"params\":{\"taskId\":\"t\"}"), 0},
        {NULL, RPC("\"result\":{\"content\":[]}"), 3},
    };
    static const char operations[] = "SELECT group_concat(ifnull(operation_seq, 0)) FROM calls";
    struct session_update start = {.protocol_version = slice_of("2025-11-25")};
    open_writer(f);
    int64_t id = add_session(f, UID);
    assert_int_equal(writer_update_session(f->w, id, &start), 0);
    assert_int_equal(writer_begin(f->w, 0), 0);
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        bool request = rows[i].method != NULL;
        struct row r = {.seq = i + 1,
                        .t_us = (int64_t)i + 1,
                        .kind = request ? KIND_REQUEST : KIND_RESULT,
                        .direction = request ? ROW_C2S : ROW_S2C,
                        .request_seq = rows[i].request_seq,
                        .body = slice_of(rows[i].body),
                        .may_link = true};
        if (request)
            r.method = slice_of(rows[i].method);
        assert_int_equal(writer_add_row(f->w, id, UID, &r), 0);
    }
    assert_int_equal(writer_commit(f->w), 0);
    end_session(f, id);
    assert_string_equal(sql_rows(&f->t, operations), "0,1");
    forget_calls(f);
    fill_all(f);
    assert_string_equal(sql_rows(&f->t, operations), "0,1");
}

static void test_call_fill_leaves_sessions_that_have_not_ended(void **state)
{
    struct fixture *f = *state;
    open_writer(f);
    write_session(f, UID, 300, false);
    forget_calls(f);
    fill_all(f);
    assert_string_equal(
        sql_rows(&f->t, "SELECT ifnull(calls, '-'), (SELECT count(*) FROM calls) FROM sessions"),
        "-|0");
    close_writer(f);
    open_writer(f);
    struct row r = {.kind = KIND_REQUEST, .seq = MESSAGES + 1}; /* of the older recorder */
    assert_int_equal(writer_add_row(f->w, 1, UID, &r), 0);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM calls"), "0");
}

static void test_call_fill_session_without_messages_and_removed_session(void **state)
{
    struct fixture *f = *state;
    struct call_fill fill = {0};
    bool more;
    open_writer(f);
    write_session(f, UID, 300, true);
    write_session(f, "01ARZ3NDEKTSV4RRFFQ69G5FAW", 300, true);
    forget_calls(f);
    sql_rows(&f->t, "DELETE FROM messages WHERE session_id = 1");
    assert_int_equal(call_fill_add_next_rows(&fill, f->w, 0, &more), 0);
    assert_int_equal(fill.session_id, 2);
    sql_rows(&f->t, "DELETE FROM sessions WHERE id = 2");
    fill_all(f);
    assert_string_equal(sql_rows(&f->t, "SELECT group_concat(id || calls) FROM sessions"), "11");
}

/* Between two steps the recorder's own session goes on. */
static void test_call_fill_does_not_disturb_the_session_that_is_recorded(void **state)
{
    struct fixture *f = *state;
    struct call_fill fill = {0};
    bool more = true;
    open_writer(f);
    write_session(f, UID, 300, true);
    write_session(f, "01ARZ3NDEKTSV4RRFFQ69G5FAW", 300, false);
    sql_rows(&f->t, "UPDATE sessions SET calls = NULL WHERE id = 1");
    sql_rows(&f->t, "DELETE FROM calls WHERE id < 2 << 36");
    for (uint64_t seq = MESSAGES + 1; more; seq += 2) {
        struct row q = {.kind = KIND_REQUEST, .seq = seq, .method = slice_of("ping")};
        struct row a = {
            .kind = KIND_RESULT, .direction = ROW_S2C, .seq = seq + 1, .request_seq = seq};
        assert_int_equal(writer_add_row(f->w, 2, UID, &q), 0);
        assert_int_equal(call_fill_add_next_rows(&fill, f->w, 0, &more), 0);
        assert_int_equal(writer_add_row(f->w, 2, UID, &a), 0);
    }
    char sql[200];
    snprintf(sql, sizeof sql,
             "SELECT count(*), sum(status = 'ok') FROM calls WHERE id > (2 << 36) + %d", MESSAGES);
    const char *got = sql_rows(&f->t, sql);
    assert_int_equal(atoi(got), atoi(strchr(got, '|') + 1));
    assert_true(atoi(got) >= 5);
}

/* Fills in until it is killed after `us`. */
static bool fill_in_child(struct fixture *f, int64_t us)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        struct itimerval t = {.it_value = {us / 1000000, us % 1000000}};
        struct call_fill fill = {0};
        bool more = true;
        if (us > 0)
            setitimer(ITIMER_REAL, &t, NULL); /* SIGALRM kills, at any instruction */
        f->w = NULL;
        f->d.fd = -1;
        if (vault_dir_open(&f->d, f->t.vault, true, &f->error) < 0 ||
            writer_open(&f->w, &f->d, false, &f->error) < 0)
            _exit(1);
        while (more)
            if (call_fill_add_next_rows(&fill, f->w, 1000000, &more) < 0 && !writer_is_busy(f->w))
                _exit(2);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status))
        assert_int_equal(WEXITSTATUS(status), 0);
    return WIFEXITED(status);
}

static void test_call_fill_killed_at_any_time_loses_nothing(void **state)
{
    struct fixture *f = *state;
    int64_t killed = 0;
    open_writer(f);
    write_session(f, UID, 100, true);
    write_session(f, "01ARZ3NDEKTSV4RRFFQ69G5FAW", 7, true);
    close_writer(f);
    char *want = answer_of(f, ALL_CALLS);
    for (int round = 0; round < (unit_slow() ? 2 : 10); round++) {
        forget_calls(f);
        for (int64_t us = 2000 + 137 * round; !fill_in_child(f, us); us += 700)
            killed++;
        assert_answer(f, ALL_CALLS, want);
        assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM sessions WHERE calls = 1"), "2");
    }
    assert_true(killed > 0);
    free(want);
}

static void test_call_fill_by_two_processes_is_the_same(void **state)
{
    struct fixture *f = *state;
    open_writer(f);
    write_session(f, UID, 100, true);
    write_session(f, "01ARZ3NDEKTSV4RRFFQ69G5FAW", 7, true);
    close_writer(f);
    char *want = answer_of(f, ALL_CALLS);
    for (int round = 0; round < 5; round++) {
        int status;
        forget_calls(f);
        pid_t other = fork();
        if (other == 0)
            _exit(fill_in_child(f, 0) ? 0 : 1);
        assert_true(fill_in_child(f, 0));
        assert_int_equal(waitpid(other, &status, 0), other);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        assert_answer(f, ALL_CALLS, want);
    }
    free(want);
}

/* Newest first, in pages of 7. */
static struct buf matching(struct fixture *f, int64_t id, const struct filter *filter)
{
    struct query *q = NULL;
    struct buf b = {0};
    struct message_question x = {filter, id, 1000, 1, INT64_MAX};
    int64_t seq[7];
    size_t n = MI_COUNT(seq);
    assert_int_equal(query_open(&q, f->t.vault, &f->error), 0);
    while (n == MI_COUNT(seq)) {
        assert_int_equal(query_find_matching_messages(q, &x, n, seq, &n), 0);
        for (size_t i = 0; i < n; i++)
            buf_printf(&b, "%lld ", (long long)seq[i]);
        x.to = n > 0 ? seq[n - 1] - 1 : 0;
    }
    query_close(q);
    return b;
}

/* Statuses that only the interposer gives are looked up in `calls` if the session is whole, and else in messages. */
static void test_calls_find_the_messages_that_have_their_status(void **state)
{
    struct fixture *f = *state;
    static const unsigned statuses[] = {1u << CALL_TIMEOUT,     1u << CALL_SERVER_GONE,
                                        1u << CALL_INTERRUPTED, 1u << CALL_TIMEOUT | 1u << CALL_OK,
                                        1u << CALL_REFUSED,     1u << CALL_ERROR};
    open_writer(f);
    int64_t id = write_session(f, UID, 100, true);
    for (size_t i = 0; i < 2 * MI_COUNT(statuses); i++) {
        struct filter filter = FILTER_ANY, field = FILTER_ANY;
        field.statuses = statuses[i / 2];
        filter.also = &field;
        filter.tool = i % 2 != 0 ? "it" : NULL;
        struct buf whole = matching(f, id, &filter);
        sql_rows(&f->t, "UPDATE sessions SET calls = NULL");
        struct buf from_messages = matching(f, id, &filter);
        sql_rows(&f->t, "UPDATE sessions SET calls = 1");
        assert_true(whole.n > 40);
        assert_string_equal(buf_str(&whole), buf_str(&from_messages));
        buf_close(&whole);
        buf_close(&from_messages);
    }
    struct filter timeout = FILTER_ANY;
    timeout.statuses = 1u << CALL_TIMEOUT;
    struct buf all = matching(f, id, &timeout);
    sql_rows(&f->t, "DELETE FROM calls");
    assert_int_equal(matching(f, id, &timeout).n, 0); /* only calls were read */
    sql_rows(&f->t,
             "INSERT INTO events (session_id, t_us, kind) SELECT id, 1, 'gap' FROM sessions");
    struct buf with_gap = matching(f, id, &timeout); /* a request may be missing */
    assert_string_equal(buf_str(&with_gap), buf_str(&all));
    buf_close(&with_gap);
    buf_close(&all);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    static const struct CMUnitTest tests[] = {
        T(test_calls_of_a_session_are_those_that_its_messages_say),
        T(test_call_fill_adds_the_rows_that_the_recorder_writes),
        T(test_call_fill_finds_the_requests_of_a_task),
        T(test_call_fill_leaves_sessions_that_have_not_ended),
        T(test_call_fill_session_without_messages_and_removed_session),
        T(test_call_fill_does_not_disturb_the_session_that_is_recorded),
        T(test_call_fill_killed_at_any_time_loses_nothing),
        T(test_call_fill_by_two_processes_is_the_same),
        T(test_calls_find_the_messages_that_have_their_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
