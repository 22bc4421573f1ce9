/* Schemas that a hostile server makes: compiling and checking them takes bounded time and memory. */
#include "base/clock.h"
#include "tests/support/unit.h"
#include "wire/schema/tools.h"

/* Many times what these take: at most 30 ms. Without the limits they take from ten seconds to days. */
#define MOST_US (unit_slow() ? 60000000 : 2000000)

enum kind { POINTERS, INDICES, ANCHORS, IDS, NESTED_IDS, PATTERNS, KINDS };

/* A reference and what it refers to, with a number between two texts. */
static const struct {
    const char *ref[2], *definition[2];
} forms[] = {
    [POINTERS] = {{"{\"$ref\":\"#/$defs/name", "\"}"}, {"{\"title\":\"", "\"}"}},
    [INDICES] = {{"{\"$ref\":\"#/oneOf/", "\"}"}, {"{\"title\":\"", "\"}"}},
    [ANCHORS] = {{"{\"$ref\":\"#name", "\"}"}, {"{\"$anchor\":\"name", "\"}"}},
    [IDS] = {{"{\"$ref\":\"name", "\"}"}, {"{\"$id\":\"name", "\"}"}},
    [NESTED_IDS] = {{"{\"$ref\":\"/name", "/\"}"}, {"{\"$id\":\"name", "/\"}"}},
    [PATTERNS] = {{"{\"pattern\":\"^name", "$\"}"}, {"{\"title\":\"", "\"}"}},
};

/* n references to n names. */
static void write_schema(struct buf *b, enum kind kind, int n)
{
    buf_adds(b, "{\"oneOf\":[{}");
    for (int i = 1; i < n; i++) {
        buf_addc(b, ',');
        buf_printf(b, "%s%d%s", forms[kind].ref[0], i, forms[kind].ref[1]);
    }
    buf_adds(b, "],\"$defs\":{\"first\":{}");
    for (int i = 1; i < n; i++) {
        buf_addc(b, ',');
        buf_printf(b, "\"name%d\":%s%d%s", i, forms[kind].definition[0], i,
                   forms[kind].definition[1]);
    }
    buf_adds(b, "}}");
}

/* 100 schemas in one another, each with an $id; the innermost has n references. */
static void write_nested(struct buf *b, int n)
{
    for (int i = 0; i < 100; i++)
        buf_printf(b, "{\"$id\":\"level%d/%0900d/\",\"not\":", i, 0);
    write_schema(b, NESTED_IDS, n);
    for (int i = 0; i < 100; i++)
        buf_addc(b, '}');
}

static void test_schema_many_references_compile_in_linear_time(void **state)
{
    (void)state;
    for (enum kind k = 0; k < KINDS; k++) {
        struct buf b = {0}, why = {0};
        struct schema *s = NULL;
        struct schema_limits limits = {.cpu_us = 0};
        if (k == NESTED_IDS)
            write_nested(&b, 6000);
        else
            write_schema(&b, k, k == PATTERNS ? 5000 : 15000);
        int64_t from = clock_thread_us();
        int st = schema_open(&s, buf_slice(&b), &limits, &why);
        int64_t took = clock_thread_us() - from;
        assert_true(st == 0 || st == MI_EFULL);
        assert_true(took < MOST_US);
        assert_true(limits.memory.used <= SCHEMA_BYTES_MAX);
        if (st == 0)
            schema_close(s);
        assert_int_equal(limits.memory.used, 0);
        buf_close(&b);
        buf_close(&why);
    }
}

/* Each of these patterns becomes far larger than it is written. */
static void test_schema_patterns_have_one_quota(void **state)
{
    (void)state;
    static const char *const hostile[] = {"(a{1,200}){1,100}", "((a{9}){9}){9}",
                                          "(?:[a-z\\\\p{L}]{200}){40}", "(((a?){20}){20}){8}",
                                          "(\\\\p{L}{1,2000}|b){9}"};
    for (size_t i = 0; i < MI_COUNT(hostile); i++) {
        struct buf b = {0}, why = {0};
        struct schema *s = NULL;
        struct schema_limits limits = {.cpu_us = 0};
        buf_adds(&b, "{\"patternProperties\":{");
        for (int k = 0; k < 20000 && b.n < SCHEMA_TEXT_MAX - 100; k++)
            buf_printf(&b, "%s\"%s%d\":{}", k > 0 ? "," : "", hostile[i], k);
        buf_adds(&b, "}}");
        int64_t from = clock_thread_us();
        int st = schema_open(&s, buf_slice(&b), &limits, &why);
        int64_t took = clock_thread_us() - from;
        assert_int_equal(st, MI_EFULL);
        assert_true(took < MOST_US);
        assert_int_equal(limits.memory.used, 0);
        buf_close(&b);
        buf_close(&why);
    }
}

