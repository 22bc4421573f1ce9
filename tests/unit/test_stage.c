/* The play itself, without loop and clock: lines of the client in, lines of the recorded server out. */
#include "tests/unit/replay_unit.h"

#define TEXT(t) "{\"content\":[{\"type\":\"text\",\"text\":\"" t "\"}]}"
#define ASK(id) REQUEST(id, "elicitation/create", "{\"message\":\"Name?\"}")

/* ---- answers ---- */

static void test_stage_request_gets_its_recorded_answer_with_the_live_id(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("7", "echo", "{\"a\":1}")) SERVER(RESULT("7", TEXT("one")))
                   CLIENT(CALL("8", "echo", "{\"a\":2}")) SERVER(RESULT("8", TEXT("two"))));
    client(t, CALL("\"x\\u0041\"", "echo", "{\"a\":2}"));
    server_said(t, RESULT("\"x\\u0041\"", TEXT("two")) "\n");
    client(t, CALL("1.0", "echo", "{\"a\":1}"));
    server_said(t, RESULT("1.0", TEXT("one")) "\n");
    assert_int_equal(t->report.counts.matched, 2);
    assert_int_equal(t->report.counts.missed, 0);
}

static void test_stage_spelling_of_a_request_does_not_count(void **state)
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

static void test_stage_request_of_another_tool_or_method_is_a_miss(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LEGACY CLIENT(CALL("7", "echo", "{}")) SERVER(RESULT("7", TEXT("one"))));
    client(t, CALL("1", "other", "{}"));
    server_refused(t, "1", -32602, "never recorded: tools/call other");
    client(t, REQUEST("2", "prompts/get", "{\"name\":\"echo\",\"arguments\":{}}"));
    server_refused(t, "2", -32601, "a method that was never recorded: prompts/get echo");
    client(t, CALL("3", "echo", "{\"x\":1}"));
    server_refused(t, "3", -32602, "the nearest is seq 4, which differs at /arguments/x");
    assert_int_equal(t->report.counts.missed, 3);
    assert_true(said_holds("warn: never recorded: tools/call other"));
}

static void test_stage_equal_requests_are_answered_in_recorded_order(void **state)
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
    assert_int_equal(t->report.counts.repeated, 1);
}

static void test_stage_repeat_fail_is_a_miss_when_answers_run_out(void **state)
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

static void test_stage_strict_order_takes_the_next_recorded_request_alone(void **state)
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
    client(t, CALL("1", "b", "{\"x\":2}")); /* the one that was expected, but for a parameter */
    server_refused(t, "1", -32602, "/arguments/x");
    client(t, CALL("3", "c", "{}"));
    server_said(t, RESULT("3", TEXT("c")) "\n");
    client(t, CALL("3", "c", "{}"));
    server_refused(t, "3", -32602, "recorded, but not at this place");
}

static void test_stage_ignored_pointer_makes_requests_equal(void **state)
{
    struct play_test *t = *state;
    struct buf error = {0};
    assert_int_equal(pointers_add(&t->rules.canon.ignore, "/arguments/*/id", &error), 0);
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{\"q\":{\"id\":1,\"n\":2}}"))
                   SERVER(RESULT("1", TEXT("a"))));
    client(t, CALL("1", "a", "{\"q\":{\"n\":2,\"id\":[true]}}"));
    server_said(t, RESULT("1", TEXT("a")) "\n");
    client(t, CALL("2", "a", "{\"q\":{\"n\":3}}"));
    server_refused(t, "2", -32602, "--ignore '/arguments/q/n'");
    buf_close(&error);
}

/* ---- what comes before an answer ---- */

static void test_stage_progress_comes_first_with_the_live_token_and_a_gap(void **state)
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
    assert_int_equal(stage_due(t->stage), STAGE_NEVER);
}

static void test_stage_progress_is_dropped_when_nobody_gave_a_token(void **state)
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

static void test_stage_speed_one_keeps_the_recorded_distances(void **state)
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

