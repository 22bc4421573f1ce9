/* Messages about values that do not match a schema, and limits on the work. tests/schema-suite checks the
 * results. */
#include "wire/schema/compile.h"

#include "tests/support/unit.h"
#include "wire/json/decimal.h"
#include "wire/json/text.h"
#include "wire/json/tree.h"

#include <stdio.h>
#include <time.h>

/* 'single' to "double" quotes, in a block that ends with the text. */
static struct slice quoted(const char *text)
{
    size_t n = strlen(text);
    char *copy = unit_copy(text, n);
    for (size_t i = 0; i < n; i++)
        if (copy[i] == '\'')
            copy[i] = '"';
    struct json_scan scan;
    if (json_scan((struct slice){copy, n}, NULL, NULL, &scan) < 0)
        fail_msg("no JSON: %s", text);
    return (struct slice){copy, n};
}

static struct schema *compiled(const char *text)
{
    struct slice s = quoted(text);
    struct schema *schema;
    struct buf why = {0};
    if (schema_open(&schema, s, NULL, &why) < 0)
        fail_msg("%s: %s", text, buf_str(&why));
    free((char *)(uintptr_t)s.p);
    buf_close(&why);
    return schema;
}

static void test_schema_fault_names_the_place_and_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *schema, *value, *pointer, *reason;
    } rows[] = {
        {"{'type':'object'}", "[]", "", "must be of type \"object\", is an array"},
        {"{'type':['string','null']}", "1", "",
         "must be of type [\"string\",\"null\"], is a number"},
        {"{'properties':{'a':{'items':{'type':'integer'}}}}", "{'b':1,'a':[1,2,'x']}", "/a/2",
         "must be of type \"integer\", is a string"},
        {"{'required':['city','zip']}", "{'city':'x'}", "", "\"zip\" is missing"},
        {"{'properties':{'a/b~c':{'minimum':3}}}", "{'a/b~c':2}", "/a~1b~0c", "must be at least 3"},
        {"{'additionalProperties':false,'properties':{'a':{}}}", "{'a':1,'b':2}", "/b",
         "unexpected member"},
        {"{'enum':['a','b']}", "'c'", "", "must be one of [\"a\",\"b\"]"},
        {"{'const':7}", "8", "", "must be 7"},
        {"{'maxLength':2}", "'abc'", "", "must have at most 2 characters, has 3"},
        {"{'minItems':2}", "[1]", "", "must have at least 2 items, has 1"},
        {"{'pattern':'^a'}", "'b'", "", "must match the pattern \"^a\""},
        {"{'format':'date'}", "'2025-02-29'", "", "must be a date as in RFC 3339"},
        {"{'uniqueItems':true}", "[1,2,1.0]", "", "must not contain duplicate items"},
        {"{'anyOf':[{'type':'null'},{'minimum':1}]}", "0", "",
         "matches none of the 2 schemas of anyOf"},
        {"{'oneOf':[{},{}]}", "0", "", "matches more than one of the 2 schemas of oneOf"},
        {"{'not':{}}", "0", "", "must not match the schema of `not`"},
        {"{'allOf':[{'properties':{'a':{'multipleOf':0.1}}}]}", "{'a':0.25}", "/a",
         "must be a multiple of 0.1"},
        {"{'properties':{'a':false}}", "{'a':1}", "/a", "must not be present"},
        {"{'propertyNames':{'maxLength':1}}", "{'ab':1}", "/ab", "member name not allowed"},
        {"{'contains':{'const':1}}", "[2]", "",
         "must have at least 1 items that match `contains`, has 0"},
        {"{'dependentRequired':{'a':['b']}}", "{'a':1}", "", "\"b\" is missing"},
        {"{'unevaluatedProperties':false,'allOf':[{'properties':{'a':{}}}]}", "{'a':1,'b':2}", "/b",
         "unexpected member"},
        {"{'unevaluatedItems':false,'prefixItems':[{}]}", "[1,2]", "/1", "unexpected item"},
        {"{'unevaluatedItems':{'type':'null'},'prefixItems':[{}]}", "[1,2]", "/1",
         "must be of type \"null\", is a number"},
        {"{'$ref':'#/$defs/x','$defs':{'x':{'type':'null'}}}", "1", "",
         "must be of type \"null\", is a number"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct schema *s = compiled(rows[i].schema);
        struct slice value = quoted(rows[i].value);
        struct schema_fault f = {{0}, {0}};
        assert_int_equal(schema_check(s, value, NULL), SCHEMA_FAILS);
        assert_int_equal(schema_check(s, value, &f), SCHEMA_FAILS);
        if (strcmp(buf_str(&f.pointer), rows[i].pointer) != 0 ||
            strcmp(buf_str(&f.reason), rows[i].reason) != 0)
            fail_msg("%s: got '%s' '%s'", rows[i].schema, buf_str(&f.pointer), buf_str(&f.reason));
        schema_fault_close(&f);
        schema_close(s);
        free((char *)(uintptr_t)value.p);
    }
}

