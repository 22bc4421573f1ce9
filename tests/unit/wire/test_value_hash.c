/* Hashes of JSON values: equal for equal values, in any spelling, and different for others. */
#include "tests/support/unit.h"

#include "wire/canon.h"
#include "wire/value_hash.h"

static const struct hash_key key = {3, 4};

/* In the texts, ' stands for ". */
static struct json_value value(char *text)
{
    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    struct json_scan scan;
    assert_int_equal(json_scan(slice_of(text), NULL, NULL, &scan), 0);
    return (struct json_value){scan.type, scan.root};
}

static uint64_t hash_of(const char *text)
{
    char *copy = strdup(text);
    uint64_t hash = value_hash(&key, value(copy));
    free(copy);
    return hash;
}

static void test_value_hash_is_equal_in_any_spelling(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"{'a':1,'b':[2,{}]}", " { 'b' : [ 2.0 , { } ] , '\\u0061' : 1e0 } "},
        {"'\\u0041\\/\\n\\ud83d\\ude00'", "'A/\\u000a\xF0\x9F\x98\x80'"},
        {"[0,100,1.5,123456789012345678901234567890]",
         "[-0,1e2,15e-1,123456789012345678901234567890.0]"},
        {"[9223372036854775807]", "[9223372036854775807.0]"},
        {"{'a':{'x':1,'y':2},'b':{'x':1,'y':2}}", "{'b':{'y':2,'x':1},'a':{'y':2,'x':1}}"},
        {"[]", "[ ]"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        assert_true(hash_of(rows[i][0]) == hash_of(rows[i][1]));
}

static void test_value_hash_differs_where_the_canonical_text_does(void **state)
{
    (void)state;
    static const char *const texts[] = {"{}",
                                        "[]",
                                        "null",
                                        "true",
                                        "false",
                                        "0",
                                        "1",
                                        "-1",
                                        "'1'",
                                        "''",
                                        "'null'",
                                        "[1]",
                                        "[[1]]",
                                        "[1,1]",
                                        "[1,2]",
                                        "[2,1]",
                                        "{'a':1}",
                                        "{'a':'1'}",
                                        "{'b':1}",
                                        "{'1':'a'}",
                                        "{'a':1,'b':2}",
                                        "{'a':2,'b':1}",
                                        "{'a':{'b':1}}",
                                        "{'a':{},'b':1}",
                                        "{'a':1,'a':1}",
                                        "[{'a':1,'b':2}]",
                                        "[{'a':1},{'b':2}]",
                                        "1.5",
                                        "1e400",
                                        "'\\ud800'",
                                        "'\\ufffd'",
                                        "'a\\u0000'",
                                        "'a'",
                                        "[{}]",
                                        "{'':[]}",
                                        "9223372036854775808",
                                        "-9223372036854775808",
                                        "'n1'",
                                        "[null]",
                                        "{'_meta':1}"};
    struct buf canon[MI_COUNT(texts)] = {{0}};
    for (size_t i = 0; i < MI_COUNT(texts); i++) {
        char *copy = strdup(texts[i]);
        canon_write_value(&canon[i], value(copy));
        free(copy);
        for (size_t k = 0; k < i; k++)
            assert_int_equal(hash_of(texts[i]) == hash_of(texts[k]),
                             slice_eq(buf_slice(&canon[i]), buf_slice(&canon[k])));
    }
    for (size_t i = 0; i < MI_COUNT(texts); i++)
        buf_close(&canon[i]);
}

static void test_value_hash_leaves_out_meta_of_the_value_itself_only(void **state)
{
    (void)state;
    char with[] = "{'a':1,'_meta':{'t':9},'b':{'_meta':1}}", without[] = "{'b':{'_meta':1},'a':1}",
         inside[] = "{'b':{},'a':1}";
    uint64_t hash = value_hash_without_meta(&key, value(with));
    assert_true(hash == value_hash_without_meta(&key, value(without)));
    assert_true(hash != value_hash_without_meta(&key, value(inside)));
    assert_true(hash != value_hash(&key, value(with)));
}

static void test_value_hash_of_deep_values_compares_what_is_written(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0};
    for (int k = 0; k < JSON_TREE_DEPTH + 1; k++)
        buf_addc(&a, '[');
    buf_slice_add(&b, buf_slice(&a));
    buf_adds(&a, "1");
    buf_adds(&b, "1.0");
    for (int k = 0; k < JSON_TREE_DEPTH + 1; k++) {
        buf_addc(&a, ']');
        buf_addc(&b, ']');
    }
    assert_true(hash_of(buf_str(&a)) == hash_of(buf_str(&a)));
    assert_true(hash_of(buf_str(&a)) != hash_of(buf_str(&b)));
    buf_close(&a);
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_value_hash_is_equal_in_any_spelling),
        cmocka_unit_test(test_value_hash_differs_where_the_canonical_text_does),
        cmocka_unit_test(test_value_hash_leaves_out_meta_of_the_value_itself_only),
        cmocka_unit_test(test_value_hash_of_deep_values_compares_what_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
