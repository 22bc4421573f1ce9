/* session: the state of a session and the name of a message; record_json: rows as JSON; session_header_print. */
#include "cli/frame/record_json.h"
#include "cli/frame/session.h"
#include "cli/look/session_header.h"
#include "wire/json/scan.h"

#include "base/clock.h"
#include "tests/support/unit.h"

#include <sys/wait.h>

static char host[256];

static struct query_session live(void)
{
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    return (struct query_session){.id = 1,
                                  .uid = slice_of("UID"),
                                  .name = slice_of("files"),
                                  .command = slice_of("[\"npx\",\"-y\",\"a b\",\"\"]"),
                                  .host = slice_of(host),
                                  .pid = getpid(),
                                  .started_at_us = clock_wall_us()};
}

static void test_session_state_follows_from_end_host_and_process(void **state)
{
    (void)state;
    struct query *q;
    assert_int_equal(query_open_empty_vault(&q, "/none"), 0);
    struct query_session s = live();
    assert_int_equal(session_determine_state(q, &s), SESSION_LIVE);
    s.started_at_us -= 3600 * (int64_t)1000000; /* this process is younger: its pid was reused */
    assert_int_equal(session_determine_state(q, &s), SESSION_DIED);
    s = live();
    pid_t pid = unit_sleeper();
    s.pid = pid;
    assert_int_equal(session_determine_state(q, &s), SESSION_LIVE);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0)
        continue;
    assert_int_equal(session_determine_state(q, &s), SESSION_DIED);
    s.host = slice_of("elsewhere.example");
    assert_int_equal(session_determine_state(q, &s), SESSION_ELSEWHERE);
    s.ended_at_us = 1;
    assert_int_equal(session_determine_state(q, &s), SESSION_ENDED);
    static const int64_t never[] = {0, -1, INT64_MAX};
    for (size_t i = 0; i < MI_COUNT(never); i++) {
        s = live();
        s.pid = never[i];
        assert_int_equal(session_determine_state(q, &s), SESSION_DIED);
    }
    query_close(q);
}

static void end_is(const struct query_session *s, enum session_state st, const char *want)
{
    struct buf b = {0};
    session_append_end_reason(&b, s, st);
    assert_string_equal(buf_str(&b), want);
    buf_close(&b);
}

static void test_session_end_has_the_reason_and_a_status_other_than_0(void **state)
{
    (void)state;
    struct query_session s = live();
    end_is(&s, SESSION_LIVE, "live");
    end_is(&s, SESSION_DIED, "died");
    s.ended_at_us = 1;
    end_is(&s, SESSION_ENDED, "ended"); /* no reason was recorded */
    s.end_reason = slice_of("client-closed");
    s.has_exit_status = true;
    end_is(&s, SESSION_ENDED, "client-closed");
    s.exit_status = 137;
    end_is(&s, SESSION_ENDED, "client-closed 137");
}

static void test_session_answer_has_the_name_of_its_request(void **state)
{
    (void)state;
    struct query_message m = {.kind = KIND_RESULT,
                              .method = slice_of("own"),
                              .request_method = slice_of("tools/call"),
                              .request_target = slice_of("echo")};
    assert_true(session_message_is_answer(&m));
    assert_true(slice_is(session_method_of_message(&m), "tools/call"));
    assert_true(slice_is(session_target_of_message(&m), "echo"));
    m.kind = KIND_NOTIFICATION;
    assert_false(session_message_is_answer(&m));
    assert_true(slice_is(session_method_of_message(&m), "own"));
    assert_null(session_target_of_message(&m).p);
    assert_int_equal(session_status_of_message(&m), CALL_UNKNOWN);
    m.action = ROW_REFUSED;
    assert_int_equal(session_status_of_message(&m), CALL_REFUSED);
    m = (struct query_message){.kind = KIND_ERROR, .origin = ROW_PEER, .action = ROW_FORWARDED};
    assert_int_equal(session_status_of_message(&m), CALL_ERROR);
}

/* ---- JSON ---- */

static const char *json_of(struct buf *b)
{
    struct json_scan scan;
    assert_int_equal(json_scan(buf_slice(b), NULL, NULL, &scan), 0);
    assert_null(memchr(b->p, '\n', b->n));
    return buf_str(b);
}

