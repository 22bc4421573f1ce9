/* Lines that are too deep, too long, too many, or not messages: what is answered, logged and recorded. */
#include "proxy/session/traffic.h"

#include "tests/support/traffic_words.h"

static bool is_of_peer(const struct row *r)
{
    return r->origin == ROW_PEER;
}

static bool is_second(const struct row *r)
{
    return r->seq == 2;
}

static bool is_call_of_server(const struct row *r)
{
    return r->method.p != NULL && r->direction == ROW_S2C;
}

static bool has_id_more(const struct row *r)
{
    return slice_is(r->rpc_id, "\"more\"");
}

static void test_traffic_body_is_the_line_and_size_is_as_received(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C \xef\xbb\xbf " NOTE " \r");
    traffic_say(f, "C bytes \xff\x01");
    traffic_say(f, "S log " NOTE);
    traffic_say(f, "E it's \x1b[31mred\xff");
    traffic_turn(f);
    assert_string_equal(
        fake_select(&f->journal, "size body", is_of_peer, 0),
        "50| {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"} ;8|bytes \xef\xbf\xbd\x01;"
        "4|log ;48|{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"};"
        "14|it\"s \x1b[31mred\xef\xbf\xbd");
    traffic_end(f);
}

static void test_traffic_noise_is_one_escaped_line_on_stderr(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "S Server ready\x1b[2J\r");
    assert_int_equal(said_lines(), 1);
    assert_true(said_holds("dropped output that is not a message: server=srv"));
    assert_true(said_holds("Server ready\\x1b[2J"));
    buf_clear(&said);
    char lots[1000];
    memset(lots, 'n', sizeof lots);
    traffic_feed(f, 'S', lots, sizeof lots);
    assert_int_equal(said_lines(), 1);
    assert_true(said.n < 500);
    traffic_say(f, "S Content-Length: 40");
    assert_true(said_holds("LSP"));
    buf_clear(&said);
    traffic_say(f, "S PRI * HTTP/2.0");
    assert_true(said_holds("HTTP; start the server with its stdio transport"));
    buf_clear(&said);
    traffic_say(f, "E a line on stderr");
    traffic_say(f, "S " OK("1"));
    traffic_say(f, "C bad");
    assert_int_equal(said_lines(), 0);
    traffic_turn(f);
    traffic_end(f);
}

/* 10,000 levels are allowed, and noted from 513 on. */
static void test_traffic_too_deep_message_is_rejected(void **state)
{
    struct fixture *f = *state;
    struct buf deep = {0};
    static const struct {
        int levels;
        const char *rows;
    } cases[] = {
        {512, "1 c2s request forwarded 1 x - - - - -;2 s2c request forwarded 1 x - - - - -"},
        {513, "1 c2s request forwarded 1 x - - - - deep-message;"
              "2 s2c request forwarded 1 x - - - - deep-message"},
        {10000, "1 c2s request forwarded 1 x - - - - deep-message;"
                "2 s2c request forwarded 1 x - - - - deep-message"},
        {10001, "1 c2s request refused 1 - - - - - too-deep;"
                "2 s2c* error forwarded 1 - - 1 -32700 - -;"
                "3 s2c noise refused - - - - - - too-deep"},
    };
    for (size_t k = 0; k < MI_COUNT(cases); k++) {
        int levels = cases[k].levels;
        traffic_begin(f, VALIDATE_WIRE, MAX);
        buf_clear(&deep);
        buf_adds(&deep, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"a\":");
        for (int i = 2; i < levels; i++)
            buf_addc(&deep, '[');
        for (int i = 2; i < levels; i++)
            buf_addc(&deep, ']');
        buf_adds(&deep, "}}");
        traffic_feed(f, 'C', deep.p, deep.n);
        traffic_feed(f, 'S', deep.p, deep.n);
        traffic_turn(f);
        assert_string_equal(traffic_rows(f), cases[k].rows);
        traffic_end(f);
    }
    buf_close(&deep);
}

