/* The places of the panes, and the cursor of a list. */
#include "cli/ui/layout/layout.h"
#include "cli/ui/model/cursor.h"

#include "tests/support/unit.h"

/* How many panes are shown. They fill the screen between header and footer, and do not overlap. */
static size_t check_panes(size_t width, size_t height, enum pane focus, bool zoom)
{
    struct layout_panes l;
    size_t n = 0, cells = 0;
    layout_panes(&l, width, height, focus, zoom);
    assert_true(l.usable);
    assert_true(layout_shows_pane(&l, focus));
    for (int p = 0; p < PANES; p++) {
        const struct area *a = &l.pane[p];
        n += a->width > 0;
        cells += a->width * a->height;
        assert_true(a->x + a->width <= width);
        assert_true(a->width == 0 ||
                    (a->y >= l.header && a->y + a->height < height && a->height >= 4));
    }
    size_t rules = n == PANES ? 2 * (height - l.header - 1) : 0;
    assert_int_equal(cells + rules, width * (height - l.header - 1));
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < width; x++) {
            enum pane p = layout_pane_at(&l, x, y);
            if (p < PANES)
                cells--;
        }
    }
    assert_int_equal(cells, 0);
    return n;
}

static void test_layout_panes_by_size(void **state)
{
    (void)state;
    for (int f = 0; f < PANES; f++) {
        enum pane focus = (enum pane)f;
        assert_int_equal(check_panes(200, 60, focus, false), 3);
        assert_int_equal(check_panes(132, 24, focus, false), 3);
        assert_int_equal(check_panes(131, 24, focus, false), 2);
        assert_int_equal(check_panes(80, 24, focus, false), 2);
        assert_int_equal(check_panes(60, 16, focus, false), 1);
        assert_int_equal(check_panes(200, 10, focus, false), 1);
        assert_int_equal(check_panes(200, 60, focus, true), 1);
        assert_int_equal(check_panes(LAYOUT_MIN_WIDTH, LAYOUT_MIN_HEIGHT, focus, false), 1);
    }
}

static void test_layout_too_small_shows_nothing(void **state)
{
    (void)state;
    struct layout_panes l;
    layout_panes(&l, LAYOUT_MIN_WIDTH - 1, 24, PANE_LIST, false);
    assert_false(l.usable);
    layout_panes(&l, 0, 0, PANE_LIST, false);
    assert_false(l.usable);
    assert_int_equal(layout_pane_at(&l, 0, 0), PANES);
}

static void test_cursor_scrolls_at_the_edges_only(void **state)
{
    (void)state;
    struct cursor c = {0};
    size_t at = 0;
    assert_int_equal(cursor_compute_top_row(&c, 100, at, 10), 0);
    for (int i = 0; i < 9; i++)
        at = cursor_move(&c, 100, at, 1);
    assert_int_equal(cursor_compute_top_row(&c, 100, at, 10), 0);
    at = cursor_move(&c, 100, at, 1);
    assert_int_equal(at, 10);
    assert_int_equal(cursor_compute_top_row(&c, 100, at, 10), 1);
    at = cursor_move(&c, 100, at, -1);
    assert_int_equal(cursor_compute_top_row(&c, 100, at, 10), 1);
    at = cursor_move(&c, 100, at, 1000);
    assert_int_equal(at, 99);
    assert_int_equal(cursor_compute_top_row(&c, 100, at, 10), 90);
    assert_int_equal(cursor_move(&c, 100, at, -1000), 0);
}

static void test_cursor_stays_on_its_line_when_rows_are_added_above(void **state)
{
    (void)state;
    struct cursor c = {0};
    (void)cursor_compute_top_row(&c, 50, 20, 10);
    size_t line = c.line, top = cursor_compute_top_row(&c, 50, 20, 10);
    assert_int_equal(cursor_compute_top_row(&c, 80, 50, 10), top + 30);
    assert_int_equal(c.line, line);
}

static void test_cursor_pages_and_wheel(void **state)
{
    (void)state;
    struct cursor c = {0};
    size_t at = 0;
    (void)cursor_compute_top_row(&c, 100, at, 10);
    at = cursor_move_pages(&c, 100, at, 1);
    assert_int_equal(at, 9);
    assert_int_equal(cursor_compute_top_row(&c, 100, at, 10), 9);
    at = cursor_scroll_rows(&c, 100, at, 3); /* the row leaves the screen */
    assert_int_equal(at, 12);
    assert_int_equal(cursor_compute_top_row(&c, 100, at, 10), 12);
    at = cursor_scroll_rows(&c, 100, at, -3);
    assert_int_equal(at, 12);
    assert_int_equal(cursor_compute_top_row(&c, 100, at, 10), 9);
    at = cursor_move_pages(&c, 100, at, -1);
    at = cursor_move_pages(&c, 100, at, -1);
    assert_int_equal(at, 0);
    assert_int_equal(cursor_find_row_on_line(&c, 100, at, 4), 4);
    assert_int_equal(cursor_find_row_on_line(&c, 3, 0, 4), 3);
}

static void test_cursor_empty_list(void **state)
{
    (void)state;
    struct cursor c = {.line = 7};
    assert_int_equal(cursor_compute_top_row(&c, 0, 0, 10), 0);
    assert_int_equal(cursor_move(&c, 0, 0, 1), 0);
    assert_int_equal(cursor_move_pages(&c, 0, 0, 1), 0);
    assert_int_equal(cursor_scroll_rows(&c, 0, 0, 3), 0);
    assert_int_equal(cursor_find_row_on_line(&c, 0, 0, 0), 0);
    assert_int_equal(cursor_compute_top_row(&c, 5, 4, 0), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layout_panes_by_size),
        cmocka_unit_test(test_layout_too_small_shows_nothing),
        cmocka_unit_test(test_cursor_scrolls_at_the_edges_only),
        cmocka_unit_test(test_cursor_stays_on_its_line_when_rows_are_added_above),
        cmocka_unit_test(test_cursor_pages_and_wheel),
        cmocka_unit_test(test_cursor_empty_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
