#include "model/asker.h"
#include "tests/support/unit.h"

/* A call seq..closing (0: open) whose times are its seqs in tens. */
static void call(struct asker *a, int64_t seq, int64_t closing)
{
    struct asker_call c = {.seq = seq,
                           .closing_seq = closing,
                           .end_us = closing != 0 ? 10 * closing : INT64_MAX,
                           .covered_us = 10 * seq};
    asker_add_call(a, &c);
}

static int64_t found(struct asker *a, int64_t seq)
{
    const struct asker_call *c = asker_find_call_of_request(a, seq);
    return c != NULL ? c->seq : 0;
}

static void test_only_one(void **state)
{
    (void)state;
    struct asker a = {0};
    assert_int_equal(found(&a, 1), 0);
    call(&a, 2, 6);
    assert_int_equal(found(&a, 3), 2);
    call(&a, 4, 9);
    assert_int_equal(found(&a, 5), 0); /* two */
    assert_int_equal(found(&a, 7), 4); /* the first has ended */
    assert_int_equal(found(&a, 10), 0);
    call(&a, 11, 0);
    assert_int_equal(found(&a, 100), 11);
}

static void test_crowded(void **state)
{
    (void)state;
    struct asker a = {0};
    for (int64_t i = 1; i <= ASKER_OPEN_MAX; i++)
        call(&a, i, 1000);
    call(&a, 500, 2000); /* not kept */
    assert_int_equal(found(&a, 600), 0);
    call(&a, 1100, 3000);
    assert_int_equal(found(&a, 1200), 0); /* 500 is open */
    assert_int_equal(found(&a, 2100), 1100);
    struct asker b = {0};
    for (int64_t i = 1; i <= ASKER_OPEN_MAX + 1; i++)
        call(&b, i, i <= ASKER_OPEN_MAX ? 1000 : 0); /* the last one never ends */
    call(&b, 1100, 0);
    assert_int_equal(found(&b, 1200), 0);
}

static void test_share(void **state)
{
    (void)state;
    struct asker a = {0};
    call(&a, 10, 100); /* from 100 to 1000 us */
    struct asker_call *c = asker_find_call_of_request(&a, 11);
    assert_int_equal(asker_take_uncounted_time(c, 200, 300), 100);
    assert_int_equal(asker_take_uncounted_time(c, 250, 280), 0); /* at the same time */
    assert_int_equal(asker_take_uncounted_time(c, 250, 400), 100);
    assert_int_equal(asker_take_uncounted_time(c, 900, 5000), 100); /* the call has ended */
    assert_int_equal(asker_take_uncounted_time(c, 1500, 1600), 0);
}

static void test_share_of_what_is_never_answered_lasts_to_the_end_of_the_call(void **state)
{
    (void)state;
    struct asker a = {0};
    call(&a, 10, 100);
    struct asker_call *c = asker_find_call_of_request(&a, 11);
    assert_int_equal(asker_take_uncounted_time(c, 400, INT64_MAX), 600);
    assert_int_equal(asker_take_uncounted_time(c, 500, 700), 0); /* at the same time */
    struct asker b = {0};
    call(&b, 10, 0);
    c = asker_find_call_of_request(&b, 11);
    assert_int_equal(asker_take_uncounted_time(c, 400, INT64_MAX), 0); /* both are open */
    assert_int_equal(asker_take_uncounted_time(c, 400, 500), 100);
}

static void test_only_an_elicitation_asks_a_person(void **state)
{
    (void)state;
    assert_int_equal(asker_classify_request(slice_of("elicitation/create")), ASKS_PERSON);
    assert_int_equal(asker_classify_request(slice_of("elicitation\\/create")), ASKS_PERSON);
    assert_int_equal(asker_classify_request(slice_of("sampling/createMessage")), ASKS_MODEL);
    assert_int_equal(asker_classify_request(slice_of("roots/list")), ASKS_ROOTS);
    assert_int_equal(asker_classify_request(slice_of("ping")), ASKS_NOTHING);
    assert_int_equal(asker_classify_request((struct slice){0}), ASKS_NOTHING);
    for (enum asks a = ASKS_PERSON; a < ASKS_N; a++)
        assert_non_null(strstr(ASKER_METHODS, asker_get_request_method(a)));
}

static void test_methods(void **state)
{
    (void)state;
    assert_true(asker_method_counts_as_call(slice_of("tools/call")) &&
                asker_method_counts_as_call(slice_of("tools/list")));
    assert_false(asker_method_counts_as_call(slice_of("ping")) ||
                 asker_method_counts_as_call(slice_of("tasks/result")) ||
                 asker_method_counts_as_call((struct slice){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_one),
        cmocka_unit_test(test_crowded),
        cmocka_unit_test(test_share),
        cmocka_unit_test(test_share_of_what_is_never_answered_lasts_to_the_end_of_the_call),
        cmocka_unit_test(test_only_an_elicitation_asks_a_person),
        cmocka_unit_test(test_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