/* A keyword that cannot be checked makes the result unknown, unless the value fails all the same. */
static void test_schema_what_cannot_be_checked_is_unknown(void **state)
{
    (void)state;
    static const char remote[] =
        "the schema has a reference outside itself, which is not fetched: ";
    static const char dialect[] = "the dialect is not supported: ";
    static const char pattern[] = "the pattern is invalid or not supported: ";
    static const struct {
        const char *schema, *value;
        enum schema_result result;
        const char *reason, *text; /* of SCHEMA_UNKNOWN */
    } rows[] = {
        {"{'$ref':'http://example.com/x'}", "1", SCHEMA_UNKNOWN, remote, "'http://example.com/x'"},
        {"{'$ref':'#/nowhere'}", "1", SCHEMA_UNKNOWN, remote, "'#/nowhere'"},
        {"{'$ref':'#none'}", "1", SCHEMA_UNKNOWN, remote, "'#none'"},
        {"{'$ref':7}", "1", SCHEMA_UNKNOWN, remote, "7"},
        {"{'$dynamicRef':'#none'}", "1", SCHEMA_UNKNOWN, remote, "'#none'"},
        {"{'$schema':'http://json-schema.org/draft-03/schema#','type':'null'}", "1", SCHEMA_UNKNOWN,
         dialect, "'http://json-schema.org/draft-03/schema#'"},
        {"{'$schema':7}", "1", SCHEMA_UNKNOWN, dialect, "7"},
        {"{'items':{'$schema':'http://json-schema.org/draft-07/schema#'}}", "[1]", SCHEMA_UNKNOWN,
         dialect, "'http://json-schema.org/draft-07/schema#'"},
        {"{'items':{'$schema':'http://json-schema.org/draft-07/schema#'}}", "[]", SCHEMA_FITS, "",
         ""},
        {"{'$schema':'https://json-schema.org/draft/2020-12/schema','type':'null'}", "1",
         SCHEMA_FAILS, "", ""},
        {"{'$schema':'https:\\/\\/json-schema.org\\/draft\\/2020-12\\/schema','type':'null'}", "1",
         SCHEMA_FAILS, "", ""},
        {"{'$schema':'http:\\/\\/json-schema.org\\/draft-07\\/schema\\u0023','type':'null'}", "1",
         SCHEMA_FAILS, "", ""},
        {"{'$schema':'http://json-schema.org/schema#','type':'null'}", "1", SCHEMA_FAILS, "", ""},
        {"{'items':{'$schema':'https:\\/\\/json-schema.org\\/draft\\/2020-12\\/schema'}}", "[1]",
         SCHEMA_FITS, "", ""},
        {"{'$id':'http:\\/\\/x.org\\/a','$ref':'http://x.org/b','$defs':{'b':{'$id':'\\/"
         "b','type':'null'}}}",
         "1", SCHEMA_FAILS, "", ""},
        {"{'$ref':'#a','$defs':{'b':{'$anchor':'\\u0061','type':'null'}}}", "1", SCHEMA_FAILS, "",
         ""},
        {"{'$ref':'http:\\/\\/x.org\\/b#a','$defs':{'b':{'$id':'http:\\/\\/x.org\\/"
         "b','$dynamicAnchor':'\\u0061',"
         "'type':'null'}}}",
         "1", SCHEMA_FAILS, "", ""},
        {"{'$schema':'http://json-schema.org/draft-07/"
         "schema#','$ref':'#a','definitions':{'b':{'$id':'\\u0023\\u0061',"
         "'type':'null'}}}",
         "1", SCHEMA_FAILS, "", ""},
        {"{'pattern':'('}", "'a'", SCHEMA_UNKNOWN, pattern, "'('"},
        {"{'pattern':'('}", "1", SCHEMA_FITS, "", ""},
        {"{'patternProperties':{'(':true},'additionalProperties':false}", "{'a':1}", SCHEMA_UNKNOWN,
         pattern, "("},
        {"{'type':7,'enum':1,'minimum':'x','required':true,'properties':[]}", "{'a':'b'}",
         SCHEMA_FITS, "", ""},
        /* what is known all the same */
        {"{'properties':{'a':{'$ref':'x:'}},'required':['b']}", "{'a':1}", SCHEMA_FAILS, "", ""},
        {"{'properties':{'a':{'$ref':'x:'}},'required':['b']}", "{'b':1}", SCHEMA_FITS, "", ""},
        {"{'properties':{'a':{'$ref':'x:'}},'unevaluatedProperties':false}", "{'a':1,'b':1}",
         SCHEMA_FAILS, "", ""},
        {"{'allOf':[{'$ref':'x:'}],'unevaluatedProperties':false}", "{'b':1}", SCHEMA_UNKNOWN,
         remote, "'x:'"},
        {"{'allOf':[{'$ref':'x:'},{'type':'null'}]}", "1", SCHEMA_FAILS, "", ""},
        {"{'anyOf':[{'$ref':'x:'},{'type':'null'}]}", "1", SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'anyOf':[{'$ref':'x:'},{'type':'null'}]}", "null", SCHEMA_FITS, "", ""},
        {"{'anyOf':[{'type':'null'},{'properties':{'a':{'$ref':'x:'}}}]}", "{'b':1}", SCHEMA_FITS,
         "", ""},
        {"{'oneOf':[{'$ref':'x:'},{'type':'null'}]}", "1", SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'oneOf':[{'$ref':'x:'},{'type':'null'}]}", "null", SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'oneOf':[{'$ref':'x:'},true,true]}", "1", SCHEMA_FAILS, "", ""},
        {"{'not':{'$ref':'x:'}}", "1", SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'not':{'$ref':'x:','type':'null'}}", "1", SCHEMA_FITS, "", ""},
        {"{'if':{'$ref':'x:'},'then':false,'else':false}", "1", SCHEMA_FAILS, "", ""},
        {"{'if':{'$ref':'x:'},'then':false}", "1", SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'if':{'$ref':'x:'},'then':{'minimum':1},'else':{'minimum':0}}", "1", SCHEMA_FITS, "",
         ""},
        {"{'if':{'$ref':'x:'},'then':{'$ref':'y:'},'else':false}", "1", SCHEMA_UNKNOWN, remote,
         "'x:'"},
        {"{'if':{'$ref':'x:'},'then':{'properties':{'a':true}},'unevaluatedProperties':false}",
         "{'a':1}", SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'contains':{'$ref':'x:'},'minContains':2}", "[1]", SCHEMA_FAILS, "", ""},
        {"{'contains':{'$ref':'x:'},'minContains':2}", "[1,2]", SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'contains':{'anyOf':[{'type':'null'},{'$ref':'x:'}]}}", "[null,1]", SCHEMA_FITS, "", ""},
        {"{'contains':{'anyOf':[{'type':'null'},{'$ref':'x:'}]},'maxContains':1}", "[null,1]",
         SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'contains':{'anyOf':[{'type':'null'},{'$ref':'x:'}]},'unevaluatedItems':false}",
         "[null,1]", SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'propertyNames':{'$ref':'x:'}}", "{'a':1}", SCHEMA_UNKNOWN, remote, "'x:'"},
        {"{'propertyNames':{'$ref':'x:','maxLength':1}}", "{'ab':1}", SCHEMA_FAILS, "", ""},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct schema *s = compiled(rows[i].schema);
        struct slice value = quoted(rows[i].value);
        struct schema_fault f = {{0}, {0}};
        struct buf want = {0};
        buf_adds(&want, rows[i].reason);
        for (const char *p = rows[i].text; *p != '\0'; p++)
            buf_addc(&want, *p == '\'' ? '"' : *p);
        enum schema_result got = schema_check(s, value, &f);
        if (got != rows[i].result || schema_check(s, value, NULL) != got ||
            (got != SCHEMA_FAILS && strcmp(buf_str(&f.reason), buf_str(&want)) != 0))
            fail_msg("%s: %s: got %d '%s'", rows[i].schema, rows[i].value, got, buf_str(&f.reason));
        buf_close(&want);
        schema_fault_close(&f);
        schema_close(s);
        free((char *)(uintptr_t)value.p);
    }
}

