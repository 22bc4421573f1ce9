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
static const char *const large[] = {"(a{1,200}){1,100}", "((a{9}){9}){9}",
                                    "(?:[a-z\\\\p{L}]{200}){40}", "(((a?){20}){20}){8}",
                                    "(\\\\p{L}{1,2000}|b){9}"};

/* n patterns of one kind. */
static void write_patterns(struct buf *b, const char *pattern, int n)
{
    buf_clear(b);
    buf_adds(b, "{\"patternProperties\":{");
    for (int k = 0; k < n && b->n < SCHEMA_TEXT_MAX - 100; k++)
        buf_printf(b, "%s\"%s%d\":{}", k > 0 ? "," : "", pattern, k);
    buf_adds(b, "}}");
}

static void test_schema_many_patterns_compile_in_bounded_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(large); i++) {
        struct buf b = {0}, why = {0};
        struct schema *s = NULL;
        struct schema_limits limits = {.cpu_us = 0};
        write_patterns(&b, large[i], 20000);
        int64_t from = clock_thread_us();
        assert_int_equal(schema_open(&s, buf_slice(&b), &limits, &why), MI_EFULL);
        assert_true(clock_thread_us() - from < MOST_US);
        assert_string_equal(buf_str(&why), "compiling the schema takes too long");
        assert_int_equal(limits.memory.used, 0);
        buf_close(&b);
        buf_close(&why);
    }
}

/* Schemas of which each is small enough, until their memory together is used up. */
static void test_schema_patterns_have_one_quota(void **state)
{
    (void)state;
    enum { SCHEMAS = 4000 };
    for (size_t i = 0; i < MI_COUNT(large); i++) {
        struct buf b = {0}, why = {0};
        static struct schema *s[SCHEMAS];
        struct schema_limits limits = {.cpu_us = 0};
        int n = 0, st = 0;
        write_patterns(&b, large[i], 20);
        while (n < SCHEMAS && (st = schema_open(&s[n], buf_slice(&b), &limits, &why)) == 0)
            n++;
        assert_true(n > 1 && n < SCHEMAS);
        assert_int_equal(st, MI_EFULL);
        assert_string_equal(buf_str(&why),
                            "the schemas and their patterns need more than 8192 KiB of memory");
        assert_true(limits.memory.used <= SCHEMA_BYTES_MAX);
        while (n > 0)
            schema_close(s[--n]);
        assert_int_equal(limits.memory.used, 0);
        buf_close(&b);
        buf_close(&why);
    }
}

/* The result of a check whose time is bounded. `reason` is replaced. */
static enum schema_result check_in_time(struct buf *schema, struct buf *value, int64_t cpu_us,
                                        struct buf *reason)
{
    struct buf why = {0};
    struct schema_limits limits = {.cpu_us = 0};
    struct schema_fault fault = {{0}, {0}};
    struct schema *s;
    assert_int_equal(schema_open(&s, buf_slice(schema), &limits, &why), 0);
    limits.cpu_us = cpu_us;
    int64_t from = clock_thread_us();
    enum schema_result result = schema_check(s, buf_slice(value), &fault);
    assert_true(clock_thread_us() - from < MOST_US);
    buf_clear(reason);
    buf_adds(reason, buf_str(&fault.reason));
    schema_close(s);
    schema_fault_close(&fault);
    buf_close(&why);
    return result;
}

/* An array of n strings, each: count times the letter a, the text, count times the letter a. */
static void write_strings(struct buf *b, int n, int count, const char *text)
{
    buf_clear(b);
    for (int i = 0; i < n; i++) {
        buf_adds(b, i > 0 ? ",\"" : "[\"");
        for (int k = 0; k < count; k++)
            buf_addc(b, 'a');
        buf_adds(b, text);
        for (int k = 0; k < count && *text != '\0'; k++)
            buf_addc(b, 'a');
        buf_addc(b, '"');
    }
    buf_addc(b, ']');
}

#define TOO_LONG "the check takes too long"

