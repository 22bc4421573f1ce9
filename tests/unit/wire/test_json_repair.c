/* Lines that json_scan() refuses, repaired. */
#include "wire/json_repair.h"

#include "tests/support/unit.h"

#define F(name) FINDING(FIND_##name)
#define ROOM ((size_t)1 << 20)

/* One line, from memory that ends with it. *ret owns the result. */
static enum json_repair_result repair_one_line(struct json_repair *ret, const char *text, size_t n)
{
    char *copy = unit_copy(text, n);
    json_repair_open(ret, ROOM);
    enum json_repair_result result = json_repair_add_line(ret, (struct slice){copy, n});
    size_t behind = ret->trailing.n > 0 ? (size_t)(ret->trailing.p - copy) : n;
    free(copy);
    ret->trailing.p = text + behind;
    return result;
}

static bool is_strict(struct slice text)
{
    struct json_scan scan;
    return json_scan(text, NULL, NULL, &scan) == 0;
}

static void expect_repaired(const char *text, size_t n, const char *want, findings found)
{
    struct json_repair m;
    enum json_repair_result result = repair_one_line(&m, text, n);
    if (result != JSON_REPAIR_WHOLE || !slice_is(buf_slice(&m.text), want) ||
        repairs_get_findings(&m.repairs) != found)
        fail_msg("%.*s\ngave %d at %zu, %s, not\n%s", (int)n, text, (int)result, m.flaw_at,
                 buf_str(&m.text), want);
    assert_true(is_strict(buf_slice(&m.text)));
    json_repair_close(&m);
}

#define REPAIRED(text, want, found) expect_repaired(text, sizeof(text) - 1, want, found)

static void test_json_repair_flaws_with_one_reading_are_repaired(void **state)
{
    (void)state;
    REPAIRED("{}", "{}", 0);
    REPAIRED(" [1, \"a\\n\\u00e9\" ,{\"b\":-1.5e3}] ", " [1, \"a\\n\\u00e9\" ,{\"b\":-1.5e3}]", 0);
    REPAIRED("{\"a\":\"caf\xE9\"}", "{\"a\":\"caf\xEF\xBF\xBD\"}", F(INVALID_UTF8));
    REPAIRED("{\"caf\xE9\":[\"\xFF\"]}", "{\"caf\xEF\xBF\xBD\":[\"\xEF\xBF\xBD\"]}",
             F(INVALID_UTF8));
    REPAIRED("{\"a\":\"x\ty\rz\x01\x1F\b\f\"}", "{\"a\":\"x\\ty\\rz\\u0001\\u001f\\b\\f\"}",
             F(CONTROL_CHARACTER));
    REPAIRED("{\"a\0b\":\"\0\"}", "{\"a\\u0000b\":\"\\u0000\"}", F(CONTROL_CHARACTER));
    REPAIRED("{\"a\":NaN,\"b\":[Infinity,-Infinity ,1]}", "{\"a\":null,\"b\":[null,null ,1]}",
             F(NOT_A_NUMBER));
    REPAIRED("{\"a\":\"NaN\"}", "{\"a\":\"NaN\"}", 0);
    REPAIRED("{\"a\":1} done", "{\"a\":1}", F(TRAILING_TEXT));
    REPAIRED("{\"a\":1}\0\0", "{\"a\":1}", F(TRAILING_TEXT));
    REPAIRED("{\"a\":NaN,\"b\":\"\xE9\t\"};", "{\"a\":null,\"b\":\"\xEF\xBF\xBD\\t\"}",
             F(NOT_A_NUMBER) | F(INVALID_UTF8) | F(CONTROL_CHARACTER) | F(TRAILING_TEXT));
}

