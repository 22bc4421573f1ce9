/* Lines of a live server: what the proxy would forward, and when errors take the place of answers. */
#include "peer/lines.h"

#include "tests/support/unit.h"

#define ANSWER "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
#define CUT "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"dir\":\"C:\\dir\"}}"
#define LOGGED "{'jsonrpc': '2.0', 'id': 1, 'result': {}}"
#define ECHO "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{}}"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define WAIT_MS (SERVER_LINES_WAIT_US / 1000)

/* Lines, each with the milliseconds that have passed before it; NULL: the output ends. */
struct row {
    struct {
        int ms;
        const char *line;
    } said[4];
    const char *got; /* each result with a '|'; an error of ours is <ID> */
};

static void take(struct lines *l, struct buf *got, bool has, struct slice result)
{
    struct rpc m;
    while (has) {
        if (rpc_read(result, &m) == 0 && rpc_is_interposer_error(&m))
            buf_printf(got, "<%.*s>|", (int)m.id.text.n, m.id.text.p);
        else
            buf_printf(got, "%.*s|", (int)result.n, result.p);
        has = lines_take_next_result(l, &result);
    }
}

static void check(const struct row *rows, size_t n, uint64_t asked)
{
    for (size_t i = 0; i < n; i++) {
        struct lines l;
        struct buf got = {0};
        struct slice result;
        int64_t now_us = 1000000;
        lines_open(&l, 1 << 20);
        if (asked != 0)
            lines_set_awaited_request(&l, asked, slice_of("tools/call"));
        for (size_t k = 0; k < MI_COUNT(rows[i].said); k++) {
            const char *line = rows[i].said[k].line;
            if (rows[i].said[k].ms > 0) {
                now_us += rows[i].said[k].ms * 1000;
                lines_handle_expired_timeouts(&l, now_us);
                take(&l, &got, lines_take_next_result(&l, &result), result);
            }
            if (line != NULL) {
                char *copy = unit_copy(line, strlen(line));
                bool has = lines_add_received_line(&l, (struct slice){copy, strlen(line)}, false,
                                                   now_us, &result);
                take(&l, &got, has, result);
                free(copy);
            }
        }
        if (strcmp(buf_str(&got), rows[i].got) != 0)
            fail_msg("row %zu:\n  got    %s\n  wanted %s", i, buf_str(&got), rows[i].got);
        lines_on_output_end(&l);
        assert_false(lines_are_out_of_memory(&l));
        assert_int_equal(lines_next_timeout_us(&l), INT64_MAX);
        buf_close(&got);
        lines_close(&l);
    }
}

static void test_lines_are_read_as_the_proxy_reads_them(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{0, "banner"}, {0, ANSWER}}, "banner|" ANSWER "|"},
        {{{0, "\xEF\xBB\xBF" ANSWER "\r"}}, ANSWER "|"},
        {{{0, "INFO done " ANSWER}}, "INFO done |" ANSWER "|"},
        {{{0, "> " ANSWER " <"}}, "> |<|" ANSWER "|"},
        {{{0, "{"}, {0, "\"jsonrpc\":\"2.0\",\"id\":1,"}, {0, "\"result\":{}}"}}, ANSWER "|"},
        {{{0, "{\"jsonrpc\":\"2.0\",\"id\":1}"}}, "<1>|"},
        {{{0, "{\"id\":1,\"result\":{}}"}}, "<1>|"},
        {{{0, "{\"id\":1,\"result\":{\"a\":NaN}}"}}, "<1>|"},
        {{{0, "{\"level\":\"caf\xE9\"}"}, {0, "{\"level\":30,\"id\":1}"}},
         "{\"level\":\"caf\xE9\"}|{\"level\":30,\"id\":1}|"},
        {{{0, "{\"id\":1,\"method\":\"x\",}"}}, "{\"id\":1,\"method\":\"x\",}|"},
        {{{0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"caf\xE9\"}}"}},
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"caf\xEF\xBF\xBD\"}}|"},
        {{{0, "{\"jsonrpc\":\"2.0\","},
          {0, ""},
          {99, "\"id\":1,\"result\":{\"a\":\"x"},
          {99, "y\"}}"}},
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"x\\ny\"}}|"},
        {{{0, "{\"a\":"}, {0, "log"}}, "{\"a\":|log|"},
        {{{0, "{\"jsonrpc\":\"2.0\",\"id\":1,"}, {0, ANSWER}}, ANSWER "|"},
    };
    static const struct row answered[] = {{{{0, ANSWER ANSWER}}, "<1>|"}};
    check(rows, MI_COUNT(rows), 1);
    check(rows, MI_COUNT(rows), 0);
    check(answered, 1, 1);
}