static void test_stage_question_gates_what_came_behind_its_answer(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL_TOKEN("1", "a", "{}", "1")) SERVER(ASK("\"q\""))
                   SERVER(PROGRESS("1", "1")) CLIENT(RESULT("\"q\"", "{\"action\":\"accept\"}"))
                       SERVER(PROGRESS("1", "2")) SERVER(RESULT("1", TEXT("hello"))));
    client(t, CALL_TOKEN("9", "a", "{}", "9"));
    pass_all(t);
    server_said(t, ASK("\"1\"") "\n" PROGRESS("9", "1") "\n");
    client(t, RESULT("1", "{}")); /* the number is not what was asked with */
    pass_all(t);
    server_said(t, "");
    client(t, RESULT("\"1\"", "{\"action\":\"accept\"}"));
    pass_all(t);
    server_said(t, PROGRESS("9", "2") "\n" RESULT("9", TEXT("hello")) "\n");
    assert_int_equal(t->report.counts.notes, 0);
}

static void test_stage_questions_of_calls_at_the_same_time_stay_apart(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{\"n\":1}")) CLIENT(CALL("2", "a", "{\"n\":2}"))
                   SERVER(ASK("10")) SERVER(ASK("11"))
                       CLIENT(RESULT("11", "{\"action\":\"accept\"}"))
                           CLIENT(RESULT("10", "{\"action\":\"accept\"}"))
                               SERVER(RESULT("1", TEXT("1"))) SERVER(RESULT("2", TEXT("2"))));
    client(t, CALL("2", "a", "{\"n\":2}"));
    server_said(t, ASK("1") "\n");
    client(t, CALL("1", "a", "{\"n\":1}"));
    server_said(t, ASK("2") "\n");
    client(t, RESULT("1", "{\"action\":\"accept\"}"));
    server_said(t, RESULT("2", TEXT("2")) "\n");
    client(t, RESULT("2", "{\"action\":\"accept\"}"));
    server_said(t, RESULT("1", TEXT("1")) "\n");
}

static void test_stage_another_answer_to_a_question_is_noted_or_counts(void **state)
{
    struct play_test *t = *state;
    const char *recording = LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(ASK("5"))
        CLIENT(RESULT("5", "{\"action\":\"accept\"}")) SERVER(RESULT("1", TEXT("hello")));
    play_begin(t, "", recording);
    client(t, CALL("1", "a", "{}"));
    client(t, RESULT("1", "{\"action\":\"cancel\"}"));
    server_said(t, ASK("1") "\n" RESULT("1", TEXT("hello")) "\n");
    assert_int_equal(t->report.counts.notes, 1);
    assert_int_equal(t->report.counts.missed, 0);
    stage_close(t->stage);
    source_close(t->source);
    t->rules.canon.answers = true;
    play_begin(t, "", recording);
    client(t, CALL("1", "a", "{}"));
    client(t, RESULT("1", "{\"action\":\"cancel\"}"));
    assert_int_equal(t->report.counts.missed, 1);
    assert_true(said_holds("answered by the client in another way: elicitation/create"));
}

static void test_stage_server_takes_its_question_back_under_the_live_id(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(ASK("5")) SERVER(CANCEL("5"))
                   SERVER(RESULT("1", TEXT("gone"))));
    client(t, CALL("7", "a", "{}"));
    pass_all(t);
    server_said(t, ASK("1") "\n" CANCEL("1") "\n" RESULT("7", TEXT("gone")) "\n");
}

static void test_stage_server_asks_for_a_task_of_the_client_by_its_live_name(void **state)
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

/* ---- what comes unasked ---- */

static void test_stage_unasked_message_comes_behind_what_it_followed(void **state)
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
    client(t, NOTE("notifications/initialized", "{}")); /* once was recorded */
    server_said(t, "");
    client(t, CALL("1", "a", "{}"));
    server_said(t, RESULT("1", "{}") "\n" NOTE("notifications/tools/list_changed", "{}") "\n" NOTE(
                       "notifications/prompts/list_changed", "{}") "\n");
    client(t, CALL("2", "b", "{}"));
    server_said(t, RESULT("2", "{}") "\n");
}