static void test_traffic_error_has_the_reason_and_the_place(void **state)
{
    struct fixture *f = *state;
    char want[600];
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C {'jsonrpc':'2.0' 'id':1}");
    traffic_turn(f);
    snprintf(
        want, sizeof want,
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error: "
        "unexpected '\\\"' at byte 17 of the "
        "line\",\"data\":{\"source\":\"mcp-interposer\",\"cause\":\"not-json\",\"session\":\"%s\","
        "\"seq\":1}}}\n",
        FAKE_UID);
    assert_string_equal(buf_str(&f->got[ROW_S2C]), want);
    snprintf(want, sizeof want, "%.*s", (int)f->got[ROW_S2C].n - 1, f->got[ROW_S2C].p);
    assert_string_equal(fake_select(&f->journal, "body", is_second, 0), want);
    traffic_end(f);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C {'id':3,'method':'tools/call','params':{'name':'t'}}");
    traffic_turn(f);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "\"id\":3,") != NULL);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "not a JSON-RPC 2.0 message") != NULL);
    traffic_end(f);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(f, "C Content-Length: 10");
    traffic_turn(f);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "one message per line") != NULL);
    traffic_say(f, "C PRI * HTTP/2.0");
    traffic_turn(f);
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "this is HTTP") != NULL);
    traffic_end(f);
}

static void test_traffic_too_long_message_of_the_client_is_rejected_with_its_id(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, 1000);
    traffic_feed_long(f, 'C', "{'jsonrpc':'2.0','id':'a','method':'tools/call','params':{'x':'",
                      10000, "'}}");
    traffic_feed_long(f, 'C', "{'method':'x','params':'", 10000,
                      ""); /* its id comes after the head */
    traffic_feed_long(f, 'C', "", 5000, "");
    traffic_feed_long(f, 'C', "{'jsonrpc':'2.0','id':3,'result':{'x':'", 10000, "'}}");
    traffic_say(f, "C " PING("1"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_C2S), PING("1") "|");
    assert_string_equal(traffic_got(f, ROW_S2C), "<'a' -32600 too-long><null -32600 too-long>"
                                                 "<null -32600 too-long><null -32600 too-long>");
    assert_string_equal(
        traffic_rows(f),
        "1 c2s request refused 'a' tools/call - - - - too-long;"
        "2 s2c* error forwarded 'a' - - 1 -32600 - -;"
        "3 c2s noise refused - x - - - - too-long;4 s2c* error forwarded null - - 3 -32600 - -;"
        "5 c2s noise refused - - - - - - too-long;6 s2c* error forwarded null - - 5 -32600 - -;"
        "7 c2s noise refused 3 - - - - - too-long;8 s2c* error forwarded null - - 7 -32600 - -;"
        "9 c2s request forwarded 1 ping - - - - -");
    /* only the head is recorded */
    size_t longest = 0;
    for (size_t i = 0; i < f->journal.committed; i++)
        if (f->journal.row[i].body.n > longest)
            longest = f->journal.row[i].body.n;
    assert_int_equal(longest, 4096);
    assert_true(
        said_holds("rejected, too long: from=client server=srv bytes>1000; raise --max-message"));
    traffic_end(f);
}

static void test_traffic_line_without_memory_is_not_called_too_long(void **state)
{
    struct fixture *f = *state;
    char text[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\",\"params\":{";
    traffic_begin(f, VALIDATE_WIRE, 1000);
    traffic_handle_long_line(&f->traffic, ROW_C2S, &(struct line){text, sizeof text - 1, NULL});
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), "<7 -32603 out-of-memory>");
    assert_true(said_holds("out of memory for a line: from=client server=srv"));
    traffic_end(f);
}