static void test_schema_invalid_schema_is_rejected(void **state)
{
    (void)state;
    static const char *const rows[] = {"[]", "7", "null", "\"x\""};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct schema *s;
        struct buf why = {0};
        assert_int_equal(schema_open(&s, slice_of(rows[i]), NULL, &why), MI_EINVAL);
        assert_string_equal(buf_str(&why), "a schema must be an object, true or false");
        buf_close(&why);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Without a limit each of these would run for hours. */
static void test_schema_work_is_bounded(void **state)
{
    (void)state;
    struct buf long_text = {0}, many = {0}, deep = {0};
    buf_addc(&long_text, '"');
    for (int i = 0; i < 100000; i++)
        buf_addc(&long_text, 'a');
    buf_adds(&long_text, "!\"");
    buf_adds(&many, "[0");
    for (int i = 1; i < 30000; i++)
        buf_printf(&many, ",%d", i);
    buf_addc(&many, ']');
    for (int i = 0; i < 400; i++)
        buf_adds(&deep, "[");
    for (int i = 0; i < 400; i++)
        buf_adds(&deep, "]");
    const struct {
        const char *schema;
        struct slice value;
        const char *reason; /* NULL: any */
    } rows[] = {
        {"{'pattern':'^(a+)+$'}", buf_slice(&long_text), "a pattern is too complex"},
        {"{'$ref':'#'}", slice_of("1"), "schemas are nested too deeply, or refer to themselves"},
        {"{'allOf':[{'$ref':'#'},{'$ref':'#'}]}", slice_of("1")},
        {"{'uniqueItems':true}", buf_slice(&many), "the check takes too long"},
        {"{'not':{'$ref':'#'}}", slice_of("1")},
        {"{'items':{'$ref':'#'}}", buf_slice(&deep)},
        {"{'$dynamicAnchor':'a','$dynamicRef':'#a'}", slice_of("1")},
        {"{'$dynamicAnchor':'a','anyOf':[{'$dynamicRef':'#a'},{'$dynamicRef':'#a'}]}",
         slice_of("1")},
        {"{'$dynamicAnchor':'a','not':{'$id':'b','$dynamicAnchor':'a','not':{'$dynamicRef':'#a'}}}",
         slice_of("1")},
        {"{'$defs':{'a':{'unevaluatedItems':{'$ref':'#/$defs/a'},'allOf':[{'$ref':'#/$defs/a'},"
         "{'$ref':'#/$defs/a'}]}},'$ref':'#/$defs/a'}",
         buf_slice(&many)},
        {"{'unevaluatedItems':false,'anyOf':[{'items':{'not':{}}},{'contains':{'allOf':[true,true,"
         "true,"
         "true,true,true,true,true]}}]}",
         buf_slice(&many)},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct schema *s = compiled(rows[i].schema);
        double from = seconds();
        struct schema_fault f = {{0}, {0}};
        assert_int_equal(schema_check(s, rows[i].value, &f), SCHEMA_UNKNOWN);
        if (rows[i].reason != NULL)
            assert_string_equal(buf_str(&f.reason), rows[i].reason);
        schema_fault_close(&f);
        if (seconds() - from > (unit_slow() ? 250 : 5))
            fail_msg("%s: %g s", rows[i].schema, seconds() - from);
        schema_close(s);
    }
    struct schema *s = compiled("{}");
    buf_clear(&many);
    buf_addc(&many, '[');
    for (size_t i = 0; i < 2 * JSON_TREE_MAX; i++)
        buf_adds(&many, "0,");
    buf_adds(&many, "0]");
    assert_int_equal(schema_check(s, buf_slice(&many), NULL), SCHEMA_UNKNOWN);
    schema_close(s);
    buf_close(&long_text);
    buf_close(&many);
    buf_close(&deep);
}

static void test_schema_decimals_are_compared_exactly(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        int order;
    } rows[] = {
        {"0", "-0.0", 0},
        {"1", "1.0e0", 0},
        {"100", "1e2", 0},
        {"9007199254740993", "9007199254740992", 1},
        {"0.1", "0.10000000000000000001", -1},
        {"-2", "-1", -1},
        {"-1", "0", -1},
        {"1e400", "1e399", 1},
        {"1e-400", "0", 1},
        {"12.5", "125e-1", 0},
        {"0.05", "0.5", -1},
        {"10", "9", 1},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct decimal a = decimal_read(slice_of(rows[i].a)), b = decimal_read(slice_of(rows[i].b));
        int c = decimal_compare(a, b), d = decimal_compare(b, a);
        assert_int_equal((c > 0) - (c < 0), rows[i].order);
        assert_int_equal((d > 0) - (d < 0), -rows[i].order);
    }
    static const struct {
        const char *a, *b;
        bool multiple;
    } times[] = {
        {"0.0075", "0.0001", true},
        {"0.00751", "0.0001", false},
        {"1e308", "0.123456789", false},
        {"1e1000000", "1024", true},
        {"7", "2", false},
        {"0", "3", true},
        {"-6", "3", true},
        {"4.5", "1.5", true},
        {"35", "0.07", true},
    };
    for (size_t i = 0; i < MI_COUNT(times); i++)
        assert_int_equal(decimal_is_multiple(decimal_read(slice_of(times[i].a)),
                                             decimal_read(slice_of(times[i].b))),
                         times[i].multiple);
}