static void test_stage_unasked_message_is_said_once_though_the_request_repeats(void **state)
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

static void test_stage_word_on_the_roots_follows_the_clients_answer(void **state)
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

static void test_stage_stderr_of_the_server_is_said_as_well(void **state)
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

/* ---- outcomes that are no answers ---- */

static void test_stage_cancelled_request_gets_nothing_more(void **state)
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
    assert_int_equal(stage_plays(t->stage), 0);
}

static void test_stage_initialize_is_never_cancelled(void **state)
{
    struct play_test *t = *state;
    t->rules.pace.speed = 1;
    play_begin(t, "", LEGACY);
    client(t, INITIALIZE);
    client(t, CANCEL("0"));
    pass_all(t);
    server_said(t, RESULT("0", "{\"protocolVersion\":\"2025-03-26\"}") "\n");
}

static void test_stage_recorded_cancellation_is_played_as_such(void **state)
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
    server_said(t, PROGRESS("7", "2") "\n"); /* as it was: this server took no notice */
    assert_int_equal(t->report.counts.missed, 0);
}

static void test_stage_client_that_does_not_cancel_is_told_and_does_not_hang(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LEGACY CLIENT(CALL("1", "a", "{}")) "+5000 >" CANCEL("1") "\n");
    client(t, CALL("7", "a", "{}"));
    pass_us(t, 5000000 + PACE_SLACK_US - 1);
    server_said(t, "");
    pass_us(t, 1);
    server_refused(t, "7", -32603, "recorded without an answer: tools/call a");
    assert_int_equal(t->report.counts.missed, 1);
    assert_int_equal(stage_plays(t->stage), 0);
}

static void test_stage_request_that_was_open_at_the_end_does_not_hang(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) "+500 >" CALL("2", "b", "{}") "\n" SERVER(
                   RESULT("2", "{}")));
    client(t, CALL("1", "a", "{}"));
    pass_us(t, 501000 + PACE_SLACK_US);
    server_refused(t, "1", -32603, "recorded without an answer");
}

static void test_stage_recorded_timeout_and_crash_are_played_at_once(void **state)
{
    struct play_test *t = *state;
#define GONE(id, code)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code ",\"message\":\"m\"}}"
    play_begin(t, ",\"end_reason\":\"server-exited\",\"exit_status\":7",
               LEGACY CLIENT(CALL("1", "slow", "{}")) "+30000 !" GONE("1", "-32001") "\n" CLIENT(
                   CALL("2", "crash", "{}")) "!" GONE("2", "-32000") "\n");
    client(t, CALL("5", "slow", "{}"));
    server_said(t, GONE("5", "-32001") "\n");
    assert_int_equal(stage_ended(t->stage), STAGE_GOES_ON);
    client(t, CALL("6", "crash", "{}"));
    server_said(t, GONE("6", "-32000") "\n");
    assert_int_equal(stage_ended(t->stage), STAGE_SERVER_ENDED);
    assert_int_equal(stage_exit_status(t->stage), 7);
}

/* ---- handshakes and revisions ---- */

#define MODERN(version)                                                                            \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"" version "\","                      \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define SUBSCRIPTION(id) "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}"

static void test_stage_initialize_answers_the_recorded_revision(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LEGACY);
    client(t, REQUEST("\"i\"", "initialize",
                      "{\"protocolVersion\":\"2099-01-01\",\"clientInfo\":{}}"));
    server_said(t, RESULT("\"i\"", "{\"protocolVersion\":\"2025-03-26\"}") "\n");
    assert_int_equal(t->report.counts.missed, 0);
}

static void test_stage_ping_probe_and_shutdown_need_no_recording(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LEGACY);
    client(t, REQUEST("1", "server/discover", "{" MODERN("2026-07-28") "}"));
    server_refused(t, "1", -32601, "server/discover");
    client(t, REQUEST("2", "ping", "{}"));
    client(t, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"shutdown\"}");
    server_said(t, RESULT("2", "{}") "\n" RESULT("3", "{}") "\n");
    client(t, "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}");
    assert_int_equal(stage_ended(t->stage), STAGE_CLIENT_EXIT);
    assert_int_equal(t->report.counts.missed, 0);
}

