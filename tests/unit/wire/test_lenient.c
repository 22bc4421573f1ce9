/* The id of a line that is not valid JSON. */
#include "wire/lenient.h"

#include "tests/support/unit.h"

/* Reads from memory that ends with the text. The id, as a new string; NULL: none. */
static char *id_of(const char *text, size_t n, struct lenient *ret)
{
    char *copy = unit_copy(text, n);
    lenient_json_read((struct slice){copy, n}, ret);
    char *id = NULL;
    if (ret->id.type != JSON_NONE) {
        id = strndup(ret->id.text.p, ret->id.text.n);
        assert_non_null(id);
    }
    free(copy);
    return id;
}

struct row {
    const char *text;
    const char *id; /* NULL: none */
};

static void check(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct lenient l;
        char *id = id_of(rows[i].text, strlen(rows[i].text), &l);
        if ((id == NULL) != (rows[i].id == NULL) || (id != NULL && strcmp(id, rows[i].id) != 0))
            fail_msg("%s\nhas the id %s", rows[i].text, id != NULL ? id : "(none)");
        free(id);
    }
}

static void test_lenient_id_before_the_flaw(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"dir\":\"C:\\dir\"}}", "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a b\",\"result\":{\"x\":1,}}", "\"a b\""},
        {"{\"id\":-1.5e3,\"result\":{\"text\":\"say \"hi\" now\"}}", "-1.5e3"},
        {" \t{\"id\" : 7 , result", "7"},
        {"{\"id\":7}}", "7"},
        {"{\"id\":7,\"id\":8,", "7"},
        {"{\"id\":7t,\"id\":8,\"id\":9t,", "8"},
        {"{\"id\":\"\\u0041\\\"\",", "\"\\u0041\\\"\""},
        {"{\"id\":7,\"result\":{]}", "7"},
        {"{\"id\":7 \"result\":{}}", "7"},
    };
    check(rows, MI_COUNT(rows));
}

static void test_lenient_id_behind_the_flaw(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* flaws that both ends may contain */
        {"{\"result\":{\"dir\":\"C:\\dir\"},\"id\":1}", "1"},
        {"{\"result\":{\"a\":[1,2,],},\"id\":1,}", "1"},
        {"{'jsonrpc': '2.0', 'id': 7, 'result': {'a': None}}", "7"},
        {"{'result': {'a': None}, 'id': 'x-7'}", "\"x-7\""},
        {"{jsonrpc:\"2.0\",result:{a:undefined},id:7}", "7"},
        {"{\"result\":\"a\tb\xE9\",\"id\":7}", "7"},
        /* flaws that end the reading from the beginning */
        {"{\"result\":{\"text\":\"say \"hi\" now\"},\"id\":7}", "7"},
        {"{\"result\":{\"dir\":\"C:\\\"},\"id\":7,\"jsonrpc\":\"2.0\"}", "7"},
        {"{\"result\":{\"a\":1 \"b\":2},\"x\":[{\"y\":[]}],\"id\":\"q\\\\\\\"\"} ",
         "\"q\\\\\\\"\""},
        {"{\"result\":\"a\"b\",\"id\":7}", "7"},
        {"{\"result\":\"\"b\",\"error\":{\"id\":8},\"id\":7}", "7"},
    };
    check(rows, MI_COUNT(rows));
}

static void test_lenient_ids_of_other_objects_do_not_count(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"{\"result\":{\"id\":9}", NULL},
        {"{\"result\":{\"text\":\"say \"hi\" now\",\"id\":9}", NULL},
        {"{\"result\":{\"text\":\"x \"}\" y\",\"id\":9},", NULL},
        {"{\"result\":{\"c\":{\"t\":\"x \"}\" y\",\"id\":9}},", NULL},
        {"{\"result\":[{\"id\":9},]}", NULL},
        {"{\"result\":{\"content\":[{\"a\":1}}],\"id\":9}}", NULL},
        {"{\"result\":{\"text\":\"\\\"id\\\":9\"},}", NULL},
        {"{\"a\":\"id\":9}", NULL},
        {"{\"a\":{} \"id\":9}", NULL},
        {"{\"id\":{\"id\":9},}", NULL},
        {"[{\"id\":9,}]", NULL},
        {"log: {\"id\":9,}", NULL},
        {"{} {\"id\":9,}", NULL},
        {"{\"params\":{}},\"id\":9}", NULL},
        {"", NULL},
        {"{", NULL},
        {"}", NULL},
        {"{\"id\"", NULL},
        {"{\"id\":", NULL},
        {"{\"id\":}", NULL},
        {"{\"id\":nul}", NULL},
        {"{\"id\":true,}", NULL},
        {"{\"id\":null,}", NULL},
        {"{\"id\":[1],}", NULL},
        {"{\"id\":\"C:\\dir\",}", NULL},
        {"{\"id\":'it\\'s',}", NULL},
        {"{\"ID\":9,}", NULL},
        {"{\"id\":'", NULL},
        {"{'id':'0123456789012345678901234567890123456789012345678901234567890123456789012345678901"
         "2345678901234567890123456789012345678901234567890123456789',}",
         NULL},
    };
    check(rows, MI_COUNT(rows));
}

