/* What was not recorded goes to a live server: its lines are those of the test, and so is everything that it gets. */
#include "tests/support/replay_unit.h"

#include "replay/mock/forwarder.h"

#define TEXT(t) "{\"content\":[{\"type\":\"text\",\"text\":\"" t "\"}]}"
#define VERSION(v) "{\"protocolVersion\":\"" v "\"}"
#define RECORDING                                                                                  \
    LEGACY CLIENT(CALL("1", "read", "{\"n\":1}")) SERVER(RESULT("1", TEXT("one")))                 \
        CLIENT(CALL("2", "write", "{}")) SERVER(RESULT("2", TEXT("two")))
#define TOOLS                                                                                      \
    "{\"tools\":[{\"name\":\"read\",\"annotations\":{\"readOnlyHint\":true}},{\"name\":\"write\"}" \
    "]}"
#define MODERN(id, method, params)                                                                 \
    REQUEST(id, method,                                                                            \
            "{" params "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}")

struct forwarder_test {
    struct play_test play; /* must be the first member */
    struct forwarder_rules rules;
    struct forwarder *forwarder;
    struct buf got, kept; /* lines for the server; what was kept */
    int started, start_status;
};

static int start(void *ctx)
{
    struct forwarder_test *t = ctx;
    t->started++;
    return t->start_status;
}

static int send_line(void *ctx, struct slice line)
{
    struct forwarder_test *t = ctx;
    buf_slice_add(&t->got, line);
    buf_addc(&t->got, '\n');
    return 0;
}

static int keep(void *ctx, bool from_client, struct slice message, int64_t now_us)
{
    struct forwarder_test *t = ctx;
    assert_int_equal(now_us, t->play.now_us);
    buf_addc(&t->kept, from_client ? '>' : '<');
    buf_slice_add(&t->kept, message);
    buf_addc(&t->kept, '\n');
    return 0;
}

static void end_text(void *ctx, struct buf *b)
{
    (void)ctx;
    buf_adds(b, "exited with status 7");
}

static const struct forwarder_callbacks calls = {start, send_line, keep, end_text};

static int setup(void **state)
{
    struct forwarder_test *t = calloc(1, sizeof *t);
    assert_non_null(t);
    temp_make(&t->play.temp);
    said_begin();
    *state = t;
    return 0;
}

static int teardown(void **state)
{
    struct forwarder_test *t = *state;
    struct forwarder *f = t->forwarder;
    buf_close(&t->got);
    buf_close(&t->kept);
    conversation_close(t->play.conversation);
    t->play.conversation = NULL;
    forwarder_close(f);
    return play_teardown(state);
}

static void begin(struct forwarder_test *t, const char *recording)
{
    struct play_test *p = &t->play;
    p->source = open_recording(&p->temp, "", recording);
    p->now_us = NOW;
    assert_int_equal(conversation_open(&p->conversation, &p->rules, &p->faults, p->source,
                                       &p->misses, on_send, on_server_stderr, p),
                     0);
    assert_int_equal(forwarder_open(&t->forwarder, &t->rules, &calls, t), 0);
    conversation_set_live_server(p->conversation, t->forwarder);
    assert_int_equal(conversation_begin(p->conversation, p->now_us), 0);
}

static void server_got(struct forwarder_test *t, const char *lines)
{
    assert_string_equal(buf_str(&t->got), lines);
    buf_clear(&t->got);
}

static void was_kept(struct forwarder_test *t, const char *lines)
{
    assert_string_equal(buf_str(&t->kept), lines);
    buf_clear(&t->kept);
}

/* A line of the live server. */
static void live(struct forwarder_test *t, const char *line)
{
    assert_int_equal(
        conversation_handle_live_line(t->play.conversation, slice_of(line), t->play.now_us), 0);
}

/* The client has sent initialize and a miss with the id 9; the server got both. */
static void begin_ready(struct forwarder_test *t, const char *recording)
{
    struct play_test *p = &t->play;
    begin(t, recording);
    client(p, INITIALIZE);
    client(p, NOTE("notifications/initialized", "{}"));
    server_forget(p);
    client(p, CALL("9", "read", "{\"n\":9}"));
    live(t, RESULT("1", VERSION("2025-03-26")));
    buf_clear(&t->got);
    buf_clear(&t->kept);
}

