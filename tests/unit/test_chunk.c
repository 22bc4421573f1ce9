/* Blocks of bytes that several hold. That the last drop frees is what ASan and valgrind look at. */
#include "base/chunk.h"

#include "tests/unit/unit.h"

static void test_chunk_new_is_held_once_and_has_its_room(void **state)
{
    (void)state;
    static const size_t caps[] = {0, 1, 4095, 65536, (size_t)3 << 20};
    for (size_t i = 0; i < MI_COUNT(caps); i++) {
        struct chunk *c = chunk_new(caps[i]);
        assert_non_null(c);
        assert_int_equal(c->cap, caps[i]);
        assert_int_equal(c->refs, 1);
        memset(c->data, 'x', c->cap);
        chunk_drop(c);
    }
}

static void test_chunk_held_by_several_lives_until_the_last_drops_it(void **state)
{
    (void)state;
    struct chunk *c = chunk_new(8);
    assert_non_null(c);
    assert_ptr_equal(chunk_hold(c), c);
    assert_ptr_equal(chunk_hold(c), c);
    assert_int_equal(c->refs, 3);
    chunk_drop(c);
    chunk_drop(c);
    assert_int_equal(c->refs, 1);
    memcpy(c->data, "12345678", 8);
    chunk_drop(c);
    chunk_drop(NULL);
}

static void test_chunk_grown_keeps_its_bytes(void **state)
{
    (void)state;
    struct chunk *c = chunk_new(16);
    assert_non_null(c);
    memcpy(c->data, "0123456789abcdef", 16);
    for (size_t cap = 32; cap <= (size_t)8 << 20; cap *= 4) {
        assert_int_equal(chunk_grow(&c, cap), 0);
        assert_int_equal(c->cap, cap);
        assert_int_equal(c->refs, 1);
        assert_memory_equal(c->data, "0123456789abcdef", 16);
        memset(c->data + 16, 'x', cap - 16);
    }
    chunk_drop(c);
}

static void test_chunk_size_that_cannot_be_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    assert_null(chunk_new(SIZE_MAX));
    assert_null(chunk_new(SIZE_MAX / 2 + 1));
    struct chunk *c = chunk_new(4);
    assert_non_null(c);
    struct chunk *same = c;
    memcpy(c->data, "abcd", 4);
    assert_int_equal(chunk_grow(&c, SIZE_MAX), MI_ENOMEM);
    assert_ptr_equal(c, same);
    assert_int_equal(c->cap, 4);
    assert_memory_equal(c->data, "abcd", 4);
    chunk_drop(c);
}

/* The bytes of whole pages are lost, those around them are not. */
static void test_chunk_discarded_range_leaves_its_neighbours_alone(void **state)
{
    (void)state;
    const size_t n = (size_t)1 << 20;
    static const size_t ranges[][2] = {
        {0, 1}, {0, 1 << 20}, {5000, 5001}, {4096, 8192}, {100000, 700001}};
    for (size_t i = 0; i < MI_COUNT(ranges); i++) {
        struct chunk *c = chunk_new(n);
        assert_non_null(c);
        memset(c->data, 'x', n);
        size_t from = ranges[i][0], to = ranges[i][1], lost = 0;
        chunk_discard(c, from, to);
        for (size_t k = 0; k < n; k++) {
            if (c->data[k] == 'x')
                continue;
            if (k < from || k >= to)
                fail_msg("range %zu: byte %zu changed", i, k);
            lost++;
        }
        if (to - from > 3 * 4096)
            assert_true(lost >= to - from - 2 * 4096); /* else nothing was given back */
        memset(c->data, 'y', n);                       /* and it can be used again */
        assert_int_equal(c->data[n - 1], 'y');
        assert_int_equal(c->refs, 1);
        chunk_drop(c);
    }
}

static void test_chunk_large_block_is_kept_for_the_next_that_needs_one(void **state)
{
    (void)state;
    const size_t large = (size_t)2 << 20;
    chunk_keep((size_t)4 << 20);
    struct chunk *c = chunk_new(large);
    assert_non_null(c);
    memset(c->data, 'x', large);
    assert_false(chunk_kept());
    chunk_drop(c);
    assert_true(chunk_kept());
    struct chunk *small = chunk_new(4096); /* does not take it */
    assert_non_null(small);
    assert_true(chunk_kept());
    memset(small->data, 's', 4096);
    assert_int_equal(chunk_grow(&small, CHUNK_KEEP_MIN), 0); /* does */
    assert_ptr_equal(small, c);
    assert_int_equal(small->cap, large);
    assert_int_equal(small->refs, 1);
    assert_int_equal(small->data[4095], 's');
    assert_false(chunk_kept());
    struct chunk *larger = chunk_new((size_t)4 << 20);
    assert_non_null(larger);
    chunk_drop(small);
    chunk_drop(larger); /* one is kept, the larger */
    assert_true(chunk_kept());
    assert_ptr_equal(chunk_new(large), larger);
    chunk_drop(larger);
    chunk_trim();
    assert_false(chunk_kept());
    chunk_keep(0);
}

static void test_chunk_too_large_or_not_asked_for_is_not_kept(void **state)
{
    (void)state;
    chunk_drop(chunk_new((size_t)2 << 20));
    assert_false(chunk_kept());
    chunk_keep((size_t)2 << 20);
    chunk_drop(chunk_new((size_t)2 << 20 | 1));
    assert_false(chunk_kept());
    chunk_drop(chunk_new(CHUNK_KEEP_MIN - 1));
    assert_false(chunk_kept());
    chunk_drop(chunk_new((size_t)2 << 20));
    assert_true(chunk_kept());
    chunk_keep(CHUNK_KEEP_MIN); /* less than it has */
    assert_false(chunk_kept());
    chunk_keep(0);
}

static void test_chunk_that_will_be_kept_is_not_discarded(void **state)
{
    (void)state;
    const size_t n = (size_t)2 << 20;
    chunk_keep(n);
    struct chunk *c = chunk_new(n);
    assert_non_null(c);
    memset(c->data, 'x', n);
    chunk_discard(c, 0, n);
    for (size_t i = 0; i < n; i += 1024)
        assert_int_equal(c->data[i], 'x');
    chunk_keep(0);
    chunk_drop(c);
    assert_false(chunk_kept());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_new_is_held_once_and_has_its_room),
        cmocka_unit_test(test_chunk_held_by_several_lives_until_the_last_drops_it),
        cmocka_unit_test(test_chunk_grown_keeps_its_bytes),
        cmocka_unit_test(test_chunk_size_that_cannot_be_is_refused_and_changes_nothing),
        cmocka_unit_test(test_chunk_discarded_range_leaves_its_neighbours_alone),
        cmocka_unit_test(test_chunk_large_block_is_kept_for_the_next_that_needs_one),
        cmocka_unit_test(test_chunk_too_large_or_not_asked_for_is_not_kept),
        cmocka_unit_test(test_chunk_that_will_be_kept_is_not_discarded),
    };
    return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
