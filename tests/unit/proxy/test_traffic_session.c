/* State kept between lines: session metadata, pending requests, and their answers at the end. */
#include "proxy/session/traffic.h"

#include "tests/support/traffic_words.h"

static bool is_ours(const struct row *r)
{
    return r->origin == ROW_INTERPOSER;
}

static bool is_request(const struct row *r)
{
    return r->kind == KIND_REQUEST;
}

static void test_final_answers_reach_every_pending_request(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " CALL("1", "a"));
    traffic_say(f, "C " PING("2"));
    traffic_say(f, "C " CANCEL("2"));
    traffic_say(f, "C {'jsonrpc':'2.0','id':'m','method':'tools/list','params':{'_meta':"
                   "{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}}");
    traffic_say(f, "S " PING("5"));
    traffic_turn(f);
    buf_clear(&f->got[ROW_S2C]);
    final_answers_send_errors(&f->traffic, CALL_SERVER_GONE, "server-exited",
                              "the server srv exited with status 1", 0);
    final_answers_send_errors(&f->traffic, CALL_SERVER_GONE, "server-exited", "once is enough", 0);
    traffic_say(f, "S " OK("1"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<1 -32000 server-exited><'m' -31000 server-exited>");
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "the server srv exited with status 1") != NULL);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "\"tool\":\"a\"") != NULL);
    assert_non_null(strstr(traffic_rows(f), ";6 s2c* error forwarded 1 - - 1 -32000 - server-gone;"
                                            "7 s2c* error forwarded 'm' - - 4 -31000 - server-gone;"
                                            "8 s2c result swallowed 1 - - - - - unknown-answer"));
    assert_string_equal(fake_invocations(&f->journal), "1|server-gone;2|cancelled;4|server-gone");
    traffic_end(f);
}

/* The error is the same, the server is not to blame. */
static void test_final_answers_interrupt_calls_when_the_session_ends(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " CALL("1", "a"));
    final_answers_send_errors(&f->traffic, CALL_INTERRUPTED, "interrupted", "a signal", 0);
    traffic_say(f, "C " CALL("2", "a"));
    final_answers_send_record_errors(&f->traffic, "record-error", "cannot record");
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), "<1 -32000 interrupted><2 -32000 record-error>");
    assert_string_equal(fake_select(&f->journal, "rpc_id finding", is_ours, 0),
                        "1|interrupted;2|interrupted");
    assert_string_equal(fake_invocations(&f->journal), "1|interrupted;3|interrupted");
    traffic_end(f);
}

#define LISTEN(id)                                                                                 \
    "{'jsonrpc':'2.0','id':" id ",'method':'subscriptions/listen','params':{'_meta':"              \
    "{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}}"

#define LISTENED(id)                                                                               \
    "{'jsonrpc':'2.0','id':" id ",'result':{'resultType':'complete','_meta':"                      \
    "{'io.modelcontextprotocol/subscriptionId':" id "}}}"

static void test_final_answers_end_subscriptions_with_a_result(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " LISTEN("1"));
    traffic_say(f, "C " CALL("2", "a"));
    traffic_say(f, "C " LISTEN("'s'"));
    traffic_say(f, "C " LISTEN("4"));
    traffic_say(f, "C " CANCEL("4"));
    traffic_turn(f);
    final_answers_end_subscriptions(&f->traffic);
    final_answers_send_errors(&f->traffic, CALL_SERVER_GONE, "server-exited",
                              "the server srv exited with status 0", 0);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        LISTENED("1") "|" LISTENED("'s'") "|<2 -32000 server-exited>");
    assert_string_equal(fake_invocations(&f->journal), "1|ok;2|server-gone;3|ok;4|cancelled");
    assert_string_equal(fake_select(&f->journal, "rpc_id finding", is_ours, 0),
                        "1|-;\"s\"|-;2|server-gone");
    traffic_end(f);
}