static void test_json_repair_flaws_with_two_readings_are_not_repaired(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t at;
    } rows[] = {
        {"{\"a\":\"C:\\dir\"}", 9},
        {"{\"a\":\"C:\\", 9},
        {"{\"a\":\"\\u12g4\"}", 10},
        {"{\"a\":1,}", 7},
        {"{,}", 1},
        {"[1,]", 3},
        {"[,1]", 1},
        {"{'a':1}", 1},
        {"{a:1}", 1},
        {"{\"a\" 1}", 5},
        {"{\"a\"}", 4},
        {"{\"a\":}", 5},
        {"{\"a\":1]", 6},
        {"[1}", 2},
        {"{\"a\":1 \"b\":2}", 7},
        {"{\"a\":\"b\":2}", 8},
        {"{\"a\":nan}", 6},
        {"{\"a\":+Infinity}", 5},
        {"{\"a\":Infinity1}", 5},
        {"{\"a\":1.}", 7},
        {"{\"a\":tru}", 8},
        {"{\"a\":undefined}", 5},
        {"{\"a\":\"say \"hi\" now\"}", 11},
        {"{\"a\":0x10}", 6},
        {"{\"a\":None}", 5},
        {"{\"\xE9\":\xE9}", 5},
        {"\xE9{}", 0},
        {"null", 0},
        {"\"a\"", 0},
        {"log {}", 0},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct json_repair m;
        enum json_repair_result result = repair_one_line(&m, rows[i].text, strlen(rows[i].text));
        if (result != JSON_REPAIR_FLAWED || m.flaw_at != rows[i].at)
            fail_msg("%s\ngave %d at %zu", rows[i].text, (int)result, m.flaw_at);
        json_repair_close(&m);
    }
}

/* The second column is the number of U+FFFD that the decoder of the WHATWG standard emits: Node's TextDecoder and
 * Python's errors="replace" give the same. */
static void test_json_repair_each_maximal_invalid_part_becomes_one_character(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int n;
    } rows[] = {
        {"\x80", 1},                             /* a continuation byte alone */
        {"\xBF\x80", 2},                         /* two of them */
        {"\xC0\xAF", 2},                         /* overlong, two bytes */
        {"\xC1\xBF", 2},                         /* the same */
        {"\xC2", 1},                             /* the second byte is missing */
        {"\xDF\xC3", 2},                         /* twice */
        {"\xE0\x80\xAF", 3},                     /* overlong, three bytes */
        {"\xE0\x9F\xBF", 3},                     /* the last of them */
        {"\xE0\xA0", 1},                         /* a beginning of three bytes */
        {"\xE1\x80", 1},                         /* the same */
        {"\xE1\x80\xE1\x80", 2},                 /* twice */
        {"\xED\xA0\x80", 3},                     /* a surrogate */
        {"\xED\xBF\xBF", 3},                     /* the last one */
        {"\xED\x9F", 1},                         /* not a surrogate, but without its end */
        {"\xEF\xBF", 1},                         /* the beginning of U+FFFD */
        {"\xF0\x80\x80\x80", 4},                 /* overlong, four bytes */
        {"\xF0\x8F\xBF\xBF", 4},                 /* the last of them */
        {"\xF0\x90", 1},                         /* beginnings of four bytes */
        {"\xF0\x9F\x98", 1},                     /* the same */
        {"\xF1\x80\x80", 1},                     /* the same */
        {"\xF4\x8F\xBF", 1},                     /* the same */
        {"\xF4\x90\x80\x80", 4},                 /* above U+10FFFF */
        {"\xF5\x80\x80\x80", 4},                 /* a byte that never occurs */
        {"\xF8\x88\x80\x80\x80", 5},             /* five bytes */
        {"\xFC\x84\x80\x80\x80\x80", 6},         /* six bytes */
        {"\xFE", 1},                             /* a byte that never occurs */
        {"\xFF", 1},                             /* the same */
        {"\xF1\x80\x80\xE1\x80\xC2", 3},         /* Unicode 16, table 3-8 */
        {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82", 8}, /* table 3-9 */
        {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF", 8}, /* table 3-10 */
        {"\xF4\x91\x92\x93\xFF", 5},             /* table 3-11 */
    };
    static const char *const behind[] = {"\"}", "A\"}", "\xC3\xA9\"}", "\\n\"}",
                                         "\xF0\x9F\x98\x80\"}"};
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        for (size_t b = 0; b < MI_COUNT(behind); b++) {
            struct buf text = {0}, want = {0};
            struct json_repair m;
            buf_printf(&text, "{\"a\":\"%s%s", rows[i].bytes, behind[b]);
            buf_adds(&want, "{\"a\":\"");
            for (int n = 0; n < rows[i].n; n++)
                buf_adds(&want, "\xEF\xBF\xBD");
            buf_adds(&want, behind[b]);
            assert_int_equal(repair_one_line(&m, text.p, text.n), JSON_REPAIR_WHOLE);
            if (!slice_eq(buf_slice(&m.text), buf_slice(&want)))
                fail_msg("row %zu.%zu: %s", i, b, buf_str(&m.text));
            assert_int_equal(m.repairs.n, 1);
            assert_int_equal(m.repairs.list[0].count, rows[i].n);
            assert_int_equal(m.repairs.list[0].at, 6);
            assert_true(slice_is((struct slice){m.repairs.list[0].bytes, m.repairs.list[0].bytes_n},
                                 rows[i].bytes));
            json_repair_close(&m);
            buf_close(&text);
            buf_close(&want);
        }
}

static const char sample[] =
    "{\"jsonrpc\": \"2.0\",\t\"id\":12,\"result\":{\"caf\xC3\xA9\":[true,null,"
    "-1.5e+3,{}],\"t\":\"a\\n\\u00e9 \xF0\x9F\x98\x80\"}}";

static void test_json_repair_a_line_cut_anywhere_is_never_whole(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof sample - 1; n++) {
        struct json_repair m;
        assert_int_not_equal(repair_one_line(&m, sample, n), JSON_REPAIR_WHOLE);
        json_repair_close(&m);
    }
    REPAIRED(sample, sample, 0);
}

