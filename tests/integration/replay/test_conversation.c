/* The conversation without event loop and clock: lines of the client in, lines of the recorded server out. */
#include "tests/support/replay_unit.h"

#define TEXT(t) "{\"content\":[{\"type\":\"text\",\"text\":\"" t "\"}]}"
#define ASK(id) REQUEST(id, "elicitation/create", "{\"message\":\"Name?\"}")

/* ---- answers ---- */

static void test_conversation_request_gets_its_recorded_answer_with_the_live_id(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("7", "echo", "{\"a\":1}")) SERVER(RESULT("7", TEXT("one")))
                   CLIENT(CALL("8", "echo", "{\"a\":2}")) SERVER(RESULT("8", TEXT("two"))));
    client(t, CALL("\"x\\u0041\"", "echo", "{\"a\":2}"));
    server_said(t, RESULT("\"x\\u0041\"", TEXT("two")) "\n");
    client(t, CALL("1.0", "echo", "{\"a\":1}"));
    server_said(t, RESULT("1.0", TEXT("one")) "\n");
    assert_int_equal(t->misses.counts.matched, 2);
    assert_int_equal(t->misses.counts.missed, 0);
}

static void test_conversation_spelling_of_a_request_is_ignored(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("7", "echo", "{\"a\":1,\"b\":\"ä/\"}"))
                   SERVER(RESULT("7", TEXT("one"))));
    client(t, "{\"method\":\"tools\\/call\",\"params\":{\"_meta\":{\"traceparent\":\"00-1\"},"
              "\"arguments\" : { \"b\" : \"\\u00e4\\/\", \"a\" : 10e-1 },\"name\":\"ech\\u006f\"},"
              "\"id\":3,\"jsonrpc\":\"2.0\"} \r");
    server_said(t, RESULT("3", TEXT("one")) "\n");
}

static void test_conversation_unknown_tool_or_method_is_a_miss(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LEGACY CLIENT(CALL("7", "echo", "{}")) SERVER(RESULT("7", TEXT("one"))));
    client(t, CALL("1", "other", "{}"));
    server_refused(t, "1", -32602, "never recorded: tools/call other");
    client(t, REQUEST("2", "prompts/get", "{\"name\":\"echo\",\"arguments\":{}}"));
    server_refused(t, "2", -32601, "a method that was never recorded: prompts/get echo");
    client(t, CALL("3", "echo", "{\"x\":1}"));
    server_refused(t, "3", -32602, "the nearest is seq 4, which differs at /arguments/x");
    assert_int_equal(t->misses.counts.missed, 3);
    assert_true(said_holds("warn: never recorded: tools/call other"));
}

static void test_conversation_equal_requests_are_answered_in_recorded_order(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "n", "{}")) SERVER(RESULT("1", TEXT("1")))
                   CLIENT(CALL("2", "n", "{}")) SERVER(RESULT("2", TEXT("2"))));
    client(t, CALL("1", "n", "{}"));
    server_said(t, RESULT("1", TEXT("1")) "\n");
    client(t, CALL("2", "n", "{}"));
    server_said(t, RESULT("2", TEXT("2")) "\n");
    client(t, CALL("3", "n", "{}"));
    server_said(t, RESULT("3", TEXT("2")) "\n");
    assert_int_equal(t->misses.counts.repeated, 1);
}

static void test_conversation_repeat_fail_is_a_miss_when_answers_run_out(void **state)
{
    struct play_test *t = *state;
    t->rules.repeat_fail = true;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "n", "{}")) SERVER(RESULT("1", TEXT("1")))
                   CLIENT(REQUEST("2", "tasks/get", "{\"taskId\":\"t\"}"))
                       SERVER(RESULT("2", "{}")));
    client(t, CALL("1", "n", "{}"));
    server_said(t, RESULT("1", TEXT("1")) "\n");
    client(t, CALL("2", "n", "{}"));
    server_refused(t, "2", -32602, "to accept it: --repeat last");
    client(t, REQUEST("3", "tasks/get", "{\"taskId\":\"t\"}"));
    client(t, REQUEST("4", "tasks/get", "{\"taskId\":\"t\"}"));
    server_said(t, RESULT("3", "{}") "\n" RESULT("4", "{}") "\n");
}

static void test_conversation_strict_order_matches_only_the_next_recorded_request(void **state)
{
    struct play_test *t = *state;
    t->rules.strict_order = true;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(RESULT("1", TEXT("a")))
                   CLIENT(CALL("2", "b", "{\"x\":1}")) SERVER(RESULT("2", TEXT("b")))
                       CLIENT(CALL("3", "c", "{}")) SERVER(RESULT("3", TEXT("c"))));
    client(t, CALL("9", "b", "{\"x\":1}"));
    server_refused(t, "9", -32602, "to accept it: --ordering match");
    client(t, CALL("1", "a", "{}"));
    server_said(t, RESULT("1", TEXT("a")) "\n");
    client(t, CALL("1", "b", "{\"x\":2}")); /* the expected request, except for a parameter */
    server_refused(t, "1", -32602, "/arguments/x");
    client(t, CALL("3", "c", "{}"));
    server_said(t, RESULT("3", TEXT("c")) "\n");
    client(t, CALL("3", "c", "{}"));
    server_refused(t, "3", -32602, "recorded, but at another point of the session");
}

static void test_conversation_ignored_pointer_makes_requests_equal(void **state)
{
    struct play_test *t = *state;
    struct buf error = {0};
    assert_int_equal(pointers_add(&t->rules.canon.ignore, "", slice_of("/arguments/*/id"), &error),
                     0);
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{\"q\":{\"id\":1,\"n\":2}}"))
                   SERVER(RESULT("1", TEXT("a"))));
    client(t, CALL("1", "a", "{\"q\":{\"n\":2,\"id\":[true]}}"));
    server_said(t, RESULT("1", TEXT("a")) "\n");
    client(t, CALL("2", "a", "{\"q\":{\"n\":3}}"));
    server_refused(t, "2", -32602, "--ignore '/arguments/q/n'");
    buf_close(&error);
}

/* ---- messages before an answer ---- */

