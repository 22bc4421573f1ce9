/* The decisions of a shipper: logs that are compared, waits, what was sent, and arrays in PostgreSQL's form. */
#include "ship/outbox/backoff.h"
#include "ship/outbox/chain.h"
#include "ship/outbox/progress.h"
#include "ship/postgres/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* ---- chain ---- */

static struct chain chain_of(const char *const *leaf, size_t n)
{
    struct chain c = {0};
    for (size_t i = 0; i < n; i++)
        chain_add_leaf(&c, slice_of(leaf[i]));
    return c;
}

static void test_the_head_depends_on_every_leaf_and_their_order(void **state)
{
    (void)state;
    static const char *const ab[] = {"a", "b"}, *const ba[] = {"b", "a"}, *const joined[] = {"ab"};
    struct chain one = chain_of(ab, 2), two = chain_of(ba, 2), three = chain_of(joined, 1);
    char hex[DIGEST_HEX + 1];
    assert_int_equal(one.n, 2);
    assert_false(digest_eq(&one.head, &two.head));
    assert_false(digest_eq(&one.head, &three.head));
    /* (head -c 32 /dev/zero; printf a) | sha256sum */
    struct chain a = chain_of(ab, 1);
    digest_hex(&a.head, hex);
    assert_string_equal(hex, "41a0370c3d9f42773a59e8e01651911cf43b1e3f66944cbb690029debc4eb647");
}

static void test_a_log_extends_or_was_rolled_back_or_changed(void **state)
{
    (void)state;
    static const char *const ab[] = {"a", "b"}, *const ac[] = {"a", "c"};
    struct chain theirs = chain_of(ab, 2), same = chain_of(ab, 2), other = chain_of(ac, 2);
    struct chain empty = {0};
    assert_int_equal(chain_compare_to_target(2, &same.head, &theirs), CHAIN_EXTENDS);
    assert_int_equal(chain_compare_to_target(9, &same.head, &theirs), CHAIN_EXTENDS);
    assert_int_equal(chain_compare_to_target(9, &other.head, &theirs), CHAIN_CHANGED);
    assert_int_equal(chain_compare_to_target(1, &same.head, &theirs), CHAIN_ROLLED_BACK);
    assert_int_equal(chain_compare_to_target(0, &empty.head, &empty), CHAIN_EXTENDS);
}

/* ---- backoff ---- */

static void test_waits_grow_from_one_second_to_five_minutes(void **state)
{
    (void)state;
    for (int failures = 1; failures < 100; failures++) {
        for (uint32_t random = 0; random < 100000; random += 997) {
            int64_t ms = backoff_wait_ms(failures, random * 40000u);
            assert_true(ms >= BACKOFF_MIN_MS / 2 && ms <= BACKOFF_MAX_MS);
            assert_true(failures > 1 || ms <= BACKOFF_MIN_MS);
            assert_true(failures < 10 || ms >= BACKOFF_MAX_MS / 2);
        }
    }
    assert_int_not_equal(backoff_wait_ms(5, 1), backoff_wait_ms(5, 5000));
}

/* ---- progress ---- */

static void name(char uid[UID_LEN + 1], int i)
{
    snprintf(uid, UID_LEN + 1, "01M7YSNFPE4WHD7A4MYSY%05d", i);
}

static void test_sessions_are_found_and_ordered_by_uid(void **state)
{
    (void)state;
    struct progress p = {0};
    char uid[UID_LEN + 1];
    for (int i = 0; i < 1000; i++) {
        name(uid, i * 7919 % 1000);
        struct shipped_session *s = progress_find_or_add(&p, slice_of(uid));
        assert_non_null(s);
        s->id = i * 7919 % 1000;
    }
    assert_int_equal(p.n, 1000);
    for (int i = 0; i < 1000; i++) {
        name(uid, i);
        assert_int_equal(p.list[i].id, i);
        assert_ptr_equal(progress_find(&p, slice_of(uid)), &p.list[i]);
        assert_ptr_equal(progress_find_or_add(&p, slice_of(uid)), &p.list[i]);
    }
    assert_null(progress_find(&p, slice_of("01M7YSNFPE4WHD7A4MYSY01000")));
    assert_null(progress_find(&p, slice_of("")));
    assert_null(progress_find_or_add(&p, slice_of("../../../etc/passwd")));
    progress_close(&p);
}