static void test_lenient_cut_anywhere_gives_the_id_or_nothing(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":123,\"result\":{\"id\":9,\"x\":[{\"id\":8}],\"t\":\"C:\\dir\"}"
        "}",
        "{\"result\":{\"id\":9,\"x\":[{\"id\":8}],\"t\":\"a \"b\" "
        "c\",\"y\":{\"id\":7}},\"id\":123}",
        "{\"error\":{\"code\":1,\"message\":\"C:\\\",\"data\":{\"id\":9}},\"id\":123,\"jsonrpc\":"
        "\"2.0\"}",
        "{'result': {'id': 9, 'x': [{'id': 8}]}, 'id': 123, 'y': {'id': 7}}",
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        size_t found = 0, n = strlen(rows[i]);
        struct lenient l;
        for (size_t cut = 0; cut <= n; cut++) {
            char *id = id_of(rows[i], cut, &l);
            if (id != NULL && strcmp(id, "123") != 0)
                fail_msg("%.*s\nhas the id %s", (int)cut, rows[i], id);
            found += id != NULL;
            free(id);
        }
        assert_true(found > 0);
    }
}

static void test_lenient_calls_and_answers_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool call, answer;
    } rows[] = {
        {"{\"id\":1,\"method\":\"m\",\"params\":{\"result\":1,},}", true, false},
        {"{\"id\":1,\"result\":{\"method\":1,},}", false, true},
        {"{\"id\":1,\"error\":{,\"method\":1}}", false, true},
        {"{'id':1,'method':'m',}", true, false},
        {"{\"id\":1,\"result\":{", false, true},
        {"{\"id\":1,\"method\":\"m", false, false},
        {"{\"params\":{\"a\":\"\"b\"},\"method\":\"m\",\"id\":1}", true, false},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,", false, false},
        {"{\"id\":1,\"x\":2,}", false, false},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct lenient l;
        free(id_of(rows[i].text, strlen(rows[i].text), &l));
        bool answers = rows[i].answer || (strstr(rows[i].text, "jsonrpc") != NULL && !l.is_call);
        assert_int_equal(lenient_json_line_is_answer(&l), l.id.type != JSON_NONE && answers);
        if (l.is_call != rows[i].call || l.is_answer != rows[i].answer)
            fail_msg("%s: call %d, answer %d", rows[i].text, l.is_call, l.is_answer);
    }
}

static void test_lenient_deep_and_long_lines(void **state)
{
    (void)state;
    struct buf b = {0};
    struct lenient l;
    buf_adds(&b, "{\"result\":");
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        buf_addc(&b, '[');
    for (int i = 0; i < JSON_MAX_DEPTH; i++)
        buf_addc(&b, ']');
    buf_adds(&b, ",\"id\":7}"); /* too deep from both ends: but the id is behind it */
    char *id = id_of(b.p, b.n, &l);
    assert_string_equal(id, "7");
    free(id);
    /* as deep as other lines may be, also where only the beginning is readable */
    buf_clear(&b);
    buf_adds(&b, "{\"result\":");
    for (int i = 1; i < JSON_MAX_DEPTH; i++)
        buf_addc(&b, '[');
    for (int i = 1; i < JSON_MAX_DEPTH; i++)
        buf_addc(&b, ']');
    buf_adds(&b, ",\"id\":7,\"dir\":\"C:\\dir");
    id = id_of(b.p, b.n, &l);
    assert_string_equal(id, "7");
    free(id);
    /* a megabyte of backslashes before quotes takes no longer than any other text */
    buf_clear(&b);
    buf_adds(&b, "{\"result\":\"a\"b");
    for (int i = 0; i < 1 << 19; i++)
        buf_adds(&b, "\\\\\"");
    buf_adds(&b, "\",\"id\":7}");
    free(id_of(b.p, b.n, &l));
    buf_close(&b);
}

