/* Requests, notifications and answers: announced ends, requests cancelled as in LSP, progress with unknown tokens. */
#include "tests/support/traffic_unit.h"

#include "proxy/session/credentials.h"

#define MAX 65536
#define ASK(id, method) "{'jsonrpc':'2.0','id':" id ",'method':'" method "'}"
#define NOTE(method, params) "{'jsonrpc':'2.0','method':'" method "','params':" params "}"
#define OK(id) "{'jsonrpc':'2.0','id':" id ",'result':{}}"
#define NO_METHOD(id, about)                                                                       \
    "{'jsonrpc':'2.0','id':" id ",'error':{'code':-32601,'message':'Method not found" about "'}}"

static void test_correlate_shutdown_and_exit_announce_the_end(void **state)
{
    static const struct {
        const char *say[3];
        bool announced;
    } cases[] = {
        {{"C " ASK("1", "tools/list"), "S " OK("1")}, false},
        {{"C " ASK("1", "shutdown")}, true},
        {{"C " ASK("1", "shutdown"), "S " OK("1")}, true},
        {{"C " ASK("1", "shutdown"), "S {'jsonrpc':'2.0','id':1,'result':null}"}, true},
        {{"C " ASK("1", "shutdown"), "S " NO_METHOD("1", "")}, false},
        {{"C " NOTE("exit", "{}")}, true},
        {{"C " ASK("1", "shutdown"), "S " NO_METHOD("1", ""), "C " NOTE("exit", "{}")}, true},
        {{"S " ASK("1", "shutdown"), "S " NOTE("exit", "{}")}, false}, /* the wrong side */
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < MI_COUNT(cases); i++) {
        traffic_begin(f, VALIDATE_WIRE, MAX);
        for (size_t k = 0; k < MI_COUNT(cases[i].say) && cases[i].say[k] != NULL; k++)
            traffic_say(f, cases[i].say[k]);
        traffic_turn(f);
        assert_int_equal(f->traffic.client_said_shutdown, cases[i].announced);
        traffic_end(f);
    }
}

/* ---- deadlines ------------------------------------------------------------------------------ */

static int hangs;

static enum liveness on_silent(void *owner, const struct pending *p, int64_t waited_us,
                               struct buf *why)
{
    (void)owner, (void)p, (void)waited_us, (void)why;
    hangs++;
    return LIVENESS_SLOW;
}

/* Everything is written, and a timeout of this length passes. */
static void let_pass(struct fixture *f, int64_t us)
{
    traffic_turn(f);
    (void)expire_start_timers_and_get_wait(&f->traffic);
    f->journal.now_us += us + 1;
    expire_due_requests(&f->traffic);
    traffic_turn(f);
}

static void with_deadline(struct fixture *f, struct deadlines *rules, int64_t us)
{
    traffic_begin(f, VALIDATE_WIRE, MAX);
    deadlines_open(rules);
    rules->default_us = us;
    traffic_set_deadlines(&f->traffic, rules, 0);
    f->traffic.on_silent = on_silent;
    hangs = 0;
}

static void test_correlate_lsp_cancelled_request_is_not_a_hang(void **state)
{
    static const struct {
        const char *say;
        int hangs;
    } cases[] = {
        {"C " NOTE("$/cancelRequest", "{'id':7}"), 0},
        {"C " NOTE("$/cancelRequest", "{'id':'7'}"), 1},
        {"C " NOTE("$/cancelRequest", "{'id':8}"), 1},
        {"C " NOTE("$/cancelRequest", "[7]"), 1},
        {"C " NOTE("x", "{'id':7}"), 1},
        {"S " NOTE("$/cancelRequest", "{'id':7}"),
         0}, /* a message of the server, so it does not hang */
    };
    struct fixture *f = *state;
    struct deadlines rules;
    for (size_t i = 0; i < MI_COUNT(cases); i++) {
        with_deadline(f, &rules, 1000);
        traffic_say(f, "C " ASK("7", "tools/call"));
        traffic_turn(f);
        (void)expire_start_timers_and_get_wait(
            &f->traffic); /* it is written: messages of the server count from here */
        traffic_say(f, cases[i].say);
        let_pass(f, 1000);
        assert_int_equal(hangs, cases[i].hangs);
        assert_non_null(strstr(traffic_got(f, ROW_S2C), "<7 -32001 timeout>"));
        traffic_end(f);
        deadlines_close(&rules);
    }
}

