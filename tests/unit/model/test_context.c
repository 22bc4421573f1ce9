/* What of a message fills the context of a model. */
#include "model/context.h"

#include "tests/support/unit.h"

static int64_t result_tokens(const char *line)
{
    struct rpc m;
    assert_int_equal(rpc_read(slice_of(line), &m), 0);
    return context_result_tokens(&m);
}

static int64_t estimate(const char *text)
{
    return tokens_estimate(text, strlen(text));
}

#define RESULT(members) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{" members "}}"

static void test_context_of_results_is_their_text_unescaped(void **state)
{
    static const struct {
        const char *line, *text;
    } rows[] = {
        {RESULT("\"content\":[{\"type\":\"text\",\"text\":\"a \\\"b\\\"\\n\\u00e9 \\ud83d\\ude00\"}]"),
         "a \"b\"\n\xC3\xA9 \xF0\x9F\x98\x80"},
        {RESULT("\"content\":[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"text\",\"text\":\"two\"}]"),
         "one\ntwo"},
        /* what is no text is not counted, and structuredContent repeats the text */
        {RESULT("\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"},"
                "{\"type\":\"text\",\"text\":\"one\"}],\"structuredContent\":{\"a\":1}"),
         "one"},
        {RESULT("\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"one\"}}]"), "one"},
        {RESULT("\"content\":[],\"structuredContent\":{\"a\":[1,2]}"), "{\"a\":[1,2]}"},
        {RESULT("\"content\":[{\"type\":\"text\",\"text\":\"\"}],\"structuredContent\":{\"a\":1}"), "{\"a\":1}"},
        {RESULT("\"content\":[{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"one\",\"description\":\"two\"}]"),
         "a:b\none\ntwo"},
        {RESULT("\"content\":[{\"type\":\"image\",\"text\":\"not a text\"},{\"type\":\"text\",\"text\":\"one\"}]"), "one"},
        {RESULT("\"taskId\":\"1\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"one\"}]}"), "one"},
        {RESULT("\"contents\":[{\"uri\":\"a:b\",\"text\":\"one\"},{\"uri\":\"a:c\",\"blob\":\"AAAA\"}]"), "one"},
        {RESULT("\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"one\"}},"
                "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]}]"),
         "one\ntwo"},
        {RESULT("\"content\":[]"), ""},
        {RESULT("\"content\":[1,null,{\"type\":\"text\",\"text\":2}],\"isError\":true"), ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"unknown tool\"}}", "unknown tool"},
    };
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        if (result_tokens(rows[i].line) != estimate(rows[i].text))
            fail_msg("%s: %lld tokens", rows[i].line, (long long)result_tokens(rows[i].line));
}

static void test_context_of_other_messages_is_not_known(void **state)
{
    (void)state;
    assert_int_equal(result_tokens(RESULT("\"tools\":[]")), CONTEXT_UNKNOWN);
    assert_int_equal(result_tokens(RESULT("")), CONTEXT_UNKNOWN);
    assert_int_equal(result_tokens("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}"), CONTEXT_UNKNOWN);
    assert_int_equal(result_tokens("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
                     CONTEXT_UNKNOWN);
}

static void test_context_of_a_definition_is_what_a_model_gets(void **state)
{
    static const char tool[] = "{ \"title\":\"T\", \"name\":\"read\",\"_meta\":{\"a\":1},\"icons\":[],"
                               "\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true}}";
    static const char counted[] = "{\"name\":\"read\",\"inputSchema\":{\"type\":\"object\"},"
                                  "\"annotations\":{\"readOnlyHint\":true}}";
    (void)state;
    assert_int_equal(context_definition_tokens(slice_of(tool)), estimate(counted));
    assert_int_equal(context_definition_tokens(slice_of("{}")), 0);
    assert_int_equal(context_definition_tokens(slice_of("{\"title\":\"T\"}")), 0);
    struct json_value list = {JSON_ARRAY, slice_of("[{\"name\":\"read\"},7,{\"uri\":\"a:b\"}]")};
    assert_int_equal(context_definitions_tokens(list),
                     estimate("{\"name\":\"read\"}") + estimate("{\"uri\":\"a:b\"}"));
    assert_int_equal(context_definitions_tokens((struct json_value){JSON_NONE, {NULL, 0}}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_of_results_is_their_text_unescaped),
        cmocka_unit_test(test_context_of_other_messages_is_not_known),
        cmocka_unit_test(test_context_of_a_definition_is_what_a_model_gets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