static void test_conversation_progress_is_sent_first_with_the_live_token_and_a_gap(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL_TOKEN("1", "a", "{}", "\"t\"")) SERVER(PROGRESS("\"t\"", "1"))
                   SERVER(PROGRESS("\"t\"", "2")) SERVER(RESULT("1", TEXT("a"))));
    client(t, CALL_TOKEN("5", "a", "{}", "5"));
    server_said(t, PROGRESS("5", "1") "\n" PROGRESS("5", "2") "\n");
    pass_us(t, PACE_GAP_US - 1);
    server_said(t, "");
    pass_us(t, 1);
    server_said(t, RESULT("5", TEXT("a")) "\n");
    assert_int_equal(conversation_next_event_us(t->conversation), CONVERSATION_NEVER);
}

static void test_conversation_progress_without_a_requested_token_is_dropped(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL_TOKEN("1", "a", "{}", "1")) SERVER(PROGRESS("1", "1"))
                   SERVER(PROGRESS("99", "1")) SERVER(RESULT("1", TEXT("a")))
                       SERVER(PROGRESS("1", "2")));
    client(t, CALL("5", "a", "{}"));
    pass_all(t);
    server_said(t, RESULT("5", TEXT("a")) "\n");
    client(t, CALL_TOKEN("6", "a", "{}", "6"));
    pass_all(t);
    server_said(t, PROGRESS("6", "1") "\n" RESULT("6", TEXT("a")) "\n");
}

static void test_conversation_speed_one_keeps_the_recorded_distances(void **state)
{
    struct play_test *t = *state;
    t->rules.pace.speed = 2;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) "+100 <" NOTE(
                   "notifications/message", "{}") "\n"
                                                  "+300 <" RESULT("1", "{}") "\n");
    client(t, CALL("1", "a", "{}"));
    pass_us(t, 49999);
    server_said(t, "");
    pass_us(t, 1);
    server_said(t, NOTE("notifications/message", "{}") "\n");
    pass_us(t, 149999);
    server_said(t, "");
    pass_us(t, 1);
    server_said(t, RESULT("1", "{}") "\n");
}

static void test_conversation_question_delays_steps_recorded_after_its_answer(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL_TOKEN("1", "a", "{}", "1")) SERVER(ASK("\"q\""))
                   SERVER(PROGRESS("1", "1")) CLIENT(RESULT("\"q\"", "{\"action\":\"accept\"}"))
                       SERVER(PROGRESS("1", "2")) SERVER(RESULT("1", TEXT("hello"))));
    client(t, CALL_TOKEN("9", "a", "{}", "9"));
    pass_all(t);
    server_said(t, ASK("\"1\"") "\n" PROGRESS("9", "1") "\n");
    client(t, RESULT("2", "{}")); /* to no question */
    client(t, RESULT("\"01\"", "{}"));
    pass_all(t);
    server_said(t, "");
    client(t, RESULT("1", "{\"action\":\"accept\"}")); /* a number, as some clients make of "1" */
    pass_all(t);
    server_said(t, PROGRESS("9", "2") "\n" RESULT("9", TEXT("hello")) "\n");
    assert_int_equal(t->misses.counts.notes, 0);
}

static void test_conversation_questions_of_concurrent_calls_are_not_mixed(void **state)
{
    struct play_test *t = *state;
    play_begin(
        t, "",
        LEGACY CLIENT(CALL("1", "a", "{\"n\":1}")) CLIENT(CALL("2", "a", "{\"n\":2}"))
            SERVER(ASK("10")) SERVER(ASK("11")) CLIENT(RESULT("11", "{\"action\":\"accept\"}"))
                SERVER(RESULT("2", TEXT("2"))) CLIENT(RESULT("10", "{\"action\":\"accept\"}"))
                    SERVER(RESULT("1", TEXT("1"))));
    client(t, CALL("2", "a", "{\"n\":2}"));
    server_said(t, ASK("1") "\n");
    client(t, CALL("1", "a", "{\"n\":1}"));
    server_said(t, ASK("2") "\n");
    client(t, RESULT("1", "{\"action\":\"accept\"}"));
    server_said(t, RESULT("2", TEXT("2")) "\n");
    client(t, RESULT("2", "{\"action\":\"accept\"}"));
    server_said(t, RESULT("1", TEXT("1")) "\n");
}

/* The calls are 200 ms apart, so the first question is taken for one of the second call. */
static const char swapped_questions[] =
    LEGACY CLIENT(CALL("1", "a", "{\"n\":1}")) "+200 " CLIENT(CALL("2", "a", "{\"n\":2}"))
        SERVER(ASK("10")) SERVER(ASK("11")) CLIENT(RESULT("10", "{\"action\":\"accept\"}"))
            SERVER(RESULT("1", TEXT("1"))) CLIENT(RESULT("11", "{\"action\":\"accept\"}"))
                SERVER(RESULT("2", TEXT("2")));

static void test_conversation_answer_waits_for_a_question_of_a_concurrent_call(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", swapped_questions);
    client(t, CALL("2", "a", "{\"n\":2}"));
    client(t, CALL("1", "a", "{\"n\":1}"));
    pass_us(t, PACE_OPEN_MAX_US - 1);
    server_said(t, ASK("1") "\n" ASK("2") "\n");
    client(t, RESULT("1", "{\"action\":\"accept\"}"));
    pass_us(t, 0);
    server_said(t, RESULT("1", TEXT("1")) "\n");
    client(t, RESULT("2", "{\"action\":\"accept\"}"));
    pass_us(t, 0);
    server_said(t, RESULT("2", TEXT("2")) "\n");
}

static void test_conversation_answer_waits_no_longer_than_its_limit_for_a_question(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", swapped_questions);
    client(t, CALL("2", "a", "{\"n\":2}"));
    client(t, CALL("1", "a", "{\"n\":1}"));
    server_said(t, ASK("1") "\n" ASK("2") "\n");
    pass_us(t, PACE_OPEN_MAX_US);
    server_said(t, RESULT("1", TEXT("1")) "\n");
}