/* The error for this request: what follows "it ended" in its message, and the end of its data. */
static void expect_end(struct fixture *f, const char *id, const char *how, const char *method,
                       const char *data)
{
    struct buf want = {0};
    buf_printf(
        &want,
        "\"id\":%s,\"error\":{\"code\":-32000,\"message\":\"it ended%s\",\"data\":{\"source\":"
        "\"mcp-interposer\",\"cause\":\"server-exited\",\"method\":\"%s\",\"session\":\"" FAKE_UID
        "\"%s",
        id, how, method, data);
    if (strstr(buf_str(&f->got[ROW_S2C]), buf_str(&want)) == NULL)
        fail_msg("%s is not in %s", buf_str(&want), buf_str(&f->got[ROW_S2C]));
    buf_close(&want);
}

static void test_correlate_question_is_answered_to_us_only(void **state)
{
    struct fixture *f = *state;
    for (int modern = 0; modern < 2; modern++) {
        traffic_begin(f, VALIDATE_WIRE, MAX);
        uint64_t before = f->traffic.timers.server_messages;
        assert_true(expire_send_liveness_request(&f->traffic, modern) > 0);
        traffic_turn(f);
        assert_string_equal(
            traffic_got(f, ROW_C2S),
            modern ? "{'jsonrpc':'2.0','id':'mcp-interposer:1','method':'server/discover',"
                     "'params':{'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                     "'io.modelcontextprotocol/clientCapabilities':{}}}}|"
                   : "{'jsonrpc':'2.0','id':'mcp-interposer:1','method':'ping'}|");
        assert_int_equal(f->traffic.server_answers, 0);
        traffic_say(f, "S " NO_METHOD("'mcp-interposer:1'", ""));
        traffic_turn(f);
        assert_string_equal(traffic_got(f, ROW_S2C), "");
        assert_int_equal(f->traffic.server_answers, 1);
        assert_int_equal(f->traffic.timers.server_messages, before + 1);
        traffic_end(f);
    }
}

static void test_correlate_answers_count_but_not_notifications(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " ASK("7", "tools/call"));
    traffic_say(f, "S " NOTE("notifications/message", "{}"));
    traffic_say(f, "S " ASK("1", "ping"));
    traffic_say(f, "S " OK("9"));
    assert_int_equal(f->traffic.server_answers, 0);
    traffic_say(f, "S " NO_METHOD("7", ""));
    assert_int_equal(f->traffic.server_answers, 1);
    traffic_end(f);
}

static void test_final_answers_say_which_requests_were_read_and_which_may_have_run(void **state)
{
    struct fixture *f = *state;
    struct deadlines rules;
    const char *unread = "; this request was not read";
    with_deadline(f, &rules, 10000000);
    traffic_say(f, "C " ASK("7", "tools/call"));
    traffic_say(f, "C " ASK("6", "tools/list"));
    uint64_t read = f->traffic.out[ROW_C2S].staged;
    traffic_say(f, "C " ASK("8", "tools/call"));
    traffic_say(f, "C " ASK("5", "tools/list"));
    traffic_turn(f);
    (void)expire_start_timers_and_get_wait(&f->traffic);
    traffic_say(f, "C " ASK("9", "tools/call")); /* not written */
    final_answers_send_errors(&f->traffic, CALL_SERVER_GONE, "server-exited", "it ended", read);
    traffic_turn(f);
    expect_end(f, "7", "; this call may have run", "tools/call",
               ",\"seq\":1,\"may_have_run\":true}}}");
    expect_end(f, "6", "", "tools/list", ",\"seq\":2}}}"); /* without effects */
    expect_end(f, "8", unread, "tools/call", ",\"seq\":3,\"may_have_run\":false}}}");
    expect_end(f, "5", unread, "tools/list", ",\"seq\":4}}}");
    expect_end(f, "9", unread, "tools/call",
               ",\"seq\":5,\"may_have_run\":false}}}"); /* not written */
    traffic_end(f);
    deadlines_close(&rules);
}