/* One answer with 100 strings, and patterns that try very much. PCRE2 alone limits a search from one start only. */
static void test_schema_searches_have_one_budget(void **state)
{
    (void)state;
    static const struct {
        const char *pattern;
        bool
            many; /* from one start it needs little: only the sum over all starts and strings exceeds a limit */
    } hostile[] = {
        {"(?:a?){4}[bc]", true},
        {"(?:a|a?){9}[bc]", true}, /* without the sum 0.6 s for each string */
        {"(?:a?){11}a{11}[bc]", true},
        {"(?:a?a?){6}[bc]", true},
        {"a{1,40}a{1,40}[bc]", true},
        {"(?=(a+))a*b\\\\1", false},
        {"^(a?a?)*b", false},
        {"(a|aa)+$", false},
        {"(a*)*b", false},
        {"^(([a-z])+.)+[A-Z]([a-z])+$", false},
        {"(.*).*\\\\1b", false},
        {"(?:a?){30}a{30}b", false},
        {"[^b]*[^c]*[^d]*e", false},
    };
    struct buf value = {0}, b = {0}, reason = {0};
    write_strings(&value, 100, 1000, "");
    for (size_t i = 0; i < MI_COUNT(hostile); i++) {
        buf_clear(&b);
        buf_printf(&b, "{\"items\":{\"anyOf\":[{\"pattern\":\"%s|x\"},true]}}", hostile[i].pattern);
        assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_UNKNOWN);
        if (hostile[i].many)
            assert_string_equal(buf_str(&reason), TOO_LONG);
    }
    buf_close(&value);
    buf_close(&b);
    buf_close(&reason);
}

/* Searches that end at once, but first look at the whole text. */
static void test_schema_beginning_a_search_counts(void **state)
{
    (void)state;
    struct buf value = {0}, b = {0}, reason = {0};
    write_strings(&value, 1, 1000000, "");
    buf_adds(&b, "{\"items\":{\"anyOf\":[");
    for (int i = 0; i < 500; i++)
        buf_printf(&b, "{\"pattern\":\"^b%d\"},", i);
    buf_adds(&b, "true]}}");
    assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_UNKNOWN);
    assert_string_equal(buf_str(&reason), TOO_LONG);
    buf_close(&value);
    buf_close(&b);
    buf_close(&reason);
}

/* A schema that is checked 9,000 times against the same value. */
static void write_repeated(struct buf *b, const char *before, const char *one, int n,
                           const char *after)
{
    buf_clear(b);
    buf_adds(b, "{\"$defs\":{\"a\":");
    buf_adds(b, before);
    for (int i = 0; i < n; i++) {
        buf_adds(b, i > 0 ? "," : "");
        buf_adds(b, one);
    }
    buf_adds(b, after);
    buf_adds(b, "},\"allOf\":[true");
    for (int i = 0; i < 9000; i++)
        buf_adds(b, ",{\"$ref\":\"#/$defs/a\"}");
    buf_adds(b, "]}");
}

/* Each counts as a step, even if it is not a schema or a name, or has nothing to be compared with. */
static void test_schema_everything_that_is_looked_at_is_a_step(void **state)
{
    (void)state;
    static const struct {
        const char *before, *one, *after, *value;
    } hostile[] = {
        {"{\"required\":[", "1", "]}", "{}"},
        {"{\"properties\":{", "\"n\":1", "}}", "{}"},
        {"{\"patternProperties\":{\"a\":{}},\"dependentSchemas\":{", "\"n\":1", "}}", "{}"},
        {"{\"minContains\":1,\"contains\":true,", "\"minContains\":1", "}", "[1]"},
    };
    struct buf value = {0}, b = {0}, reason = {0};
    for (size_t i = 0; i < MI_COUNT(hostile); i++) {
        buf_clear(&value);
        buf_adds(&value, hostile[i].value);
        write_repeated(&b, hostile[i].before, hostile[i].one, 9000, hostile[i].after);
        assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_UNKNOWN);
        assert_string_equal(buf_str(&reason), TOO_LONG);
    }
    /* the same of the value */
    write_repeated(&b, "{\"items\":1}", "", 0, "");
    write_strings(&value, 20000, 1, "");
    assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_UNKNOWN);
    /* a number and a limit of many digits, which are read each time */
    buf_clear(&value);
    for (int i = 0; i < 20000; i++)
        buf_addc(&value, '7');
    write_repeated(&b, "{\"type\":\"integer\"}", "", 0, "");
    assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_UNKNOWN);
    buf_close(&value);
    buf_close(&b);
    buf_close(&reason);
}

/* A name with escapes is unescaped for each name that it is compared with. */
static void test_schema_names_with_escapes_count_their_length(void **state)
{
    (void)state;
    struct buf value = {0}, b = {0}, reason = {0};
    buf_adds(&value, "{\"");
    for (int i = 0; i < 100000; i++)
        buf_adds(&value, "\\u0061");
    buf_adds(&value, "\":1}");
    buf_adds(&b, "{\"properties\":{");
    for (int i = 0; i < 10000; i++)
        buf_printf(&b, "%s\"n%d\":{}", i > 0 ? "," : "", i);
    buf_adds(&b, "}}");
    assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_UNKNOWN);
    assert_string_equal(buf_str(&reason), TOO_LONG);
    buf_close(&value);
    buf_close(&b);
    buf_close(&reason);
}