static void test_conversation_different_answer_to_a_question_is_a_note_or_a_failure(void **state)
{
    struct play_test *t = *state;
    const char *recording = LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(ASK("5"))
        CLIENT(RESULT("5", "{\"action\":\"accept\"}")) SERVER(RESULT("1", TEXT("hello")));
    play_begin(t, "", recording);
    client(t, CALL("1", "a", "{}"));
    client(t, RESULT("1", "{\"action\":\"cancel\"}"));
    server_said(t, ASK("1") "\n" RESULT("1", TEXT("hello")) "\n");
    assert_int_equal(t->misses.counts.notes, 1);
    assert_int_equal(t->misses.counts.missed, 0);
    conversation_close(t->conversation);
    source_close(t->source);
    t->rules.canon.answers = true;
    play_begin(t, "", recording);
    client(t, CALL("1", "a", "{}"));
    client(t, RESULT("1", "{\"action\":\"cancel\"}"));
    assert_int_equal(t->misses.counts.missed, 1);
    assert_true(said_holds("the client answered differently than recorded: elicitation/create"));
}

static void test_conversation_server_cancels_its_question_by_the_live_id(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(ASK("5")) SERVER(CANCEL("5"))
                   SERVER(RESULT("1", TEXT("gone"))));
    client(t, CALL("7", "a", "{}"));
    pass_all(t);
    server_said(t, ASK("1") "\n" CANCEL("1") "\n" RESULT("7", TEXT("gone")) "\n");
}

static void test_conversation_server_names_a_task_of_the_client_by_its_live_id(void **state)
{
    struct play_test *t = *state;
#define TASK(name) "{\"task\":{\"taskId\":\"" name "\",\"status\":\"working\"}}"
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(ASK("5")) CLIENT(RESULT(
                   "5", TASK("then"))) SERVER(REQUEST("6", "tasks/get", "{\"taskId\":\"then\"}"))
                   CLIENT(RESULT("6", "{\"status\":\"completed\"}")) SERVER(RESULT("1", "{}")));
    client(t, CALL("7", "a", "{}"));
    client(t, RESULT("1", TASK("now")));
    server_said(t, ASK("1") "\n" REQUEST("2", "tasks/get", "{\"taskId\":\"now\"}") "\n");
    client(t, RESULT("2", "{\"status\":\"completed\"}"));
    server_said(t, RESULT("7", "{}") "\n");
}

/* ---- unsolicited messages ---- */

static void test_conversation_unsolicited_message_follows_the_recorded_event(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               SERVER(NOTE("notifications/message", "{\"data\":\"hello\"}"))
                   LEGACY SERVER(REQUEST("1", "roots/list", "{}")) CLIENT(CALL("1", "a", "{}"))
                       SERVER(RESULT("1", "{}"))
                           SERVER(NOTE("notifications/tools/list_changed", "{}"))
                               SERVER(NOTE("notifications/prompts/list_changed", "{}"))
                                   CLIENT(CALL("2", "b", "{}")) SERVER(RESULT("2", "{}")));
    server_said(t, NOTE("notifications/message", "{\"data\":\"hello\"}") "\n");
    client(t, INITIALIZE);
    server_said(t, RESULT("0", "{\"protocolVersion\":\"2025-03-26\"}") "\n");
    client(t, NOTE("notifications/initialized", "{}"));
    server_said(t, REQUEST("1", "roots/list", "{}") "\n");
    client(t, NOTE("notifications/initialized", "{}")); /* recorded once */
    server_said(t, "");
    client(t, CALL("1", "a", "{}"));
    server_said(t, RESULT("1", "{}") "\n" NOTE("notifications/tools/list_changed", "{}") "\n" NOTE(
                       "notifications/prompts/list_changed", "{}") "\n");
    client(t, CALL("2", "b", "{}"));
    server_said(t, RESULT("2", "{}") "\n");
}

static void test_conversation_unsolicited_message_is_sent_once_for_a_repeated_request(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(RESULT("1", "{}"))
                   SERVER(NOTE("notifications/tools/list_changed", "{}")));
    client(t, CALL("1", "a", "{}"));
    server_said(t, RESULT("1", "{}") "\n" NOTE("notifications/tools/list_changed", "{}") "\n");
    client(t, CALL("1", "a", "{}"));
    pass_all(t);
    server_said(t, RESULT("1", "{}") "\n");
}

static void test_conversation_message_about_roots_follows_the_clients_answer(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(NOTE("notifications/roots/list_changed", "{}"))
                   SERVER(REQUEST("8", "roots/list", "{}")) CLIENT(RESULT("8", "{\"roots\":[]}"))
                       SERVER(NOTE("notifications/message", "{\"data\":\"no roots\"}")));
    client(t, NOTE("notifications/roots/list_changed", "{}"));
    pass_all(t);
    server_said(t, REQUEST("1", "roots/list", "{}") "\n");
    client(t, RESULT("1", "{\"roots\":[]}"));
    server_said(t, NOTE("notifications/message", "{\"data\":\"no roots\"}") "\n");
}

static void test_conversation_stderr_of_the_server_is_replayed(void **state)
{
    struct play_test *t = *state;
    play_begin(
        t, "",
        "Eready\n" LEGACY CLIENT(CALL("1", "a", "{}")) "Eworking\n" SERVER(RESULT("1", "{}")));
    assert_string_equal(buf_str(&t->heard), "ready\n");
    client(t, CALL("1", "a", "{}"));
    assert_string_equal(buf_str(&t->heard), "ready\nworking\n");
    server_said(t, RESULT("1", "{}") "\n");
}

/* ---- outcomes other than answers ---- */

static void test_conversation_cancelled_request_gets_nothing_more(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL_TOKEN("1", "a", "{}", "1")) SERVER(PROGRESS("1", "1"))
                   SERVER(PROGRESS("1", "2")) SERVER(RESULT("1", "{}")));
    client(t, CALL_TOKEN("\"x\"", "a", "{}", "1"));
    server_said(t, PROGRESS("1", "1") "\n" PROGRESS("1", "2") "\n");
    client(t, CANCEL("1"));
    client(t, CANCEL("\"y\""));
    client(t, CANCEL("\"x\""));
    pass_all(t);
    server_said(t, "");
    assert_int_equal(conversation_count_playbacks(t->conversation), 0);
}

