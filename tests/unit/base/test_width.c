#include "base/width.h"
#include "tests/support/unit.h"

static void test_width_known_characters(void **state)
{
    (void)state;
    static const struct {
        uint32_t code;
        size_t columns;
    } known[] = {
        {'a', 1},      {0xAD, 1},    {0xE9, 1},    {0x2FF, 1},   {0x300, 0},   {0x36F, 0},
        {0x370, 1},    {0x1160, 0},  {0x1100, 2},  {0x200B, 0},  {0x200D, 0},  {0x2026, 1},
        {0x2192, 1},   {0x231A, 2},  {0x231C, 1},  {0x2588, 1},  {0x3042, 2},  {0x4E2D, 2},
        {0xAC00, 2},   {0xD7A3, 2},  {0xFE0F, 0},  {0xFF01, 2},  {0xFF61, 1},  {0xFFFD, 1},
        {0x1D400, 1},  {0x1F600, 2}, {0x20000, 2}, {0x3FFFD, 2}, {0xE0001, 0}, {0xE0100, 0},
        {0x10FFFF, 1},
    };
    for (size_t i = 0; i < MI_COUNT(known); i++)
        if (width_of_char(known[i].code) != known[i].columns)
            fail_msg("U+%04X: %zu", (unsigned)known[i].code, width_of_char(known[i].code));
}

/* The sums of the lengths of the ranges: the search finds all of them, so they are in order. */
static void test_width_every_range_is_found(void **state)
{
    (void)state;
    size_t n[3] = {0};
    for (uint32_t c = 0; c <= 0x10FFFF; c++)
        n[width_of_char(c)]++;
    assert_int_equal(n[0], 7351);
    assert_int_equal(n[2], 191877);
}

static void test_width_printable_characters(void **state)
{
    (void)state;
    static const uint32_t shown[] = {' ',    '~',    0xA0,   0xE9,   0x301,  0x370,   0x5D0,
                                     0x1100, 0x2026, 0x3042, 0x4E2D, 0xFFFD, 0x1F600, 0x3134A};
    static const uint32_t hidden[] = {0,      '\n',    0x1B,    0x7F,    0x80,    0x9F,   0xAD,
                                      0x34F,  0x378,   0x61C,   0x115F,  0x180E,  0x200B, 0x200D,
                                      0x202E, 0x2028,  0x2066,  0x3164,  0xE000,  0xFE0F, 0xFEFF,
                                      0xFFFE, 0xE0041, 0xE0100, 0xF0000, 0x10FFFF};
    for (size_t i = 0; i < MI_COUNT(shown); i++)
        if (!width_char_is_printable(shown[i]))
            fail_msg("U+%04X is hidden", (unsigned)shown[i]);
    for (size_t i = 0; i < MI_COUNT(hidden); i++)
        if (width_char_is_printable(hidden[i]))
            fail_msg("U+%04X is shown", (unsigned)hidden[i]);
    size_t n = 0;
    for (uint32_t c = 0; c <= 0x10FFFF; c++)
        n += width_char_is_printable(c);
    assert_int_equal(n, 209562);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_width_known_characters),
        cmocka_unit_test(test_width_every_range_is_found),
        cmocka_unit_test(test_width_printable_characters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
