/* Lines for the log directory: one for each finished invocation, with its status. */
#include "proxy/session/traffic.h"

#include "tests/support/traffic_words.h"

/* A member of the newest line. */
static const char *logged(struct fixture *f, const char *name)
{
    static struct buf b;
    buf_close(&b);
    struct slice all = buf_slice(&f->journal.log.lines);
    assert_true(all.n > 0 && all.p[all.n - 1] == '\n');
    all.n--;
    const char *nl = memrchr(all.p, '\n', all.n);
    const char *p = nl != NULL ? nl + 1 : all.p;
    struct json_value line = {JSON_OBJECT, {p, (size_t)(all.p + all.n - p)}};
    struct json_scan scan;
    assert_int_equal(json_scan(line.text, NULL, NULL, &scan), 0);
    struct json_value v = json_get(line, name);
    if (v.type == JSON_STRING)
        json_unescape(&b, json_string_raw(v));
    else if (v.type == JSON_NONE)
        buf_adds(&b, "none");
    else
        buf_slice_add(&b, v.text);
    return buf_str(&b);
}

static size_t logged_lines(struct fixture *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->journal.log.lines.n; i++)
        n += f->journal.log.lines.p[i] == '\n';
    return n;
}

static void test_traffic_finished_invocation_is_logged_with_its_status(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_say(
        f,
        "C {'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'r\\u0065ad','arguments':"
        "{'path':'/x'}}}");
    assert_int_equal(logged_lines(f), 0);
    traffic_say(
        f, "S {'jsonrpc':'2.0','id':1,'result':{'content':[{'type':'text','text':'he\\u006clo'},"
           "{'type':'text','text':'more'}]}}");
    assert_int_equal(logged_lines(f), 1);
    assert_string_equal(logged(f, "session"), FAKE_UID);
    assert_string_equal(logged(f, "server"), "srv");
    assert_string_equal(logged(f, "seq"), "1");
    assert_string_equal(logged(f, "method"), "tools/call");
    assert_string_equal(logged(f, "tool"), "read");
    assert_string_equal(logged(f, "arguments"), "{\"path\":\"/x\"}");
    assert_string_equal(logged(f, "status"), "ok");
    assert_string_equal(logged(f, "error"), "none");
    assert_string_equal(logged(f, "result"), "hello");
    assert_string_equal(logged(f, "request_bytes"), "102");
    assert_string_equal(logged(f, "response_bytes"), "113");
    traffic_say(f, "C " CALL("2", "a"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':2,'result':{'content':[],'isError':true}}");
    assert_string_equal(logged(f, "status"), "tool-error");
    assert_string_equal(logged(f, "arguments"), "none");
    assert_string_equal(logged(f, "result"), "{\"content\":[],\"isError\":true}");
    traffic_say(f, "C " PING("3"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':3,'error':{'code':-5,'message':'n\\u006f'}}");
    assert_string_equal(logged(f, "status"), "error");
    assert_string_equal(logged(f, "error"), "{\"code\":-5,\"message\":\"n\\u006f\"}");
    assert_string_equal(logged(f, "result"), "none");
    traffic_say(f, "C " PING("4"));
    traffic_say(f, "C " CANCEL("4"));
    assert_string_equal(logged(f, "status"), "cancelled");
    assert_string_equal(logged(f, "seq"), "7");
    traffic_say(f, "S " OK("4")); /* late: nothing more */
    assert_int_equal(logged_lines(f), 4);
    traffic_say(f, "C {'id':5,'method':'ping'}");
    assert_int_equal(logged_lines(f), 5);
    assert_string_equal(logged(f, "status"), "refused");
    traffic_say(f, "C " CALL("6", "b"));
    traffic_say(f, "S {'jsonrpc':'2.0','id':6}");
    assert_string_equal(logged(f, "status"), "error");
    assert_string_equal(logged(f, "tool"), "b");
    traffic_say(f, "C " CALL("7", "c"));
    final_answers_send_errors(&f->traffic, CALL_SERVER_GONE, "server-exited", "it \"exited\"", 0);
    assert_string_equal(logged(f, "status"), "server-gone");
    assert_string_equal(
        logged(f, "error"),
        "{\"code\":-32000,\"message\":\"it \\\"exited\\\"; this request was not read\"}");
    size_t n = logged_lines(f);
    traffic_say(f, "C " NOTE); /* not invocations */
    traffic_say(f, "C bad");
    traffic_say(f, "S " PING("1"));
    traffic_say(f, "C " OK("1"));
    assert_int_equal(logged_lines(f), n);
    traffic_end(f);
}

/* The first 50 characters of a text in any spelling, and an ellipsis if there are more. */
static void test_traffic_logged_result_is_truncated_at_50_characters_in_any_spelling(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *raw, *text;
    } chars[] = {
        {"x", "x"},    {"\xc3\xa9", "\xc3\xa9"}, {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\\n", "\n"}, {"\\u00e9", "\xc3\xa9"},  {"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
    };
    for (size_t i = 0; i < MI_COUNT(chars); i++)
        for (size_t skip = 0; skip < 3; skip++)
            for (size_t n = 48; n <= 130; n += n < 52 ? 1 : 39) {
                struct buf line = {0}, want = {0};
                buf_adds(&line,
                         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"text\":\"");
                for (size_t k = 0; k < n + skip; k++) {
                    buf_adds(&line, k < skip ? "_" : chars[i].raw);
                    if (k < 50)
                        buf_adds(&want, k < skip ? "_" : chars[i].text);
                }
                if (n + skip > 50)
                    buf_adds(&want, "\xe2\x80\xa6");
                buf_adds(&line, "\"}]}}");
                traffic_begin(f, VALIDATE_WIRE, MAX);
                traffic_say(f, "C " CALL("1", "a"));
                traffic_feed(f, 'S', line.p, line.n);
                if (strcmp(logged(f, "result"), buf_str(&want)) != 0)
                    fail_msg("%zu times %s: %s", n, chars[i].raw, logged(f, "result"));
                traffic_end(f);
                buf_close(&line);
                buf_close(&want);
            }
}

static void test_traffic_logged_result_of_unusual_content_is_readable(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *result, *text;
    } rows[] = {
        {"{}", "{}"},
        {"[1,2]", "[1,2]"},
        {"{'content':{}}", "{\"content\":{}}"},
        {"{'content':['x']}", "{\"content\":[\"x\"]}"},
        {"{'content':[{}]}", "{\"content\":[{}]}"},
        {"{'content':[{'text':7}]}", "{\"content\":[{\"text\":7}]}"},
        {"{'content':[{'text':''}]}", ""},
        {"{'content':[{'type':'text','a':{'text':'no'},'t\\u0065xt':'yes'}]}", "yes"},
        {"{'content':[{'type':'image','data':'AAAA'}]}",
         "{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\"}]}"},
        {"'a \\'quoted\\' string'", "\"a \\\"quoted\\\" string\""},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char line[300];
        traffic_begin(f, VALIDATE_WIRE, MAX);
        traffic_say(f, "C " CALL("1", "a"));
        snprintf(line, sizeof line, "S {'jsonrpc':'2.0','id':1,'result':%s}", rows[i].result);
        traffic_say(f, line);
        assert_string_equal(logged(f, "result"), rows[i].text);
        traffic_end(f);
    }
}

static void test_traffic_logged_arguments_are_truncated(void **state)
{
    struct fixture *f = *state;
    traffic_begin(f, VALIDATE_WIRE, MAX);
    traffic_feed_long(
        f, 'C',
        "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'a','arguments':{'x':'",
        5000, "'}}}");
    traffic_say(f, "S " OK("1"));
    assert_string_equal(
        logged(f, "arguments"),
        "{\"x\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xe2\x80\xa6 [+4958 bytes]");
    traffic_end(f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_traffic_finished_invocation_is_logged_with_its_status),
        T(test_traffic_logged_result_is_truncated_at_50_characters_in_any_spelling),
        T(test_traffic_logged_result_of_unusual_content_is_readable),
        T(test_traffic_logged_arguments_are_truncated),
    };
    return cmocka_run_group_tests_name("traffic_log", tests, NULL, NULL);
}
