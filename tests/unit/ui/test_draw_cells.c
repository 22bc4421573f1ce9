/* Parts of lines. */
#include "cli/ui/ui.h"

#include "tests/support/unit.h"

struct thing {
    struct slice name;
};

#define RECORD struct thing
static const struct show_column columns[] = {{SHOW(name, TEXT, NOT_NULL), .ui = {"name", 1, 0}}};
static const struct show_list list = {SHOW_LIST(NULL, columns)};

/* Whether the line of this name says that there was no memory; `room` bytes are there for a text. */
static bool fails(struct ui *u, const char *name, size_t room)
{
    const struct thing t = {slice_of(name)};
    u->scratch.max = room;
    cells_begin_line(&u->cells, 0, 80, false);
    draw_row_cells(u, &list, &t);
    return u->cells.failed;
}

static void test_draw_columns_notice_that_memory_has_run_out(void **state)
{
    (void)state;
    struct ui *u = calloc(1, sizeof *u);
    assert_non_null(u);
    assert_false(fails(u, "a name", 100));
    assert_true(fails(u, "a much longer name", 4));
    assert_true(fails(u, "x", 100)); /* until the picture is given up */
    buf_close(&u->scratch);
    cells_close(&u->cells);
    free(u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draw_columns_notice_that_memory_has_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