static void test_lines_wait_has_limits(void **state)
{
    (void)state;
    struct lines l;
    struct slice ret;
    lines_open(&l, 20);
    assert_int_equal(lines_next_timeout_us(&l), INT64_MAX);
    assert_false(lines_add_received_line(&l, slice_of("{\"a\":[1,1,"), false, 7, &ret));
    assert_int_equal(lines_next_timeout_us(&l), 7 + SERVER_LINES_WAIT_US);
    assert_true(lines_add_received_line(&l, slice_of("1,1,1,1,1,1,"), false, 7,
                                        &ret)); /* too long together */
    assert_true(slice_is(ret, "{\"a\":[1,1,"));
    assert_true(lines_take_next_result(&l, &ret));
    assert_false(lines_take_next_result(&l, &ret));
    /* the end of the output: no error is made of a line that is cut */
    assert_false(lines_add_received_line(&l, slice_of("{\"id\":1,"), false, 8, &ret));
    lines_on_output_end(&l);
    assert_true(lines_take_next_result(&l, &ret));
    assert_true(slice_is(ret, "{\"id\":1,"));
    lines_close(&l);
    lines_open(&l, 100);
    assert_true(
        lines_add_received_line(&l, slice_of("{\"id\":1,\"result\":\"\\u00"), true, 8, &ret));
    assert_true(slice_is(ret, "{\"id\":1,\"result\":\"\\u00"));
    lines_on_output_end(&l);
    assert_false(lines_take_next_result(&l, &ret));
    lines_close(&l);
}

/* Servers print what they send. */
static void test_lines_error_waits_for_a_valid_answer(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{0, CUT}}, ""},
        {{{0, CUT}, {WAIT_MS - 1, NULL}}, ""},
        {{{0, CUT}, {WAIT_MS, NULL}}, "<1>|"},
        {{{0, LOGGED}, {WAIT_MS - 1, ANSWER}, {WAIT_MS, NULL}}, ANSWER "|"},
        {{{0, LOGGED}, {WAIT_MS, ANSWER}}, "<1>|" ANSWER "|"},
        {{{0, LOGGED}, {50, CUT}, {WAIT_MS - 1, NULL}}, ""},
        {{{0, LOGGED}, {50, CUT}, {WAIT_MS, NULL}}, "<1>|"},
        {{{0, "{\"jsonrpc\":\"2.0\",\"id\":1,"}, {WAIT_MS, NULL}}, "<1>|"},
    };
    check(rows, MI_COUNT(rows), 1);
    check(rows, MI_COUNT(rows), 0);
}

static void test_lines_of_other_requests_are_no_answers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{{0, CUT}, {WAIT_MS, NULL}}, CUT "|"},
        {{{0, "{\"jsonrpc\":\"2.0\",\"id\":1}"}}, "{\"jsonrpc\":\"2.0\",\"id\":1}|"},
    };
    static const struct row logged[] = {
        {{{0, "<- " ECHO}}, "<- " ECHO "|"},
        {{{0, ECHO " received"}}, ECHO " received|"},
        {{{0, "log " PING}}, "log |" PING "|"}, /* another method: the server asks */
    };
    check(rows, MI_COUNT(rows), 2);
    check(logged, MI_COUNT(logged), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_read_as_the_proxy_reads_them),
        cmocka_unit_test(test_lines_wait_has_limits),
        cmocka_unit_test(test_lines_error_waits_for_a_valid_answer),
        cmocka_unit_test(test_lines_of_other_requests_are_no_answers),
    };
    return cmocka_run_group_tests_name("lines", tests, NULL, NULL);
}