static void test_schema_tree_contains_every_value(void **state)
{
    (void)state;
    struct slice text = quoted("  {'a':[1,'x',{}],'b':{'c':null},'a':true} ");
    struct json_tree t;
    assert_int_equal(json_tree_open(&t, text), 0);
    assert_int_equal(t.n, 8);
    assert_int_equal(t.node[0].count, 3);
    uint32_t a = t.node[0].child, b = t.node[a].next;
    assert_int_equal(t.node[a].value.type, JSON_ARRAY);
    assert_int_equal(t.node[a].count, 3);
    assert_true(slice_is(t.node[t.node[t.node[a].child].next].value.text, "\"x\""));
    assert_true(slice_is(t.node[b].key, "b"));
    assert_int_equal(t.node[t.node[b].child].up, b);
    assert_int_equal(t.node[json_tree_get(&t, 0, "a")].value.type, JSON_TRUE); /* the last */
    assert_int_equal(json_tree_get(&t, 0, "c"), 0);
    json_tree_close(&t);
    json_tree_close(&t);
    free((char *)(uintptr_t)text.p);
    static const char *const bare[] = {"1", " \"x\" ", "null", "-1.5e3", "[]", "{}"};
    for (size_t i = 0; i < MI_COUNT(bare); i++) {
        assert_int_equal(json_tree_open(&t, slice_of(bare[i])), 0);
        assert_int_equal(t.n, 1);
        json_tree_close(&t);
    }
    assert_int_equal(json_tree_open(&t, slice_of(" ")), MI_EPROTO);
}