static void test_conversation_initialize_is_never_cancelled(void **state)
{
    struct play_test *t = *state;
    t->rules.pace.speed = 1;
    play_begin(t, "", LEGACY);
    client(t, INITIALIZE);
    client(t, CANCEL("0"));
    pass_all(t);
    server_said(t, RESULT("0", "{\"protocolVersion\":\"2025-03-26\"}") "\n");
}

static void test_conversation_recorded_cancellation_is_replayed(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL_TOKEN("1", "a", "{}", "1"))
                   SERVER(PROGRESS("1", "1")) "+5000 >" CANCEL("1") "\n" SERVER(PROGRESS("1", "2"))
                       CLIENT(CALL("2", "b", "{}")) SERVER(RESULT("2", "{}")));
    client(t, CALL_TOKEN("7", "a", "{}", "7"));
    server_said(t, PROGRESS("7", "1") "\n");
    client(t, CANCEL("7"));
    pass_all(t);
    server_said(t, PROGRESS("7", "2") "\n"); /* as recorded: this server ignored the cancellation */
    assert_int_equal(t->misses.counts.missed, 0);
}

static void test_conversation_client_that_does_not_cancel_gets_an_error(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LEGACY CLIENT(CALL("1", "a", "{}")) "+5000 >" CANCEL("1") "\n");
    client(t, CALL("7", "a", "{}"));
    pass_us(t, 5000000 + PACE_SLACK_US - 1);
    server_said(t, "");
    pass_us(t, 1);
    server_refused(t, "7", -32603, "recorded without an answer: tools/call a");
    assert_int_equal(t->misses.counts.missed, 1);
    assert_int_equal(conversation_count_playbacks(t->conversation), 0);
}

static void test_conversation_request_pending_at_the_end_gets_an_error(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) "+500 >" CALL("2", "b", "{}") "\n" SERVER(
                   RESULT("2", "{}")));
    client(t, CALL("1", "a", "{}"));
    pass_us(t, 501000 + PACE_SLACK_US);
    server_refused(t, "1", -32603, "recorded without an answer");
}

static void test_conversation_recorded_timeout_and_crash_are_replayed_at_once(void **state)
{
    struct play_test *t = *state;
#define GONE(id, code)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"m\"}}"
    play_begin(t, ",\"end_reason\":\"server-exited\",\"exit_status\":7",
               LEGACY CLIENT(CALL("1", "slow", "{}")) "+30000 !" GONE("1", "-32001") "\n" CLIENT(
                   CALL("2", "crash", "{}")) "!" GONE("2", "-32000") "\n");
    client(t, CALL("5", "slow", "{}"));
    server_said(t, GONE("5", "-32001") "\n");
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_RUNNING);
    client(t, CALL("6", "crash", "{}"));
    server_said(t, GONE("6", "-32000") "\n");
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_SERVER_ENDED);
    assert_int_equal(conversation_exit_status(t->conversation), 7);
}

/* ---- handshakes and revisions ---- */

#define MODERN(version)                                                                            \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\","                      \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define SUBSCRIPTION(id) "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}"

static void test_conversation_initialize_answers_the_recorded_revision(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LEGACY);
    client(t, REQUEST("\"i\"", "initialize",
                      "{\"protocolVersion\":\"2099-01-01\",\"clientInfo\":{}}"));
    server_said(t, RESULT("\"i\"", "{\"protocolVersion\":\"2025-03-26\"}") "\n");
    assert_int_equal(t->misses.counts.missed, 0);
}

static void test_conversation_ping_probe_and_shutdown_need_no_recording(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LEGACY);
    client(t, REQUEST("1", "server/discover", "{" MODERN("2026-07-28") "}"));
    server_refused(t, "1", -32601, "server/discover");
    client(t, REQUEST("2", "ping", "{}"));
    client(t, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"shutdown\"}");
    server_said(t, RESULT("2", "{}") "\n" RESULT("3", "{}") "\n");
    client(t, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}");
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_CLIENT_EXIT);
    assert_int_equal(t->misses.counts.missed, 0);
}

static void test_conversation_recorded_exit_has_the_status_of_the_server(void **state)
{
    struct play_test *t = *state;
#define EXIT "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}"
    play_begin(t, ",\"end_reason\":\"server-exited\",\"exit_status\":1", LEGACY CLIENT(EXIT));
    client(t, EXIT);
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_SERVER_ENDED);
    assert_int_equal(conversation_exit_status(t->conversation), 1);
}

static void test_conversation_unrecorded_exit_has_status_0(void **state)
{
    struct play_test *t = *state;
    play_begin(t, ",\"end_reason\":\"server-exited\",\"exit_status\":1",
               LEGACY CLIENT(REQUEST("1", "ping", "{}")) "<" RESULT("1", "{}") "\n");
    client(t, EXIT);
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_CLIENT_EXIT);
}

#define CALL_OFF(id)                                                                               \
    "{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{\"id\":" id "}}"
#define CALLED_OFF(id)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32002,\"message\":\"cancelled\"}}"

static void begin_called_off(struct play_test *t)
{
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "long", "{}")) CLIENT(CALL("2", "other", "{}"))
                   CLIENT(CALL_OFF("1")) "<" CALLED_OFF("1") "\n<" RESULT("2", "{}") "\n");
}

static void test_conversation_request_cancelled_by_lsp_waits_without_delaying_others(void **state)
{
    struct play_test *t = *state;
    begin_called_off(t);
    client(t, CALL("7", "long", "{}"));
    server_said(t, "");
    client(t, CALL("8", "other", "{}"));
    server_said(t, RESULT("8", "{}") "\n"); /* another request is not delayed */
}

static void test_conversation_lsp_cancellation_gets_the_recorded_answer(void **state)
{
    struct play_test *t = *state;
    begin_called_off(t);
    client(t, CALL("7", "long", "{}"));
    server_said(t, "");
    client(t, CALL_OFF("7"));
    pass_us(t, 0);
    server_said(t, CALLED_OFF("7") "\n");
    assert_int_equal(t->misses.counts.missed, 0);
}

