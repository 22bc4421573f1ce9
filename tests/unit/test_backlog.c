/* Rows that wait: order, copies, the limit, no memory. */
#include "vault/backlog.h"

#include "tests/unit/unit.h"

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
static bool no_memory;

void *__wrap_malloc(size_t n)
{
    return no_memory ? NULL : __real_malloc(n);
}

static struct row row_of(uint64_t seq, char *body)
{
    return (struct row){.kind = "request",
                        .seq = seq,
                        .rpc_id = slice_of("7"),
                        .method = slice_of("tools/call"),
                        .body = {body, strlen(body)}};
}

static void test_backlog_keeps_order_and_copies(void **state)
{
    (void)state;
    struct backlog b;
    char body[] = "first";
    backlog_open(&b);
    struct row row = row_of(1, body);
    assert_true(backlog_add(&b, &row, SIZE_MAX));
    memcpy(body, "other", 5);
    row = row_of(2, body);
    assert_true(backlog_add(&b, &row, SIZE_MAX));
    memset(body, 'x', 5);
    assert_int_equal(backlog_count(&b), 2);
    assert_int_equal(b.first->row.seq, 1);
    assert_true(slice_is(b.first->row.body, "first"));
    assert_true(slice_is(b.first->row.method, "tools/call"));
    assert_null(b.first->row.target.p);
    backlog_drop_first(&b);
    assert_int_equal(b.first->row.seq, 2);
    assert_true(slice_is(b.first->row.body, "other"));
    backlog_drop_first(&b);
    assert_int_equal(b.bytes, 0);
    assert_int_equal(backlog_count(&b), 0);
    assert_true(backlog_add(&b, &row, SIZE_MAX)); /* after it was empty */
    assert_int_equal(backlog_count(&b), 1);
    backlog_close(&b);
    assert_null(b.first);
}

static void test_backlog_takes_no_more_than_its_limit(void **state)
{
    (void)state;
    struct backlog b;
    char body[] = "twelve bytes";
    backlog_open(&b);
    struct row row = row_of(1, body);
    size_t cost = backlog_cost(&row);
    assert_false(backlog_add(&b, &row, cost - 1));
    assert_true(backlog_add(&b, &row, cost));
    assert_int_equal(b.bytes, cost);
    assert_false(backlog_add(&b, &row, 2 * cost - 1));
    assert_true(backlog_add(&b, &row, 2 * cost));
    assert_false(backlog_add(&b, &row, 0));
    assert_int_equal(backlog_count(&b), 2);
    backlog_close(&b);
}

static void test_backlog_without_memory_is_as_it_was(void **state)
{
    (void)state;
    struct backlog b;
    char body[] = "x";
    backlog_open(&b);
    struct row row = row_of(1, body);
    no_memory = true;
    bool added = backlog_add(&b, &row, SIZE_MAX);
    no_memory = false;
    assert_false(added);
    assert_int_equal(b.bytes, 0);
    assert_null(b.first);
    backlog_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backlog_keeps_order_and_copies),
        cmocka_unit_test(test_backlog_takes_no_more_than_its_limit),
        cmocka_unit_test(test_backlog_without_memory_is_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
