/* Equality of ids in different spellings. */
#include "wire/rpc_id.h"

#include "tests/support/unit.h"

static struct json_value value(const char *text)
{
    return (struct json_value){json_type_at(text[0]), slice_of(text)};
}

static void key_of(struct buf *b, const char *id)
{
    buf_clear(b);
    struct json_value v = value(id);
    char *copy = unit_copy(v.text.p, v.text.n);
    v.text.p = copy;
    rpc_id_append_key(b, v);
    assert_false(b->failed);
    free(copy);
}

/* Spellings of one id in a row; ids of different rows differ. NULL ends a row. */
static const char *const ids[][12] = {
    {"0", "-0", "0.0", "-0.0", "0e0", "0E5", "0e-5", "0.000e+12", "0e999999999999999999999"},
    {"1", "1.0", "1.00", "1e0", "1E0", "1e+0", "1e-0", "10e-1", "0.1e1", "100e-2", "0.01e2"},
    {"-1", "-1.0", "-1e0", "-10e-1", "-0.1e1"},
    {"10", "1e1", "1E+1", "10.0", "1.0e1", "100e-1"},
    {"100", "1e2", "1e02", "1e+002", "10e1"},
    {"1000", "1e3", "1.000e3"},
    {"-32601", "-3.2601e4"},
    {"1.5", "1.50", "15e-1", "0.15e1", "150E-2"},
    {"-1.5", "-15e-1"},
    {"0.5", "5e-1", "0.50"},
    {"0.05", "5e-2"},
    {"1e-400", "0.1e-399"},
    {"9007199254740991", "9007199254740991.0"},
    {"9007199254740992"},
    {"9007199254740993"}, /* equal to the previous one as a double */
    {"123456789012345678", "123456789012345678.0", "12345678901234567.8e1"},
    {"1234567890123456789", "1.234567890123456789e18"},
    {"12345678901234567890", "1234567890123456789e1"},
    {"12345678901234567891"},
    {"100000000000000000", "1e17"},
    {"1000000000000000000", "1e18", "10e17"},
    {"10000000000000000000", "1e19"},
    {"1e20", "100000000000000000000", "0.1e21"},
    {"1e30"},
    {"1e400"},
    {"\"\""},
    {"\"0\"", "\"\\u0030\""},
    {"\"1\"", "\"\\u0031\""},
    {"\"1.0\""}, /* strings are not interpreted */
    {"\"01\""},
    {"\" 1\""},
    {"\"1e0\""},
    {"\"n1\""},
    {"\"s1\""},
    {"\"-0\""},
    {"\"a\"", "\"\\u0061\""},
    {"\"A\"", "\"\\u0041\""},
    {"\"null\""},
    {"\"a\\u0000\"", "\"\\u0061\\u0000\""},
    {"\"/\"", "\"\\/\"", "\"\\u002f\"", "\"\\u002F\""},
    {"\"\\\"\"", "\"\\u0022\""},
    {"\"\\\\\"", "\"\\u005c\""},
    {"\"\\n\"", "\"\\u000a\""},
    {"\"\xc3\xa9\"", "\"\\u00e9\"", "\"\\u00E9\""},
    {"\"e\\u0301\""}, /* looks like the previous one; no peer normalizes */
    {"\"\xf0\x9f\x98\x80\"", "\"\\ud83d\\ude00\"", "\"\\uD83D\\uDE00\""},
};

static void test_rpc_id_equal_ids_have_equal_keys_different_ids_do_not(void **state)
{
    (void)state;
    struct buf a = {0}, b = {0};
    for (size_t i = 0; i < MI_COUNT(ids); i++)
        for (size_t k = 0; k < MI_COUNT(ids[i]) && ids[i][k] != NULL; k++) {
            key_of(&a, ids[i][k]);
            for (size_t j = 0; j < MI_COUNT(ids); j++)
                for (size_t l = 0; l < MI_COUNT(ids[j]) && ids[j][l] != NULL; l++) {
                    key_of(&b, ids[j][l]);
                    if (slice_eq(buf_slice(&a), buf_slice(&b)) != (i == j))
                        fail_msg("%s and %s are %s", ids[i][k], ids[j][l],
                                 i == j ? "one id" : "two ids");
                    if (i == j)
                        assert_true(rpc_id_hash(buf_slice(&a)) == rpc_id_hash(buf_slice(&b)));
                }
        }
    buf_close(&a);
    buf_close(&b);
}