static void test_conversation_client_without_lsp_cancellation_gets_an_error(void **state)
{
    struct play_test *t = *state;
    begin_called_off(t);
    client(t, CALL("7", "long", "{}"));
    pass_us(t, 100000 + PACE_SLACK_US);
    server_refused(t, "7", -32603, "recorded without an answer");
}

static void test_conversation_recorded_ping_is_replayed(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(REQUEST("1", "ping", "{}")) "<{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
                                                         "{\"code\":-32601,\"message\":\"no\"}}\n");
    client(t, REQUEST("5", "ping", "{}"));
    server_refused(t, "5", -32601, "no");
}

static void test_conversation_modern_recording_answers_a_probe_and_rejects_initialize(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               CLIENT(REQUEST("1", "tools/list", "{" MODERN("2026-07-28") "}"))
                   SERVER(RESULT("1", "{\"tools\":[]}")));
    client(t, REQUEST("1", "server/discover", "{" MODERN("2026-07-28") "}"));
    server_said(
        t, RESULT("1",
                  "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
                  "\"capabilities\":{\"tools\":{}},\"ttlMs\":0,\"cacheScope\":\"private\"}") "\n");
    client(t, INITIALIZE);
    server_refused(t, "0", -32022, "\"supported\":[\"2026-07-28\"],\"requested\":\"2025-03-26\"");
    assert_int_equal(t->misses.counts.missed, 0);
    client(t, REQUEST("2", "tools/list", "{" MODERN("2026-07-28") "}"));
    server_said(t, RESULT("2", "{\"tools\":[]}") "\n");
    client(t, REQUEST("3", "tools/list", "{" MODERN("2027-01-01") "}"));
    server_refused(t, "3", -32022, "\"supported\":[\"2026-07-28\"],\"requested\":\"2027-01-01\"");
    client(t, REQUEST("4", "tools/list", "{}"));
    server_refused(t, "4", -32602, "another protocol revision");
    assert_int_equal(t->misses.counts.missed, 2);
}

static void test_conversation_subscription_carries_the_live_id(void **state)
{
    struct play_test *t = *state;
#define ACK(id) NOTE("notifications/subscriptions/acknowledged", "{" SUBSCRIPTION(id) "}")
#define CHANGED(id) NOTE("notifications/tools/list_changed", "{" SUBSCRIPTION(id) "}")
#define LISTEN(id) REQUEST(id, "subscriptions/listen", "{" MODERN("2026-07-28") "}")
    play_begin(t, "",
               CLIENT(LISTEN("1")) SERVER(ACK("1"))
                   CLIENT(REQUEST("2", "tools/list", "{" MODERN("2026-07-28") "}"))
                       SERVER(RESULT("2", "{}")) SERVER(CHANGED("1"))
                           SERVER(RESULT("1", "{" SUBSCRIPTION("1") "}")));
    client(t, LISTEN("\"L\""));
    pass_us(t, PACE_GAP_US);
    server_said(t, ACK("\"L\"") "\n");
    client(t, REQUEST("7", "tools/list", "{" MODERN("2026-07-28") "}"));
    pass_all(t);
    server_said(t, RESULT("7", "{}") "\n" CHANGED("\"L\"") "\n" RESULT(
                       "\"L\"", "{" SUBSCRIPTION("\"L\"") "}") "\n");
}

#define MODERN_LIST(id) REQUEST(id, "tools/list", "{" MODERN("2026-07-28") "}")
#define LISTENED(id) RESULT(id, "{" SUBSCRIPTION(id) "}")
#define LISTENS CLIENT(LISTEN("1")) SERVER(ACK("1")) CLIENT(MODERN_LIST("2"))

/* The server may have ended it because the client left: a client that sends more requests keeps it. */
static void test_conversation_subscription_that_ended_last_ends_when_the_client_leaves(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LISTENS SERVER(RESULT("2", "{}")) SERVER(LISTENED("1")));
    client(t, LISTEN("5"));
    client(t, MODERN_LIST("6"));
    pass_us(t, PACE_SLACK_US / 2);
    server_said(t, ACK("5") "\n" RESULT("6", "{}") "\n");
    assert_int_equal(conversation_handle_client_hangup(t->conversation, t->now_us), 0);
    pass_us(t, PACE_GAP_US);
    server_said(t, LISTENED("5") "\n");
}

/* Or the client left because the subscription had ended. */
static void
test_conversation_subscription_that_ended_last_ends_for_a_client_that_waits(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LISTENS SERVER(RESULT("2", "{}"))
                   SERVER(NOTE("notifications/cancelled", "{\"requestId\":1}"))
                       SERVER(LISTENED("1")));
    client(t, LISTEN("5"));
    client(t, MODERN_LIST("6"));
    pass_us(t, PACE_GAP_US);
    server_said(t, ACK("5") "\n" RESULT("6", "{}") "\n");
    pass_all(t);
    server_said(t, NOTE("notifications/cancelled", "{\"requestId\":5}") "\n" LISTENED("5") "\n");
}

static void test_conversation_subscription_that_ended_early_ends_at_the_recorded_place(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LISTENS SERVER(RESULT("2", "{}")) SERVER(LISTENED("1")) CLIENT(MODERN_LIST("3"))
                   SERVER(RESULT("3", "{}")));
    client(t, LISTEN("5"));
    client(t, MODERN_LIST("6"));
    pass_us(t, PACE_GAP_US);
    server_said(t, ACK("5") "\n" RESULT("6", "{}") "\n" LISTENED("5") "\n");
}

/* A message on the stream that a call caused is sent before its answer, as recorded; a client that subscribes later
 * gets it, too. */