/* Short texts are parsed in one pass. */
static void test_schema_tree_of_any_number_of_tokens_is_complete(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= 150; n++) {
        struct buf text = {0};
        struct json_tree t;
        buf_adds(&text, "[[0");
        for (uint32_t i = 1; i < n; i++)
            buf_printf(&text, ",%u", (unsigned)i);
        buf_adds(&text, "]]");
        assert_int_equal(json_tree_open(&t, buf_slice(&text)), 0);
        assert_int_equal(t.n, n + 2);
        assert_int_equal(t.node[1].count, n);
        assert_int_equal(t.node[n + 1].value.text.p - text.p,
                         text.n - 2 - t.node[n + 1].value.text.n);
        assert_int_equal(t.node[n + 1].next, 0);
        json_tree_close(&t);
        text.n--; /* its end is missing */
        assert_int_equal(json_tree_open(&t, buf_slice(&text)), MI_EPROTO);
        buf_close(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema_fault_names_the_place_and_the_reason),
        cmocka_unit_test(test_schema_what_cannot_be_checked_is_unknown),
        cmocka_unit_test(test_schema_invalid_schema_is_rejected),
        cmocka_unit_test(test_schema_work_is_bounded),
        cmocka_unit_test(test_schema_decimals_are_compared_exactly),
        cmocka_unit_test(test_schema_tree_contains_every_value),
        cmocka_unit_test(test_schema_tree_of_any_number_of_tokens_is_complete),
    };
    return cmocka_run_group_tests_name("schema", tests, NULL, NULL);
}