static void test_lenient_next_reads_each_object_of_a_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *ids;
    } rows[] = {
        {"{\"id\":1}{\"id\":2} {\"x\":{\"id\":3}},{\"id\":\"4\"}", "1 2 - \"4\" "},
        {"a {\"id\":1} b", "1 "},
        {"  {\"id\":1,\"a\":'x\\'y'}{id:2,}", "1 2 "},
        {"{\"id\":1]}{\"id\":2}", "1 "}, /* where the first one ends is not known */
        {"no object", ""},
        {"", ""},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        size_t n = strlen(rows[i].text);
        char *copy = unit_copy(rows[i].text, n);
        struct slice rest = {copy, n};
        struct buf got = {0};
        struct lenient l;
        while (lenient_json_read_next_object(&rest, &l)) {
            buf_slice_add(&got, l.id.type != JSON_NONE ? l.id.text : slice_of("-"));
            buf_addc(&got, ' ');
        }
        assert_string_equal(buf_str(&got), rows[i].ids);
        buf_close(&got);
        free(copy);
    }
}

static void expect_excerpt(const char *text, size_t at, const char *want)
{
    struct buf b = {0};
    lenient_json_append_excerpt(slice_of(text), at, &b);
    assert_string_equal(buf_str(&b), want);
    buf_close(&b);
}

static void test_lenient_excerpt_is_visible_and_around_the_flaw(void **state)
{
    (void)state;
    static const char digits[] = "0123456789012345678901234567890123456789012345678901234567890123"
                                 "4567890123456789";
    expect_excerpt("{\"a\":\"C:\\dir\"}", 9, "{\"a\":\"C:\\dir\"}");
    expect_excerpt("a\x1B[2J\xE9", 2, "a\\x1b[2J\\xe9");
    expect_excerpt(digits, 0, "0123456789012345678901234567890123456789012345678901234567890123…");
    expect_excerpt(digits, 40,
                   "…8901234567890123456789012345678901234567890123456789012345678901…");
    expect_excerpt(digits, 80, "…89012345678901234567890123456789");
    expect_excerpt("", 0, "");
    struct buf text = {0};
    for (int i = 0; i < 40; i++)
        buf_adds(&text, "\xC3\xA9");
    for (size_t at = 0; at <= text.n; at++) {
        struct buf b = {0};
        lenient_json_append_excerpt(buf_slice(&text), at, &b);
        assert_null(strstr(buf_str(&b), "\\x"));
        buf_close(&b);
    }
    buf_close(&text);
}

static void test_lenient_fault_names_the_byte(void **state)
{
    (void)state;
    static const struct {
        enum json_fault_kind kind;
        const char *text;
        size_t at;
        const char *want;
    } rows[] = {
        {JSON_SYNTAX, "{\"a\":\"C:\\dir\"}", 9, "invalid escape '\\d'"},
        {JSON_SYNTAX, "{'a':1}", 1, "unexpected '''"},
        {JSON_SYNTAX, "[1,]", 3, "unexpected ']'"},
        {JSON_SYNTAX, "[\xC3\xA9]", 1, "unexpected '\xC3\xA9'"},
        {JSON_SYNTAX, "[\xE9]", 1, "unexpected '\\xe9'"},
        {JSON_SYNTAX, "[\f1]", 1, "unexpected '\\x0c'"},
        {JSON_CUT, "[1", 2, "the text ends inside a value"},
        {JSON_SYNTAX, "[1", 2, "this byte is not allowed here"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0};
        lenient_json_append_fault(rows[i].kind, slice_of(rows[i].text), rows[i].at, &b);
        assert_string_equal(buf_str(&b), rows[i].want);
        buf_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lenient_id_before_the_flaw),
        cmocka_unit_test(test_lenient_id_behind_the_flaw),
        cmocka_unit_test(test_lenient_ids_of_other_objects_do_not_count),
        cmocka_unit_test(test_lenient_cut_anywhere_gives_the_id_or_nothing),
        cmocka_unit_test(test_lenient_calls_and_answers_are_told_apart),
        cmocka_unit_test(test_lenient_deep_and_long_lines),
        cmocka_unit_test(test_lenient_next_reads_each_object_of_a_line),
        cmocka_unit_test(test_lenient_excerpt_is_visible_and_around_the_flaw),
        cmocka_unit_test(test_lenient_fault_names_the_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