/* Between two tokens the parts give the text itself; inside a string they give a newline; inside another token
 * nothing. */
static void test_json_repair_a_value_in_two_lines_at_any_byte(void **state)
{
    (void)state;
    size_t joined = 0, flawed = 0;
    for (size_t n = 1; n < sizeof sample - 1; n++) {
        struct json_repair m;
        enum json_repair_result result = repair_one_line(&m, sample, n);
        if (result == JSON_REPAIR_MORE) {
            size_t rest = sizeof sample - 1 - n;
            char *copy = unit_copy(sample + n, rest);
            result = json_repair_add_line(&m, (struct slice){copy, rest});
            free(copy);
        }
        if (result == JSON_REPAIR_WHOLE) {
            assert_true(is_strict(buf_slice(&m.text)));
            assert_true(repairs_get_findings(&m.repairs) & F(SEVERAL_LINES));
            for (size_t i = 0; i < m.repairs.n; i++)
                if (m.repairs.list[i].finding == FIND_SEVERAL_LINES)
                    assert_int_equal(m.repairs.list[i].at, n);
            assert_true(m.text.n >= sizeof sample - 1);
            joined++;
        } else {
            assert_int_equal(result, JSON_REPAIR_FLAWED);
            assert_true(m.flaw_at <= sizeof sample);
            flawed++;
        }
        json_repair_close(&m);
    }
    assert_true(joined > 60);
    assert_true(flawed > 10); /* 12, true, null, -1.5e+3, \n, \u00e9 */
}

static enum json_repair_result repair_lines(struct json_repair *m, const char *const *lines)
{
    enum json_repair_result result = JSON_REPAIR_FLAWED;
    json_repair_open(m, ROOM);
    for (; *lines != NULL; lines++) {
        char *copy = unit_copy(*lines, strlen(*lines));
        result = json_repair_add_line(m, (struct slice){copy, strlen(*lines)});
        free(copy);
        if (result != JSON_REPAIR_MORE)
            break;
    }
    return result;
}

static void test_repair_lines_of_one_message_are_joined(void **state)
{
    (void)state;
    static const char *const pretty[] = {"{",
                                         "  \"jsonrpc\": \"2.0\",",
                                         "  \"id\": 1,",
                                         "  \"result\": {",
                                         "    \"a\": [",
                                         "      NaN",
                                         "    ]\r",
                                         "  }",
                                         "} ok",
                                         NULL};
    static const char *const text[] = {"{\"a\":\"one\xC3", "two\xE9", "\",", "\"b\":2", "}", NULL};
    struct json_repair m;
    assert_int_equal(repair_lines(&m, pretty), JSON_REPAIR_WHOLE);
    assert_string_equal(buf_str(&m.text), "{  \"jsonrpc\": \"2.0\",  \"id\": 1,  \"result\": {    "
                                          "\"a\": [      null    ]\r  }}");
    assert_int_equal(repairs_get_findings(&m.repairs),
                     F(SEVERAL_LINES) | F(NOT_A_NUMBER) | F(TRAILING_TEXT));
    assert_int_equal(m.repairs.list[0].count, 8);
    assert_int_equal(m.repairs.list[0].at, 1);
    assert_int_equal(m.repairs.list[1].at, 64);
    json_repair_close(&m);
    assert_int_equal(repair_lines(&m, text), JSON_REPAIR_WHOLE);
    assert_string_equal(buf_str(&m.text),
                        "{\"a\":\"one\xEF\xBF\xBD\\ntwo\xEF\xBF\xBD\\n\",\"b\":2}");
    json_repair_close(&m);
}