/* One answer with 100 strings, and patterns that try very much. */
static void test_schema_searches_have_one_budget(void **state)
{
    (void)state;
    static const char *const hostile[] = {"^(a?a?)*b",
                                          "(a|aa)+$",
                                          "(a+)+$",
                                          "(a*)*b",
                                          "^(([a-z])+.)+[A-Z]([a-z])+$",
                                          "(.*).*\\\\1b",
                                          "(?=(a+))a*b\\\\1",
                                          "(?:a?){30}a{30}b",
                                          "[^b]*[^c]*[^d]*e",
                                          "a{900}b"};
    struct buf value = {0};
    buf_addc(&value, '[');
    for (int i = 0; i < 100; i++) {
        buf_adds(&value, i > 0 ? ",\"" : "\"");
        for (int k = 0; k < 1000; k++)
            buf_addc(&value, 'a');
        buf_addc(&value, '"');
    }
    buf_addc(&value, ']');
    for (size_t i = 0; i < MI_COUNT(hostile); i++) {
        struct buf b = {0}, why = {0};
        struct schema_fault fault = {{0}, {0}};
        struct schema *s;
        buf_printf(&b, "{\"items\":{\"anyOf\":[{\"pattern\":\"%s\"},{\"pattern\":\"%s|x\"}]}}",
                   hostile[i], hostile[i]);
        assert_int_equal(schema_open(&s, buf_slice(&b), NULL, &why), 0);
        int64_t from = clock_thread_us();
        enum schema_result result = schema_check(s, buf_slice(&value), &fault);
        int64_t took = clock_thread_us() - from;
        assert_true(took < MOST_US);
        assert_true(fault.reason.n > 0 || result == SCHEMA_FITS);
        schema_close(s);
        schema_fault_close(&fault);
        buf_close(&b);
        buf_close(&why);
    }
    buf_close(&value);
}

/* The first call of the tool has the finding, later ones have not. */
static void test_schema_that_is_not_checked_is_noted_once(void **state)
{
    (void)state;
    struct tools t = {.limits = {.memory = {.max = 64 << 10}}};
    struct rpc list, call;
    struct tool *tool;
    struct schema_fault fault = {{0}, {0}};
    struct buf b = {0};
    buf_adds(&b,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"t\",\"inputSchema\":"
             "{\"required\":[\"a\"],\"patternProperties\":{");
    for (int i = 0; i < 20; i++)
        buf_printf(&b, "%s\"(a{1,200}){1,100}%d\":{}", i > 0 ? "," : "", i);
    buf_adds(&b, "}}}]}}");
    assert_int_equal(rpc_read(buf_slice(&b), &list), 0);
    tools_page(&t, &list, 0);
    struct slice line =
        slice_of("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":"
                 "{\"name\":\"t\",\"arguments\":{}}}");
    assert_int_equal(rpc_read(line, &call), 0);
    assert_int_equal(tools_call(&t, &call, &tool, &fault), RULE(RULE_SCHEMA_NOT_CHECKED));
    assert_string_equal(buf_str(&fault.reason),
                        "the schemas and their patterns need more than 64 KiB of memory");
    assert_int_equal(tools_call(&t, &call, &tool, &fault), 0);
    schema_fault_close(&fault);
    tools_close(&t);
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_many_references_compile_in_linear_time),
        cmocka_unit_test(test_schema_patterns_have_one_quota),
        cmocka_unit_test(test_schema_searches_have_one_budget),
        cmocka_unit_test(test_schema_that_is_not_checked_is_noted_once),
    };
    return cmocka_run_group_tests_name("schema_limits", tests, NULL, NULL);
}