static void test_forwarder_miss_starts_the_server_and_waits_for_the_handshake(void **state)
{
    struct forwarder_test *t = *state;
    struct play_test *p = &t->play;
    begin(t, RECORDING);
    client(p, REQUEST("\"i\"", "initialize",
                      "{\"protocolVersion\":\"2025-11-25\",\"clientInfo\":{\"name\":\"c\"}}"));
    client(p, NOTE("notifications/initialized", "{}"));
    client(p, CALL("8", "read", "{\"n\":1}"));
    assert_int_equal(t->started, 0);
    server_forget(p);
    client(p, CALL("\"x\"", "read", "{\"n\":2}"));
    client(p, CALL("8", "read", "{\"n\":3}"));
    assert_int_equal(t->started, 1);
    server_got(
        t, REQUEST("1", "initialize",
                   "{\"protocolVersion\":\"2025-03-26\",\"clientInfo\":{\"name\":\"c\"}}") "\n");
    live(t, NOTE("notifications/message", "{}"));
    live(t, RESULT("1", VERSION("2025-03-26")));
    server_got(t, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n" CALL(
                      "2", "read", "{\"n\":2}") "\n" CALL("3", "read", "{\"n\":3}") "\n");
    server_said(p, "");
    live(t, RESULT("3", TEXT("c")));
    live(t, RESULT("2", TEXT("b")));
    server_said(p, RESULT("8", TEXT("c")) "\n" RESULT("\"x\"", TEXT("b")) "\n");
    was_kept(
        t, ">" CALL("\"x\"", "read", "{\"n\":2}") "\n>" CALL("8", "read", "{\"n\":3}") "\n<" RESULT(
               "8", TEXT("c")) "\n<" RESULT("\"x\"", TEXT("b")) "\n");
    assert_int_equal(p->misses.counts.live, 2);
    assert_int_equal(p->misses.counts.missed, 0);
    assert_int_equal(conversation_count_playbacks(p->conversation), 0);
}

static void test_forwarder_answer_to_no_request_is_dropped(void **state)
{
    struct forwarder_test *t = *state;
    begin_ready(t, RECORDING);
    live(t, RESULT("7", "{}"));
    live(t, RESULT("2", TEXT("a")));
    live(t, RESULT("2", TEXT("again")));
    live(t, "no message");
    server_said(&t->play, RESULT("9", TEXT("a")) "\n");
    was_kept(t, "<" RESULT("9", TEXT("a")) "\n");
}

static void test_forwarder_another_revision_is_a_warning(void **state)
{
    struct forwarder_test *t = *state;
    begin(t, RECORDING);
    client(&t->play, INITIALIZE);
    client(&t->play, CALL("9", "read", "{\"n\":9}"));
    live(t, RESULT("1", VERSION("2024-11-05")));
    assert_true(
        said_holds("another revision than the recorded one: recorded=2025-03-26 live=2024-11-05"));
}

static void test_forwarder_server_that_cannot_be_used_refuses_all_misses(void **state)
{
    struct forwarder_test *t = *state;
    struct play_test *p = &t->play;
    begin(t, RECORDING);
    client(p, INITIALIZE);
    server_forget(p);
    client(p, CALL("9", "read", "{\"n\":9}"));
    live(t, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\"}}");
    server_refused(p, "9", -32000, "the live server rejected initialize");
    client(p, CALL("10", "read", "{\"n\":9}"));
    server_refused(p, "10", -32000, "the live server rejected initialize");
    assert_int_equal(conversation_handle_live_line(p->conversation, (struct slice){0}, p->now_us),
                     0);
    client(p, CALL("11", "read", "{\"n\":1}"));
    server_said(p, RESULT("11", TEXT("one")) "\n");
    assert_int_equal(t->started, 1);
}

static void test_forwarder_server_that_does_not_start(void **state)
{
    struct forwarder_test *t = *state;
    t->start_status = MI_EIO;
    begin(t, RECORDING);
    client(&t->play, CALL("9", "read", "{\"n\":9}"));
    server_refused(&t->play, "9", -32000, "could not be started");
}

