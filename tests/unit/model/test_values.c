#include "model/status.h"

#include "tests/support/unit.h"

static const struct value_words *const tables[] = {&row_directions, &row_origins, &row_actions,
                                                   &row_kinds, &call_statuses};

static void test_values_each_stored_word_is_read_as_its_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(tables); i++)
        for (unsigned v = 0; v < tables[i]->n; v++)
            assert_int_equal(value_find_by_word(tables[i], slice_of(value_get_word(tables[i], v))),
                             v);
}

static void test_values_unknown_words_are_read_as_unknown(void **state)
{
    (void)state;
    static const char *const words[] = {"", "unknown", "c2", "c2sx", "Request", "requests"};
    for (size_t i = 0; i < MI_COUNT(tables); i++) {
        const struct value_words *t = tables[i];
        for (size_t k = 0; k < MI_COUNT(words); k++)
            assert_int_equal(value_find_by_word(t, slice_of(words[k])), t->n);
        assert_int_equal(value_find_by_word(t, (struct slice){0}), t->n);
        assert_string_equal(value_get_word(t, (unsigned)t->n), "unknown");
        assert_string_equal(value_get_word(t, 1000), "unknown");
    }
}

static void test_values_each_message_kind_has_its_stored_word(void **state)
{
    (void)state;
    assert_string_equal(row_kind_name(row_kind_of_rpc(RPC_INVALID)), "noise");
    assert_string_equal(row_kind_name(row_kind_of_rpc(RPC_REQUEST)), "request");
    assert_string_equal(row_kind_name(row_kind_of_rpc(RPC_NOTIFICATION)), "notification");
    assert_string_equal(row_kind_name(row_kind_of_rpc(RPC_RESULT)), "result");
    assert_string_equal(row_kind_name(row_kind_of_rpc(RPC_ERROR)), "error");
    assert_string_equal(row_kind_name(row_kind_of_rpc(RPC_BATCH)), "batch");
}

static void test_values_status_failed_unless_it_is_ok_or_nobody_waited(void **state)
{
    (void)state;
    static const enum call_status others[] = {CALL_OK, CALL_CANCELLED, CALL_INTERRUPTED, CALL_OPEN,
                                              CALL_UNKNOWN};
    for (size_t i = 0; i < MI_COUNT(others); i++)
        assert_false(call_status_failed(others[i]));
    size_t failed = 0;
    for (int s = 0; s <= CALL_UNKNOWN; s++)
        failed += call_status_failed((enum call_status)s);
    assert_int_equal(failed, CALL_UNKNOWN + 1 - MI_COUNT(others));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_each_stored_word_is_read_as_its_value),
        cmocka_unit_test(test_values_unknown_words_are_read_as_unknown),
        cmocka_unit_test(test_values_each_message_kind_has_its_stored_word),
        cmocka_unit_test(test_values_status_failed_unless_it_is_ok_or_nobody_waited),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
