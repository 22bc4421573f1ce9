/* Objects, arrays and members get their commas and escapes from the writer. */
#include "base/json_out.h"

#include "tests/support/unit.h"

static bool fail;
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return fail ? NULL : __real_realloc(p, n);
}

static void expect(struct buf *b, const char *want)
{
    assert_false(b->failed);
    assert_string_equal(buf_str(b), want);
    buf_close(b);
}

static void test_json_out_nested_values_are_separated_by_commas(void **state)
{
    (void)state;
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    json_out_object(&j, NULL);
    json_out_object(&j, "empty");
    json_out_end(&j);
    json_out_array(&j, "list");
    json_out_int(&j, NULL, INT64_MIN);
    json_out_array(&j, NULL);
    json_out_end(&j);
    json_out_object(&j, NULL);
    json_out_uint(&j, "max", UINT64_MAX);
    json_out_bool(&j, "yes", true);
    json_out_bool(&j, "no", false);
    json_out_end(&j);
    json_out_null(&j, NULL);
    json_out_end(&j);
    json_out_raw(&j, "raw", slice_of("[1, 2]"));
    json_out_end(&j);
    assert_int_equal(j.depth, 0);
    expect(&b, "{\"empty\":{},\"list\":[-9223372036854775808,[],{\"max\":18446744073709551615,"
               "\"yes\":true,\"no\":false},null],\"raw\":[1, 2]}");
}

static void test_json_out_text_of_any_bytes_is_escaped(void **state)
{
    (void)state;
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    json_out_array(&j, NULL);
    json_out_text(&j, NULL, (struct slice){"\"\\\n\0\x7F\xFF", 6});
    json_out_text(&j, NULL, slice_of(""));
    json_out_text(&j, NULL, (struct slice){0});
    json_out_str(&j, NULL, "a");
    json_out_str(&j, NULL, NULL);
    json_out_quoted(&j, NULL, slice_of("\\u0041"));
    json_out_add_visible_json(&j, NULL, slice_of("{\"a\":\r\n1}"));
    json_out_end(&j);
    expect(
        &b,
        "[\"\\\"\\\\\\n\\u0000\\u007f\xEF\xBF\xBD\",\"\",null,\"a\",null,\"\\u0041\",{\"a\":  1}]");
}

static void test_json_out_texts_for_a_model_are_cut_and_visible(void **state)
{
    (void)state;
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    j.max_text = 8;
    json_out_object(&j, NULL);
    json_out_text(&j, "a", slice_of("x\x1b\xE2\x80\xAE\"\n"));
    json_out_str(&j, "cut", "abcdefg\xE2\x82\xAC");
    json_out_str(&j, "none", NULL);
    json_out_null(&j, "no_number");
    json_out_add_visible_json(&j, "json", slice_of("[\"\xE2\x80\xAE\"]"));
    json_out_array(&j, "list");
    json_out_null(&j, NULL);
    json_out_end(&j);
    json_out_end(&j);
    expect(&b, "{\"a\":\"x\\\\x1b\\\\u{202e}\\\"\\\\n\",\"cut\":\"abcdefg\xE2\x80\xA6\","
               "\"json\":\"[\\\"\\\\u{202e}\\\"]\",\"list\":[null]}");
}

static void test_json_out_caller_can_write_the_value_after_a_name(void **state)
{
    (void)state;
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    json_out_object(&j, NULL);
    json_out_name(&j, "a");
    buf_printf(&b, "%.3f", 0.5);
    json_out_name(&j, "b");
    buf_adds(&b, "2");
    json_out_end(&j);
    expect(&b, "{\"a\":0.500,\"b\":2}");
}

static void test_json_out_space_follows_the_comma(void **state)
{
    (void)state;
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    json_out_array(&j, NULL);
    for (int i = 0; i < 3; i++) {
        json_out_add_whitespace(&j, "\n  ");
        json_out_int(&j, NULL, i);
    }
    json_out_end(&j);
    expect(&b, "[\n  0,\n  1,\n  2]");
}

static void test_json_out_lines_have_no_comma_between_them(void **state)
{
    (void)state;
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    for (int i = 0; i < 2; i++) {
        json_out_object(&j, NULL);
        json_out_int(&j, "i", i);
        json_out_end(&j);
        json_out_line(&j);
    }
    expect(&b, "{\"i\":0}\n{\"i\":1}\n");
}

static void test_json_out_list_can_be_written_in_parts(void **state)
{
    (void)state;
    struct buf b = {0};
    for (int i = 0; i < 3; i++) {
        struct json_out j = json_out_continue_list(&b);
        json_out_int(&j, NULL, i);
    }
    struct buf whole = {0};
    struct json_out j = json_out_to(&whole);
    json_out_array(&j, NULL);
    json_out_null(&j, NULL);
    json_out_add_written_members(&j, slice_of(""));
    json_out_add_written_members(&j, buf_slice(&b));
    json_out_end(&j);
    expect(&whole, "[null,0,1,2]");
    expect(&b, "0,1,2");
}

static void test_json_out_deepest_levels_are_closed_in_order(void **state)
{
    (void)state;
    struct buf b = {0}, want = {0};
    struct json_out j = json_out_to(&b);
    for (unsigned i = 0; i < JSON_OUT_MAX_DEPTH / 2; i++) {
        json_out_array(&j, NULL);
        json_out_object(&j, NULL);
        buf_adds(&want, "[{");
    }
    for (unsigned i = 0; i < JSON_OUT_MAX_DEPTH / 2; i++)
        buf_adds(&want, "}]");
    while (j.depth > 0)
        json_out_end(&j);
    expect(&b, buf_str(&want));
    buf_close(&want);
}

static void test_json_out_out_of_memory_marks_the_buffer_failed(void **state)
{
    (void)state;
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    fail = true;
    json_out_object(&j, NULL);
    json_out_str(&j, "a", "b");
    json_out_end(&j);
    fail = false;
    assert_true(b.failed);
    assert_int_equal(b.n, 0);
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json_out_nested_values_are_separated_by_commas),
        cmocka_unit_test(test_json_out_text_of_any_bytes_is_escaped),
        cmocka_unit_test(test_json_out_texts_for_a_model_are_cut_and_visible),
        cmocka_unit_test(test_json_out_caller_can_write_the_value_after_a_name),
        cmocka_unit_test(test_json_out_space_follows_the_comma),
        cmocka_unit_test(test_json_out_lines_have_no_comma_between_them),
        cmocka_unit_test(test_json_out_list_can_be_written_in_parts),
        cmocka_unit_test(test_json_out_deepest_levels_are_closed_in_order),
        cmocka_unit_test(test_json_out_out_of_memory_marks_the_buffer_failed),
    };
    return cmocka_run_group_tests_name("json_out", tests, NULL, NULL);
}