static void test_conversation_subscription_message_of_a_call_is_sent_before_its_answer(void **state)
{
    struct play_test *t = *state;
#define MODERN_CALL(id)                                                                            \
    REQUEST(id, "tools/call", "{\"name\":\"add\",\"arguments\":{}," MODERN("2026-07-28") "}")
    const char *recording = CLIENT(LISTEN("1")) SERVER(ACK("1")) CLIENT(MODERN_CALL("2"));
    struct buf b = {0};
    buf_adds(&b, recording);
    buf_adds(&b, SERVER(CHANGED("1")) SERVER(CHANGED("1")) SERVER(RESULT("2", "{}")));
    play_begin(t, "", buf_str(&b));
    client(t, LISTEN("5"));
    pass_all(t);
    server_said(t, ACK("5") "\n");
    client(t, MODERN_CALL("6"));
    pass_all(t);
    server_said(t, CHANGED("5") "\n" CHANGED("5") "\n" RESULT("6", "{}") "\n");
    conversation_close(t->conversation);
    source_close(t->source);
    play_begin(t, "", buf_str(&b));
    client(t, MODERN_CALL("6"));
    server_said(t, RESULT("6", "{}") "\n");
    client(t, LISTEN("5"));
    pass_all(t);
    server_said(t, ACK("5") "\n" CHANGED("5") "\n" CHANGED("5") "\n");
    buf_close(&b);
}

/* Revision 2025-11-25: the token stays valid for the task. */
static void test_conversation_progress_of_a_task_waits_until_the_client_gets_there(void **state)
{
    struct play_test *t = *state;
#define OUTCOME REQUEST("2", "tasks/result", "{\"taskId\":\"t\"}")
#define GO_ON                                                                                      \
    REQUEST("1", "elicitation/create",                                                             \
            "{\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"t\"}}}")
    struct buf b = {0};
    buf_adds(&b, LEGACY CLIENT(CALL_TOKEN("1", "a", "{}", "1")) SERVER(RESULT("1", TASK("t"))));
    buf_adds(&b, SERVER(PROGRESS("1", "1")) CLIENT(OUTCOME) SERVER(GO_ON));
    buf_adds(&b, CLIENT(RESULT("1", "{}")) SERVER(PROGRESS("1", "2")) SERVER(RESULT("2", "{}")));
    play_begin(t, "", buf_str(&b));
    client(t, CALL_TOKEN("5", "a", "{}", "5"));
    pass_all(t);
    server_said(t, RESULT("5", TASK("t")) "\n" PROGRESS("5", "1") "\n");
    client(t, OUTCOME);
    pass_all(t);
    server_said(t, GO_ON "\n");
    client(t, RESULT("1", "{}"));
    pass_all(t);
    server_said(t, PROGRESS("5", "2") "\n" RESULT("2", "{}") "\n");
    buf_close(&b);
}

static void test_conversation_input_required_continues_by_its_state(void **state)
{
    struct play_test *t = *state;
#define MORE(id, s, answer)                                                                        \
    REQUEST(id, "tools/call",                                                                      \
            "{\"name\":\"a\",\"requestState\":\"" s "\",\"inputResponses\":"                       \
            "{\"k\":" answer "}," MODERN("2026-07-28") "}")
    play_begin(
        t, "",
        CLIENT(REQUEST("1", "tools/call", "{\"name\":\"a\"," MODERN("2026-07-28") "}"))
            SERVER(RESULT("1", "{\"resultType\":\"input_required\",\"requestState\":\"s1\"}"))
                CLIENT(MORE("2", "s1", "{\"action\":\"accept\"}"))
                    SERVER(RESULT("2", TEXT("done"))));
    client(t, MORE("3", "s1", "{\"action\":\"accept\",\"content\":{\"n\":\"B\"}}"));
    server_said(t, RESULT("3", TEXT("done")) "\n");
    client(t, MORE("4", "s2", "{\"action\":\"accept\"}"));
    server_refused(t, "4", -32602, "/requestState (recorded \\\"s1\\\", now \\\"s2\\\")");
}

static void test_conversation_batch_is_answered_with_a_batch(void **state)
{
    struct play_test *t = *state;
    struct buf b = {0};
#define LINE(dir, more, message) "{\"t\":1,\"dir\":\"" dir "\"," more "\"msg\":" message "}\n"
#define MEMBER "\"member\":true,"
    buf_adds(&b, "{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"t\"}\n");
    buf_adds(&b, LINE("c2s", "", INITIALIZE));
    buf_adds(&b, LINE("s2c", "", RESULT("0", "{\"protocolVersion\":\"2025-03-26\"}")));
    buf_adds(&b, LINE("c2s", "", "[" CALL("1", "a", "{}") "," CALL("2", "b", "{}") "]"));
    buf_adds(&b, LINE("c2s", MEMBER, CALL("1", "a", "{}")));
    buf_adds(&b, LINE("c2s", MEMBER, CALL("2", "b", "{}")));
    buf_adds(&b, LINE("s2c", "", "[" RESULT("2", "{}") "," RESULT("1", "{}") "]"));
    buf_adds(&b, LINE("s2c", MEMBER, RESULT("2", "{\"n\":2}")));
    buf_adds(&b, LINE("s2c", MEMBER, RESULT("1", "{\"n\":1}")));
    buf_adds(&b, "{\"end\":true}\n");
    play_begin(t, "", LEGACY);
    FILE *f = fopen(temp_path(&t->temp, "batch.jsonl"), "we");
    assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
    fclose(f);
    conversation_close(t->conversation);
    source_close(t->source);
    buf_clear(&b);
    if (source_open_cassette(&t->source, temp_path(&t->temp, "batch.jsonl"), &b) < 0)
        fail_msg("%s", buf_str(&b));
    assert_int_equal(conversation_open(&t->conversation, &t->rules, &t->faults, t->source,
                                       &t->misses, on_send, on_server_stderr, t),
                     0);
    assert_int_equal(conversation_begin(t->conversation, NOW), 0);
    client(t, "[" CALL("5", "a", "{}") "," NOTE("notifications/x", "{}") "," CALL(
                  "6", "b", "{}") "," CALL("7", "c", "{}") "]");
    assert_non_null(strstr(buf_str(&t->said),
                           "[" RESULT("5", "{\"n\":1}") "," RESULT(
                               "6", "{\"n\":2}") ",{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":"));
    assert_string_equal(buf_str(&t->said) + t->said.n - 2, "]\n");
    server_forget(t);
    client(t, CALL("8", "a", "{}")); /* not in a batch, nor is the answer */
    server_said(t, RESULT("8", "{\"n\":1}") "\n");
    client(t, "[]");
    server_refused(t, "null", -32600, "invalid message");
    client(t, "[1]");
    assert_true(slice_begins(buf_slice(&t->said), "[{\"jsonrpc\":\"2.0\",\"id\":null,\"error\""));
    buf_close(&b);
}

static void test_conversation_invalid_line_is_reported(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", "");
    client(t, "  ");
    server_said(t, "");
    client(t, "{\"x\"");
    server_refused(t, "null", -32700, "invalid message");
    client(t, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}");
    server_refused(t, "4", -32600, "invalid message");
    client(t, "[]"); /* the recorded revision has no batches */
    server_refused(t, "null", -32600, "invalid message");
    assert_int_equal(
        conversation_handle_long_line(
            t->conversation, slice_of("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\""), NOW),
        0);
    server_refused(t, "5", -32600, "invalid message");
    assert_int_equal(t->misses.counts.missed, 4);
}

/* ---- faults ---- */

static void begin_fault(struct play_test *t, const char *fault)
{
    struct buf error = {0};
    if (faults_add(&t->faults, fault, &error) < 0)
        fail_msg("%s", buf_str(&error));
    buf_close(&error);
    play_begin(t, "",
               LEGACY CLIENT(CALL_TOKEN("1", "a", "{}", "1")) SERVER(PROGRESS("1", "1"))
                   SERVER(RESULT("1", TEXT("a"))));
    client(t, CALL_TOKEN("7", "a", "{}", "7"));
}

static void test_conversation_fault_hang_sends_nothing(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "hang@tools/call:a#1");
    pass_all(t);
    server_said(t, "");
    client(t, CALL("8", "a", "{}"));
    pass_all(t);
    server_said(t, RESULT("8", TEXT("a")) "\n");
    client(t, CANCEL("7"));
    assert_int_equal(conversation_count_playbacks(t->conversation), 0);
    assert_int_equal(t->misses.counts.faults, 1);
}

static void test_conversation_fault_delay_starts_later(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "delay=1s@tools/*");
    pass_us(t, 999999);
    server_said(t, "");
    pass_us(t, 1);
    server_said(t, PROGRESS("7", "1") "\n");
    pass_all(t);
    server_said(t, RESULT("7", TEXT("a")) "\n");
}

