/* Array lines: forwarded whole in revision 2025-03-26, with a row for each member; rejected in any other. */
#include "proxy/session/batch.h"

#include "tests/support/traffic_words.h"

static const struct conversation allowed[] = {
    {{"C [" CALL("1", "a") "," NOTE ", " PING("'2'") "]", "S [" OK("'2'") "," OK("1") "]"},
     "[" CALL("1", "a") "," NOTE ", " PING("'2'") "]|",
     "[" OK("'2'") "," OK("1") "]|",
     "1 c2s batch forwarded - - - - - - -;2 c2s request forwarded 1 tools/call a - - 1 -;"
     "3 c2s notification forwarded - notifications/x - - - 1 -;4 c2s request forwarded '2' ping - "
     "- - 1 -;"
     "5 s2c batch forwarded - - - - - - -;6 s2c result forwarded '2' - - 4 - 5 -;"
     "7 s2c result forwarded 1 - - 2 - 5 -"},
    /* answers in any order */
    {{"C [" PING("1") "," PING("2") "]", "S " OK("2"), "S [" OK("1") "]"},
     "[" PING("1") "," PING("2") "]|",
     OK("2") "|[" OK("1") "]|",
     "1 c2s batch forwarded - - - - - - -;2 c2s request forwarded 1 ping - - - 1 -;"
     "3 c2s request forwarded 2 ping - - - 1 -;4 s2c result forwarded 2 - - 3 - - -;"
     "5 s2c batch forwarded - - - - - - -;6 s2c result forwarded 1 - - 2 - 5 -"},
    {{"S [" PING("9") "," NOTE "]", "C [" OK("9") "]", "C [ " NOTE " ]\r"},
     "[" OK("9") "]|[ " NOTE " ]|",
     "[" PING("9") "," NOTE "]|",
     "1 s2c batch forwarded - - - - - - -;2 s2c request forwarded 9 ping - - - 1 -;"
     "3 s2c notification forwarded - notifications/x - - - 1 -;4 c2s batch forwarded - - - - - - -;"
     "5 c2s result forwarded 9 - - 2 - 4 -;6 c2s batch forwarded - - - - - - crlf;"
     "7 c2s notification forwarded - notifications/x - - - 6 -"},
    /* errors, tool errors, findings of members */
    {{"C [" CALL("1", "a") "," CALL("2", "b") "," CALL("2", "c") "]",
      "S [{'jsonrpc':'2.0','id':1,'error':{'code':-5,'message':''}},"
      "{'jsonrpc':'2.0','id':'2','result':{'isError':true}}]"},
     "[" CALL("1", "a") "," CALL("2", "b") "," CALL("2", "c") "]|",
     "[{'jsonrpc':'2.0','id':1,'error':{'code':-5,'message':''}},"
     "{'jsonrpc':'2.0','id':2,'result':{'isError':true}}]|",
     "1 c2s batch forwarded - - - - - - -;2 c2s request forwarded 1 tools/call a - - 1 -;"
     "3 c2s request forwarded 2 tools/call b - - 1 -;4 c2s request forwarded 2 tools/call c - - 1 "
     "reused-id;"
     "5 s2c batch forwarded - - - - - - -;6 s2c error forwarded 1 - - 2 -5 5 -;"
     "7 s2c result forwarded 2 - - 3 - 5 id-type-changed,tool-error"},
    /* each answer gets the id of its request */
    {{"S [" PING("'1'") "," PING("2") "," PING("'3'") "]",
      "C [" OK("1") " , " NOTE "," OK("2") "," OK("3") "]"},
     "[" OK("'1'") " , " NOTE "," OK("2") "," OK("'3'") "]|",
     "[" PING("'1'") "," PING("2") "," PING("'3'") "]|",
     "1 s2c batch forwarded - - - - - - -;2 s2c request forwarded '1' ping - - - 1 -;"
     "3 s2c request forwarded 2 ping - - - 1 -;4 s2c request forwarded '3' ping - - - 1 -;"
     "5 c2s batch forwarded - - - - - - -;6 c2s result forwarded '1' - - 2 - 5 id-type-changed;"
     "7 c2s notification forwarded - notifications/x - - - 5 -;"
     "8 c2s result forwarded 2 - - 3 - 5 -;"
     "9 c2s result forwarded '3' - - 4 - 5 id-type-changed"},
    /* a batch that is rejected has an answer to the server's request */
    {{"S " PING("9"), "C [" OK("9") ",1]"},
     "<9 -32603 malformed-answer>",
     PING("9") "|<null -32600 batch>",
     "1 s2c request forwarded 9 ping - - - - -;2 c2s batch refused - - - - - - batch;"
     "3 c2s* error forwarded 9 - - 1 -32603 - -;4 s2c* error forwarded null - - 2 -32600 - -"},
    /* cancelled in a batch; the batch with nothing but the late answer is dropped */
    {{"C [" CALL("1", "a") "," CANCEL("1") "]", "S [" OK("1") "]", "S [" OK("7") "," OK("8") "]"},
     "[" CALL("1", "a") "," CANCEL("1") "]|",
     NULL,
     "1 c2s batch forwarded - - - - - - -;2 c2s request forwarded 1 tools/call a - - 1 -;"
     "3 c2s notification forwarded - notifications/cancelled - 2 - 1 -;"
     "4 s2c batch swallowed - - - - - - unknown-answer;5 s2c batch swallowed - - - - - - "
     "unknown-answer"},
    /* one answer is pending: the line cannot be divided */
    {{"C " PING("1"), "S [" OK("7") "," OK("1") "]"},
     PING("1") "|",
     "[" OK("7") "," OK("1") "]|",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c batch forwarded - - - - - - -;"
     "3 s2c result swallowed 7 - - - - 2 unknown-answer;4 s2c result forwarded 1 - - 1 - 2 -"},
    /* empty; with an invalid member; with initialize; a batch in a batch: rejected whole */
    {{"C []"},
     NULL,
     "<null -32600 batch>",
     "1 c2s batch refused - - - - - - batch;2 s2c* error forwarded null - - 1 -32600 - -"},
    {{"C [1]", "C [[]]", "C [[" PING("1") "]]"},
     NULL,
     "<null -32600 batch><null -32600 batch><null -32600 batch>",
     "1 c2s batch refused - - - - - - batch;2 s2c* error forwarded null - - 1 -32600 - -;"
     "3 c2s batch refused - - - - - - batch;4 s2c* error forwarded null - - 3 -32600 - -;"
     "5 c2s batch refused - - - - - - batch;6 s2c* error forwarded null - - 5 -32600 - -"},
    {{"C [" PING("1") ",{'id':2}," NOTE "," PING("'3'") "]"},
     NULL,
     "<1 -32600 batch><'3' -32600 batch>",
     "1 c2s batch refused - - - - - - batch;2 c2s request refused 1 ping - - - 1 -;"
     "3 s2c* error forwarded 1 - - 2 -32600 - -;4 c2s request refused '3' ping - - - 1 -;"
     "5 s2c* error forwarded '3' - - 4 -32600 - -"},
    {{"C [{'jsonrpc':'2.0','id':1,'method':'initialize'}," PING("2") "]"},
     NULL,
     "<1 -32600 batch><2 -32600 batch>",
     "1 c2s batch refused - - - - - - batch;2 c2s request refused 1 initialize - - - 1 -;"
     "3 s2c* error forwarded 1 - - 2 -32600 - -;4 c2s request refused 2 ping - - - 1 -;"
     "5 s2c* error forwarded 2 - - 4 -32600 - -"},
    {{"C [" PING("1") ",{'jsonrpc':'2.0','id':2,'method':'a','method':'b'}]"},
     NULL,
     "<1 -32600 batch>",
     "1 c2s batch refused - - - - - - duplicate-key,batch;2 c2s request refused 1 ping - - - 1 -;"
     "3 s2c* error forwarded 1 - - 2 -32600 - -"},
    {{"C " PING("1"), "S []", "S [" OK("1") ",7]", "S " OK("1")},
     PING("1") "|",
     "<1 -32603 malformed-answer>",
     "1 c2s request forwarded 1 ping - - - - -;2 s2c batch refused - - - - - - batch;"
     "3 s2c batch refused - - - - - - batch;4 s2c noise refused 1 - - 1 - 3 -;"
     "5 s2c* error forwarded 1 - - 1 -32603 - -;"
     "6 s2c result swallowed 1 - - - - - unknown-answer"},
};

