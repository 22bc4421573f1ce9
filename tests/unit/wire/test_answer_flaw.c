/* Flaws of a server's answer: what is repaired, and what nothing repairs. */
#include "wire/mcp/answer_flaw.h"

#include "tests/support/unit.h"

#define ANSWER(members) "{\"jsonrpc\":\"2.0\",\"id\":1," members "}"
#define FAILED "\"error\":{\"code\":1,\"message\":\"m\"}"

struct row {
    const char *method, *answer;
    const char *mended; /* NULL: as it is */
    enum finding flaw;
    bool final;
};

static const struct row rows[] = {
    {"ping", ANSWER("\"result\":{}"), NULL, FIND_COUNT, false},
    {"ping", ANSWER("\"result\": null "), ANSWER("\"result\": {} "), FIND_NULL_RESULT, false},
    {"logging/setLevel", ANSWER("\"result\":null"), ANSWER("\"result\":{}"), FIND_NULL_RESULT,
     false},
    {"resources/subscribe", ANSWER("\"result\":null"), ANSWER("\"result\":{}"), FIND_NULL_RESULT,
     false},
    {"tools/call", ANSWER("\"result\":null"), NULL, FIND_NULL_RESULT, true},
    {"tools/list", ANSWER("\"result\":null"), NULL, FIND_NULL_RESULT, true},
    {"tasks/result", ANSWER("\"result\":null"), NULL, FIND_NULL_RESULT, true},
    {"shutdown", ANSWER("\"result\":null"), NULL, FIND_COUNT, false}, /* of LSP */
    {"tools/call", ANSWER("\"result\":{},\"error\":null"), ANSWER("\"result\":{}"),
     FIND_NULL_BESIDE_ANSWER, false},
    {"tools/call", ANSWER("\"error\": null , \"result\":{}"),
     "{\"jsonrpc\":\"2.0\",\"id\":1 , \"result\":{}}", FIND_NULL_BESIDE_ANSWER, false},
    {"tools/call", ANSWER(FAILED ",\"result\":null"), ANSWER(FAILED), FIND_NULL_BESIDE_ANSWER,
     false},
    {"tools/call", "{\"jsonrpc\":\"2.0\",\"id\":null," FAILED "}", ANSWER(FAILED), FIND_NULL_ID,
     false},
    {"tools/call", "{\"result\":null,\"jsonrpc\":\"2.0\",\"id\":null," FAILED "}",
     "{\"jsonrpc\":\"2.0\",\"id\":1," FAILED "}", FIND_NULL_ID, false},
};

static void test_answer_flaw_is_repaired_or_final(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        const struct row *x = &rows[i];
        size_t n = strlen(x->answer);
        char *copy = unit_copy(x->answer, n);
        struct slice method = slice_of(x->method);
        struct answered q = {slice_of("1"), method};
        struct repairs r = {0};
        struct buf out = {0};
        struct rpc m;
        assert_int_equal(rpc_read((struct slice){copy, n}, &m), 0);
        assert_int_equal(answer_flaw_find(&m, method), x->flaw);
        assert_int_equal(answer_flaw_is_unrepairable(x->flaw, method), x->final);
        assert_int_equal(answer_flaw_write_repaired_answer(&m, &q, false, &out, &r), 0);
        assert_string_equal(out.n > 0 ? buf_str(&out) : "", x->mended != NULL ? x->mended : "");
        assert_int_equal(repairs_get_findings(&r) != 0, x->mended != NULL);
        buf_close(&out);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer_flaw_is_repaired_or_final),
    };
    return cmocka_run_group_tests_name("answer_flaw", tests, NULL, NULL);
}
