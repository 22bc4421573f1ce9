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
        chunk_release(c);
    }
}

static void test_chunk_is_freed_with_the_last_reference(void **state)
{
    (void)state;
    struct chunk *c = chunk_new(8);
    assert_non_null(c);
    assert_ptr_equal(chunk_add_reference(c), c);
    assert_ptr_equal(chunk_add_reference(c), c);
    assert_int_equal(c->refs, 3);
    chunk_release(c);
    chunk_release(c);
    assert_int_equal(c->refs, 1);
    memcpy(c->data, "12345678", 8);
    chunk_release(c);
    chunk_release(NULL);
}

static void test_chunk_grow_keeps_the_bytes(void **state)
{
    (void)state;
    chunk_free_spare_memory(); /* the large one of another test has another size */
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
    chunk_release(c);
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
    chunk_release(c);
}

/* The large chunk that was freed last is the next one. */
static void test_chunk_large_one_is_kept_for_the_next(void **state)
{
    (void)state;
    chunk_free_spare_memory();
    struct chunk *c = chunk_new(4), *next = chunk_new(8);
    assert_non_null(c);
    assert_non_null(next);
    assert_int_equal(chunk_grow(&c, 3 * CHUNK_LARGE), 0);
    struct chunk *large = c;
    assert_ptr_equal(chunk_add_reference(c), c);
    chunk_release(c);
    memcpy(next->data, "12345678", 8);
    assert_int_equal(chunk_grow(&next, CHUNK_LARGE), 0); /* the other is still in use */
    assert_ptr_not_equal(next, large);
    chunk_release(next);
    chunk_release(large); /* it is larger than the one that is kept */
    next = chunk_new(8);
    assert_non_null(next);
    memcpy(next->data, "12345678", 8);
    assert_int_equal(chunk_grow(&next, CHUNK_LARGE), 0);
    assert_ptr_equal(next, large);
    assert_int_equal(next->cap, 3 * CHUNK_LARGE);
    assert_int_equal(next->refs, 1);
    assert_memory_equal(next->data, "12345678", 8);
    assert_false(chunk_has_spare_chunk()); /* it is in use */
    chunk_release(next);
    assert_true(chunk_has_spare_chunk());
    struct chunk *few = chunk_new((size_t)64 << 10); /* not for so few bytes */
    assert_non_null(few);
    assert_ptr_not_equal(few, large);
    chunk_release(few);
    next = chunk_new((size_t)256 << 10);
    assert_ptr_equal(next, large);
    assert_int_equal(next->refs, 1);
    chunk_release(next);
    chunk_free_spare_memory();
    assert_false(chunk_has_spare_chunk());
    chunk_free_spare_memory();
}

static void test_chunk_kept_one_is_not_used_for_a_small_part_of_it(void **state)
{
    (void)state;
    static const struct {
        size_t kept, wanted; /* KiB */
        bool used;
    } rows[] = {{4096, 128, true},
                {8192, 128, false},
                {8192, 256, true},
                {65536, 2048, true},
                {65536, 1024, false}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        chunk_free_spare_memory();
        struct chunk *large = chunk_new(rows[i].kept << 10);
        chunk_release(large);
        assert_true(chunk_has_spare_chunk());
        struct chunk *c = chunk_new(rows[i].wanted << 10);
        assert_int_equal(c->cap > rows[i].wanted << 10, rows[i].used);
        assert_int_equal(chunk_has_spare_chunk(), !rows[i].used);
        chunk_release(c);
    }
    chunk_free_spare_memory();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunk_new_has_one_reference_and_the_capacity),
        cmocka_unit_test(test_chunk_is_freed_with_the_last_reference),
        cmocka_unit_test(test_chunk_grow_keeps_the_bytes),
        cmocka_unit_test(test_chunk_impossible_size_is_rejected_and_changes_nothing),
        cmocka_unit_test(test_chunk_large_one_is_kept_for_the_next),
        cmocka_unit_test(test_chunk_kept_one_is_not_used_for_a_small_part_of_it),
    };
    return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