static void test_final_answers_replace_unrecorded_messages(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "C " PING("2"));
    traffic_say(f, "C " PING("'x'"));
    traffic_say(f, "C " PING("4"));
    traffic_say(f, "S " OK("4"));
    traffic_turn(f);
    traffic_say(f, "S " OK("1"));
    traffic_say(f, "S " NOTE);
    traffic_say(f, "S " PING("9"));
    traffic_say(f, "S " OK("'x'"));
    traffic_say(f, "C {'id':7,'method':'ping'}"); /* which we have answered */
    traffic_say(f, "C bad");
    outbox_discard_after_error(&f->traffic.out[ROW_C2S]);
    final_answers_drop_unrecorded(&f->traffic, "record-error", "cannot record");
    final_answers_send_record_errors(&f->traffic, "record-error", "cannot record");
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        OK("4") "|<1 -32000 record-error><'x' -32000 record-error>"
                                "<7 -32000 record-error><2 -32000 record-error>");
    traffic_end(f);
}

/* What is staged is recorded, and is delivered. */
static void test_final_answers_follow_recorded_messages(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "C " PING("2"));
    traffic_say(f, "S " OK("1"));
    final_answers_send_record_errors(&f->traffic, "record-error", "cannot record");
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), OK("1") "|<2 -32000 record-error>");
    traffic_end(f);
}

static void test_final_answers_replace_unrecorded_answers_in_a_batch(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    memcpy(f->traffic.version, "2025-03-26", 11);
    traffic_say(f, "C [" PING("1") "," PING("2") "," PING("3") "]");
    traffic_turn(f);
    traffic_say(f, "S [" OK("2") "," OK("1") "]");
    final_answers_drop_unrecorded(&f->traffic, "record-error", "cannot record");
    final_answers_send_record_errors(&f->traffic, "record-error", "cannot record");
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<2 -32000 record-error><1 -32000 record-error><3 -32000 record-error>");
    traffic_end(f);
}

static void test_session_info_is_learned_from_initialize(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(
        f,
        "C {'jsonrpc':'2.0','id':0,'method':'initialize','params':{'protocolVersion':'2025-11-25',"
        "'clientInfo':{'name':'in\\u0073pector','version':'1.2','title':'x'}}}");
    traffic_turn(f);
    assert_string_equal(fake_session(&f->journal), "inspector|1.2|-|-|-"); /* not negotiated yet */
    traffic_say(
        f, "S {'jsonrpc':'2.0','id':0,'result':{'protocolVersion':'2025-06-18','capabilities':{},"
           "'serverInfo':{'name':'fs','version':'0.5'}}}");
    traffic_turn(f);
    assert_string_equal(fake_session(&f->journal), "inspector|1.2|fs|0.5|2025-06-18");
    assert_string_equal(f->traffic.version, "2025-06-18");
    /* other messages change nothing */
    traffic_say(
        f, "C {'jsonrpc':'2.0','id':1,'method':'x','params':{'clientInfo':{'name':'forged'}}}");
    traffic_say(
        f,
        "S "
        "{'jsonrpc':'2.0','id':1,'result':{'serverInfo':{'name':'forged'},'protocolVersion':'1'}}");
    traffic_turn(f);
    assert_string_equal(fake_session(&f->journal), "inspector|1.2|fs|0.5|2025-06-18");
    traffic_end(f);
}

static void test_session_info_is_learned_from_meta_without_initialize(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C {'jsonrpc':'2.0','id':0,'method':'server/discover','params':{'_meta':{"
                   "'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                   "'io.modelcontextprotocol/clientInfo':{'name':'go','version':'2'}}}}");
    traffic_say(f, "S {'jsonrpc':'2.0','id':0,'result':{'_meta':{"
                   "'io.modelcontextprotocol/serverInfo':{'name':'fs','version':'9'}}}}");
    traffic_turn(f);
    assert_string_equal(fake_session(&f->journal), "go|2|fs|9|2026-07-28");
    traffic_end(f);
}

