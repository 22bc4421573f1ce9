/* Reading inside valid JSON: unescaping, comparing keys, walking containers, integers. */
#include "wire/json/text.h"

#include "tests/support/json_reference.h"
#include "tests/support/unit.h"

/* A value of text that json_scan() finds valid, in memory that ends with it. Free ret.text.p - at. */
struct valid {
    char *copy;
    struct json_value v;
};

static struct valid valid(const char *text)
{
    size_t n = strlen(text);
    struct valid r = {.copy = unit_copy(text, n)};
    struct json_scan s;
    if (json_scan((struct slice){r.copy, n}, NULL, NULL, &s) != 0)
        fail_msg("not valid JSON: %s", text);
    r.v = (struct json_value){s.type, s.root};
    return r;
}

static void test_json_text_type_is_known_from_the_first_byte(void **state)
{
    (void)state;
    static const struct {
        char first;
        enum json_type type;
    } rows[] = {
        {'{', JSON_OBJECT}, {'[', JSON_ARRAY},  {'"', JSON_STRING}, {'t', JSON_TRUE},
        {'f', JSON_FALSE},  {'n', JSON_NULL},   {'-', JSON_NUMBER}, {'0', JSON_NUMBER},
        {'5', JSON_NUMBER}, {'9', JSON_NUMBER},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        assert_int_equal(json_type_at(rows[i].first), rows[i].type);
}

static const struct {
    const char *raw; /* between the quotes */
    const char *plain;
    size_t plain_n;
} escapes[] = {
#define ROW(raw, plain)                                                                            \
    {                                                                                              \
        raw, plain, sizeof plain - 1                                                               \
    }
    ROW("", ""),
    ROW("plain", "plain"),
    ROW("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"),
    ROW("a\\nb", "a\nb"),
    ROW("\\u0041", "A"),
    ROW("\\u0000", "\0"),
    ROW("a\\u0000b", "a\0b"),
    ROW("\\u007f\\u007F", "\x7f\x7f"),
    ROW("\\u0080", "\xc2\x80"),
    ROW("\\u00e9\\u00E9", "\xc3\xa9\xc3\xa9"),
    ROW("\\u07ff", "\xdf\xbf"),
    ROW("\\u0800", "\xe0\xa0\x80"),
    ROW("\\ud7ff", "\xed\x9f\xbf"),
    ROW("\\ue000", "\xee\x80\x80"),
    ROW("\\uffff", "\xef\xbf\xbf"),
    ROW("\\uFEFF", "\xef\xbb\xbf"),
    ROW("\\ud800\\udc00", "\xf0\x90\x80\x80"),
    ROW("\\uD83D\\uDE00", "\xf0\x9f\x98\x80"),
    ROW("\\udbff\\udfff", "\xf4\x8f\xbf\xbf"),
    /* lone surrogates */
    ROW("\\ud800", "\xef\xbf\xbd"),
    ROW("\\udc00", "\xef\xbf\xbd"),
    ROW("\\udfff", "\xef\xbf\xbd"),
    ROW("\\ud800x", "\xef\xbf\xbdx"),
    ROW("\\ud800xxxxxxxx", "\xef\xbf\xbdxxxxxxxx"),
    ROW("\\ud800\\n", "\xef\xbf\xbd\n"),
    ROW("\\ud800\\n\\udc00", "\xef\xbf\xbd\n\xef\xbf\xbd"),
    ROW("\\ud800\\u0041", "\xef\xbf\xbd"
                          "A"),
    ROW("\\udc00\\ud800", "\xef\xbf\xbd\xef\xbf\xbd"),
    ROW("\\udc00\\udc00", "\xef\xbf\xbd\xef\xbf\xbd"),
    ROW("\\ud800\\ue000", "\xef\xbf\xbd\xee\x80\x80"),
    ROW("\\ud800\\ud800\\udc00", "\xef\xbf\xbd\xf0\x90\x80\x80"),
    ROW("\\ud83d\xf0\x9f\x98\x80", "\xef\xbf\xbd\xf0\x9f\x98\x80"),
    /* text beyond ASCII stays */
    ROW("\xe4\xbd\xa0\\n\xe5\xa5\xbd", "\xe4\xbd\xa0\n\xe5\xa5\xbd"),
    ROW("\\\\u0041", "\\u0041"),
    ROW("\\\\\\\\n", "\\\\n"),
#undef ROW
};

static void test_json_text_every_escape_is_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(escapes); i++) {
        size_t n = strlen(escapes[i].raw);
        char *copy = unit_copy(escapes[i].raw, n);
        struct slice raw = {copy, n};

        struct buf b = {0};
        buf_adds(&b, "before:");
        json_unescape(&b, raw);
        assert_false(b.failed);
        assert_int_equal(b.n, 7 + escapes[i].plain_n);
        assert_memory_equal(b.p, "before:", 7);
        assert_memory_equal(b.p + 7, escapes[i].plain, escapes[i].plain_n);
        buf_close(&b);

        /* A buffer of exactly the needed size; one byte less fails, and nothing is written past it. */
        char place[80];
        size_t got = 999;
        memset(place, '#', sizeof place);
        assert_int_equal(json_unescape_to(raw, place, escapes[i].plain_n, &got), 0);
        assert_int_equal(got, escapes[i].plain_n);
        assert_memory_equal(place, escapes[i].plain, got);
        assert_int_equal(place[got], '#');
        assert_true(got <= n); /* "a place of raw.n bytes at most" */
        for (size_t max = 0; max < escapes[i].plain_n; max++) {
            memset(place, '#', sizeof place);
            assert_int_equal(json_unescape_to(raw, place, max, &got), MI_EFULL);
            assert_int_equal(place[max], '#');
        }
        free(copy);
    }
}

