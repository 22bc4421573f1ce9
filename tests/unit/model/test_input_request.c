#include "model/input_request.h"

#include "tests/support/unit.h"
#include "wire/json/scan.h"

static struct json_value value_of_text(const char *text)
{
    struct json_scan scan;
    assert_int_equal(json_scan(slice_of(text), NULL, NULL, &scan), 0);
    return (struct json_value){scan.type, scan.root};
}

static void test_input_request_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *url, *host;
    } rows[] = {
        {"https://a.example/x", "a.example"},
        {"https://a.example", "a.example"},
        {"https://a.example:8443/x", "a.example"},
        {"https://me:pw@a.example/x?y=@b", "a.example"},
        {"https://me@b.example@a.example/", "a.example"},
        {"https://[2001:db8::1]:80/", "[2001:db8::1]"},
        {"https://[2001:db8::1", "[2001:db8::1"},
        {"https://a.example?x", "a.example"},
        {"https://a.example#x", "a.example"},
        {"https://a.example\\x@b.example/", "a.example"},
        {"https://", ""},
        {"https:/", NULL},
        {"mailto:me", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct slice host = input_request_url_host(slice_of(rows[i].url));
        if (rows[i].host == NULL ? host.p != NULL : !slice_is(host, rows[i].host))
            fail_msg("%s: host %.*s", rows[i].url, (int)host.n, host.p);
    }
}

static void test_input_request_kinds(void **state)
{
    (void)state;
    struct input_request r;
    assert_true(input_request_read(
        value_of_text("{\"method\":\"elicitation/create\",\"params\":{\"url\":\"https://x\"}}"),
        &r));
    assert_true(slice_is(r.mode, "form") && r.url.p == NULL && r.message.p == NULL);
    assert_true(input_request_read(
        value_of_text("{\"method\":\"elicitation/"
                      "create\",\"params\":{\"mode\":\"url\",\"message\":\"m\",\"url\":\"u\"}}"),
        &r));
    assert_true(slice_is(r.mode, "url") && slice_is(r.url, "u") && slice_is(r.message, "m"));
    assert_true(input_request_read(value_of_text("{\"method\":\"roots/list\"}"), &r));
    assert_true(slice_is(r.what, "roots/list") && r.mode.p == NULL);
    assert_true(input_request_read(value_of_text("{\"method\":\"sampling/createMessage\"}"), &r));
    assert_false(input_request_read(value_of_text("{\"method\":\"tools/call\"}"), &r));
    assert_false(input_request_read(value_of_text("{\"method\":1}"), &r));
    assert_false(input_request_read(value_of_text("[]"), &r));
}

static void test_input_request_answers(void **state)
{
    (void)state;
    static const struct {
        const char *result, *word;
    } rows[] = {
        {"{\"action\":\"accept\",\"content\":{\"action\":\"decline\"}}", "accepted"},
        {"{\"action\":\"decline\"}", "declined"},
        {"{\"action\":\"cancel\"}", "cancelled"},
        {"{\"roots\":[]}", "accepted"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        assert_string_equal(input_outcome_word(value_of_text(rows[i].result), false), rows[i].word);
    assert_string_equal(input_outcome_word((struct json_value){0}, true), "failed");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_input_request_hosts),
        cmocka_unit_test(test_input_request_kinds),
        cmocka_unit_test(test_input_request_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