static void test_stage_recorded_exit_ends_with_the_status_of_the_server(void **state)
{
    struct play_test *t = *state;
#define EXIT "{\"jsonrpc\":\"2.0\",\"method\":\"exit\"}"
    play_begin(t, ",\"end_reason\":\"server-exited\",\"exit_status\":1", LEGACY CLIENT(EXIT));
    client(t, EXIT);
    assert_int_equal(stage_ended(t->stage), STAGE_SERVER_ENDED);
    assert_int_equal(stage_exit_status(t->stage), 1);
}

static void test_stage_exit_that_was_not_recorded_ends_well(void **state)
{
    struct play_test *t = *state;
    play_begin(t, ",\"end_reason\":\"server-exited\",\"exit_status\":1",
               LEGACY CLIENT(REQUEST("1", "ping", "{}")) "<" RESULT("1", "{}") "\n");
    client(t, EXIT);
    assert_int_equal(stage_ended(t->stage), STAGE_CLIENT_EXIT);
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

static void test_stage_what_was_called_off_waits_and_holds_up_nobody(void **state)
{
    struct play_test *t = *state;
    begin_called_off(t);
    client(t, CALL("7", "long", "{}"));
    server_said(t, "");
    client(t, CALL("8", "other", "{}"));
    server_said(t, RESULT("8", "{}") "\n"); /* another one waits for nothing */
}

static void test_stage_call_off_brings_the_recorded_answer(void **state)
{
    struct play_test *t = *state;
    begin_called_off(t);
    client(t, CALL("7", "long", "{}"));
    server_said(t, "");
    client(t, CALL_OFF("7"));
    pass_us(t, 0);
    server_said(t, CALLED_OFF("7") "\n");
    assert_int_equal(t->report.counts.missed, 0);
}

static void test_stage_client_that_does_not_call_off_is_told_so(void **state)
{
    struct play_test *t = *state;
    begin_called_off(t);
    client(t, CALL("7", "long", "{}"));
    pass_us(t, 100000 + PACE_SLACK_US);
    server_refused(t, "7", -32603, "recorded without an answer");
}

static void test_stage_recorded_ping_is_played_as_recorded(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(REQUEST("1", "ping", "{}")) "<{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
                                                         "{\"code\":-32601,\"message\":\"no\"}}\n");
    client(t, REQUEST("5", "ping", "{}"));
    server_refused(t, "5", -32601, "no");
}

static void test_stage_modern_recording_answers_a_probe_and_refuses_initialize(void **state)
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
    assert_int_equal(t->report.counts.missed, 0);
    client(t, REQUEST("2", "tools/list", "{" MODERN("2026-07-28") "}"));
    server_said(t, RESULT("2", "{\"tools\":[]}") "\n");
    client(t, REQUEST("3", "tools/list", "{" MODERN("2027-01-01") "}"));
    server_refused(t, "3", -32022, "\"supported\":[\"2026-07-28\"],\"requested\":\"2027-01-01\"");
    client(t, REQUEST("4", "tools/list", "{}"));
    server_refused(t, "4", -32602, "another protocol revision");
    assert_int_equal(t->report.counts.missed, 2);
}

static void test_stage_subscription_carries_the_live_id(void **state)
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
    pass_all(t);
    server_said(t, ACK("\"L\"") "\n");
    client(t, REQUEST("7", "tools/list", "{" MODERN("2026-07-28") "}"));
    pass_all(t);
    server_said(t, RESULT("7", "{}") "\n" CHANGED("\"L\"") "\n" RESULT(
                       "\"L\"", "{" SUBSCRIPTION("\"L\"") "}") "\n");
}