static const struct conversation elsewhere[] = {
    {{"C [" PING("1") "," NOTE "]"},
     NULL,
     "<1 -32600 batch>",
     "1 c2s batch refused - - - - - - batch;2 c2s request refused 1 ping - - - 1 -;"
     "3 s2c* error forwarded 1 - - 2 -32600 - -"},
    {{"C [" NOTE "]", "C [" OK("1") "]", "C []"},
     NULL,
     "<null -32600 batch><null -32600 batch><null -32600 batch>",
     "1 c2s batch refused - - - - - - batch;2 s2c* error forwarded null - - 1 -32600 - -;"
     "3 c2s batch refused - - - - - - batch;4 s2c* error forwarded null - - 3 -32600 - -;"
     "5 c2s batch refused - - - - - - batch;6 s2c* error forwarded null - - 5 -32600 - -"},
    {{"C " PING("1"), "C " PING("2"), "S [" OK("1") "," OK("9") "," NOTE "," PING("2") "]",
      "S " OK("2")},
     PING("1") "|" PING("2") "|",
     "<1 -32603 malformed-answer>" OK("2") "|",
     "1 c2s request forwarded 1 ping - - - - -;2 c2s request forwarded 2 ping - - - - -;"
     "3 s2c batch refused - - - - - - batch;4 s2c noise refused 1 - - 1 - 3 -;"
     "5 s2c* error forwarded 1 - - 1 -32603 - -;6 s2c result forwarded 2 - - 2 - - "
     "-"},
};