static void test_json_text_unescape_into_a_full_buffer_fails_the_buffer(void **state)
{
    (void)state;
    struct buf b = {.max = 8};
    json_unescape(&b, slice_of("12345678\\n"));
    assert_true(b.failed);
    buf_close(&b);
    b.max = 8;
    json_unescape(&b, slice_of("123456789"));
    assert_true(b.failed);
    buf_close(&b);
}

static void test_json_text_key_is_compared_after_unescaping(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(escapes); i++) {
        if (memchr(escapes[i].plain, '\0', escapes[i].plain_n) != NULL)
            continue; /* cannot be written as a C string */
        size_t n = strlen(escapes[i].raw);
        char *copy = unit_copy(escapes[i].raw, n);
        assert_true(json_key_is((struct slice){copy, n}, escapes[i].plain));
        free(copy);
    }
    static const struct {
        const char *raw, *text;
        bool is;
    } rows[] = {
        {"method", "method", true},
        {"m\\u0065thod", "method", true},
        {"\\u006d\\u0065\\u0074\\u0068\\u006f\\u0064", "method", true},
        {"Method", "method", false},
        {"METHOD", "method", false},
        {"method ", "method", false},
        {" method", "method", false},
        {"metho", "method", false},
        {"methods", "method", false},
        {"method\\u0000", "method", false},
        {"metho\\u0064s", "method", false},
        {"metho\\u0064\\u0073", "method", false},
        {"meth\\u006f", "method", false},
        {"", "method", false},
        {"", "", true},
        {"x", "", false},
        {"\\u0000", "", false},
        {"\\n", "n", false},
        {"\\\\", "\\\\", false}, /* the same length as written, but it is one backslash */
        {"\\\\", "\\", true},
        {"\\/", "/", true},
        {"\\n\\n\\n", "\\n\\n\\n", false},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x80", true},
        {"\\ud83d\\ude00", "\xf0\x9f\x98\x81", false},
        {"\\ud83d\\ude00", "\xf0\x9f\x98", false},
        {"\\u006d\xc3\xa9", "m\xc3\xa9", true},
        {"\xc3\xa9\\u006d", "\xc3\xa8m", false},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        size_t n = strlen(rows[i].raw);
        char *copy = unit_copy(rows[i].raw, n);
        if (json_key_is((struct slice){copy, n}, rows[i].text) != rows[i].is)
            fail_msg("%s is%s %s", rows[i].raw, rows[i].is ? "" : " not", rows[i].text);
        free(copy);
    }
}