#define MODERN_LIST(id) REQUEST(id, "tools/list", "{" MODERN("2026-07-28") "}")
#define LISTENED(id) RESULT(id, "{" SUBSCRIPTION(id) "}")
#define LISTENS CLIENT(LISTEN("1")) SERVER(ACK("1")) CLIENT(MODERN_LIST("2"))

/* The server ended it because the client had left: a client that has more to do is not to lose it early. */
static void test_stage_subscription_that_ended_last_ends_when_the_client_leaves(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", LISTENS SERVER(RESULT("2", "{}")) SERVER(LISTENED("1")));
    client(t, LISTEN("5"));
    client(t, MODERN_LIST("6"));
    pass_us(t, PACE_SLACK_US / 2);
    server_said(t, ACK("5") "\n" RESULT("6", "{}") "\n");
    assert_int_equal(stage_hangup(t->stage, t->now_us), 0);
    pass_us(t, PACE_GAP_US);
    server_said(t, LISTENED("5") "\n");
}

/* Or the client left because it had ended. */
static void test_stage_subscription_that_ended_last_ends_for_a_client_that_waits(void **state)
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

static void test_stage_subscription_that_ended_before_the_client_ends_in_its_place(void **state)
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

/* What a call brought about on the stream comes before the answer, as it did then; who listens later is not
 * left without it. */
static void test_stage_subscription_says_what_a_call_brought_about_with_the_call(void **state)
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
    stage_close(t->stage);
    source_close(t->source);
    play_begin(t, "", buf_str(&b));
    client(t, MODERN_CALL("6"));
    server_said(t, RESULT("6", "{}") "\n");
    client(t, LISTEN("5"));
    pass_all(t);
    server_said(t, ACK("5") "\n" CHANGED("5") "\n" CHANGED("5") "\n");
    buf_close(&b);
}

/* Revision 2025-11-25: the token lives on with the task. */
static void test_stage_progress_of_a_task_comes_when_the_client_has_come_so_far(void **state)
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

static void test_stage_input_required_goes_on_by_its_state_alone(void **state)
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

static void test_stage_batch_is_answered_with_a_batch(void **state)
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
    stage_close(t->stage);
    source_close(t->source);
    buf_clear(&b);
    if (source_open_cassette(&t->source, temp_path(&t->temp, "batch.jsonl"), &b) < 0)
        fail_msg("%s", buf_str(&b));
    assert_int_equal(stage_open(&t->stage, &t->rules, &t->faults, t->source, &t->report, on_send,
                                on_server_stderr, t),
                     0);
    assert_int_equal(stage_begin(t->stage, NOW), 0);
    client(t, "[" CALL("5", "a", "{}") "," NOTE("notifications/x", "{}") "," CALL(
                  "6", "b", "{}") "," CALL("7", "c", "{}") "]");
    assert_non_null(strstr(buf_str(&t->said),
                           "[" RESULT("5", "{\"n\":1}") "," RESULT(
                               "6", "{\"n\":2}") ",{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":"));
    assert_string_equal(buf_str(&t->said) + t->said.n - 2, "]\n");
    server_forget(t);
    client(t, CALL("8", "a", "{}")); /* alone, and so is the answer */
    server_said(t, RESULT("8", "{\"n\":1}") "\n");
    client(t, "[]");
    server_refused(t, "null", -32600, "no message");
    client(t, "[1]");
    assert_true(slice_begins(buf_slice(&t->said), "[{\"jsonrpc\":\"2.0\",\"id\":null,\"error\""));
    buf_close(&b);
}

static void test_stage_line_that_is_no_message_is_told(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "", "");
    client(t, "  ");
    server_said(t, "");
    client(t, "{\"x\"");
    server_refused(t, "null", -32700, "no message");
    client(t, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}");
    server_refused(t, "4", -32600, "no message");
    client(t, "[]"); /* no revision with batches was recorded */
    server_refused(t, "null", -32600, "no message");
    assert_int_equal(
        stage_too_long(t->stage, slice_of("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"x\""), NOW),
        0);
    server_refused(t, "5", -32600, "no message");
    assert_int_equal(t->report.counts.missed, 4);
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

static void test_stage_fault_hang_says_nothing_at_all(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "hang@tools/call:a#1");
    pass_all(t);
    server_said(t, "");
    client(t, CALL("8", "a", "{}"));
    pass_all(t);
    server_said(t, RESULT("8", TEXT("a")) "\n");
    client(t, CANCEL("7"));
    assert_int_equal(stage_plays(t->stage), 0);
    assert_int_equal(t->report.counts.faults, 1);
}

