/* Lines of a live server that are not valid. */
#include "replay/live/lines.h"

#include "tests/support/unit.h"

#define MAX ((size_t)1 << 20)
#define ERROR(id, why)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":-32603,\"message\":\"the server's "    \
    "answer is " why "\",\"data\":{\"source\":\"mcp-interposer\",\"cause\":\"malformed-answer\"}"  \
    "}}"
#define OK "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"

struct step {
    const char *line, *want; /* NULL: it waits */
};

/* `again` is in front of a result that had waited. */
static void check(const struct step *steps)
{
    struct lines l = {.max = MAX};
    for (; steps->line != NULL; steps++) {
        struct buf got = {0};
        struct slice ret;
        enum lines_result r;
        size_t n = strlen(steps->line);
        char *copy = unit_copy(steps->line, n);
        while ((r = lines_take(&l, (struct slice){copy, n}, 1, &ret)) == LINES_AGAIN) {
            buf_adds(&got, "again ");
            buf_slice_add(&got, ret);
            buf_addc(&got, '|');
        }
        if (r == LINES_READY)
            buf_slice_add(&got, ret);
        assert_string_equal(buf_str(&got), steps->want != NULL ? steps->want : "");
        buf_close(&got);
        free(copy);
    }
    lines_close(&l);
}

static void test_lines_are_repaired_or_become_errors(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {OK, OK},
        {"a banner", "a banner"},
        {"{\"level\":\"info\"}", "{\"level\":\"info\"}"},
        {"{\"level\":\"caf\xE9\"}", "{\"level\":\"caf\xE9\"}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"caf\xE9\"}}",
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"caf\xEF\xBF\xBD\"}}"},
        {OK " done", OK},
        {OK OK, ERROR("1", "not valid JSON")},
        {"{\"id\":\"x\",\"result\":{\"a\":\"C:\\dir\"}}", ERROR("\"x\"", "not valid JSON")},
        {"{\"id\":1,\"result\":{}}", ERROR("1", "invalid")},
        {"{\"id\":1,\"result\":{\"a\":NaN}}", ERROR("1", "invalid")},
        {"{\"id\":1,\"method\":\"x\",}", "{\"id\":1,\"method\":\"x\",}"},
        {"{\"id\":1,\"method\":\"x\"}", "{\"id\":1,\"method\":\"x\"}"},
        {NULL, NULL},
    };
    check(steps);
}

static void test_lines_of_one_message_are_joined(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {"{\"jsonrpc\":\"2.0\",", NULL},
        {"", NULL},
        {"\"id\":1,\"result\":{\"a\":\"x", NULL},
        {"y\"}}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"x\\ny\"}}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,", NULL},
        {OK, "again " ERROR("1", "not valid JSON") "|" OK},
        {"{\"a\":", NULL},
        {"log", "again {\"a\":\n|log"},
        {NULL, NULL},
    };
    check(steps);
}

static void test_lines_wait_is_over_at_the_end(void **state)
{
    (void)state;
    struct lines l = {.max = MAX};
    struct slice ret;
    assert_false(lines_end(&l, false, &ret));
    assert_int_equal(lines_take(&l, slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,"), 7, &ret),
                     LINES_WAIT);
    assert_int_equal(l.until_us, 7 + LINES_WAIT_US);
    assert_true(lines_end(&l, false, &ret));
    assert_true(slice_is(ret, ERROR("1", "not valid JSON")));
    assert_false(lines_end(&l, false, &ret));
    assert_int_equal(lines_take(&l, slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,"), 7, &ret),
                     LINES_WAIT);
    assert_true(lines_end(&l, true, &ret));
    assert_true(slice_is(ret, "{\"jsonrpc\":\"2.0\",\"id\":1,\n"));
    lines_close(&l);
    /* the limit of a message */
    l = (struct lines){.max = 20};
    assert_int_equal(lines_take(&l, slice_of("{\"a\":[1,1,"), 7, &ret), LINES_WAIT);
    assert_int_equal(lines_take(&l, slice_of("1,1,1,1,1,1,"), 7, &ret), LINES_AGAIN);
    lines_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_repaired_or_become_errors),
        cmocka_unit_test(test_lines_of_one_message_are_joined),
        cmocka_unit_test(test_lines_wait_is_over_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