static void test_correlate_answer_to_lsp_cancelled_request_is_forwarded(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " ASK("7", "tools/call"));
    traffic_say(f, "C " NOTE("$/cancelRequest", "{'id':7}"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':7,'error':{'code':-32002,'message':'cancelled'}}");
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "{'jsonrpc':'2.0','id':7,'error':{'code':-32002,'message':'cancelled'}}|");
    assert_string_equal(fake_select(&f->journal, "method error_code", NULL, 0),
                        "tools/call|-;$/cancelRequest|-;-|-32002");
    assert_string_equal(fake_invocations(&f->journal), "1|error");
    traffic_end(f);
}

static void test_correlate_progress_with_unknown_token_restarts_the_only_timer(void **state)
{
    static const struct {
        const char *also;
        bool alive;
    } cases[] = {
        {NULL, true},
        {"C " ASK("8", "tools/call"), false},
        {"C {'jsonrpc':'2.0','id':8,'method':'x','params':{'_meta':{'progressToken':1}}}", false},
    };
    struct fixture *f = *state;
    struct deadlines rules;
    for (size_t i = 0; i < MI_COUNT(cases); i++) {
        with_deadline(f, &rules, 10000000);
        traffic_say(f, "C " ASK("7", "tools/call"));
        if (cases[i].also != NULL)
            traffic_say(f, cases[i].also);
        traffic_turn(f);
        (void)expire_start_timers_and_get_wait(&f->traffic);
        const struct pending *p = f->traffic.open[ROW_C2S].open.oldest;
        int64_t began = p->started_us;
        f->journal.now_us += 2000;
        traffic_say(f, "S " NOTE("notifications/progress", "{'progressToken':'tool-7'}"));
        assert_int_equal(p->started_us > began, cases[i].alive);
        traffic_end(f);
        deadlines_close(&rules);
    }
}

static void test_correlate_progress_with_unknown_token_ignores_request_with_token(void **state)
{
    struct fixture *f = *state;
    struct deadlines rules;
    with_deadline(f, &rules, 10000000);
    traffic_say(f,
                "C {'jsonrpc':'2.0','id':8,'method':'x','params':{'_meta':{'progressToken':1}}}");
    traffic_turn(f);
    (void)expire_start_timers_and_get_wait(&f->traffic);
    const struct pending *p = f->traffic.open[ROW_C2S].open.oldest;
    int64_t began = p->started_us;
    f->journal.now_us += 2000;
    traffic_say(f, "S " NOTE("notifications/progress", "{'progressToken':'tool-8'}"));
    assert_true(p->started_us == began);
    traffic_end(f);
    deadlines_close(&rules);
}

/* ---- credentials ------------------------------------------------------------------------------ */

static void test_correlate_rejected_credentials_are_recognized_by_phrases(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "Unauthorized",
        "535 5.7.8 Username and Password not accepted. For more information, go to",
        "535 5.7.3 Authentication unsuccessful",
        "SMTPAuthenticationError: (535, b'no')",
        "The token used in the request has expired",
        "The token used in the request has been revoked by the user",
        "invalid_grant: Token has been expired or revoked.",
        "401 Client Error: for url",
        "Request failed with status code 401",
        "API key not valid. Please pass a valid API key.",
        "WhatsApp: not logged in",
    };
    static const char *const others[] = {
        "Tool not found",         "Rate limit: 429, come back in 60 min",
        "550 5.1.1 no such user", "the file has expired",
        "line 401 is too long",   "a token is missing after ')'",
    };
    for (size_t i = 0; i < MI_COUNT(refused); i++)
        if (!error_says_credentials_refused(slice_of(refused[i])))
            fail_msg("not recognized: %s", refused[i]);
    for (size_t i = 0; i < MI_COUNT(others); i++)
        if (error_says_credentials_refused(slice_of(others[i])))
            fail_msg("recognized by mistake: %s", others[i]);
}

#define T(name) cmocka_unit_test_setup_teardown(name, traffic_set_up, traffic_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_correlate_shutdown_and_exit_announce_the_end),
        T(test_correlate_lsp_cancelled_request_is_not_a_hang),
        T(test_correlate_question_is_answered_to_us_only),
        T(test_correlate_answers_count_but_not_notifications),
        T(test_final_answers_say_which_requests_were_read_and_which_may_have_run),
        T(test_correlate_answer_to_lsp_cancelled_request_is_forwarded),
        T(test_correlate_progress_with_unknown_token_restarts_the_only_timer),
        T(test_correlate_progress_with_unknown_token_ignores_request_with_token),
        cmocka_unit_test(test_correlate_rejected_credentials_are_recognized_by_phrases),
    };
    return cmocka_run_group_tests_name("correlate", tests, NULL, NULL);
}
