/* The canonical form: equal and different requests, and the places of differences. */
#include "tests/support/unit.h"

#include "base/buf.h"
#include "wire/canon.h"

static struct canon_rules rules;

static struct rpc read_rpc(const char *text)
{
    struct rpc m;
    if (rpc_read(slice_of(text), &m) < 0 || m.kind != RPC_REQUEST)
        fail_msg("no request: %s", text);
    return m;
}

static bool equal(const char *a, const char *b)
{
    struct buf ca = {0}, cb = {0};
    struct rpc ma = read_rpc(a), mb = read_rpc(b);
    canon_write_request(&ca, &ma, &rules);
    canon_write_request(&cb, &mb, &rules);
    assert_false(ca.failed || cb.failed);
    bool same = slice_eq(buf_slice(&ca), buf_slice(&cb));
    if (same)
        assert_true(canon_hash_text(buf_slice(&ca)) == canon_hash_text(buf_slice(&cb)));
    buf_close(&ca);
    buf_close(&cb);
    return same;
}

#define R(method, params)                                                                          \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define ARGS(a) R("tools/call", "{\"name\":\"t\",\"arguments\":" a "}")
#define BARE(method) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\"}"

static void ignore(const char *pointer)
{
    struct buf error = {0};
    if (pointers_add(&rules.ignore, "", slice_of(pointer), &error) < 0)
        fail_msg("%s", buf_str(&error));
    buf_close(&error);
}

static int setup(void **state)
{
    (void)state;
    rules = (struct canon_rules){0};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    pointers_close(&rules.ignore);
    return 0;
}

static void test_canon_spelling_is_equal(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {ARGS("{\"a\":1,\"b\":2}"), ARGS(" { \"b\" :2,\"a\":1 }")},
        {ARGS("{\"x\":{\"b\":[1,{\"d\":1,\"c\":2}],\"a\":0}}"),
         ARGS("{\"x\":{\"a\":0,\"b\":[1,{\"c\":2,\"d\":1}]}}")},
        {ARGS("[1,1.0,1e0,10e-1,0.1e1]"), ARGS("[1,1,1,1,1]")},
        {ARGS("[0,-0,0.0,0e5]"), ARGS("[0,0,0,0]")},
        {ARGS("[1e3,-12.50]"), ARGS("[1000,-125e-1]")},
        {ARGS("\"a\\u0041\\/\\n\""), ARGS("\"aA/\\u000a\"")},
        {ARGS("\"\\ud83d\\ude00\""), ARGS("\"😀\"")},
        {ARGS("{\"\\u0061\":1,\"b\":2}"), ARGS("{\"b\":2,\"a\":1}")},
        {BARE("tools/list"), R("tools/list", "{}")},
        {BARE("tools/list"), R("tools/list", "null")},
        {BARE("tools/list"), R("tools/list", "{\"_meta\":{\"progressToken\":3}}")},
        {R("tools/list", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":\"z\",\"method\":\"tools\\/list\"}"},
        {R("initialize", "{\"protocolVersion\":\"1\"}"), R("initialize", "{\"clientInfo\":{}}")},
        {R("tools/call", "{\"name\":\"t\",\"task\":{\"ttl\":1}}"),
         R("tools/call", "{\"name\":\"t\",\"task\":{\"ttl\":2}}")},
        {R("tools/call", "{\"name\":\"t\",\"inputResponses\":{\"k\":1}}"),
         R("tools/call", "{\"name\":\"t\",\"inputResponses\":{\"k\":{\"x\":2}}}")},
    };
    for (size_t i = 0; i < MI_COUNT(pairs); i++)
        if (!equal(pairs[i][0], pairs[i][1]))
            fail_msg("not equal: %s and %s", pairs[i][0], pairs[i][1]);
}