static void test_stage_fault_delay_begins_later(void **state)
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

static void test_stage_faults_change_the_answer_alone(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "error=-5@tools/call");
    server_said(t, PROGRESS("7", "1") "\n");
    pass_all(t);
    server_refused(t, "7", -5, "\"cause\":\"fault\"");
}

static void test_stage_fault_garbage_comes_before_the_answer(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "garbage@tools/call");
    pass_all(t);
    server_said(t, PROGRESS("7", "1") "\nno message, but a fault that was asked for\n" RESULT(
                       "7", TEXT("a")) "\n");
}

static void test_stage_fault_duplicate_and_wrong_id(void **state)
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

static void test_stage_fault_truncate_cuts_and_closes(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "truncate@tools/call");
    pass_all(t);
    const char *whole = RESULT("7", TEXT("a"));
    char want[512];
    snprintf(want, sizeof want, "%s\n%.*s", PROGRESS("7", "1"), (int)strlen(whole) / 2, whole);
    server_said(t, want);
    assert_int_equal(stage_ended(t->stage), STAGE_CLOSE);
}

static void test_stage_faults_close_and_crash_end_it(void **state)
{
    struct play_test *t = *state;
    begin_fault(t, "crash@tools/call");
    pass_all(t);
    server_said(t, PROGRESS("7", "1") "\n");
    assert_int_equal(stage_ended(t->stage), STAGE_CRASH);
}

/* ---- the end ---- */

static void test_stage_hangup_says_at_once_what_only_waits_for_time(void **state)
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
    assert_int_equal(stage_hangup(t->stage, t->now_us), 0);
    server_said(t, RESULT("1", "{}") "\n");
    assert_int_equal(stage_plays(t->stage), 0);
    assert_int_equal(t->report.counts.missed, 0);
}

#define RULES ",\"record_level\":\"standard\",\"redact_rules\":{\"version\":1}"
#define FIFTY "01234567890123456789012345678901234567890123456789"

static void test_stage_requests_are_compared_in_the_form_in_which_they_were_kept(void **state)
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

/* The recording was made before its content was cut in this way. */
static void test_stage_old_form_of_a_request_is_brought_into_todays(void **state)
{
    struct play_test *t = *state;
    play_begin(t, RULES,
               LEGACY CLIENT(CALL("1", "login", "{\"password\":\"a b c\"}"))
                   SERVER(RESULT("1", "{}")));
    client(t, CALL("1", "login", "{\"password\":\"d e f\"}"));
    server_said(t, RESULT("1", "{}") "\n");
}

static void test_stage_recording_without_rules_is_compared_as_it_is(void **state)
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

