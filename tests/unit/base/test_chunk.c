/* Reference-counted blocks. ASan and valgrind check that the last drop frees the block. */
#include "base/chunk.h"

#include "tests/support/unit.h"

static void test_chunk_new_has_one_reference_and_the_capacity(void **state)
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

static void test_chunk_is_freed_with_the_last_reference(void **state)
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

static void test_chunk_grow_keeps_the_bytes(void **state)
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

static void test_chunk_impossible_size_is_rejected_and_changes_nothing(void **state)
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

/* Whole pages are discarded; the bytes around them stay. */
static void test_chunk_discard_keeps_the_bytes_around_the_range(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_new_has_one_reference_and_the_capacity),
        cmocka_unit_test(test_chunk_is_freed_with_the_last_reference),
        cmocka_unit_test(test_chunk_grow_keeps_the_bytes),
        cmocka_unit_test(test_chunk_impossible_size_is_rejected_and_changes_nothing),
        cmocka_unit_test(test_chunk_discard_keeps_the_bytes_around_the_range),
    };
    return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
