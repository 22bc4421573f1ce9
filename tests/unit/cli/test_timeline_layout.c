/* timeline_layout: which columns a line has on a terminal of some width. */
#include "cli/look/timeline/timeline_layout.h"

#include "tests/support/unit.h"

static struct layout_widths show_of(size_t columns, size_t method, size_t short_method)
{
    return (struct layout_widths){.columns = columns,
                                  .seq = 3,
                                  .time = 7,
                                  .id = 2,
                                  .arrow = 1,
                                  .method = method,
                                  .short_method = short_method};
}

static size_t content_of(const struct layout *l, const struct layout_widths *w)
{
    size_t others =
        layout_count_leading_columns(l, w) + l->what + 1 + l->method + 2 * l->gap + l->took;
    others += l->id > 0 ? l->gap + l->id : 0;
    others += l->size > 0 ? l->gap + l->size : 0;
    return w->columns > others ? w->columns - others : 0;
}

static void test_layout_drops_columns_until_the_content_has_its_columns(void **state)
{
    (void)state;
    static const struct {
        size_t columns, method, short_method;
        bool of_many;
        enum layout_level level;
    } rows[] = {
        {OUT_UNLIMITED, 90, 80, false, LAYOUT_FULL},
        {OUT_UNLIMITED, 90, 80, true, LAYOUT_FULL},
        {200, 25, 14, false, LAYOUT_FULL},
        {102, 25, 14, false, LAYOUT_FULL}, /* 29 before METHOD, 25, 24 after it, 24 of content */
        {101, 25, 14, false, LAYOUT_SHORT_NAMES},
        {91, 25, 14, false, LAYOUT_SHORT_NAMES},
        {90, 25, 14, false, LAYOUT_NO_SIZE},
        {82, 25, 14, false, LAYOUT_NO_SIZE},
        {81, 25, 14, false, LAYOUT_NO_ID},
        {78, 25, 14, false, LAYOUT_NO_ID},
        {77, 25, 14, false, LAYOUT_PACKED},
        {80, 50, 40, false, LAYOUT_PACKED},
        {140, 25, 16, true, LAYOUT_FULL},
        {100, 25, 16, true, LAYOUT_NO_ID},
        {80, 25, 16, true, LAYOUT_PACKED},
        {1, 25, 16, true, LAYOUT_PACKED},
        {1, 25, 16, false, LAYOUT_PACKED},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct layout l;
        struct layout_widths w = show_of(rows[i].columns, rows[i].method, rows[i].short_method);
        w.of_many = rows[i].of_many;
        layout_choose_level(&l, &w);
        if (l.level != rows[i].level)
            fail_msg("row %zu: level %d instead of %d", i, (int)l.level, (int)rows[i].level);
        if (l.level != LAYOUT_PACKED)
            assert_true(content_of(&l, &w) >= LAYOUT_CONTENT);
    }
}

static void test_layout_columns_leave_with_their_level(void **state)
{
    (void)state;
    struct layout l;
    struct layout_widths w = show_of(200, 25, 14);
    for (int level = LAYOUT_FULL; level <= LAYOUT_PACKED; level++) {
        layout_set_columns(&l, &w, (enum layout_level)level);
        assert_int_equal(l.size > 0, level < LAYOUT_NO_SIZE);
        assert_int_equal(l.id > 0, level < LAYOUT_NO_ID);
        assert_int_equal(l.gap, level < LAYOUT_PACKED ? 2 : 1);
        assert_int_equal(l.took > 0, level < LAYOUT_PACKED);
        assert_int_equal(l.method, level == LAYOUT_FULL ? 25 : level < LAYOUT_PACKED ? 14 : 0);
    }
    w.of_many = true;
    w.columns = 80;
    layout_set_columns(&l, &w, LAYOUT_PACKED);
    assert_int_equal(l.session, 4);
    w.columns = 79;
    layout_set_columns(&l, &w, LAYOUT_PACKED);
    assert_int_equal(l.session, 0);
    assert_int_equal(l.server, 8);
}

static void test_layout_a_wide_method_is_narrowed_for_the_content(void **state)
{
    (void)state;
    struct layout l;
    struct layout_widths w = show_of(120, 20, 12);
    layout_choose_level(&l, &w);
    assert_int_equal(l.method, 20);
    w.method = 500; /* a later line of `tail` */
    layout_set_columns(&l, &w, l.level);
    assert_int_equal(l.method, 30); /* a quarter */
    assert_int_equal(content_of(&l, &w), 37);
    w.columns = OUT_UNLIMITED;
    layout_set_columns(&l, &w, LAYOUT_FULL);
    assert_int_equal(l.method, 28);
}

static void test_layout_one_long_method_does_not_change_the_level(void **state)
{
    (void)state;
    struct layout l;
    struct layout_widths w = show_of(80, 0, 0);
    for (int i = 0; i < 6; i++)
        layout_add_method(&w, 25, 14);
    for (int i = 0; i < 3; i++) { /* a third */
        layout_add_method(&w, 61, 50);
        layout_choose_level(&l, &w);
        assert_int_equal(l.level, LAYOUT_NO_ID);
        assert_int_equal(l.method, 16); /* what is left */
    }
    layout_add_method(&w, 61, 50);
    layout_choose_level(&l, &w);
    assert_int_equal(l.level, LAYOUT_PACKED);
}

static void test_layout_long_method_takes_columns_of_its_own_content(void **state)
{
    (void)state;
    struct layout l;
    struct layout_widths w = show_of(80, 25, 14);
    layout_choose_level(&l, &w);
    assert_int_equal(l.level, LAYOUT_NO_ID);
    /* behind METHOD: 2 + 7 + 2, and 14 of content */
    assert_int_equal(layout_max_method_width(&l, 51, true), 26);
    assert_int_equal(layout_max_method_width(&l, 30, true), 14); /* not narrower than the column */
    w.columns = 200;
    layout_choose_level(&l, &w);
    assert_int_equal(layout_max_method_width(&l, 171, true),
                     171 - 14 - 11 - 4 - 9); /* also ID and SIZE */
}

static void test_layout_packed_method_leaves_room_for_time_and_content(void **state)
{
    (void)state;
    struct layout l = {.level = LAYOUT_PACKED};
    assert_int_equal(layout_max_method_width(&l, 40, true), 17);
    assert_int_equal(layout_max_method_width(&l, 40, false), 25);
    assert_int_equal(layout_max_method_width(&l, 30, true), 12);
    assert_int_equal(layout_max_method_width(&l, 5, true), 5);
    assert_int_equal(layout_max_method_width(&l, OUT_UNLIMITED, false), OUT_UNLIMITED - 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout_drops_columns_until_the_content_has_its_columns),
        cmocka_unit_test(test_layout_columns_leave_with_their_level),
        cmocka_unit_test(test_layout_a_wide_method_is_narrowed_for_the_content),
        cmocka_unit_test(test_layout_one_long_method_does_not_change_the_level),
        cmocka_unit_test(test_layout_long_method_takes_columns_of_its_own_content),
        cmocka_unit_test(test_layout_packed_method_leaves_room_for_time_and_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