static void test_conversation_faults_change_only_the_answer(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "error=-5@tools/call");
    server_said(t, PROGRESS("7", "1") "\n");
    pass_all(t);
    server_refused(t, "7", -5, "\"cause\":\"fault\"");
}

static void test_conversation_fault_garbage_precedes_the_answer(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "garbage@tools/call");
    pass_all(t);
    server_said(t, PROGRESS("7", "1") "\nnot a message: a fault injected by --fault\n" RESULT(
                       "7", TEXT("a")) "\n");
}

static void test_conversation_fault_duplicate_and_wrong_id(void **state)
{
    struct play_test *t = *state;
    struct buf error = {0};
    assert_int_equal(faults_add(&t->faults, "wrong-id@tools/call#2", &error), 0);
    begin_fault(t, "duplicate@tools/call");
    pass_all(t);
    server_said(t, PROGRESS("7", "1") "\n" RESULT("7", TEXT("a")) "\n" RESULT("7", TEXT("a")) "\n");
    client(t, CALL("8", "a", "{}"));
    server_said(t, RESULT("9007199254740991", TEXT("a")) "\n");
    buf_close(&error);
}

static void test_conversation_fault_truncate_sends_half_and_closes(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "truncate@tools/call");
    pass_all(t);
    const char *whole = RESULT("7", TEXT("a"));
    char want[512];
    snprintf(want, sizeof want, "%s\n%.*s", PROGRESS("7", "1"), (int)strlen(whole) / 2, whole);
    server_said(t, want);
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_CLOSE);
}

static void test_conversation_faults_close_and_crash_end_the_conversation(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "crash@tools/call");
    pass_all(t);
    server_said(t, PROGRESS("7", "1") "\n");
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_CRASH);
}

/* ---- the end ---- */

static void test_conversation_hangup_sends_delayed_messages_at_once(void **state)
{
    struct play_test *t = *state;
    t->rules.pace.speed = 1;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) "+60000 <" RESULT("1", "{}") "\n" CLIENT(
                   CALL("2", "b", "{}")) SERVER(ASK("5")) CLIENT(RESULT("5", "{}"))
                   SERVER(RESULT("2", "{}")) CLIENT(CALL("3", "c", "{}")) CLIENT(CANCEL("3")));
    client(t, CALL("1", "a", "{}"));
    client(t, CALL("2", "b", "{}"));
    client(t, CALL("3", "c", "{}"));
    pass_us(t, 2000);
    server_said(t, ASK("1") "\n");
    assert_int_equal(conversation_handle_client_hangup(t->conversation, t->now_us), 0);
    server_said(t, RESULT("1", "{}") "\n");
    assert_int_equal(conversation_count_playbacks(t->conversation), 0);
    assert_int_equal(t->misses.counts.missed, 0);
}

#define RULES ",\"record_level\":\"standard\",\"redact_rules\":{\"version\":1}"
#define FIFTY "01234567890123456789012345678901234567890123456789"

static void test_conversation_requests_are_compared_in_sanitized_form(void **state)
{
    struct play_test *t = *state;
    play_begin(t, RULES,
               LEGACY CLIENT(CALL("1", "login", "{\"password\":\"[redacted:password]\"}"))
                   SERVER(RESULT("1", "{}")) CLIENT(
                       CALL("2", "write", "{\"content\":\"" FIFTY "\xe2\x80\xa6 [+4 chars]\"}"))
                       SERVER(RESULT("2", "[]")));
    client(t, CALL("1", "login", "{\"password\":\"a b c\"}"));
    server_said(t, RESULT("1", "{}") "\n");
    client(t, CALL("2", "write", "{\"content\":\"" FIFTY "more\"}"));
    server_said(t, RESULT("2", "[]") "\n");
    client(t, CALL("3", "login", "{\"password\":\"a b c\",\"n\":1}"));
    assert_null(strstr(buf_str(&t->said), "a b c"));
    server_refused(t, "3", -32602, "differs at /arguments/n");
}