static void test_json_repair_a_line_that_does_not_continue_the_value_is_flawed(void **state)
{
    (void)state;
    static const char *const rows[][4] = {
        {"{\"a\":1", "2024-01-01 started", NULL},
        {"{\"a\":[", "INFO", NULL},
        {"{\"a\":tru", NULL},
        {"{\"a\":\"x\\", "n\"}", NULL},
        {"{\"a\":", "}", NULL},
        {"{", "{\"a\":1}", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct json_repair m;
        assert_int_equal(repair_lines(&m, rows[i]), JSON_REPAIR_FLAWED);
        json_repair_close(&m);
    }
}

static void test_json_repair_the_replaced_bytes_are_bounded(void **state)
{
    (void)state;
    struct buf text = {0};
    struct json_repair m;
    buf_adds(&text, "{\"a\":\"");
    for (int i = 0; i < 1000; i++)
        buf_adds(&text, i % 2 ? "\t" : "\xE9x");
    buf_adds(&text, "\"}");
    assert_int_equal(repair_one_line(&m, text.p, text.n), JSON_REPAIR_WHOLE);
    assert_true(is_strict(buf_slice(&m.text)));
    assert_int_equal(m.repairs.n, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(m.repairs.list[i].count, 500);
        assert_int_equal(m.repairs.list[i].bytes_n, REPAIR_BYTES_MAX);
    }
    assert_memory_equal(m.repairs.list[0].bytes, "\xE9\xE9\xE9", 3);
    json_repair_close(&m);
    /* and so is the text */
    json_repair_open(&m, 100);
    assert_int_equal(json_repair_add_line(&m, buf_slice(&text)), JSON_REPAIR_FLAWED);
    assert_true(m.text.n <= 100);
    json_repair_close(&m);
    buf_close(&text);
}

static void test_json_repair_depth_has_the_limit_of_the_scan(void **state)
{
    (void)state;
    struct buf text = {0};
    for (int more = 0; more < 2; more++) {
        struct json_repair m;
        buf_clear(&text);
        for (int i = 0; i < JSON_MAX_DEPTH + more; i++)
            buf_addc(&text, '[');
        buf_adds(&text, "NaN");
        for (int i = 0; i < JSON_MAX_DEPTH + more; i++)
            buf_addc(&text, ']');
        assert_int_equal(repair_one_line(&m, text.p, text.n),
                         more ? JSON_REPAIR_FLAWED : JSON_REPAIR_WHOLE);
        assert_true(more || is_strict(buf_slice(&m.text)));
        json_repair_close(&m);
    }
    buf_close(&text);
}

/* Whatever is changed in a message: what is repaired passes the strict scan. */
static void test_json_repair_random_edits_give_valid_json_or_nothing(void **state)
{
    (void)state;
    struct unit_random r = {88172645463325252u};
    size_t whole = 0;
    for (int round = unit_slow() ? 19000 : 0; round < 20000; round++) {
        char text[sizeof sample];
        size_t n = sizeof sample - 1;
        memcpy(text, sample, sizeof sample);
        for (size_t edits = 1 + unit_random(&r, 3); edits > 0; edits--)
            text[unit_random(&r, n)] = (char)unit_random(&r, 256);
        if (unit_random(&r, 4) == 0)
            n = unit_random(&r, n);
        struct json_repair m;
        if (repair_one_line(&m, text, n) == JSON_REPAIR_WHOLE) {
            whole++;
            assert_true(is_strict(buf_slice(&m.text)));
        }
        json_repair_close(&m);
    }
    assert_true(whole > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_repair_flaws_with_one_reading_are_repaired),
        cmocka_unit_test(test_json_repair_flaws_with_two_readings_are_not_repaired),
        cmocka_unit_test(test_json_repair_each_maximal_invalid_part_becomes_one_character),
        cmocka_unit_test(test_json_repair_a_line_cut_anywhere_is_never_whole),
        cmocka_unit_test(test_json_repair_a_value_in_two_lines_at_any_byte),
        cmocka_unit_test(test_repair_lines_of_one_message_are_joined),
        cmocka_unit_test(test_json_repair_a_line_that_does_not_continue_the_value_is_flawed),
        cmocka_unit_test(test_json_repair_the_replaced_bytes_are_bounded),
        cmocka_unit_test(test_json_repair_depth_has_the_limit_of_the_scan),
        cmocka_unit_test(test_json_repair_random_edits_give_valid_json_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