static void test_stage_answer_of_the_client_is_shown_without_its_secrets(void **state)
{
    struct play_test *t = *state;
    t->rules.canon.answers = true;
    play_begin(t, RULES,
               LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(ASK("5"))
                   CLIENT(RESULT("5", "{\"content\":{\"password\":\"[redacted:password]\"}}"))
                       SERVER(RESULT("1", TEXT("hello"))));
    client(t, CALL("1", "a", "{}"));
    client(t, RESULT("1", "{\"content\":{\"password\":\"a b c\"}}"));
    assert_int_equal(t->report.counts.missed, 0);
    server_said(t, ASK("1") "\n" RESULT("1", TEXT("hello")) "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        play_test(test_stage_request_gets_its_recorded_answer_with_the_live_id),
        play_test(test_stage_spelling_of_a_request_does_not_count),
        play_test(test_stage_request_of_another_tool_or_method_is_a_miss),
        play_test(test_stage_equal_requests_are_answered_in_recorded_order),
        play_test(test_stage_repeat_fail_is_a_miss_when_answers_run_out),
        play_test(test_stage_strict_order_takes_the_next_recorded_request_alone),
        play_test(test_stage_ignored_pointer_makes_requests_equal),
        play_test(test_stage_progress_comes_first_with_the_live_token_and_a_gap),
        play_test(test_stage_progress_is_dropped_when_nobody_gave_a_token),
        play_test(test_stage_speed_one_keeps_the_recorded_distances),
        play_test(test_stage_question_gates_what_came_behind_its_answer),
        play_test(test_stage_questions_of_calls_at_the_same_time_stay_apart),
        play_test(test_stage_another_answer_to_a_question_is_noted_or_counts),
        play_test(test_stage_server_takes_its_question_back_under_the_live_id),
        play_test(test_stage_server_asks_for_a_task_of_the_client_by_its_live_name),
        play_test(test_stage_unasked_message_comes_behind_what_it_followed),
        play_test(test_stage_unasked_message_is_said_once_though_the_request_repeats),
        play_test(test_stage_word_on_the_roots_follows_the_clients_answer),
        play_test(test_stage_stderr_of_the_server_is_said_as_well),
        play_test(test_stage_cancelled_request_gets_nothing_more),
        play_test(test_stage_initialize_is_never_cancelled),
        play_test(test_stage_recorded_cancellation_is_played_as_such),
        play_test(test_stage_client_that_does_not_cancel_is_told_and_does_not_hang),
        play_test(test_stage_request_that_was_open_at_the_end_does_not_hang),
        play_test(test_stage_recorded_timeout_and_crash_are_played_at_once),
        play_test(test_stage_initialize_answers_the_recorded_revision),
        play_test(test_stage_ping_probe_and_shutdown_need_no_recording),
        play_test(test_stage_recorded_exit_ends_with_the_status_of_the_server),
        play_test(test_stage_exit_that_was_not_recorded_ends_well),
        play_test(test_stage_what_was_called_off_waits_and_holds_up_nobody),
        play_test(test_stage_call_off_brings_the_recorded_answer),
        play_test(test_stage_client_that_does_not_call_off_is_told_so),
        play_test(test_stage_recorded_ping_is_played_as_recorded),
        play_test(test_stage_modern_recording_answers_a_probe_and_refuses_initialize),
        play_test(test_stage_subscription_carries_the_live_id),
        play_test(test_stage_subscription_that_ended_last_ends_when_the_client_leaves),
        play_test(test_stage_subscription_that_ended_last_ends_for_a_client_that_waits),
        play_test(test_stage_subscription_that_ended_before_the_client_ends_in_its_place),
        play_test(test_stage_subscription_says_what_a_call_brought_about_with_the_call),
        play_test(test_stage_progress_of_a_task_comes_when_the_client_has_come_so_far),
        play_test(test_stage_input_required_goes_on_by_its_state_alone),
        play_test(test_stage_batch_is_answered_with_a_batch),
        play_test(test_stage_line_that_is_no_message_is_told),
        play_test(test_stage_fault_hang_says_nothing_at_all),
        play_test(test_stage_fault_delay_begins_later),
        play_test(test_stage_faults_change_the_answer_alone),
        play_test(test_stage_fault_garbage_comes_before_the_answer),
        play_test(test_stage_fault_duplicate_and_wrong_id),
        play_test(test_stage_fault_truncate_cuts_and_closes),
        play_test(test_stage_faults_close_and_crash_end_it),
        play_test(test_stage_hangup_says_at_once_what_only_waits_for_time),
        play_test(test_stage_requests_are_compared_in_the_form_in_which_they_were_kept),
        play_test(test_stage_old_form_of_a_request_is_brought_into_todays),
        play_test(test_stage_recording_without_rules_is_compared_as_it_is),
        play_test(test_stage_answer_of_the_client_is_shown_without_its_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
