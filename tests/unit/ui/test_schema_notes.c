#include "cli/ui/detail/schema_notes.h"

#include "tests/unit/ui/detail_unit.h"

static void read_tools(struct tools *t)
{
    static const char list[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"add\",\"inputSchema\":{"
        "\"type\":\"object\","
        "\"properties\":{\"a/"
        "b\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}}},\"required\":[\"a/b\"]},"
        "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"sum\":{\"type\":\"number\"}}}}]}}";
    struct rpc rpc;
    assert_int_equal(rpc_read(slice_of(list), &rpc), 0);
    tools_add_page(t, &rpc, 0);
    assert_true(tools_are_complete(t));
}

#define CALL(arguments)                                                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/"                                            \
    "call\",\"params\":{\"name\":\"add\"" arguments "}}"
#define RESULT(structured)                                                                         \
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[]" structured "}}"

static void test_schema_notes_are_notes_at_their_places(void **state)
{
    (void)state;
    static const struct {
        const char *call, *result;
        size_t n;
        size_t message[2];
        const char *pointer[2], *text[2];
    } samples[] = {
        {CALL(",\"arguments\":{\"a/b\":[1]}"),
         RESULT(",\"structuredContent\":{\"sum\":1}"),
         0,
         {0},
         {0},
         {0}},
        {CALL(",\"arguments\":{\"a/b\":[1,\"2\"]}"),
         RESULT(",\"structuredContent\":{\"sum\":\"x\"}"),
         2,
         {0, 2},
         {"/params/arguments/a~1b/1", "/result/structuredContent/sum"},
         {"must be of type \"number\", is a string", "must be of type \"number\", is a string"}},
        {CALL(",\"arguments\":{}"),
         RESULT(""),
         2,
         {0, 2},
         {"/params/arguments", "/result"},
         {NULL, NULL}},
        {CALL(""), RESULT(",\"isError\":true"), 1, {0}, {"/params"}, {NULL}},
        {"{\"jsonrpc\":", RESULT(""), 0, {0}, {0}, {0}},
        {"[]", RESULT(""), 0, {0}, {0}, {0}},
        {CALL(",\"arguments\":{\"a/b\":[]}"), "{", 0, {0}, {0}, {0}},
    };
    struct tools tools = {0};
    struct schema_notes f = {0};
    read_tools(&tools);
    for (size_t i = 0; i < MI_COUNT(samples); i++) {
        struct detail_message m[] = {
            {.kind = KIND_REQUEST,
             .from_client = true,
             .method = slice_of("tools/call"),
             .body = slice_of(samples[i].call)},
            {.kind = KIND_NOTIFICATION, .body = slice_of("{}")},
            {.kind = KIND_RESULT, .body = slice_of(samples[i].result)},
        };
        schema_notes_find(&f, &tools, m, MI_COUNT(m));
        assert_int_equal(f.n, samples[i].n);
        for (size_t k = 0; k < f.n; k++) {
            assert_int_equal(f.note[k].message, samples[i].message[k]);
            assert_true(slice_is(f.note[k].pointer, samples[i].pointer[k]));
            if (samples[i].text[k] != NULL)
                assert_string_equal(buf_str(k == 0 ? &f.of_call.reason : &f.of_result.reason),
                                    samples[i].text[k]);
        }
        if (f.n == 2 && samples[i].text[0] != NULL) { /* they appear there */
            struct detail_subject s = {
                .message = m, .messages_n = 3, .note = f.note, .notes_n = f.n};
            struct detail *d;
            struct detail_hit hit;
            assert_int_equal(detail_open(&d, &s), 0);
            struct cells c = {0};
            detail_set_width(d, 80, true);
            assert_int_equal(detail_search(d, slice_of("\"2\""), 0, true, &hit), 0);
            assert_string_equal(unit_line(d, hit.line + 1, &c),
                                "            ^ must be of type \"number\", is a string");
            cells_close(&c);
            detail_close(d);
        }
        schema_notes_find(&f, &tools, m + 1, 2);
        assert_int_equal(f.n, 0);
    }
    schema_notes_close(&f);
    tools_close(&tools);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_notes_are_notes_at_their_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