static void test_the_hash_of_a_row_continues(void **state)
{
    (void)state;
    uint64_t parts = progress_add_bytes_to_hash(
        progress_add_bytes_to_hash(PROGRESS_HASH, slice_of("fo")), slice_of("obar"));
    assert_true(parts == progress_add_bytes_to_hash(PROGRESS_HASH, slice_of("foobar")));
    assert_true(parts == UINT64_C(0x85944171f73967e8)); /* a test vector of FNV-1a */
}

/* ---- arrays ---- */

static void assert_bytes(struct array *a, const char *bytes, size_t n)
{
    struct slice done = array_finish(a);
    assert_int_equal(done.n, n);
    assert_memory_equal(done.p, bytes, n);
}

static void test_arrays_have_the_form_of_postgresql(void **state)
{
    (void)state;
    struct array a = {0};
    array_begin(&a, ARRAY_INT);
    array_add_int(&a, -2);
    array_add_null(&a);
    static const char ints[] = "\0\0\0\1\0\0\0\1\0\0\0\24\0\0\0\2\0\0\0\1"
                               "\0\0\0\10\377\377\377\377\377\377\377\376\377\377\377\377";
    assert_bytes(&a, ints, sizeof ints - 1);
    array_begin(&a, ARRAY_TEXT);
    array_add(&a, slice_of("h\xC3\xA9"));
    static const char texts[] = "\0\0\0\1\0\0\0\0\0\0\0\31\0\0\0\1\0\0\0\1\0\0\0\3h\303\251";
    assert_bytes(&a, texts, sizeof texts - 1);
    array_begin(&a, ARRAY_BYTES);
    static const char none[] = "\0\0\0\0\0\0\0\0\0\0\0\21";
    assert_bytes(&a, none, sizeof none - 1);
    assert_int_equal(array_type_oid(ARRAY_INT), 1016);
    array_close(&a);
}

static void test_text_that_cannot_be_stored_is_replaced(void **state)
{
    (void)state;
    struct array a = {0};
    array_begin(&a, ARRAY_TEXT);
    array_add(&a, (struct slice){"a\0b\xFF", 4});
    struct slice done = array_finish(&a);
    assert_memory_equal(done.p + 20,
                        "\0\0\0\10"
                        "a\xEF\xBF\xBD"
                        "b\xEF\xBF\xBD",
                        12);
    assert_int_equal(done.n, 32);
    array_begin(&a, ARRAY_BYTES); /* bytes are left alone */
    array_add(&a, (struct slice){"\0\xFF", 2});
    done = array_finish(&a);
    assert_memory_equal(done.p + 20, "\0\0\0\2\0\377", 6);
    array_close(&a);
}

static void test_a_cell_of_another_type_is_null(void **state)
{
    (void)state;
    struct array a = {0};
    const struct cell number = {.type = CELL_INT, .number = 1},
                      text = {.type = CELL_TEXT, .text = {"x", 1}};
    array_begin(&a, ARRAY_INT);
    array_add_cell(&a, &text);
    array_add_cell(&a, &number);
    assert_true(a.has_null);
    assert_int_equal(a.n, 2);
    array_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_head_depends_on_every_leaf_and_their_order),
        cmocka_unit_test(test_a_log_extends_or_was_rolled_back_or_changed),
        cmocka_unit_test(test_waits_grow_from_one_second_to_five_minutes),
        cmocka_unit_test(test_sessions_are_found_and_ordered_by_uid),
        cmocka_unit_test(test_the_hash_of_a_row_continues),
        cmocka_unit_test(test_arrays_have_the_form_of_postgresql),
        cmocka_unit_test(test_text_that_cannot_be_stored_is_replaced),
        cmocka_unit_test(test_a_cell_of_another_type_is_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