static void test_rpc_id_key_is_a_type_letter_and_canonical_text(void **state)
{
    (void)state;
    static const struct {
        const char *id, *key;
    } rows[] = {
        {"7", "n7"},       {"-7", "n-7"},           {"\"7\"", "s7"},    {"\"\"", "s"},
        {"0", "n0"},       {"-0.0", "n0"},          {"1e3", "n1000"},   {"1.5", "n15e-1"},
        {"1e30", "n1e30"}, {"\"a\\u0062\"", "sab"}, {"\"\\n\"", "s\n"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        key_of(&b, rows[i].id);
        assert_true(slice_is(buf_slice(&b), rows[i].key));
    }
    buf_close(&b);
}

static void test_rpc_id_key_is_appended_to_the_buffer(void **state)
{
    (void)state;
    struct buf b = {0};
    buf_adds(&b, "x");
    rpc_id_append_key(&b, value("1.0"));
    rpc_id_append_key(&b, value("\"\\u0061\""));
    assert_true(slice_is(buf_slice(&b), "xn1sa"));
    buf_close(&b);
}

static void test_rpc_id_key_beyond_the_buffer_limit_fails_the_buffer(void **state)
{
    (void)state;
    static const char *const long_ids[] = {"123456789", "12345678.5", "\"12345678\"",
                                           "\"1234567\\n\"", "1234567890123456789012"};
    for (size_t i = 0; i < MI_COUNT(long_ids); i++) {
        struct buf b = {.max = 8};
        rpc_id_append_key(&b, value(long_ids[i]));
        assert_true(b.failed);
        buf_close(&b);
    }
}

static void test_rpc_id_other_type_of_an_integer_is_the_string_and_back(void **state)
{
    (void)state;
    static const struct {
        const char *id, *other; /* NULL: there is none */
    } rows[] = {
        {"7", "\"7\""},    {"\"7\"", "7"},
        {"0", "\"0\""},    {"\"0\"", "0"},
        {"-7", "\"-7\""},  {"\"-7\"", "-7"},
        {"7.0", "\"7\""},  {"123456789012345678", "\"123456789012345678\""},
        {"\"7.0\"", NULL}, /* no peer converts this to a number */
        {"\"07\"", NULL},  {"\"-0\"", NULL},
        {"\"+7\"", NULL},  {"\" 7\"", NULL},
        {"\"7a\"", NULL},  {"\"-\"", NULL},
        {"\"\"", NULL},    {"\"a\"", NULL},
        {"1.5", NULL},     {"1e30", NULL},
    };
    struct buf b = {0}, want = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct rpc_id other, id = rpc_id_from_json(value(rows[i].id), &b);
        bool has = rpc_id_convert_type(&id, &other);
        if (has != (rows[i].other != NULL))
            fail_msg("%s", rows[i].id);
        if (!has)
            continue;
        struct rpc_id wanted = rpc_id_from_json(value(rows[i].other), &want);
        assert_true(rpc_id_eq(&other, &wanted));
        assert_false(rpc_id_eq(&other, &id));
    }
    buf_close(&b);
    buf_close(&want);
}

/* Consecutive ids must be spread over a table whose size is a power of two. */
static void test_rpc_id_is_the_number_or_its_text(void **state)
{
    (void)state;
    assert_true(rpc_id_equals_number(value("7"), 7));
    assert_true(rpc_id_equals_number(value("7.0"), 7));
    assert_true(rpc_id_equals_number(value("\"7\""), 7));
    assert_true(rpc_id_equals_number(value("\"\\u0037\""), 7));
    assert_true(rpc_id_equals_number(value("18446744073709551615"), UINT64_MAX));
    static const char *const others[] = {"8",       "77",   "-7",   "0.7",  "\"07\"", "\"7 \"",
                                         "\"7.0\"", "\"\"", "null", "true", "[7]",    "{\"id\":7}"};
    for (size_t i = 0; i < MI_COUNT(others); i++)
        assert_false(rpc_id_equals_number(value(others[i]), 7));
    assert_false(rpc_id_equals_number((struct json_value){0}, 0));
}

