/* What of a message fills the context of a model. */
#include "model/context.h"

#include "tests/support/unit.h"

static struct context_result result_of(const char *line)
{
    struct rpc m;
    assert_int_equal(rpc_read(slice_of(line), &m), 0);
    return context_result(&m);
}

static int64_t result_tokens(const char *line)
{
    return result_of(line).tokens;
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
        {RESULT(
             "\"content\":[{\"type\":\"text\",\"text\":\"a \\\"b\\\"\\n\\u00e9 \\ud83d\\ude00\"}]"),
         "a \"b\"\n\xC3\xA9 \xF0\x9F\x98\x80"},
        {RESULT("\"content\":[{\"type\":\"text\",\"text\":\"one\"},{\"type\":\"text\",\"text\":"
                "\"two\"}]"),
         "one\ntwo"},
        /* what is no text is not counted, and structuredContent repeats the text */
        {RESULT("\"content\":[{\"type\":\"image\",\"data\":\"AAAA\",\"mimeType\":\"image/png\"},"
                "{\"type\":\"text\",\"text\":\"one\"}],\"structuredContent\":{\"a\":1}"),
         "one"},
        {RESULT("\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":"
                "\"one\"}}]"),
         "one"},
        {RESULT("\"content\":[],\"structuredContent\":{\"a\":[1,2]}"), "{\"a\":[1,2]}"},
        {RESULT("\"content\":[{\"type\":\"text\",\"text\":\"\"}],\"structuredContent\":{\"a\":1}"),
         "{\"a\":1}"},
        {RESULT("\"content\":[{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"one\","
                "\"description\":\"two\"}]"),
         "a:b\none\ntwo"},
        {RESULT("\"content\":[{\"type\":\"image\",\"text\":\"not a "
                "text\"},{\"type\":\"text\",\"text\":\"one\"}]"),
         "one"},
        {RESULT("\"taskId\":\"1\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"one\"}]}"),
         "one"},
        {RESULT("\"contents\":[{\"uri\":\"a:b\",\"text\":\"one\"},{\"uri\":\"a:c\",\"blob\":"
                "\"AAAA\"}]"),
         "one"},
        {RESULT(
             "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"one\"}},"
             "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"two\"}]}]"),
         "one\ntwo"},
        {RESULT("\"content\":[]"), ""},
        {RESULT("\"content\":[1,null,{\"type\":\"text\",\"text\":2}],\"isError\":true"), ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"unknown tool\"}}",
         "unknown tool"},
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
    assert_int_equal(result_tokens("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[]}"),
                     CONTEXT_UNKNOWN);
    assert_int_equal(result_tokens("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
                     CONTEXT_UNKNOWN);
}

static void test_context_of_a_definition_is_what_a_model_gets(void **state)
{
    static const char tool[] =
        "{ \"title\":\"T\", \"name\":\"read\",\"_meta\":{\"a\":1},\"icons\":[],"
        "\"inputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true}}";
    static const char counted[] = "{\"name\":\"read\",\"inputSchema\":{\"type\":\"object\"},"
                                  "\"annotations\":{\"readOnlyHint\":true}}";
    (void)state;
    assert_int_equal(context_count_definition_tokens(slice_of(tool)), estimate(counted));
    assert_int_equal(context_count_definition_tokens(slice_of("{}")), 0);
    assert_int_equal(context_count_definition_tokens(slice_of("{\"title\":\"T\"}")), 0);
    struct json_value list = {JSON_ARRAY, slice_of("[{\"name\":\"read\"},7,{\"uri\":\"a:b\"}]")};
    assert_int_equal(context_count_definitions_tokens(list),
                     estimate("{\"name\":\"read\"}") + estimate("{\"uri\":\"a:b\"}"));
    assert_int_equal(context_count_definitions_tokens((struct json_value){JSON_NONE, {NULL, 0}}),
                     0);
}

/* Base64 is no text: its number of bytes follows from its length. */
static void test_context_of_images_audio_and_blobs_is_their_number_and_size(void **state)
{
    static const struct {
        const char *line;
        int64_t tokens, binaries, size;
    } rows[] = {
        {RESULT(
             "\"content\":[{\"type\":\"image\",\"data\":\"AAAAAAAA\",\"mimeType\":\"image/png\"}]"),
         0, 1, 6},
        {RESULT(
             "\"content\":[{\"type\":\"audio\",\"data\":\"AAAAAA==\",\"mimeType\":\"audio/wav\"},"
             "{\"type\":\"text\",\"text\":\"one\"},{\"data\":\"AAAAAAA=\",\"type\":\"image\"}]"),
         1, 2, 4 + 5},
        {RESULT("\"content\":[{\"type\":\"image\",\"data\":\"AAAAAA\"}]"), 0, 1, 4},
        {RESULT(
             "\"content\":[{\"type\":\"image\",\"data\":\"\"},{\"type\":\"image\",\"data\":\"=\"},"
             "{\"type\":\"image\",\"data\":7},{\"type\":\"image\"}]"),
         0, 2, 0},
        {RESULT("\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"blob\":"
                "\"AAAA\"}}]"),
         0, 1, 3},
        {RESULT("\"contents\":[{\"uri\":\"a:b\",\"text\":\"one\"},{\"uri\":\"a:c\",\"blob\":"
                "\"AAAA\"}]"),
         1, 1, 3},
        {RESULT("\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":"
                "\"AAAA\"}}]"),
         0, 1, 3},
        {RESULT(
             "\"taskId\":\"1\",\"result\":{\"content\":[{\"type\":\"image\",\"data\":\"AAAA\"}]}"),
         0, 1, 3},
        /* members that other types have */
        {RESULT("\"content\":[{\"type\":\"text\",\"text\":\"one\",\"data\":\"AAAA\",\"blob\":"
                "\"AAAA\"},"
                "{\"type\":\"other\",\"data\":\"AAAA\"}]"),
         1, 0, 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"one\"}}", 1, 0, 0},
        {RESULT("\"tools\":[]"), CONTEXT_UNKNOWN, CONTEXT_UNKNOWN, CONTEXT_UNKNOWN},
    };
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct context_result r = result_of(rows[i].line);
        if (r.tokens != rows[i].tokens || r.binaries != rows[i].binaries ||
            r.binary_size != rows[i].size)
            fail_msg("%s: %lld tokens, %lld binaries, %lld bytes", rows[i].line,
                     (long long)r.tokens, (long long)r.binaries, (long long)r.binary_size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_context_of_results_is_their_text_unescaped),
        cmocka_unit_test(test_context_of_images_audio_and_blobs_is_their_number_and_size),
        cmocka_unit_test(test_context_of_other_messages_is_not_known),
        cmocka_unit_test(test_context_of_a_definition_is_what_a_model_gets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