static void test_session_info_ignores_invalid_handshakes(void **state)
{
    struct fixture *f = *state;
    static const char *const odd[] = {
        "C {'jsonrpc':'2.0','id':1,'method':'initialize'}",
        "C {'jsonrpc':'2.0','id':1,'method':'initialize','params':null}",
        "C {'jsonrpc':'2.0','id':1,'method':'initialize','params':{'clientInfo':[1]}}",
        "C "
        "{'jsonrpc':'2.0','id':1,'method':'initialize','params':{'clientInfo':{'name':7,'version':"
        "null}}}",
        "S {'jsonrpc':'2.0','id':1,'result':{}}",
        "S {'jsonrpc':'2.0','id':1,'result':null}",
        "S {'jsonrpc':'2.0','id':1,'result':{'protocolVersion':{'x':1},'serverInfo':'s'}}",
        "S {'jsonrpc':'2.0','id':1,'error':{'code':1,'message':'no'}}",
    };
    traffic_begin(f, VALIDATE_WIRE, MAX);
    for (size_t i = 0; i < MI_COUNT(odd); i++)
        traffic_say(f, odd[i]);
    traffic_say(f, "C {'jsonrpc':'2.0','id':2,'method':'initialize'}");
    traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','id':2,'result':{'protocolVersion':'", 5000, "'}}");
    traffic_turn(f);
    assert_string_equal(f->traffic.version, "");
    assert_string_equal(fake_session(&f->journal), "-|-|-|-|-");
    traffic_end(f);
}

static void test_traffic_written_at_is_the_end_of_the_request(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " NOTE);
    traffic_say(f, "C " PING("1") "\r");
    const struct pending *p = f->traffic.open[ROW_C2S].open.newest;
    assert_int_equal(p->written_at, f->traffic.out[ROW_C2S].staged);
    assert_int_equal(p->written_at, strlen(NOTE) + 1 + strlen(PING("1")) + 1);
    assert_int_equal(p->size, strlen(PING("1")) + 1); /* as received */
    traffic_say(f, "C " NOTE);
    traffic_turn(f);
    assert_true(f->traffic.out[ROW_C2S].written > p->written_at);
    traffic_end(f);
}

/* The owner answers it, in the same way whether it came before the server closed its stdin or after that. */
static void test_traffic_request_to_a_closed_stdin_stays_pending(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_turn(f);
    uint64_t read = f->traffic.out[ROW_C2S].staged;
    traffic_say(f, "C " CALL("2", "a"));
    outbox_discard_after_error(&f->traffic.out[ROW_C2S]);
    traffic_say(f, "C " CALL("3", "a"));
    traffic_say(f, "C " NOTE);
    traffic_say(f, "C {'jsonrpc':'2.0','id':4,'method':'tools/list','params':{'_meta':"
                   "{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}}");
    traffic_say(f, "S " OK("1")); /* it may still answer earlier requests */
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), OK("1") "|");
    final_answers_send_errors(&f->traffic, CALL_SERVER_GONE, "server-closed", "it ended", read);
    traffic_turn(f);
    assert_string_equal(
        traffic_got(f, ROW_S2C),
        OK("1") "|<2 -32000 server-closed><3 -32000 server-closed><4 -31000 server-closed>");
    assert_string_equal(traffic_no_rules(fake_select(&f->journal, "rpc_id action", is_request, 0)),
                        "1|forwarded;2|forwarded;3|forwarded;4|forwarded");
    traffic_end(f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_final_answers_reach_every_pending_request),
        T(test_final_answers_interrupt_calls_when_the_session_ends),
        T(test_final_answers_end_subscriptions_with_a_result),
        T(test_traffic_request_to_a_closed_stdin_stays_pending),
        T(test_final_answers_replace_unrecorded_messages),
        T(test_final_answers_follow_recorded_messages),
        T(test_final_answers_replace_unrecorded_answers_in_a_batch),
        T(test_session_info_is_learned_from_initialize),
        T(test_session_info_is_learned_from_meta_without_initialize),
        T(test_session_info_ignores_invalid_handshakes),
        T(test_traffic_written_at_is_the_end_of_the_request),
    };
    return cmocka_run_group_tests_name("traffic_session", tests, NULL, NULL);
}