static void test_rpc_id_hashes_of_consecutive_ids_are_spread(void **state)
{
    (void)state;
    static const char *const forms[] = {"n", "sreq-", "s"};
    for (size_t f = 0; f < MI_COUNT(forms); f++) {
        unsigned in[1024] = {0};
        for (int i = 0; i < 4096; i++) {
            char key[32];
            int n = snprintf(key, sizeof key, "%s%d", forms[f], i);
            in[rpc_id_hash((struct slice){key, (size_t)n}) % MI_COUNT(in)]++;
        }
        for (size_t i = 0; i < MI_COUNT(in); i++)
            assert_true(in[i] < 20); /* four on average; twenty by chance once in 10^8 tables */
    }
}

static void test_rpc_id_canonical_as_written_needs_no_memory(void **state)
{
    (void)state;
    static const struct {
        const char *id, *text; /* text: NULL: it is that of the id */
    } rows[] = {{"7", NULL},          {"-17", NULL},    {"\"a-7\"", NULL},
                {"\"\"", NULL},       {"7.0", "7"},     {"1e3", "1000"},
                {"\"\\u0061\"", "a"}, {"1e30", "1e30"}, {"123456789012345678", NULL}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0};
        struct rpc_id id = rpc_id_from_json(value(rows[i].id), &b);
        bool string = rows[i].id[0] == '"';
        assert_int_equal(id.type, string ? 's' : 'n');
        assert_int_equal(b.cap == 0, rows[i].text == NULL);
        if (rows[i].text == NULL)
            assert_ptr_equal(id.text.p, rows[i].id + string);
        else
            assert_true(slice_is(id.text, rows[i].text));
        buf_close(&b);
        struct buf none = {.max = 1};
        id = rpc_id_from_json(value(rows[i].id), &none);
        if (rows[i].text == NULL || strlen(rows[i].text) > 1)
            assert_int_equal(id.type == 0, rows[i].text != NULL);
        assert_int_equal(id.hash == 0, id.type == 0);
        buf_close(&none);
    }
}

static void test_rpc_id_hash_of_a_value_equals_the_hash_of_its_key(void **state)
{
    (void)state;
    static const struct {
        struct json_value v;
        const char *key; /* NULL: it has none */
    } rows[] = {
        {{JSON_NUMBER, {"1e0", 3}}, "n1"},   {{JSON_STRING, {"\"\\u0061\"", 8}}, "sa"},
        {{JSON_NUMBER, {"-17", 3}}, "n-17"}, {{JSON_STRING, {"\"17\"", 4}}, "s17"},
        {{JSON_NUMBER, {"-0", 2}}, "n0"},    {{JSON_STRING, {"\"-0\"", 4}}, "s-0"},
        {{JSON_STRING, {"\"\"", 2}}, "s"},   {{JSON_NONE, {NULL, 0}}, NULL},
        {{JSON_NULL, {"null", 4}}, NULL},    {{JSON_OBJECT, {"{}", 2}}, NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        assert_int_equal(rpc_id_hash_json(rows[i].v),
                         rows[i].key != NULL ? rpc_id_hash(slice_of(rows[i].key)) : 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rpc_id_equal_ids_have_equal_keys_different_ids_do_not),
        cmocka_unit_test(test_rpc_id_key_is_a_type_letter_and_canonical_text),
        cmocka_unit_test(test_rpc_id_key_is_appended_to_the_buffer),
        cmocka_unit_test(test_rpc_id_key_beyond_the_buffer_limit_fails_the_buffer),
        cmocka_unit_test(test_rpc_id_other_type_of_an_integer_is_the_string_and_back),
        cmocka_unit_test(test_rpc_id_is_the_number_or_its_text),
        cmocka_unit_test(test_rpc_id_hashes_of_consecutive_ids_are_spread),
        cmocka_unit_test(test_rpc_id_canonical_as_written_needs_no_memory),
        cmocka_unit_test(test_rpc_id_hash_of_a_value_equals_the_hash_of_its_key),
    };
    return cmocka_run_group_tests_name("rpc_id", tests, NULL, NULL);
}