static void test_json_text_absent_key_equals_nothing(void **state)
{
    (void)state;
    assert_false(json_key_is((struct slice){0}, ""));
    assert_false(json_key_is((struct slice){0}, "a"));
}

static void test_json_text_string_raw_excludes_the_quotes(void **state)
{
    (void)state;
    struct valid s = valid("\"a\\nb\"");
    assert_true(slice_is(json_string_raw(s.v), "a\\nb"));
    free(s.copy);
    s = valid("\"\"");
    assert_int_equal(json_string_raw(s.v).n, 0);
    assert_non_null(json_string_raw(s.v).p); /* empty, but there */
    free(s.copy);
    static const char *const others[] = {"1", "null", "true", "false", "[]", "{}"};
    for (size_t i = 0; i < MI_COUNT(others); i++) {
        s = valid(others[i]);
        assert_null(json_string_raw(s.v).p);
        free(s.copy);
    }
    assert_null(json_string_raw((struct json_value){0}).p);
}

/* Every member or element, as "key=type:text;". */
static void walk(struct buf *b, struct json_value container)
{
    struct json_walk w = json_walk_begin(container);
    struct slice key;
    struct json_value v;
    while (json_walk_next(&w, &key, &v)) {
        assert_int_equal(key.p != NULL, container.type == JSON_OBJECT);
        buf_slice_add(b, key);
        buf_printf(b, "=%d:", (int)v.type);
        buf_slice_add(b, v.text);
        buf_addc(b, ';');
    }
    assert_false(json_walk_next(&w, &key, &v)); /* still at the end */
}

