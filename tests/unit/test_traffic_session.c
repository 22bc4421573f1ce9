/* What is remembered between lines: who speaks, which requests are open, and what becomes of them at the end. */
#include "proxy/traffic.h"

#include "tests/unit/traffic_words.h"

static void test_traffic_server_gone_answers_every_open_request(void **state)
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
    traffic_server_gone(&f->traffic, "server-exited", "the server srv exited with status 1", 0);
    traffic_server_gone(&f->traffic, "server-exited", "once is enough", 0);
    traffic_say(f, "S " OK("1"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<1 -32000 server-exited><'m' -31000 server-exited>");
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "the server srv exited with status 1") != NULL);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "\"tool\":\"a\"") != NULL);
    assert_non_null(strstr(traffic_rows(f), ";6 s2c* error forwarded 1 - - 1 -32000 - server-gone;"
                                            "7 s2c* error forwarded 'm' - - 4 -31000 - server-gone;"
                                            "8 s2c result swallowed 1 - - - - - unknown-answer"));
    assert_string_equal(ask(&f->t, "SELECT request_seq, status FROM invocations ORDER BY 1"),
                        "1|server-gone;2|cancelled;4|server-gone");
    traffic_end(f);
}

#define LISTEN(id)                                                                                 \
    "{'jsonrpc':'2.0','id':" id ",'method':'subscriptions/listen','params':{'_meta':"              \
    "{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}}"

#define LISTENED(id)                                                                               \
    "{'jsonrpc':'2.0','id':" id ",'result':{'resultType':'complete','_meta':"                      \
    "{'io.modelcontextprotocol/subscriptionId':" id "}}}"

static void test_traffic_client_that_leaves_ends_its_listens_with_a_result(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " LISTEN("1"));
    traffic_say(f, "C " CALL("2", "a"));
    traffic_say(f, "C " LISTEN("'s'"));
    traffic_say(f, "C " LISTEN("4"));
    traffic_say(f, "C " CANCEL("4"));
    traffic_turn(f);
    traffic_end_listens(&f->traffic);
    traffic_server_gone(&f->traffic, "server-exited", "the server srv exited with status 0", 0);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        LISTENED("1") "|" LISTENED("'s'") "|<2 -32000 server-exited>");
    assert_string_equal(ask(&f->t, "SELECT request_seq, status FROM invocations ORDER BY 1"),
                        "1|ok;2|server-gone;3|ok;4|cancelled");
    assert_string_equal(
        ask(&f->t, "SELECT rpc_id, finding FROM messages WHERE origin = 'interposer'"),
        "1|-;\"s\"|-;2|server-gone");
    traffic_end(f);
}

static void test_traffic_server_that_takes_no_more_gets_no_more_requests(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C " PING("1"));
    traffic_turn(f);
    outbox_break(&f->traffic.out[ROW_C2S]);
    traffic_say(f, "C " CALL("2", "a"));
    traffic_say(f, "C " NOTE);
    traffic_say(f, "C {'jsonrpc':'2.0','id':3,'method':'tools/list','params':{'_meta':"
                   "{'io.modelcontextprotocol/protocolVersion':'2026-07-28'}}}");
    traffic_say(f, "S " OK("1")); /* it may still answer what it has got */
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<2 -32000 server-closed><3 -31000 server-closed>" OK("1") "|");
    assert_string_equal(
        traffic_no_rules(
            ask(&f->t, "SELECT rpc_id, action, finding FROM messages WHERE kind = 'request'")),
        "1|forwarded|-;2|refused|server-gone;3|refused|server-gone");
    traffic_end(f);
}

static void test_traffic_unrecorded_bytes_are_dropped_and_the_client_is_told(void **state)
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
    traffic_say(f, "C {'id':7,'method':'ping'}"); /* which we have answered ourselves */
    traffic_say(f, "C bad");
    outbox_break(&f->traffic.out[ROW_C2S]);
    traffic_drop_unrecorded(&f->traffic, "record-error", "cannot record");
    assert_int_equal(f->traffic.out[ROW_S2C].released, f->traffic.out[ROW_S2C].staged);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        OK("4") "|<1 -32000 record-error><'x' -32000 record-error>"
                                "<7 -32000 record-error><2 -32000 record-error>");
    traffic_end(f);
}