static const struct conversation unchecked[] = {
    {{"C [" PING("1") "," NOTE "]", "S [" OK("1") "]", "S [" OK("1") "]"},
     "[" PING("1") "," NOTE "]|",
     "[" OK("1") "]|[" OK("1") "]|",
     "1 c2s batch forwarded - - - - - - batch;2 c2s request forwarded 1 ping - - - 1 -;"
     "3 c2s notification forwarded - notifications/x - - - 1 -;4 s2c batch forwarded - - - - - - "
     "batch;"
     "5 s2c result forwarded 1 - - 2 - 4 -;6 s2c batch forwarded - - - - - - batch;"
     "7 s2c result forwarded 1 - - - - 6 unknown-answer"},
    {{"C []", "S [1, 2]", "S [" NOTE "]\r"},
     "[]|",
     "[1, 2]|[" NOTE "]\r|",
     "1 c2s batch forwarded - - - - - - batch;2 s2c batch forwarded - - - - - - batch;"
     "3 s2c batch forwarded - - - - - - crlf,batch;"
     "4 s2c notification forwarded - notifications/x - - - 3 -"},
};

static void play(struct fixture *f, const struct conversation *c, size_t n, enum validate v,
                 const char *version)
{
    for (size_t i = 0; i < n; i++) {
        const struct conversation *x = &c[i];
        traffic_begin(f, v, MAX);
        memcpy(f->traffic.version, version, strlen(version) + 1);
        for (size_t k = 0; k < MI_COUNT(x->say) && x->say[k] != NULL; k++)
            traffic_say(f, x->say[k]);
        traffic_turn(f);
        traffic_expect(i, "to the server", traffic_got(f, ROW_C2S), x->to_server);
        traffic_expect(i, "to the client", traffic_got(f, ROW_S2C), x->to_client);
        traffic_expect(i, "rows", traffic_rows(f), x->rows);
        assert_true(f->traffic.open[ROW_C2S].open.count == 0 ||
                    strstr(x->rows, "c2s request forwarded") != NULL);
        traffic_end(f);
    }
}

static void
test_batch_is_forwarded_whole_where_allowed_and_rejected_whole_when_invalid(void **state)
{
    play(*state, allowed, MI_COUNT(allowed), VALIDATE_WIRE, "2025-03-26");
}

static void test_batch_is_rejected_in_every_other_revision(void **state)
{
    static const char *const versions[] = {"",           "2024-11-05", "2025-06-18",
                                           "2025-11-25", "2026-07-28", "2025-03-260"};
    for (size_t i = 0; i < MI_COUNT(versions); i++)
        play(*state, elsewhere, MI_COUNT(elsewhere), VALIDATE_WIRE, versions[i]);
}

static void test_batch_is_forwarded_unchecked_in_every_revision(void **state)
{
    static const char *const versions[] = {"", "2024-11-05", "2025-11-25"};
    for (size_t i = 0; i < MI_COUNT(versions); i++)
        play(*state, unchecked, MI_COUNT(unchecked), VALIDATE_NONE, versions[i]);
}

