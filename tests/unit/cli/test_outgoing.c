/* A request is made from words, or from a recorded one with changes; its missing secrets are named. */
#include "cli/send/outgoing.h"

#include "tests/support/unit.h"

#define MAX 12

/* Reads words separated by blanks. */
static int read_words(struct outgoing *r, const char *words, char **copy, struct buf *error)
{
    char *list[MAX], *rest = *copy = strdup(words);
    int n = 0;
    for (char *word; n < MAX && (word = strtok_r(rest, " ", &rest)) != NULL;)
        list[n++] = word;
    return outgoing_read_words(r, list, n, error);
}

static void check_words(const char *words, const char *want)
{
    struct outgoing r = {0};
    struct buf error = {0}, message = {0};
    char *copy;
    int st = read_words(&r, words, &copy, &error);
    if (st == 0) {
        assert_int_equal(outgoing_make_params(&r, (struct json_value){0}, (struct slice){"", 0}),
                         0);
        outgoing_write_message(&r, &message);
    }
    const char *got = st == 0 ? buf_str(&message) : buf_str(&error);
    if (strstr(got, want) == NULL)
        fail_msg("%s: got '%s', wanted '%s'", words, got, want);
    outgoing_close(&r);
    buf_close(&error);
    buf_close(&message);
    free(copy);
}

static void test_outgoing_words_make_a_request(void **state)
{
    (void)state;
    check_words("tools/call echo text=a",
                "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"tools/call\",\"params\":"
                "{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}}");
    check_words("echo name=x", "{\"name\":\"echo\",\"arguments\":{\"name\":\"x\"}}");
    check_words("tools/list", "\"method\":\"tools/list\",\"params\":{}}");
    check_words("tools/list cursor=7", "\"params\":{\"cursor\":\"7\"}");
    check_words("ping", "\"method\":\"ping\"");
    check_words("resources/read uri=file:///a?b=c", "\"params\":{\"uri\":\"file:///a?b=c\"}");
    check_words("resources/read file:///a?b=c", "\"params\":{\"uri\":\"file:///a?b=c\"}");
    check_words("prompts/get p a=1", "{\"name\":\"p\",\"arguments\":{\"a\":\"1\"}}");
    check_words("logging/setLevel debug", "\"params\":{\"level\":\"debug\"}");
    check_words("x/y a:=1", "\"method\":\"x/y\",\"params\":{\"a\":1}");
}

static void test_outgoing_wrong_words_are_refused(void **state)
{
    (void)state;
    check_words("tools/call", "missing name: tools/call NAME");
    check_words("prompts/get a=b", "missing name: prompts/get NAME");
    check_words("tools/list more", "'more': expected NAME=VALUE");
    check_words("echo more", "'more': expected NAME=VALUE");
    check_words("tools/call echo more", "'more': expected NAME=VALUE");
    check_words("echo =x", "expected NAME=VALUE");
    check_words("echo a:={", "'a': the value is not JSON");
    check_words("echo a=@/no/such/file", "'a': cannot read /no/such/file: No such file");
    check_words("echo a=env:NO_SUCH_VARIABLE_HERE", "the environment has no variable");
}

static void test_outgoing_meta_is_a_member_of_params(void **state)
{
    struct outgoing r = {0};
    struct buf error = {0};
    char *copy;
    (void)state;
    assert_int_equal(read_words(&r, "tools/list", &copy, &error), 0);
    assert_int_equal(outgoing_make_params(&r, (struct json_value){0}, slice_of("{\"v\":1}")), 0);
    assert_string_equal(buf_str(&r.params), "{\"_meta\":{\"v\":1}}");
    outgoing_close(&r);
    free(copy);
}

/* ---- changes ---- */

static const char tool_schema[] =
    "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}";

static void check_set(const char *params, const char *words, bool tool, const char *want)
{
    struct cli_value_list sets = {0};
    struct buf b = {0}, error = {0};
    struct json_value none = {0}, schema = {JSON_OBJECT, slice_of(tool_schema)};
    char *copy = strdup(words), *rest = copy;
    buf_adds(&b, params);
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
        assert_int_equal(cli_value_add_word(&sets, word, true, &error), 0);
    int st = outgoing_set_params(&b, &sets, tool ? schema : none, &error);
    const char *got = st == 0 ? buf_str(&b) : buf_str(&error);
    if (strcmp(got, want) != 0)
        fail_msg("%s with %s: got '%s', wanted '%s'", params, words, got, want);
    cli_value_close(&sets);
    buf_close(&b);
    buf_close(&error);
    free(copy);
}