static void test_record_json_body_is_a_value_or_a_string(void **state)
{
    (void)state;
    static const struct {
        const char *body, *member;
    } rows[] = {
        {"{\"a\" :\r\n[1]}", "\"body\":{\"a\" :  [1]}"},
        {"{\"a\":", "\"body\":\"{\\\"a\\\":\""},
        {"log line", "\"body\":\"log line\""},
        {"\"\x1b[31m\"", "\"body\":\"\\\"\\u001b[31m\\\"\""}, /* not valid JSON */
        {"\"\xe2\x80\xae\"", "\"body\":\"\\u202e\""},
        {NULL, "\"body\":null"},
    };
    struct query_session s = live();
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0};
        struct query_message m = {.seq = 3, .kind = KIND_REQUEST, .rpc_id = slice_of("\"x\"")};
        struct slice body = rows[i].body != NULL ? slice_of(rows[i].body) : (struct slice){0};
        record_json_append_message(&b, &s, &m, NULL, body, NULL);
        if (strstr(json_of(&b), rows[i].member) == NULL)
            fail_msg("%s is not in: %s", rows[i].member, buf_str(&b));
        assert_non_null(strstr(buf_str(&b), "\"rpc_id\":\"x\""));
        assert_null(strstr(buf_str(&b), "duration_us"));
        buf_close(&b);
    }
}

static void test_record_json_answer_has_status_and_duration_of_its_call(void **state)
{
    (void)state;
    struct query_session s = live();
    struct buf b = {0};
    struct query_message m = {.seq = 4,
                              .t_us = 900,
                              .kind = KIND_RESULT,
                              .action = ROW_FORWARDED,
                              .has_request = true,
                              .request_seq = 3,
                              .request_t_us = 400};
    record_json_append_message(&b, &s, &m, NULL, slice_of("{}"), NULL);
    assert_non_null(strstr(json_of(&b), "\"status\":\"ok\",\"duration_us\":500"));
    buf_clear(&b);
    record_json_append_message(&b, &s, &m, NULL, (struct slice){0}, "no such file");
    assert_non_null(strstr(json_of(&b), "\"body_error\":\"no such file\",\"body\":null"));
    buf_close(&b);
}

static void test_record_json_session_and_event_are_one_object_each(void **state)
{
    (void)state;
    struct query_session s = live();
    struct session_view v = {.state = SESSION_LIVE, .lasted_us = 5};
    struct buf b = {0};
    record_json_append_session(&b, &s, &v);
    assert_non_null(strstr(json_of(&b), "\"command\":[\"npx\",\"-y\","));
    assert_non_null(
        strstr(buf_str(&b), "\"ended_at_us\":null,\"end_reason\":null,\"exit_status\":null"));
    assert_non_null(strstr(buf_str(&b), "\"state\":\"live\",\"duration_us\":5"));
    buf_clear(&b);
    struct query_event e = {
        .id = 2, .t_us = 7, .kind = slice_of("x"), .detail = slice_of("not JSON")};
    record_json_append_event(&b, &s, &e);
    assert_non_null(strstr(json_of(&b), "\"detail\":\"not JSON\""));
    buf_close(&b);
}

/* ---- the header of show ---- */

static void test_session_header_quotes_the_command_and_names_the_signal(void **state)
{
    (void)state;
    struct query_session s = live();
    struct session_view v = {.state = SESSION_ENDED};
    struct out o = {.held = true};
    s.ended_at_us = 1;
    s.has_exit_status = true;
    s.exit_status = 137;
    s.client_name = slice_of("cli\x1b");
    session_header_print(&o, &s, &v, false);
    const char *text = buf_str(&o.b);
    assert_non_null(strstr(text, "command   npx -y 'a b' ''\n"));
    assert_non_null(strstr(text, ", exit status 137 (signal 9)\n"));
    assert_non_null(strstr(text, "client    cli\\x1b\n"));
    buf_close(&o.b);
    buf_close(&o.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_state_follows_from_end_host_and_process),
        cmocka_unit_test(test_session_end_has_the_reason_and_a_status_other_than_0),
        cmocka_unit_test(test_session_answer_has_the_name_of_its_request),
        cmocka_unit_test(test_record_json_body_is_a_value_or_a_string),
        cmocka_unit_test(test_record_json_answer_has_status_and_duration_of_its_call),
        cmocka_unit_test(test_record_json_session_and_event_are_one_object_each),
        cmocka_unit_test(test_session_header_quotes_the_command_and_names_the_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