static void test_forwarder_server_that_ends_refuses_what_is_pending(void **state)
{
    struct forwarder_test *t = *state;
    begin_ready(t, RECORDING);
    client(&t->play, CALL("10", "read", "{\"n\":10}"));
    assert_int_equal(conversation_handle_live_line(t->play.conversation, (struct slice){0}, NOW),
                     0);
    assert_non_null(strstr(buf_str(&t->play.said), "\"id\":9,"));
    server_refused(&t->play, "10", -32000, "the live server exited with status 7");
    assert_int_equal(conversation_count_playbacks(t->play.conversation), 0);
}

static void test_forwarder_requests_of_the_server_get_ids_of_their_own(void **state)
{
    struct forwarder_test *t = *state;
    struct play_test *p = &t->play;
    begin_ready(t,
                LEGACY CLIENT(CALL("1", "ask", "{}")) SERVER(REQUEST("\"r\"", "roots/list", "{}"))
                    CLIENT(RESULT("\"r\"", "{}")) SERVER(RESULT("1", TEXT("one"))));
    client(p, CALL("5", "ask", "{}"));
    server_said(p, REQUEST("\"1\"", "roots/list", "{}") "\n"); /* of the recorded server */
    live(t, REQUEST("1", "roots/list", "{}"));
    server_said(p, REQUEST("2", "roots/list", "{}") "\n"); /* of the live one */
    live(t, NOTE("notifications/cancelled", "{\"requestId\":1}"));
    server_said(p, NOTE("notifications/cancelled", "{\"requestId\":2}") "\n");
    client(p, RESULT("2", "{\"roots\":[]}"));
    server_got(t, RESULT("1", "{\"roots\":[]}") "\n");
    client(p, RESULT("2", "{\"roots\":[1]}"));
    server_got(t, "");
    client(p, RESULT("\"1\"", "{}"));
    server_said(p, RESULT("5", TEXT("one")) "\n");
    was_kept(t, "<" REQUEST("2", "roots/list", "{}") "\n<" NOTE(
                    "notifications/cancelled",
                    "{\"requestId\":2}") "\n>" RESULT("2", "{\"roots\":[]}") "\n");
}

static void test_forwarder_cancellation_names_the_request_as_the_server_knows_it(void **state)
{
    struct forwarder_test *t = *state;
    begin_ready(t, RECORDING);
    client(&t->play, CANCEL("9"));
    server_got(t, CANCEL("2") "\n");
    client(&t->play, CANCEL("77"));
    client(&t->play, NOTE("notifications/initialized", "{}"));
    server_got(t, "");
    client(&t->play, NOTE("notifications/roots/list_changed", "{}"));
    server_got(t, NOTE("notifications/roots/list_changed", "{}") "\n");
}

static void test_forwarder_subscription_carries_the_id_of_the_client(void **state)
{
    struct forwarder_test *t = *state;
    struct play_test *p = &t->play;
    begin(t, CLIENT(MODERN("1", "tools/call", "\"name\":\"read\","))
                 SERVER(RESULT("1", "{\"resultType\":\"complete\"}")));
    client(p, MODERN("\"s\"", "subscriptions/listen", "\"filter\":1,"));
    server_got(t, MODERN("1", "subscriptions/listen", "\"filter\":1,") "\n");
    live(t, NOTE("notifications/x", "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":1}}"));
    live(t, RESULT("1", "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":1}}"));
    server_said(
        p, NOTE("notifications/x",
                "{\"_meta\":{\"io.modelcontextprotocol/"
                "subscriptionId\":\"s\"}}") "\n" RESULT("\"s\"",
                                                        "{\"_meta\":{\"io.modelcontextprotocol/"
                                                        "subscriptionId\":\"s\"}}") "\n");
}

