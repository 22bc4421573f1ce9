/* Lines with several messages, of which some cannot be read: members of a batch, and requests on one line. */
#include "proxy/session/invalid_line.h"

#include "tests/support/traffic_words.h"

#define ERROR(id) "<" id " -32603 malformed-answer>"

/* Members of a batch are judged as answers on lines of their own: the line that is forwarded has those that are left. */
static void test_invalid_line_members_of_a_batch_are_repaired_or_refused(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    strcpy(f->traffic.version, "2025-03-26");
    traffic_say(f, "C " PING("1"));
    traffic_say(f, "C " PING("2"));
    traffic_say(f, "C " CALL("3", "a"));
    traffic_say(f,
                "S [{'jsonrpc':'2.0','id':1,'error':null,'result':{'t':'\xe9'}},"
                "{'jsonrpc':'2.0','id':'2','result':null},{'jsonrpc':'2.0','id':3,'result':null}]");
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "[{'jsonrpc':'2.0','id':1,'result':{'t':'\xef\xbf\xbd'}},"
                        "{'jsonrpc':'2.0','id':2,'result':{}}]|" ERROR("3"));
    assert_string_equal(traffic_rows(f),
                        "1 c2s request forwarded 1 ping - - - - -;"
                        "2 c2s request forwarded 2 ping - - - - -;"
                        "3 c2s request forwarded 3 tools/call a - - - -;"
                        "4 s2c batch forwarded - - - - - - invalid-utf8;"
                        "5 s2c result forwarded 1 - - 1 - 4 null-beside-answer;"
                        "6 s2c result forwarded 2 - - 2 - 4 null-result,id-type-changed;"
                        "7 s2c result refused 3 - - 3 - 4 null-result;"
                        "8 s2c* error forwarded 3 - - 3 -32603 - -");
    traffic_end(f);
}

#define NULL_RESULT(id) "{'jsonrpc':'2.0','id':" id ",'result':null}"
#define NO_RESULT(id) "{'jsonrpc':'2.0','id':" id "}"

static void expect_batch(struct fixture *f, enum validate v, const char *line, const char *want)
{
    traffic_begin(f, v, MAX);
    strcpy(f->traffic.version, "2025-03-26");
    traffic_say(f, "C " CALL("1", "a"));
    traffic_say(f, "C " CALL("2", "a"));
    traffic_say(f, "C " CALL("3", "a"));
    traffic_say(f, "C " CALL("4", "a"));
    traffic_say(f, line);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), want);
    traffic_end(f);
}

static void test_invalid_line_members_that_are_refused_leave_the_batch(void **state)
{
    static const struct {
        const char *line, *want;
    } rows[] = {
        {"S [" NULL_RESULT("1") " , " OK("2") "]", "[" OK("2") "]|" ERROR("1")},
        {"S [ " NULL_RESULT("1") "," NULL_RESULT("2") "," OK("3") "]",
         "[ " OK("3") "]|" ERROR("1") ERROR("2")},
        {"S [" OK("1") "," NULL_RESULT("2") " , " NULL_RESULT("3") "," OK("4") "]",
         "[" OK("1") "," OK("4") "]|" ERROR("2") ERROR("3")},
        {"S [" OK("1") "," NULL_RESULT("2") "," NULL_RESULT("3") " ]",
         "[" OK("1") " ]|" ERROR("2") ERROR("3")},
        {"S [" NULL_RESULT("1") "," OK("2") "," NULL_RESULT("3") "]",
         "[" OK("2") "]|" ERROR("1") ERROR("3")},
        /* nothing is left */
        {"S [" NULL_RESULT("1") "]", ERROR("1")},
        {"S [" NULL_RESULT("1") "," NULL_RESULT("2") "]", ERROR("1") ERROR("2")},
        /* no result at all, two results; a second answer */
        {"S [" NO_RESULT("1") "," OK("2") "]", "[" OK("2") "]|" ERROR("1")},
        {"S [" OK("2") ",{'jsonrpc':'2.0','id':1,'result':{},'result':{}}]",
         "[" OK("2") "]|" ERROR("1")},
        {"S [" NO_RESULT("1") "," NO_RESULT("1") "," OK("2") "]", "[" OK("2") "]|" ERROR("1")},
        /* what is not the answer to a request is rejected with its line */
        {"S [" NO_RESULT("9") "," OK("2") "]", ERROR("2")},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        expect_batch(*state, VALIDATE_WIRE, rows[i].line, rows[i].want);
    expect_batch(*state, VALIDATE_PROTOCOL,
                 "S [{'jsonrpc':'2.0','id':1,'error':null,'result':{}}," OK("2") "]",
                 "[" OK("2") "]|" ERROR("1"));
    expect_batch(*state, VALIDATE_NONE, "S [" NULL_RESULT("1") "," NO_RESULT("2") "]",
                 "[" NULL_RESULT("1") "," NO_RESULT("2") "]|");
}

static const struct conversation several_requests[] = {
    {{"C " PING("1") PING("'b'"), "S " PING("7"), "C " CALL("3", "a") " " OK("7") " , " PING("4")},
     "<7 -32603 malformed-answer>",
     "<1 -32700 not-json><'b' -32700 not-json>" PING("7") "|<3 -32700 not-json><4 -32700 not-json>",
     "1 c2s request refused 1 - - - - - several-values;2 s2c* error forwarded 1 - - 1 -32700 - -;"
     "3 s2c* error forwarded 'b' - - 1 -32700 - -;4 s2c request forwarded 7 ping - - - - -;"
     "5 c2s request refused 3 - - - - - several-values;6 s2c* error forwarded 3 - - 5 -32700 - -;"
     "7 c2s* error forwarded 7 - - 4 -32603 - -;8 s2c* error forwarded 4 - - 5 -32700 - -"},
    /* also if the first has a flaw, or no id */
    {{"C {'jsonrpc':'2.0','id':1,'method':'a','params':{'a':'C:\\dir'}}" PING("2"),
      "C " NOTE PING("3") "junk"},
     NULL,
     "<1 -32700 not-json><2 -32700 not-json><3 -32700 not-json>",
     NULL},
};

static void test_invalid_line_requests_on_one_line_are_all_answered(void **state)
{
    struct fixture *f = *state;
    struct buf line = {0};
    traffic_play(f, several_requests, 1, VALIDATE_WIRE, MAX);
    traffic_begin(f, VALIDATE_WIRE, MAX);
    for (size_t i = 0; i < 2; i++)
        traffic_say(f, several_requests[1].say[i]);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C), several_requests[1].to_client);
    traffic_end(f);
    /* bounded */
    traffic_begin(f, VALIDATE_WIRE, MAX);
    buf_adds(&line, "C ");
    for (size_t i = 0; i < INVALID_LINE_OTHERS_MAX + 10; i++)
        buf_adds(&line, PING("1"));
    traffic_say(f, buf_str(&line));
    traffic_turn(f);
    size_t n = 0;
    for (const char *p = traffic_got(f, ROW_S2C); (p = strstr(p, "-32700")) != NULL; p++)
        n++;
    assert_int_equal(n, INVALID_LINE_OTHERS_MAX + 1);
    traffic_end(f);
    buf_close(&line);
}

#define T(name) cmocka_unit_test_setup_teardown(name, traffic_set_up, traffic_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_invalid_line_members_of_a_batch_are_repaired_or_refused),
        T(test_invalid_line_members_that_are_refused_leave_the_batch),
        T(test_invalid_line_requests_on_one_line_are_all_answered),
    };
    return cmocka_run_group_tests_name("odd_several", tests, NULL, NULL);
}