static void test_traffic_too_long_answer_of_the_server_ends_its_request(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, 1000);
    traffic_say(f, "C " CALL("1", "a"));
    traffic_say(f, "C " CALL("2", "b"));
    traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','id':1,'result':{'x':'", 10000, "'}}");
    traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','result':{'x':'", 10000,
                      ""); /* no id: of an unknown request */
    traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','method':'n','params':{'x':'", 10000, "'}}");
    traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','id':2,'method':'ping','params':{'x':'", 10000,
                      "'}}");
    traffic_say(f, "S " OK("2"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), "<1 -32603 malformed-answer>" OK("2") "|");
    assert_true(strstr(buf_str(&f->got[ROW_S2C]), "longer than --max-message") != NULL);
    assert_string_equal(
        traffic_rows(f),
        "1 c2s request forwarded 1 tools/call a - - - -;"
        "2 c2s request forwarded 2 tools/call b - - - -;"
        "3 s2c noise refused 1 - - 1 - - too-long;"
        "4 s2c* error forwarded 1 - - 1 -32603 - -;"
        "5 s2c noise refused - - - - - - too-long;6 s2c noise refused - n - - - - too-long;"
        "7 s2c noise refused 2 ping - - - - too-long;8 s2c result forwarded 2 - - 2 - - -");
    traffic_end(f);
}

static void test_traffic_message_over_ten_mebibytes_is_noted(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','method':'n','params':{'x':'",
                      ((size_t)10 << 20) - 48, "'}}");
    traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','method':'n','params':{'x':'",
                      ((size_t)10 << 20) - 47, "'}}");
    traffic_turn(f);
    assert_non_null(
        strstr(buf_str(&said), "from=server server=srv bytes=10485761 id= message=\"n\""));
    traffic_say(f, "C " CALL("'a'", "shoot"));
    traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','id':'a','result':{'content':'", (size_t)10 << 20,
                      "'}}");
    traffic_turn(f);
    assert_non_null(strstr(buf_str(&said), "id=\"a\" message=\"tools/call shoot\""));
    assert_string_equal(
        traffic_no_rules(fake_select(&f->journal, "size length finding", is_call_of_server, 0)),
        "10485760|10485760|-;10485761|10485761|large-message");
    traffic_end(f);
}

/* An event at once, one line on stderr, and a finding of the line when its end has arrived. */
static void test_traffic_unfinished_line_is_logged_and_noted_at_its_end(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, 100);
    for (int i = 0; i < 2; i++) {
        traffic_report_incomplete_line(&f->traffic, ROW_S2C, 7);
        traffic_say(f, "S {'jsonrpc':'2.0','method':'n'}");
        traffic_say(f, "S {'jsonrpc':'2.0','method':'n'}");
    }
    traffic_report_incomplete_line(&f->traffic, ROW_C2S, 3);
    traffic_say(f, "S {'jsonrpc':'2.0','method':'n'}");
    traffic_say(f, "c {'j");
    traffic_report_incomplete_line(&f->traffic, ROW_S2C, 9);
    traffic_say(
        f, "S {'jsonrpc':'2.0','method':'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
           "nnnnnnnnnnnnnnnnnnnnn'}");
    traffic_turn(f);
    assert_string_equal(fake_events(&f->journal, "unfinished-line"),
                        "{\"from\":\"server\",\"bytes\":7};{\"from\":\"server\",\"bytes\":7};"
                        "{\"from\":\"client\",\"bytes\":3};{\"from\":\"server\",\"bytes\":9}");
    assert_string_equal(
        traffic_no_rules(fake_select(&f->journal, "finding", is_of_peer, 0)),
        "unfinished-line;-;unfinished-line;-;-;not-json,cut-json,no-newline,unfinished-line;"
        "too-long,unfinished-line");
    const char *first = strstr(buf_str(&said), "incomplete line: from=server server=srv bytes=7");
    assert_non_null(first);
    assert_null(strstr(first + 1, "incomplete line: from=server"));
    assert_non_null(strstr(first, "line: from=client server=srv bytes=3"));
    traffic_end(f);
}