static void test_canon_meaning_is_not_equal(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {ARGS("1"), ARGS("\"1\"")},
        {ARGS("1"), ARGS("2")},
        {ARGS("1"), ARGS("10")},
        {ARGS("1"), ARGS("-1")},
        {ARGS("9007199254740993"), ARGS("9007199254740992")},
        {ARGS("0.1"), ARGS("0.10000000000000000001")},
        {ARGS("null"), ARGS("{}")},
        {ARGS("[]"), ARGS("{}")},
        {ARGS("[1,2]"), ARGS("[2,1]")},
        {ARGS("[[1],2]"), ARGS("[[1,2]]")},
        {ARGS("{\"a\":null}"), ARGS("{}")},
        {ARGS("{\"a\":1}"), ARGS("{\"a\":1,\"b\":1}")},
        {ARGS("{\"a\":1,\"a\":2}"), ARGS("{\"a\":2}")},
        {ARGS("{\"a\":1,\"a\":2}"), ARGS("{\"a\":2,\"a\":1}")},
        {ARGS("{\"ab\":1,\"c\":2}"), ARGS("{\"a\":1,\"bc\":2}")},
        {ARGS("\"\\ud800\""), ARGS("\"\\ufffd\"")},
        {ARGS("\"\\ud800\""), ARGS("\"\\ud801\"")},
        {ARGS("\"\\\\ud800\""), ARGS("\"\\ud800\"")},
        {ARGS("\"a\""), ARGS("\"A\"")},
        {ARGS("{\"_meta\":1}"), ARGS("{\"_meta\":2}")},
        {ARGS("{\"task\":{\"ttl\":1}}"), ARGS("{\"task\":{\"ttl\":2}}")},
        {R("x/y", "{\"task\":{\"ttl\":1}}"), R("x/y", "{\"task\":{\"ttl\":2}}")},
        {R("x/y", "{\"inputResponses\":{\"k\":1}}"), R("x/y", "{\"inputResponses\":{\"k\":2}}")},
        {R("tools/call", "{\"name\":\"t\",\"task\":{\"ttl\":1}}"),
         R("tools/call", "{\"name\":\"t\"}")},
        {R("tools/call", "{\"name\":\"t\",\"inputResponses\":{\"k\":1}}"),
         R("tools/call", "{\"name\":\"t\",\"inputResponses\":{\"l\":1}}")},
        {R("a", "{\"name\":\"t\"}"), R("b", "{\"name\":\"t\"}")},
        {R("a", "{}"), R("a", "[]")},
        {R("a", "{\"requestState\":\"s\"}"), R("a", "{\"requestState\":\"S\"}")},
        {R("tools/list", "{}"),
         R("tools/list",
           "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}")},
    };
    for (size_t i = 0; i < MI_COUNT(pairs); i++)
        if (equal(pairs[i][0], pairs[i][1]))
            fail_msg("equal: %s and %s", pairs[i][0], pairs[i][1]);
}

static void test_canon_answers_count_when_they_are_compared(void **state)
{
    (void)state;
    rules.answers = true;
    assert_false(equal(R("tools/call", "{\"name\":\"t\",\"inputResponses\":{\"k\":1}}"),
                       R("tools/call", "{\"name\":\"t\",\"inputResponses\":{\"k\":2}}")));
}

static void test_canon_ignored_places_are_left_out(void **state)
{
    (void)state;
    ignore("/arguments/list/1");
    ignore("/arguments/*/at");
    ignore("/arguments/a~1b~0c");
    assert_true(equal(ARGS("{\"list\":[1,2,3]}"), ARGS("{\"list\":[1,9,3]}")));
    assert_false(equal(ARGS("{\"list\":[1,2,3]}"), ARGS("{\"list\":[1,3]}")));
    assert_true(equal(ARGS("{\"x\":{\"at\":1}}"), ARGS("{\"x\":{}}")));
    assert_false(equal(ARGS("{\"x\":{\"at\":1}}"), ARGS("{}")));
    assert_false(equal(ARGS("{\"at\":1}"), ARGS("{\"at\":2}")));
    assert_true(equal(ARGS("{\"a/b~c\":1}"), ARGS("{\"a\\/b~c\":[{}]}")));
}

/* "pointer=ours/theirs;" for each, in the order of the calls. */
static bool on_difference(void *ctx, const struct canon_difference *d)
{
    struct buf *b = ctx;
    buf_slice_add(b, d->pointer);
    buf_addc(b, '=');
    buf_slice_add(b, d->ours.p != NULL ? d->ours : slice_of("-"));
    buf_addc(b, '|');
    buf_slice_add(b, d->theirs.p != NULL ? d->theirs : slice_of("-"));
    buf_addc(b, ';');
    return true;
}

static void differ(const char *a, const char *b, const char *want)
{
    struct buf got = {0};
    struct rpc ma = read_rpc(a), mb = read_rpc(b);
    canon_find_differences(&ma, &mb, &rules, on_difference, &got);
    assert_string_equal(buf_str(&got), want);
    buf_close(&got);
}