static void test_traffic_unrecorded_answers_in_a_batch_are_told_too(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    memcpy(f->traffic.version, "2025-03-26", 11);
    traffic_say(f, "C [" PING("1") "," PING("2") "," PING("3") "]");
    traffic_turn(f);
    traffic_say(f, "S [" OK("2") "," OK("1") "]");
    traffic_drop_unrecorded(&f->traffic, "record-error", "cannot record");
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<2 -32000 record-error><1 -32000 record-error><3 -32000 record-error>");
    traffic_end(f);
}

static void test_traffic_session_learns_who_speaks(void **state)
{
    struct fixture *f = *state;
    static const char columns[] = "SELECT client_name, client_version, server_name, server_version,"
                                  " protocol_version FROM sessions";
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(
        f,
        "C {'jsonrpc':'2.0','id':0,'method':'initialize','params':{'protocolVersion':'2025-11-25',"
        "'clientInfo':{'name':'in\\u0073pector','version':'1.2','title':'x'}}}");
    traffic_turn(f);
    assert_string_equal(ask(&f->t, columns), "inspector|1.2|-|-|-"); /* not agreed on yet */
    traffic_say(
        f, "S {'jsonrpc':'2.0','id':0,'result':{'protocolVersion':'2025-06-18','capabilities':{},"
           "'serverInfo':{'name':'fs','version':'0.5'}}}");
    traffic_turn(f);
    assert_string_equal(ask(&f->t, columns), "inspector|1.2|fs|0.5|2025-06-18");
    assert_string_equal(f->traffic.version, "2025-06-18");
    /* what is no initialize changes nothing */
    traffic_say(
        f, "C {'jsonrpc':'2.0','id':1,'method':'x','params':{'clientInfo':{'name':'forged'}}}");
    traffic_say(
        f,
        "S "
        "{'jsonrpc':'2.0','id':1,'result':{'serverInfo':{'name':'forged'},'protocolVersion':'1'}}");
    traffic_turn(f);
    assert_string_equal(ask(&f->t, columns), "inspector|1.2|fs|0.5|2025-06-18");
    traffic_end(f);
}

static void test_traffic_session_without_initialize_learns_from_meta(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C {'jsonrpc':'2.0','id':0,'method':'server/discover','params':{'_meta':{"
                   "'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
                   "'io.modelcontextprotocol/clientInfo':{'name':'go','version':'2'}}}}");
    traffic_say(f, "S {'jsonrpc':'2.0','id':0,'result':{'_meta':{"
                   "'io.modelcontextprotocol/serverInfo':{'name':'fs','version':'9'}}}}");
    traffic_turn(f);
    assert_string_equal(ask(&f->t,
                            "SELECT client_name, client_version, server_name, server_version,"
                            " protocol_version FROM sessions"),
                        "go|2|fs|9|2026-07-28");
    traffic_end(f);
}

static void test_traffic_session_survives_odd_handshakes(void **state)
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
    assert_string_equal(
        ask(&f->t, "SELECT client_name, server_name, protocol_version FROM sessions"), "-|-|-");
    traffic_end(f);
}

static void test_traffic_written_at_is_where_the_request_ends(void **state)
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

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_traffic_server_gone_answers_every_open_request),
        T(test_traffic_client_that_leaves_ends_its_listens_with_a_result),
        T(test_traffic_server_that_takes_no_more_gets_no_more_requests),
        T(test_traffic_unrecorded_bytes_are_dropped_and_the_client_is_told),
        T(test_traffic_unrecorded_answers_in_a_batch_are_told_too),
        T(test_traffic_session_learns_who_speaks),
        T(test_traffic_session_without_initialize_learns_from_meta),
        T(test_traffic_session_survives_odd_handshakes),
        T(test_traffic_written_at_is_where_the_request_ends),
    };
    return cmocka_run_group_tests_name("traffic_session", tests, NULL, NULL);
}