/* The recording was made before the sanitizer truncated content in this way. */
static void test_conversation_request_in_old_sanitized_form_is_matched(void **state)
{
    struct play_test *t = *state;
    play_begin(t, RULES,
               LEGACY CLIENT(CALL("1", "login", "{\"password\":\"a b c\"}"))
                   SERVER(RESULT("1", "{}")));
    client(t, CALL("1", "login", "{\"password\":\"d e f\"}"));
    server_said(t, RESULT("1", "{}") "\n");
}

static void test_conversation_recording_without_rules_is_compared_unchanged(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "login", "{\"password\":\"a b c\"}"))
                   SERVER(RESULT("1", "{}")));
    client(t, CALL("1", "login", "{\"password\":\"d e f\"}"));
    assert_null(strstr(buf_str(&t->said), "d e f"));
    assert_null(strstr(buf_str(&t->said), "a b c"));
    server_refused(t, "1", -32602, "differs at /arguments/password");
    assert_false(said_holds("d e f"));
    client(t, CALL("2", "login", "{\"password\":\"a b c\"}"));
    server_said(t, RESULT("2", "{}") "\n");
}

static void test_conversation_answer_of_the_client_is_shown_sanitized(void **state)
{
    struct play_test *t = *state;
    t->rules.canon.answers = true;
    play_begin(t, RULES,
               LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(ASK("5"))
                   CLIENT(RESULT("5", "{\"content\":{\"password\":\"[redacted:password]\"}}"))
                       SERVER(RESULT("1", TEXT("hello"))));
    client(t, CALL("1", "a", "{}"));
    client(t, RESULT("1", "{\"content\":{\"password\":\"a b c\"}}"));
    assert_int_equal(t->misses.counts.missed, 0);
    server_said(t, ASK("1") "\n" RESULT("1", TEXT("hello")) "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        play_test(test_conversation_request_gets_its_recorded_answer_with_the_live_id),
        play_test(test_conversation_spelling_of_a_request_is_ignored),
        play_test(test_conversation_unknown_tool_or_method_is_a_miss),
        play_test(test_conversation_equal_requests_are_answered_in_recorded_order),
        play_test(test_conversation_repeat_fail_is_a_miss_when_answers_run_out),
        play_test(test_conversation_strict_order_matches_only_the_next_recorded_request),
        play_test(test_conversation_ignored_pointer_makes_requests_equal),
        play_test(test_conversation_progress_is_sent_first_with_the_live_token_and_a_gap),
        play_test(test_conversation_progress_without_a_requested_token_is_dropped),
        play_test(test_conversation_speed_one_keeps_the_recorded_distances),
        play_test(test_conversation_question_delays_steps_recorded_after_its_answer),
        play_test(test_conversation_questions_of_concurrent_calls_are_not_mixed),
        play_test(test_conversation_answer_waits_for_a_question_of_a_concurrent_call),
        play_test(test_conversation_answer_waits_no_longer_than_its_limit_for_a_question),
        play_test(test_conversation_different_answer_to_a_question_is_a_note_or_a_failure),
        play_test(test_conversation_server_cancels_its_question_by_the_live_id),
        play_test(test_conversation_server_names_a_task_of_the_client_by_its_live_id),
        play_test(test_conversation_unsolicited_message_follows_the_recorded_event),
        play_test(test_conversation_unsolicited_message_is_sent_once_for_a_repeated_request),
        play_test(test_conversation_message_about_roots_follows_the_clients_answer),
        play_test(test_conversation_stderr_of_the_server_is_replayed),
        play_test(test_conversation_cancelled_request_gets_nothing_more),
        play_test(test_conversation_initialize_is_never_cancelled),
        play_test(test_conversation_recorded_cancellation_is_replayed),
        play_test(test_conversation_client_that_does_not_cancel_gets_an_error),
        play_test(test_conversation_request_pending_at_the_end_gets_an_error),
        play_test(test_conversation_recorded_timeout_and_crash_are_replayed_at_once),
        play_test(test_conversation_initialize_answers_the_recorded_revision),
        play_test(test_conversation_ping_probe_and_shutdown_need_no_recording),
        play_test(test_conversation_recorded_exit_has_the_status_of_the_server),
        play_test(test_conversation_unrecorded_exit_has_status_0),
        play_test(test_conversation_request_cancelled_by_lsp_waits_without_delaying_others),
        play_test(test_conversation_lsp_cancellation_gets_the_recorded_answer),
        play_test(test_conversation_client_without_lsp_cancellation_gets_an_error),
        play_test(test_conversation_recorded_ping_is_replayed),
        play_test(test_conversation_modern_recording_answers_a_probe_and_rejects_initialize),
        play_test(test_conversation_subscription_carries_the_live_id),
        play_test(test_conversation_subscription_that_ended_last_ends_when_the_client_leaves),
        play_test(test_conversation_subscription_that_ended_last_ends_for_a_client_that_waits),
        play_test(test_conversation_subscription_that_ended_early_ends_at_the_recorded_place),
        play_test(test_conversation_subscription_message_of_a_call_is_sent_before_its_answer),
        play_test(test_conversation_progress_of_a_task_waits_until_the_client_gets_there),
        play_test(test_conversation_input_required_continues_by_its_state),
        play_test(test_conversation_batch_is_answered_with_a_batch),
        play_test(test_conversation_invalid_line_is_reported),
        play_test(test_conversation_fault_hang_sends_nothing),
        play_test(test_conversation_fault_delay_starts_later),
        play_test(test_conversation_faults_change_only_the_answer),
        play_test(test_conversation_fault_garbage_precedes_the_answer),
        play_test(test_conversation_fault_duplicate_and_wrong_id),
        play_test(test_conversation_fault_truncate_sends_half_and_closes),
        play_test(test_conversation_faults_close_and_crash_end_the_conversation),
        play_test(test_conversation_hangup_sends_delayed_messages_at_once),
        play_test(test_conversation_requests_are_compared_in_sanitized_form),
        play_test(test_conversation_request_in_old_sanitized_form_is_matched),
        play_test(test_conversation_recording_without_rules_is_compared_unchanged),
        play_test(test_conversation_answer_of_the_client_is_shown_sanitized),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