static void test_outgoing_set_keeps_the_type_of_what_it_replaces(void **state)
{
    (void)state;
    check_set("{\"a\":{\"s\":\"x\",\"n\":1,\"b\":true}}", "/a/s=2 /a/n=2 /a/b=false", false,
              "{\"a\":{\"s\":\"2\",\"n\":2,\"b\":false}}");
    check_set("{\"n\":1}", "/n=two", false, "{\"n\":\"two\"}");
    check_set("{\"n\":1}", "/n:=\"2\"", false, "{\"n\":\"2\"}");
    check_set("{}", "/arguments/n=2", false, "{\"arguments\":{\"n\":\"2\"}}");
    check_set("{}", "/arguments/n=2", true, "{\"arguments\":{\"n\":2}}");
    check_set("{\"arguments\":{\"n\":\"[redacted:key]\"}}", "/arguments/n=2", true,
              "{\"arguments\":{\"n\":2}}");
    check_set("", "/uri=x", false, "{\"uri\":\"x\"}");
    check_set("{\"a\":1}", ":={\"b\":2}", false, "{\"b\":2}");
}

static void test_outgoing_set_of_an_impossible_place_is_refused(void **state)
{
    (void)state;
    check_set("{\"s\":\"x\"}", "/s/t=2", false, "'/s/t' is inside of a string");
    check_set("{}", ":=[]", false,
              "'' replaces all params of the request: its value must be an object");
}

/* ---- secrets ---- */

static void on_secret(void *ctx, struct slice pointer, enum marks marks, struct slice raw)
{
    struct buf *b = ctx;
    buf_slice_add(b, pointer);
    buf_printf(b, " %d ", (int)marks);
    buf_slice_add(b, raw);
    buf_addc(b, '\n');
}

static void check_secrets(const char *params, const char *set, const char *want)
{
    struct cli_value_list sets = {0};
    struct buf told = {0}, error = {0};
    if (set != NULL)
        assert_int_equal(cli_value_add_word(&sets, set, true, &error), 0);
    assert_int_equal(outgoing_for_each_secret(slice_of(params), &sets, on_secret, &told), 0);
    if (strcmp(buf_str(&told), want) != 0)
        fail_msg("%s: got '%s', wanted '%s'", params, buf_str(&told), want);
    cli_value_close(&sets);
    buf_close(&told);
    buf_close(&error);
}

static void test_outgoing_secrets_are_named_with_their_places(void **state)
{
    (void)state;
    check_secrets(
        "{\"a\":[1,{\"b/c\":\"Bearer [redacted:key]\"}],\"d\":\"x\xe2\x80\xa6 [+9 chars]\"}", NULL,
        "/a/1/b~1c 1 Bearer [redacted:key]\n/d 2 x\xe2\x80\xa6 [+9 chars]\n");
    check_secrets("{\"a\":{\"x[redacted:key]\":1}}", NULL,
                  "/a/x[redacted:key] 1 x[redacted:key]\n");
    check_secrets("{\"a\":\"fine\"}", NULL, "");
}

static void test_outgoing_secrets_that_the_user_wrote_are_not_missing(void **state)
{
    (void)state;
    static const char params[] = "{\"a\":{\"b\":\"[redacted:key]\"},\"ab\":\"[redacted:key]\"}";
    check_secrets(params, "/a/b=x", "/ab 1 [redacted:key]\n");
    check_secrets(params, "/a=x", "/ab 1 [redacted:key]\n");
    check_secrets(params, "/a/b/c=x", "/a/b 1 [redacted:key]\n/ab 1 [redacted:key]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outgoing_words_make_a_request),
        cmocka_unit_test(test_outgoing_wrong_words_are_refused),
        cmocka_unit_test(test_outgoing_meta_is_a_member_of_params),
        cmocka_unit_test(test_outgoing_set_keeps_the_type_of_what_it_replaces),
        cmocka_unit_test(test_outgoing_set_of_an_impossible_place_is_refused),
        cmocka_unit_test(test_outgoing_secrets_are_named_with_their_places),
        cmocka_unit_test(test_outgoing_secrets_that_the_user_wrote_are_not_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