/* n times 1 in so many arrays; before each of their ends the text. */
static void write_levels(struct buf *b, int n, int levels, const char *text)
{
    buf_clear(b);
    for (int k = 0; k < n; k++) {
        buf_addc(b, k > 0 ? ',' : '[');
        for (int i = 0; i < levels; i++)
            buf_addc(b, '[');
        buf_addc(b, '1');
        for (int i = 0; i < levels; i++) {
            buf_adds(b, text);
            buf_addc(b, ']');
        }
    }
    buf_addc(b, ']');
}

/* The tokenizer would take 350 ms for them, before anything is checked. */
static void test_schema_values_in_many_levels_are_not_checked(void **state)
{
    (void)state;
    struct buf value = {0}, b = {0}, reason = {0};
    buf_adds(&b, "{\"items\":{\"type\":\"array\"}}");
    for (int i = 0; i < 2; i++) {
        write_levels(&value, 50, 500, i == 0 ? "" : " \n");
        assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_UNKNOWN);
        assert_string_equal(buf_str(&reason), "the value is too large or too deep");
    }
    write_levels(&value, 1, 500, " \n");
    assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_FITS);
    write_levels(&value, 2000, 20, "");
    assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_FITS);
    buf_close(&value);
    buf_close(&b);
    buf_close(&reason);
}

/* A backreference that is compared with much text in each place, and differs at its end. */
static void test_schema_backreferences_count_what_they_compare(void **state)
{
    (void)state;
    struct buf value = {0}, b = {0}, reason = {0};
    write_strings(&value, 1, 300000, "b");
    buf_adds(&b, "{\"items\":{\"anyOf\":[{\"pattern\":\"^(a*b)a{0,200}?\\\\1\"},true]}}");
    assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_UNKNOWN);
    assert_string_equal(buf_str(&reason), TOO_LONG);
    buf_close(&value);
    buf_close(&b);
    buf_close(&reason);
}

/* With a limit of 1 µs, what takes more ends; without one it does not. */
static void test_schema_cpu_time_is_a_limit_of_its_own(void **state)
{
    (void)state;
    struct buf value = {0}, b = {0}, reason = {0}, why = {0};
    struct schema_limits limits = {.cpu_us = 1};
    struct schema *s = NULL;
    write_strings(&value, 1000, 20, "b");
    buf_adds(&b, "{\"items\":{\"pattern\":\"b\"}}");
    assert_int_equal(check_in_time(&b, &value, 0, &reason), SCHEMA_FITS);
    assert_int_equal(check_in_time(&b, &value, 1, &reason), SCHEMA_UNKNOWN);
    assert_string_equal(buf_str(&reason), TOO_LONG);
    write_patterns(&b, "^name", 1000);
    assert_int_equal(schema_open(&s, buf_slice(&b), &limits, &why), MI_EFULL);
    assert_string_equal(buf_str(&why), "compiling the schema takes too long");
    limits.cpu_us = 0;
    buf_clear(&why);
    assert_int_equal(schema_open(&s, buf_slice(&b), &limits, &why), 0);
    schema_close(s);
    buf_close(&value);
    buf_close(&b);
    buf_close(&reason);
    buf_close(&why);
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
    tools_add_page(&t, &list, 0);
    struct slice line =
        slice_of("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":"
                 "{\"name\":\"t\",\"arguments\":{}}}");
    assert_int_equal(rpc_read(line, &call), 0);
    assert_int_equal(tools_check_call(&t, &call, &tool, &fault), RULE(RULE_SCHEMA_NOT_CHECKED));
    assert_string_equal(buf_str(&fault.reason),
                        "the schemas and their patterns need more than 64 KiB of memory");
    assert_int_equal(tools_check_call(&t, &call, &tool, &fault), 0);
    schema_fault_close(&fault);
    tools_close(&t);
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_many_references_compile_in_linear_time),
        cmocka_unit_test(test_schema_many_patterns_compile_in_bounded_time),
        cmocka_unit_test(test_schema_patterns_have_one_quota),
        cmocka_unit_test(test_schema_searches_have_one_budget),
        cmocka_unit_test(test_schema_beginning_a_search_counts),
        cmocka_unit_test(test_schema_everything_that_is_looked_at_is_a_step),
        cmocka_unit_test(test_schema_names_with_escapes_count_their_length),
        cmocka_unit_test(test_schema_values_in_many_levels_are_not_checked),
        cmocka_unit_test(test_schema_backreferences_count_what_they_compare),
        cmocka_unit_test(test_schema_cpu_time_is_a_limit_of_its_own),
        cmocka_unit_test(test_schema_that_is_not_checked_is_noted_once),
    };
    return cmocka_run_group_tests_name("schema_limits", tests, NULL, NULL);
}
