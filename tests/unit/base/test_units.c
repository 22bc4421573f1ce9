/* Durations and sizes: parsing and printing. */
#include "base/units.h"

#include "tests/support/unit.h"

static void test_units_duration_of_each_form_is_parsed_to_microseconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us;
    } rows[] = {
        {"0", 0},
        {"30", 30000000},
        {"1.5", 1500000},
        {"0.5", 500000},
        {"250us", 250},
        {"0.4us", 0},
        {"500ms", 500000},
        {"1.5ms", 1500},
        {"30s", 30000000},
        {"1.5s", 1500000},
        {"5m", 300000000},
        {"0.5m", 30000000},
        {"2h", 7200000000},
        {"1d", 86400000000},
        {"3660d", 3660 * INT64_C(86400000000)},
        {"2w", 14 * INT64_C(86400000000)},
        {"1mo", 30 * INT64_C(86400000000)},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        int64_t us = -1;
        if (units_parse_duration(rows[i].text, &us) != 0)
            fail_msg("refused: %s", rows[i].text);
        assert_int_equal(us, rows[i].us);
    }
}

static void test_units_size_of_each_form_is_parsed_to_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t bytes;
    } rows[] = {
        {"0", 0},
        {"1", 1},
        {"512B", 512},
        {"10KiB", 10240},
        {"1.5KiB", 1536},
        {"64MiB", (size_t)64 << 20},
        {"128MiB", (size_t)128 << 20},
        {"1GiB", (size_t)1 << 30},
        {"500kB", 500000},
        {"2MB", 2000000},
        {"1GB", 1000000000},
        {"4k", 4096},
        {"4K", 4096},
        {"4M", (size_t)4 << 20},
        {"4G", (size_t)4 << 30},
        {"4611686018427387904", (size_t)1 << 62},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        size_t bytes = 7;
        if (units_parse_size(rows[i].text, &bytes) != 0)
            fail_msg("refused: %s", rows[i].text);
        assert_int_equal(bytes, rows[i].bytes);
    }
}

static void test_units_invalid_text_is_rejected_and_nothing_written(void **state)
{
    (void)state;
    static const char *const both[] = {
        "",     " ",   "x",    "-1",  "+1",  "-0",  "1x",    "1 s", " 1",  "1 ",    "s",   ".",
        "1..5", "1,5", "0x10", "0X1", "inf", "nan", "1e400", "1e",  "1s1", "1MiBs", "MiB", "1_000"};
    int64_t us = 4711;
    size_t bytes = 4711;
    for (size_t i = 0; i < MI_COUNT(both); i++) {
        if (units_parse_duration(both[i], &us) != MI_EINVAL ||
            units_parse_size(both[i], &bytes) != MI_EINVAL)
            fail_msg("accepted: '%s'", both[i]);
    }
    static const char *const no_duration[] = {"1S",   "1M",    "1min",        "1sec",
                                              "1KiB", "3661d", "99999999999", "1e18"};
    for (size_t i = 0; i < MI_COUNT(no_duration); i++)
        if (units_parse_duration(no_duration[i], &us) != MI_EINVAL)
            fail_msg("accepted: '%s'", no_duration[i]);
    static const char *const no_size[] = {"1b", "1kib",  "1KB",  "1mib",         "1s",
                                          "1m", "1TiB1", "1e19", "5000000000GiB"};
    for (size_t i = 0; i < MI_COUNT(no_size); i++)
        if (units_parse_size(no_size[i], &bytes) != MI_EINVAL)
            fail_msg("accepted: '%s'", no_size[i]);
    assert_int_equal(us, 4711);
    assert_int_equal(bytes, 4711);
}

static void test_units_named_is_true_only_with_a_unit(void **state)
{
    (void)state;
    static const char *const with[] = {"1s", "30d", "1mo", "2GiB", "1.5k"};
    static const char *const without[] = {"", "0", "30", "1.5", "7 "};
    for (size_t i = 0; i < MI_COUNT(with); i++)
        assert_true(units_text_has_unit(with[i]));
    for (size_t i = 0; i < MI_COUNT(without); i++)
        assert_false(units_text_has_unit(without[i]));
}

static void test_units_duration_is_printed_in_short_form(void **state)
{
    (void)state;
    static const struct {
        int64_t us;
        const char *text;
    } rows[] = {
        {0, "0us"},
        {850, "850us"},
        {999, "999us"},
        {1000, "1.00ms"},
        {1234, "1.23ms"},
        {12345, "12.3ms"},
        {123456, "123ms"},
        {1000000, "1.00s"},
        {4200000, "4.20s"},
        {12340000, "12.3s"},
        {60000000, "1m00s"},
        {192000000, "3m12s"},
        {3599000000, "59m59s"},
        {3600000000, "1h00m"},
        {7500000000, "2h05m"},
        {100 * INT64_C(3600000000), "100h00m"},
        /* what rounds up takes the next form */
        {9999, "10.0ms"},
        {99999, "100ms"},
        {999999, "1.00s"},
        {9999999, "10.0s"},
        {59999999, "1m00s"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        buf_clear(&b);
        units_show_duration(&b, rows[i].us);
        assert_string_equal(buf_str(&b), rows[i].text);
    }
    buf_close(&b);
}

static void test_units_size_is_printed_in_short_form(void **state)
{
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } rows[] = {
        {0, "0B"},
        {512, "512B"},
        {1023, "1023B"},
        {1024, "1.0KiB"},
        {1536, "1.5KiB"},
        {102400, "100KiB"},
        {1048576, "1.0MiB"},
        {16777216, "16.0MiB"},
        {134217728, "128MiB"},
        {INT64_C(1) << 30, "1.0GiB"},
        {INT64_C(1) << 40, "1.0TiB"},
        {INT64_C(1) << 51, "2048TiB"},
        /* what rounds up takes the next form */
        {102399, "100KiB"},
        {1048575, "1.0MiB"},
    };
    struct buf b = {0};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        buf_clear(&b);
        units_show_size(&b, rows[i].bytes);
        assert_string_equal(buf_str(&b), rows[i].text);
    }
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_units_duration_of_each_form_is_parsed_to_microseconds),
        cmocka_unit_test(test_units_size_of_each_form_is_parsed_to_bytes),
        cmocka_unit_test(test_units_invalid_text_is_rejected_and_nothing_written),
        cmocka_unit_test(test_units_named_is_true_only_with_a_unit),
        cmocka_unit_test(test_units_duration_is_printed_in_short_form),
        cmocka_unit_test(test_units_size_is_printed_in_short_form),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
