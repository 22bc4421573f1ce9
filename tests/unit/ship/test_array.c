/* Arrays in PostgreSQL's binary form. */
#include "ship/postgres/array.h"

#include "tests/support/unit.h"

#define CHECK(a, bytes)                                                                            \
    do {                                                                                           \
        static const char want[] = bytes;                                                          \
        struct slice got = array_finish(&(a));                                                     \
        assert_int_equal(got.n, sizeof want - 1);                                                  \
        assert_memory_equal(got.p, want, got.n);                                                   \
    } while (0)

static void test_array_of_text_replaces_what_cannot_be_stored(void **state)
{
    (void)state;
    struct array a = {0};
    array_begin(&a, ARRAY_TEXT);
    CHECK(a, "\0\0\0\0\0\0\0\0\0\0\0\x19");
    array_begin(&a, ARRAY_TEXT);
    array_add(&a, slice_of("ab"));
    assert_true(slice_is(array_last_element(&a), "ab"));
    array_add_null(&a);
    array_add(&a, (struct slice){"\xFF\0", 2});
    assert_true(slice_is(array_last_element(&a), "\xEF\xBF\xBD\xEF\xBF\xBD"));
    array_add(&a, slice_of(""));
    assert_int_equal(array_last_element(&a).n, 0);
    CHECK(a, "\0\0\0\1\0\0\0\1\0\0\0\x19\0\0\0\4\0\0\0\1"
             "\0\0\0\2ab\xFF\xFF\xFF\xFF\0\0\0\6\xEF\xBF\xBD\xEF\xBF\xBD\0\0\0\0");
    array_close(&a);
}

static void test_array_of_keys_is_a_tsvector_without_positions(void **state)
{
    (void)state;
    struct search_words *w = NULL;
    struct search_list l = {0};
    struct array a = {0};
    assert_int_equal(search_words_open(&w), 0);
    assert_int_equal(search_list_split_text(&l, w, slice_of("b ab b")), 0);
    search_list_convert_to_keys(&l);
    array_begin(&a, ARRAY_WORDS);
    array_add_keys(&a, &l);
    array_add_null(&a);
    l.n = 0;
    array_add_keys(&a, &l);
    CHECK(a, "\0\0\0\1\0\0\0\1\0\0\x0E\x1E\0\0\0\3\0\0\0\1"
             "\0\0\0\x0D\0\0\0\2ab\0\0\0b\0\0\0\xFF\xFF\xFF\xFF\0\0\0\4\0\0\0\0");
    assert_int_equal(array_type_oid(ARRAY_WORDS), 3643);
    array_close(&a);
    search_list_close(&l);
    search_words_close(w);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_array_of_text_replaces_what_cannot_be_stored),
        cmocka_unit_test(test_array_of_keys_is_a_tsvector_without_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