static void test_forwarder_catch_up_repeats_what_only_reads(void **state)
{
    struct forwarder_test *t = *state;
    struct play_test *p = &t->play;
    t->rules.catch_up = true;
    begin(t, RECORDING CLIENT(CALL("3", "read", "{\"token\":\"[redacted:key]\"}"))
                 SERVER(RESULT("3", TEXT("three"))) CLIENT(REQUEST("4", "resources/list", "{}"))
                     SERVER(RESULT("4", "{\"resources\":[]}")));
    client(p, INITIALIZE);
    client(p, CALL("21", "read", "{\"n\":1}"));
    client(p, CALL("22", "write", "{}"));
    client(p, CALL("23", "read", "{\"token\":\"[redacted:key]\"}"));
    client(p, REQUEST("24", "resources/list", "{}"));
    server_forget(p);
    client(p, CALL("25", "read", "{\"n\":2}"));
    live(t, RESULT("1", VERSION("2025-03-26")));
    buf_clear(&t->got);
    live(t, RESULT("2", "{\"tools\":[],\"nextCursor\":\"a\"}"));
    server_got(t, REQUEST("3", "tools/list", "{\"cursor\":\"a\"}") "\n");
    live(t, RESULT("3", TOOLS));
    server_got(t, CALL("4", "read", "{\"n\":1}") "\n");
    live(t, NOTE("notifications/message", "{}"));
    live(t, RESULT("4", TEXT("dropped")));
    server_got(t, REQUEST("5", "resources/list", "{}") "\n");
    live(t, "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32601,\"message\":\"no\"}}");
    server_got(t, CALL("6", "read", "{\"n\":2}") "\n");
    server_said(p, "");
    was_kept(t, ">" CALL("25", "read", "{\"n\":2}") "\n");
}

static void test_forwarder_all_sends_each_line_to_the_server(void **state)
{
    struct forwarder_test *t = *state;
    struct play_test *p = &t->play;
    t->rules.all = true;
    begin(t, RECORDING);
    client(p, INITIALIZE);
    server_got(t, REQUEST("1", "initialize", "{\"protocolVersion\":\"2025-03-26\"}") "\n");
    live(t, RESULT("1", VERSION("2025-03-26")));
    server_said(p, RESULT("0", VERSION("2025-03-26")) "\n");
    client(p, NOTE("notifications/initialized", "{}"));
    client(p, CALL("1", "read", "{\"n\":1}"));
    client(p, REQUEST("2", "ping", "{}"));
    server_got(t, NOTE("notifications/initialized", "{}") "\n" CALL(
                      "2", "read", "{\"n\":1}") "\n" REQUEST("3", "ping", "{}") "\n");
    assert_int_equal(p->misses.counts.matched, 0);
    assert_int_equal(p->misses.counts.live, 3);
}

static void test_forwarder_batch_is_answered_with_a_batch(void **state)
{
    struct forwarder_test *t = *state;
    struct play_test *p = &t->play;
    begin_ready(t, RECORDING);
    client(p, "[" CALL("31", "read", "{\"n\":4}") "," CALL("32", "read", "{\"n\":5}") "]");
    server_got(t, CALL("3", "read", "{\"n\":4}") "\n" CALL("4", "read", "{\"n\":5}") "\n");
    live(t, RESULT("4", TEXT("five")));
    server_said(p, "");
    live(t, RESULT("3", TEXT("four")));
    server_said(p, "[" RESULT("32", TEXT("five")) "," RESULT("31", TEXT("four")) "]\n");
}

#define forwarder_case(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        forwarder_case(test_forwarder_miss_starts_the_server_and_waits_for_the_handshake),
        forwarder_case(test_forwarder_answer_to_no_request_is_dropped),
        forwarder_case(test_forwarder_another_revision_is_a_warning),
        forwarder_case(test_forwarder_server_that_cannot_be_used_refuses_all_misses),
        forwarder_case(test_forwarder_server_that_does_not_start),
        forwarder_case(test_forwarder_server_that_ends_refuses_what_is_pending),
        forwarder_case(test_forwarder_requests_of_the_server_get_ids_of_their_own),
        forwarder_case(test_forwarder_cancellation_names_the_request_as_the_server_knows_it),
        forwarder_case(test_forwarder_subscription_carries_the_id_of_the_client),
        forwarder_case(test_forwarder_catch_up_repeats_what_only_reads),
        forwarder_case(test_forwarder_all_sends_each_line_to_the_server),
        forwarder_case(test_forwarder_batch_is_answered_with_a_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