static bool is_batch(const struct row *r)
{
    return r->kind == KIND_BATCH;
}

static void test_batch_uses_the_negotiated_revision(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(
        f,
        "C "
        "{'jsonrpc':'2.0','id':0,'method':'initialize','params':{'protocolVersion':'2025-11-25'}}");
    traffic_say(f, "C [" NOTE "]"); /* too early */
    traffic_say(f, "S {'jsonrpc':'2.0','id':0,'result':{'protocolVersion':'2025-0\\u0033-26'}}");
    traffic_say(f, "C [" NOTE "]");
    traffic_turn(f);
    assert_string_equal(fake_select(&f->journal, "action", is_batch, 0), "refused;forwarded");
    traffic_end(f);
}

static void test_batch_requests_are_answered_when_the_server_has_exited(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    memcpy(f->traffic.version, "2025-03-26", 11);
    traffic_say(f, "C [" CALL("1", "a") "," PING("2") "]");
    const struct pending *p = f->traffic.open[ROW_C2S].open.oldest;
    assert_int_equal(p->written_at, f->traffic.out[ROW_C2S].staged); /* the end of the line */
    assert_int_equal(p->next->written_at, f->traffic.out[ROW_C2S].staged);
    final_answers_send_errors(&f->traffic, CALL_SERVER_GONE, "server-exited", "gone", 0);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<1 -32000 server-exited><2 -32000 server-exited>");
    traffic_end(f);
}

static void test_batch_row_holds_the_line_and_member_rows_hold_the_members(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    memcpy(f->traffic.version, "2025-03-26", 11);
    traffic_say(f, "C [ " NOTE " ,\t" NOTE "]");
    traffic_turn(f);
    char want[400];
    snprintf(want, sizeof want, "94|[ " NOTE " ,\t" NOTE "];44|" NOTE ";44|" NOTE);
    traffic_quotes(want, strlen(want));
    assert_string_equal(fake_select(&f->journal, "size body", NULL, 0), want);
    traffic_end(f);
}

/* Many members are recorded and answered in linear time. */
static void test_batch_of_many_members_is_recorded_and_correlated(void **state)
{
    struct fixture *f = *state;
    struct buf ask_line = {0}, answer = {0};
    const int n = unit_slow() ? 300 : 10000;
    for (int i = 0; i < n; i++) {
        buf_printf(&ask_line, "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}",
                   i == 0 ? "[" : ",", i);
        buf_printf(&answer, "%s{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}", i == 0 ? "[" : ",",
                   n - 1 - i);
    }
    buf_addc(&ask_line, ']');
    buf_addc(&answer, ']');
    traffic_begin(f, VALIDATE_WIRE, MAX);
    memcpy(f->traffic.version, "2025-03-26", 11);
    traffic_feed(f, 'C', ask_line.p, ask_line.n);
    assert_int_equal(f->traffic.open[ROW_C2S].open.count, n);
    traffic_feed(f, 'S', answer.p, answer.n);
    assert_int_equal(f->traffic.open[ROW_C2S].open.count, 0);
    traffic_turn(f);
    int kinds[KIND_UNKNOWN] = {0};
    for (size_t i = 0; i < f->journal.n; i++) {
        const struct row *a = &f->journal.row[i];
        kinds[a->kind]++;
        if (a->request_seq == 0)
            continue;
        const struct row *q = &f->journal.row[a->request_seq - 1];
        assert_int_equal(q->seq, a->request_seq);
        assert_true(slice_eq(a->rpc_id, q->rpc_id));
    }
    assert_int_equal(kinds[KIND_BATCH], 2);
    assert_int_equal(kinds[KIND_REQUEST], n);
    assert_int_equal(kinds[KIND_RESULT], n);
    assert_int_equal(f->journal.n, 2 * n + 2);
    traffic_end(f);
    buf_close(&ask_line);
    buf_close(&answer);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_batch_is_forwarded_whole_where_allowed_and_rejected_whole_when_invalid),
        T(test_batch_is_rejected_in_every_other_revision),
        T(test_batch_is_forwarded_unchecked_in_every_revision),
        T(test_batch_uses_the_negotiated_revision),
        T(test_batch_requests_are_answered_when_the_server_has_exited),
        T(test_batch_row_holds_the_line_and_member_rows_hold_the_members),
        T(test_batch_of_many_members_is_recorded_and_correlated),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