static void test_canon_differences_name_each_place(void **state)
{
    (void)state;
    differ(ARGS("{\"a\":1,\"b\":{\"c\":[1,2]}}"), ARGS("{\"b\":{\"c\":[1,3,4]},\"a\":1.0}"),
           "/arguments/b/c/1=2|3;/arguments/b/c/2=-|4;");
    differ(ARGS("{\"a/~b\":1}"), ARGS("{}"), "/arguments/a~1~0b=1|-;");
    differ(ARGS("{}"), ARGS("[]"), "/arguments={}|[];");
    differ(ARGS("{\"a\":1,\"a\":2}"), ARGS("{\"a\":2}"), "/arguments/a=1|2;");
    differ(BARE("x"), R("x", "{\"_meta\":{},\"n\":1}"), "/n=-|1;");
    differ(BARE("x"), R("x", "{\"_meta\":{}}"), "");
    ignore("/arguments/x");
    differ(ARGS("{\"x\":1,\"y\":1}"), ARGS("{\"y\":2}"), "/arguments/y=1|2;");
    differ(ARGS("{\"n\\u0000a\":1,\"b\":2}"), ARGS("{\"b\":3,\"n\\u0000a\":1}"), "/arguments/b=2|3;");
}

static void test_canon_deep_and_wide_values_are_handled(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0};
    buf_adds(&a, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"x\":");
    for (int i = 0; i < 500; i++)
        buf_adds(&a, i % 2 == 0 ? "[" : "{\"k\":");
    buf_adds(&a, "1");
    for (int i = 499; i >= 0; i--)
        buf_addc(&a, i % 2 == 0 ? ']' : '}');
    buf_adds(&a, "}}");
    assert_true(equal(buf_str(&a), buf_str(&a)));
    buf_clear(&a);
    buf_adds(&a, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{");
    buf_adds(&b, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{");
    for (int i = 0; i < 5000; i++) {
        buf_printf(&a, "\"k%d\":%d,", i, i);
        buf_printf(&b, "\"k%d\":%d,", 4999 - i, 4999 - i);
    }
    buf_adds(&a, "\"z\":0}}");
    buf_adds(&b, "\"z\":0}}");
    assert_true(equal(buf_str(&a), buf_str(&b)));
    buf_close(&a);
    buf_close(&b);
}

static bool count_one(void *ctx, const struct canon_difference *d)
{
    (void)d;
    ++*(size_t *)ctx;
    return true;
}

#define MODERN "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}"

static void test_canon_across_sessions_generated_values_and_the_revision_are_ignored(void **state)
{
    (void)state;
    const char *const pairs[][2] = {
        {R("tools/list", "{\"cursor\":\"a\"}"), R("tools/list", "{\"cursor\":\"b\"}")},
        {R("tasks/get", "{\"taskId\":\"a\"}"), R("tasks/get", "{\"taskId\":\"b\"}")},
        {R("tools/call", "{\"name\":\"t\",\"requestState\":\"a\"}"),
         R("tools/call", "{\"name\":\"t\",\"requestState\":\"b\"}")},
        {R("tools/list", "{}"), R("tools/list", MODERN)},
    };
    for (size_t i = 0; i < MI_COUNT(pairs); i++) {
        struct rpc a = read_rpc(pairs[i][0]), b = read_rpc(pairs[i][1]);
        size_t n = 0;
        rules.across = false;
        assert_false(equal(pairs[i][0], pairs[i][1]));
        rules.across = true;
        assert_true(equal(pairs[i][0], pairs[i][1]));
        assert_int_equal(canon_find_differences(&a, &b, &rules, count_one, &n), 0);
    }
    assert_false(equal(pairs[0][0], R("tools/list", "{}"))); /* their presence is compared */
    assert_false(equal(ARGS("{\"cursor\":\"a\"}"), ARGS("{\"cursor\":\"b\"}")));
}

#define t(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        t(test_canon_spelling_is_equal),
        t(test_canon_meaning_is_not_equal),
        t(test_canon_answers_count_when_they_are_compared),
        t(test_canon_ignored_places_are_left_out),
        t(test_canon_differences_name_each_place),
        t(test_canon_deep_and_wide_values_are_handled),
        t(test_canon_across_sessions_generated_values_and_the_revision_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