static void test_json_text_walk_returns_every_member_in_order(void **state)
{
    (void)state;
    static const struct {
        const char *text, *members;
    } rows[] = {
        {"[]", ""},
        {"{}", ""},
        {"[ \t\r\n]", ""},
        {"{ \t\r\n}", ""},
        {"[1]", "=4:1;"},
        {"[1,2,3]", "=4:1;=4:2;=4:3;"},
        {" [ 1 , \"2\" ,\n[3] ,\t{} ] ", "=4:1;=5:\"2\";=6:[3];=7:{};"},
        {"[1\t,2\n,3\r,4 ,true\t]", "=4:1;=4:2;=4:3;=4:4;=3:true;"},
        {"[null,true,false,-1.5e+3]", "=1:null;=3:true;=2:false;=4:-1.5e+3;"},
        {"[[],[[]],[[],[]]]", "=6:[];=6:[[]];=6:[[],[]];"},
        {"{\"a\":1}", "a=4:1;"},
        {"{ \"a\" : 1 , \"b\" : { \"c\" : [ 1 , 2 ] } }", "a=4:1;b=7:{ \"c\" : [ 1 , 2 ] };"},
        {"{\"\":\"\"}", "=5:\"\";"},
        {"{\"a\":1,\"a\":2}", "a=4:1;a=4:2;"},
        /* brackets, commas and quotes in strings are text */
        {"[\"]\",\"}\",\",\",\"\\\"\",\"\\\\\",\"\\\\\\\"\"]",
         "=5:\"]\";=5:\"}\";=5:\",\";=5:\"\\\"\";=5:\"\\\\\";=5:\"\\\\\\\"\";"},
        {"[\"\\\\\\\"\\\\\",\"\\\\\",[\"\\\"\"]]",
         "=5:\"\\\\\\\"\\\\\";=5:\"\\\\\";=6:[\"\\\"\"];"},
        {"{\"}\\\"\":{\"]\":[\"}\\\\\"]},\"x\":0}", "}\\\"=7:{\"]\":[\"}\\\\\"]};x=4:0;"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct valid s = valid(rows[i].text);
        struct buf b = {0};
        walk(&b, s.v);
        assert_string_equal(buf_str(&b), rows[i].members);
        buf_close(&b);
        free(s.copy);
    }
    static const char *const scalars[] = {"1", "\"[1]\"", "null", "true", "false"};
    for (size_t i = 0; i < MI_COUNT(scalars); i++) {
        struct valid s = valid(scalars[i]);
        struct buf b = {0};
        walk(&b, s.v);
        assert_int_equal(b.n, 0);
        buf_close(&b);
        free(s.copy);
    }
}

/* peek does not advance, however often it is called; next does. */
static void test_json_text_walk_peek_returns_the_next_value(void **state)
{
    (void)state;
    struct valid s = valid("{ \"a\" : [1, 2] ,\"b\":{\"c\":\"}\"}, \"\":null }");
    static const char *const keys[] = {"a", "b", ""};
    static const char *const values[] = {"[1, 2]", "{\"c\":\"}\"}", "null"};
    struct json_walk w = json_walk_begin_at_bracket(s.v.text.p);
    struct slice key;
    const char *p;
    struct json_value v;
    for (size_t i = 0; i < MI_COUNT(keys); i++) {
        for (int again = 0; again < 3; again++) {
            assert_true(json_walk_peek(&w, &key, &p));
            assert_true(slice_is(key, keys[i]));
            assert_memory_equal(p, values[i], strlen(values[i]));
        }
        assert_true(json_walk_next(&w, &key, &v));
        assert_true(slice_is(key, keys[i]));
        assert_ptr_equal(v.text.p, p);
        assert_true(slice_is(v.text, values[i]));
    }
    assert_false(json_walk_peek(&w, &key, &p));
    assert_false(json_walk_next(&w, &key, &v));
    free(s.copy);
    s = valid("[ 7 ]");
    w = json_walk_begin_at_bracket(s.v.text.p);
    assert_true(json_walk_peek(&w, &key, &p));
    assert_null(key.p);
    assert_int_equal(*p, '7');
    free(s.copy);
    static const char *const nothing[] = {"[]", "{}", "[ ]", "{\n}"};
    for (size_t i = 0; i < MI_COUNT(nothing); i++) {
        s = valid(nothing[i]);
        w = json_walk_begin_at_bracket(s.v.text.p);
        assert_false(json_walk_peek(&w, &key, &p));
        free(s.copy);
    }
    w = json_walk_begin((struct json_value){0});
    assert_false(json_walk_peek(&w, &key, &p));
}

static void test_json_text_string_head_splits_no_escape_or_character(void **state)
{
    (void)state;
    static const struct {
        const char *text, *heads[12]; /* for max = 0, 1, 2, … */
    } rows[] = {
        {"\"\"", {"", "", ""}},
        {"\"abc\"", {"", "a", "ab", "abc", "abc"}},
        {"\"a\\nb\"", {"", "a", "a", "a\\n", "a\\nb", "a\\nb"}},
        {"\"\\\"\\\\\"", {"", "", "\\\"", "\\\"", "\\\"\\\\", "\\\"\\\\"}},
        {"\"\\u00e9x\"", {"", "", "", "", "", "", "\\u00e9", "\\u00e9x", "\\u00e9x"}},
        {"\"a\xe4\xbd\xa0\xc3\xa9\"",
         {"", "a", "a", "a", "a\xe4\xbd\xa0", "a\xe4\xbd\xa0", "a\xe4\xbd\xa0\xc3\xa9"}},
        {"\"\xf0\x9f\x98\x80\"", {"", "", "", "", "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct valid s = valid(rows[i].text);
        for (size_t max = 0; rows[i].heads[max] != NULL; max++) {
            struct slice head = json_string_first_bytes(s.v.text.p, max);
            assert_ptr_equal(head.p, s.v.text.p + 1);
            assert_true(slice_is(head, rows[i].heads[max]));
        }
        assert_true(slice_eq(json_string_first_bytes(s.v.text.p, SIZE_MAX), json_string_raw(s.v)));
        free(s.copy);
    }
}

static void test_json_text_get_finds_the_last_duplicate(void **state)
{
    (void)state;
    static const struct {
        const char *object, *name, *text; /* NULL: not there */
    } rows[] = {
        {"{\"a\":1}", "a", "1"},
        {"{\"a\":1}", "b", NULL},
        {"{\"a\":1}", "A", NULL},
        {"{}", "a", NULL},
        {"{\"a\":1,\"b\":2,\"a\":3}", "a", "3"},
        {"{\"a\":1,\"\\u0061\":null}", "a", "null"},
        {"{\"b\":{\"a\":1}}", "a", NULL},
        {"{\"b\":\"a\",\"c\":[\"a\",{\"a\":1}],\"a\":{}}", "a", "{}"},
        {"{\"\":7}", "", "7"},
        {"[\"a\",1]", "a", NULL},
        {"\"a\"", "a", NULL},
        {"null", "a", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct valid s = valid(rows[i].object);
        struct json_value v = json_get(s.v, rows[i].name);
        if (rows[i].text == NULL)
            assert_int_equal(v.type, JSON_NONE);
        else
            assert_true(slice_is(v.text, rows[i].text));
        free(s.copy);
    }
    assert_int_equal(json_get((struct json_value){0}, "a").type, JSON_NONE);
}

static void test_json_text_integer_is_exact_or_rejected(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is;
        int64_t value;
    } rows[] = {
        {"0", true, 0},
        {"-0", true, 0},
        {"7", true, 7},
        {"-32601", true, -32601},
        {"1.0", true, 1},
        {"1.000", true, 1},
        {"-1.0", true, -1},
        {"1e3", true, 1000},
        {"1E+3", true, 1000},
        {"12e0", true, 12},
        {"1.5e1", true, 15},
        {"1.25e2", true, 125},
        {"1000e-3", true, 1},
        {"10.00e-1", true, 1},
        {"0.0", true, 0},
        {"0e5", true, 0},
        {"0e999999999999999999999", true, 0},
        {"0.000e-99", true, 0},
        {"9007199254740991", true, 9007199254740991},
        {"9007199254740993", true, 9007199254740993}, /* not representable as a double */
        {"-9007199254740993", true, -9007199254740993},
        {"9223372036854775807", true, INT64_MAX},
        {"-9223372036854775808", true, INT64_MIN},
        {"9223372036854775808", false, 0},
        {"-9223372036854775809", false, 0},
        {"92233720368547758070", false, 0},
        {"1e19", false, 0},
        {"1e400", false, 0},
        {"1e99999999999999999999", false, 0},
        {"0.5", false, 0},
        {"1.5", false, 0},
        {"-1.5", false, 0},
        {"15e-1", false, 0},
        {"1e-1", false, 0},
        {"1e-99999999999999999999", false, 0},
        {"0.99999999999999999999", false, 0}, /* not 1 */
        {"9007199254740991.4", false, 0},
        {"1.00000000000000000000000000000000000000000000000000000000000000000000000000", true, 1},
        {"1.00000000000000000000000000000000000000000000000000000000000000000000000001", false, 0},
        {"100000000000000000000000000000000000000000000000000000000000000000000000e-71", true, 1},
        {"\"7\"", false, 0},
        {"null", false, 0},
        {"true", false, 0},
        {"[7]", false, 0},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct valid s = valid(rows[i].text);
        int64_t got = 4711;
        if (json_int(s.v, &got) != rows[i].is)
            fail_msg("%s is%s an int64_t", rows[i].text, rows[i].is ? "" : " not");
        assert_int_equal(got, rows[i].is ? rows[i].value : 4711);
        free(s.copy);
    }
    int64_t got;
    assert_false(json_int((struct json_value){0}, &got));
}

static void test_json_text_equal_ignores_spelling_and_order(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } rows[] = {
        {"{\"a\":1,\"b\":2}", "{ \"b\":2.0, \"\\u0061\":1 }", true},
        {"[1,\"x\"]", "[1.0, \"\\u0078\"]", true},
        {"[1,2]", "[2,1]", false},
        {"[1]", "[1,1]", false},
        {"[1,1]", "[1]", false},
        {"{}", "[]", false},
        {"null", "false", false},
        {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
        /* a duplicate name */
        {"{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":2}", false},
        {"{\"a\":1,\"a\":2}", "{\"a\":2}", true},
        {"{\"a\":1,\"a\":2}", "{\"a\":1}", false},
        {"{\"a\":1,\"a\":2}", "{\"a\":3, \"a\":2}", true},
        {"{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}", false},
        {"{\"a\":{\"b\":1,\"b\":1}}", "{\"a\":{\"b\":1,\"c\":1}}", false},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct json_scan a, b;
        assert_int_equal(json_scan(slice_of(rows[i].a), NULL, NULL, &a), 0);
        assert_int_equal(json_scan(slice_of(rows[i].b), NULL, NULL, &b), 0);
        struct json_value x = {a.type, a.root}, y = {b.type, b.root};
        if (json_equal(x, y) != rows[i].equal || json_equal(y, x) != rows[i].equal)
            fail_msg("%s and %s are%s equal", rows[i].a, rows[i].b, rows[i].equal ? "" : " not");
    }
}

/* Every valid string is unescaped like the reference does. */
static void test_json_text_random_string_unescapes_like_reference(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "a",       "\\n",      "\\\\", "\\\"",           "\\u0041", "\\ud83d", "\\ude00",
        "\\u0000", "\xc3\xa9", "\\/",  "\\ud83d\\ude00", "u",       "d83d",    "\xf0\x9f\x98\x80"};
    struct unit_random rnd = {4711};
    int rounds = unit_slow() ? 2000 : 100000;
    for (int i = 0; i < rounds; i++) {
        char text[256];
        size_t n = 0;
        for (size_t k = unit_random(&rnd, 12); k > 0; k--) {
            const char *piece = pieces[unit_random(&rnd, MI_COUNT(pieces))];
            memcpy(text + n, piece, strlen(piece));
            n += strlen(piece);
        }
        char *copy = unit_copy(text, n);
        struct slice raw = {copy, n};
        struct ref_text want = ref_unescape(raw);
        struct buf b = {0};
        json_unescape(&b, raw);
        assert_int_equal(b.n, want.n);
        if (want.n > 0)
            assert_memory_equal(b.p, want.p, want.n);
        want.p[want.n] = '\0';
        if (memchr(want.p, '\0', want.n) == NULL)
            assert_true(json_key_is(raw, (char *)want.p));
        buf_close(&b);
        free(want.p);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_text_type_is_known_from_the_first_byte),
        cmocka_unit_test(test_json_text_every_escape_is_decoded),
        cmocka_unit_test(test_json_text_unescape_into_a_full_buffer_fails_the_buffer),
        cmocka_unit_test(test_json_text_key_is_compared_after_unescaping),
        cmocka_unit_test(test_json_text_absent_key_equals_nothing),
        cmocka_unit_test(test_json_text_string_raw_excludes_the_quotes),
        cmocka_unit_test(test_json_text_walk_returns_every_member_in_order),
        cmocka_unit_test(test_json_text_walk_peek_returns_the_next_value),
        cmocka_unit_test(test_json_text_string_head_splits_no_escape_or_character),
        cmocka_unit_test(test_json_text_get_finds_the_last_duplicate),
        cmocka_unit_test(test_json_text_integer_is_exact_or_rejected),
        cmocka_unit_test(test_json_text_equal_ignores_spelling_and_order),
        cmocka_unit_test(test_json_text_random_string_unescapes_like_reference),
    };
    return cmocka_run_group_tests_name("json_text", tests, NULL, NULL);
}
