/* A row in its forms: JSON members, CSV, cells for people. */
#include "show/show.h"

#include "tests/support/unit.h"

struct row {
    int64_t id, bytes, took_us, at_us;
    struct slice name, body;
    bool late;
};

static void name_text(struct buf *b, const void *row, struct cell v)
{
    (void)row;
    buf_addc(b, '<');
    buf_slice_add(b, v.text);
    buf_addc(b, '>');
}

static void pair_value(struct json_out *j, const char *name, const void *row)
{
    json_out_array(j, name);
    json_out_int(j, NULL, ((const struct row *)row)->id);
    json_out_null(j, NULL);
    json_out_end(j);
}

#define RECORD struct row
static const struct show_column columns[] = {
    {SHOW(id, NUMBER, ZERO), .json = true, .style = OUT_BOLD},
    {SHOW(name, TEXT, NO_TEXT), .json = true, .style = OUT_CYAN},
    {SHOW(body, JSON, NO_TEXT), .json = true},
    {SHOW(bytes, SIZE, NOT_NULL), .json = true},
    {SHOW(took_us, TOOK, MINUS_ONE), .json = true},
    {SHOW(late, FLAG, NOT_NULL), .json = true},
    {SHOW_AS("pair", id, NUMBER, NOT_NULL), .json = true, .value = pair_value},
    {SHOW(name, TEXT, NO_TEXT), .text = name_text},
    {SHOW_AS("other", id, NUMBER, NOT_NULL), .json = true, .when = 2},
};
static const struct show_list list = {SHOW_LIST("thing", columns), .when = 1};

static const struct row whole = {.id = 7,
                                 .bytes = 2048,
                                 .took_us = 1500,
                                 .name = {"=1+\"2\", 3\x1b", 10},
                                 .body = {"{\"a\": [1,\n2]}", 13},
                                 .late = true};
static const struct row nothing = {.took_us = -1};

static void shows(const struct row *row, const char *json, const char *csv)
{
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    show_row_as_json(&j, &list, row);
    assert_string_equal(buf_str(&b), json);
    buf_clear(&b);
    show_row_as_csv(&b, &list, row);
    assert_string_equal(buf_str(&b), csv);
    buf_close(&b);
}

static void test_show_row_has_the_same_values_as_json_and_as_csv(void **state)
{
    (void)state;
    shows(
        &whole,
        "{\"type\":\"thing\",\"id\":7,\"name\":\"=1+\\\"2\\\", 3\\u001b\",\"body\":{\"a\": [1, 2]},"
        "\"bytes\":2048,\"took_us\":1500,\"late\":true,\"pair\":[7,null]}",
        "7,\"'=1+\"\"2\"\", 3\\x1b\",\"{\"\"a\"\": [1, 2]}\",2048,1500,true,\"[7,null]\"");
    shows(&nothing,
          "{\"type\":\"thing\",\"id\":null,\"name\":null,\"body\":null,\"bytes\":0,"
          "\"took_us\":null,\"late\":false,\"pair\":[0,null]}",
          ",,,0,,false,\"[0,null]\"");
}

static void test_show_csv_without_a_row_has_the_names(void **state)
{
    (void)state;
    struct buf b = {0};
    show_row_as_csv(&b, &list, NULL);
    assert_string_equal(buf_str(&b), "id,name,body,bytes,took_us,late,pair");
    buf_close(&b);
}

static void test_show_cell_has_one_form_for_each_type(void **state)
{
    (void)state;
    static const struct {
        size_t column;
        const struct row *row;
        const char *text;
        enum out_style style;
    } cases[] = {
        {0, &whole, "7", OUT_BOLD},       {0, &nothing, "-", OUT_BOLD},
        {3, &whole, "2.0KiB", OUT_PLAIN}, {3, &nothing, "0B", OUT_PLAIN},
        {4, &whole, "1.50ms", OUT_PLAIN}, {4, &nothing, "-", OUT_PLAIN},
        {5, &whole, "yes", OUT_PLAIN},    {5, &nothing, "no", OUT_PLAIN},
        {1, &nothing, "-", OUT_CYAN},     {7, &nothing, "<>", OUT_PLAIN},
    };
    for (size_t i = 0; i < MI_COUNT(cases); i++) {
        struct buf b = {0};
        enum out_style style = show_cell(&b, &columns[cases[i].column], cases[i].row);
        assert_string_equal(buf_str(&b), cases[i].text);
        assert_int_equal(style, cases[i].style);
        buf_close(&b);
    }
}

static void test_show_column_exists_only_for_its_lists(void **state)
{
    (void)state;
    struct show_list other = list;
    struct buf b = {0};
    other.when = 2;
    show_row_as_csv(&b, &other, NULL);
    assert_string_equal(buf_str(&b), "id,name,body,bytes,took_us,late,pair,other");
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_show_row_has_the_same_values_as_json_and_as_csv),
        cmocka_unit_test(test_show_csv_without_a_row_has_the_names),
        cmocka_unit_test(test_show_cell_has_one_form_for_each_type),
        cmocka_unit_test(test_show_column_exists_only_for_its_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