static void test_traffic_too_many_pending_requests_are_rejected_until_one_ends(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    for (int i = 0; i < PENDING_MAX; i++) {
        char text[100];
        int n =
            snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", i);
        traffic_feed(f, 'C', text, (size_t)n);
    }
    traffic_turn(f);
    buf_clear(&f->got[ROW_C2S]);
    f->base = f->seq;
    traffic_say(f, "C " CALL("'more'", "a"));
    traffic_say(f, "S " OK("7"));
    traffic_say(f, "C " CALL("'more'", "a"));
    traffic_say(f, "C " NOTE);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_C2S), CALL("'more'", "a") "|" NOTE "|");
    assert_string_equal(traffic_got(f, ROW_S2C), "<'more' -32603 too-many-open>" OK("7") "|");
    assert_string_equal(
        traffic_no_rules(fake_select(&f->journal, "kind action finding", has_id_more, 0)),
        "request|refused|too-many-open;error|forwarded|-;request|forwarded|-");
    traffic_end(f);
}

/* Its answer would be unknown and dropped, and the client would wait for ever. */
static void test_traffic_batch_past_the_limit_closes_the_connection(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    strcpy(f->traffic.version, "2025-03-26");
    for (int i = 0; i < PENDING_MAX; i++) {
        char text[100];
        int n =
            snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", i);
        traffic_feed(f, 'C', text, (size_t)n);
    }
    traffic_turn(f);
    assert_false(f->traffic.out[ROW_S2C].broken);
    traffic_say(f, "C [" CALL("'more'", "a") "]");
    assert_true(f->traffic.out[ROW_S2C].broken);
    traffic_end(f);
}

static void test_traffic_too_long_id_is_rejected(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_feed_long(f, 'C', "{'jsonrpc':'2.0','method':'x','id':'", (size_t)64 << 10, "'}");
    traffic_feed_long(f, 'S', "{'jsonrpc':'2.0','method':'x','id':'", (size_t)64 << 10,
                      "'}"); /* of the server: not rejected */
    traffic_turn(f);
    assert_string_equal(
        fake_select(&f->journal, "direction origin kind action error_code rpc_id", NULL, 0),
        "c2s|peer|request|refused|-|-;s2c|interposer|error|forwarded|-32600|-;"
        "s2c|peer|request|forwarded|-|-");
    assert_int_equal(f->got[ROW_C2S].n, 0);
    traffic_end(f);
}

static void test_traffic_client_that_does_not_read_errors_must_wait(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    assert_false(traffic_must_not_read_client(&f->traffic));
    int n = 0;
    while (!traffic_must_not_read_client(&f->traffic)) {
        assert_true(++n < 100000);
        traffic_say(f, "C bad");
        traffic_say(f, "S " NOTE); /* bytes of the server have a limit of their own */
    }
    assert_true(f->traffic.own_bytes >= (size_t)1 << 20);
    assert_true(f->traffic.own_bytes < (size_t)2 << 20);
    traffic_turn(f); /* it has read all of them */
    assert_false(traffic_must_not_read_client(&f->traffic));
    traffic_end(f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_traffic_body_is_the_line_and_size_is_as_received),
        T(test_traffic_noise_is_one_escaped_line_on_stderr),
        T(test_traffic_too_deep_message_is_rejected),
        T(test_traffic_error_has_the_reason_and_the_place),
        T(test_traffic_too_long_message_of_the_client_is_rejected_with_its_id),
        T(test_traffic_line_without_memory_is_not_called_too_long),
        T(test_traffic_too_long_answer_of_the_server_ends_its_request),
        T(test_traffic_message_over_ten_mebibytes_is_noted),
        T(test_traffic_unfinished_line_is_logged_and_noted_at_its_end),
        T(test_traffic_too_many_pending_requests_are_rejected_until_one_ends),
        T(test_traffic_batch_past_the_limit_closes_the_connection),
        T(test_traffic_too_long_id_is_rejected),
        T(test_traffic_client_that_does_not_read_errors_must_wait),
    };
    return cmocka_run_group_tests_name("traffic_limits", tests, NULL, NULL);
}
