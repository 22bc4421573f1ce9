#include "tests/support/unit.h"

#include "vault/audit/findings.h"
#include "vault/audit/verdict.h"

static const struct audit_facts fine = {.covered = true, .sealed = true};

static void test_verdict_the_first_that_applies(void **state)
{
    (void)state;
    struct audit_facts f = {.pruned = true, .tampered = true};
    assert_int_equal(audit_decide_status(&f), AUDIT_NOT_COVERED);
    f.covered = true;
    assert_int_equal(audit_decide_status(&f), AUDIT_TAMPERED);
    f.tampered = false;
    f.runs = true;
    assert_int_equal(audit_decide_status(&f), AUDIT_REMOVING);
    f.pruned = false;
    assert_int_equal(audit_decide_status(&f), AUDIT_OPEN);
    f.runs = false;
    f.redacted = f.anchored = true;
    assert_int_equal(audit_decide_status(&f), AUDIT_INCOMPLETE);
    f.sealed = f.killed = true;
    assert_int_equal(audit_decide_status(&f), AUDIT_INCOMPLETE);
    f.killed = false;
    assert_int_equal(audit_decide_status(&f), AUDIT_REDACTED);
    f.redacted = false;
    assert_int_equal(audit_decide_status(&f), AUDIT_VALID);
}

static void test_verdict_without_an_anchor_it_is_not_valid(void **state)
{
    (void)state;
    assert_int_equal(audit_decide_status(&fine), AUDIT_NOT_ANCHORED);
}

static void test_verdict_what_is_tampered_or_not_whole_fails(void **state)
{
    (void)state;
    for (int i = 0; i < AUDIT_STATUSES; i++) {
        bool fails = i == AUDIT_TAMPERED || i == AUDIT_INCOMPLETE || i == AUDIT_REMOVING;
        assert_int_equal(audit_status_is_failure((enum audit_status)i), fails);
        assert_non_null(audit_status_name((enum audit_status)i));
    }
    for (int i = AUDIT_NOTHING + 1; i < AUDIT_KINDS; i++)
        assert_true(audit_kind_name((enum audit_kind)i)[0] != '\0' &&
                    audit_explain_fault_kind((enum audit_kind)i)[0] != '\0');
}

static void test_findings_are_removed_the_last_one_first(void **state)
{
    (void)state;
    struct findings_added f = {0};
    assert_int_equal(findings_add_from_event_detail(&f, 5, slice_of("{\"seq\":2,\"finding\":\"b\"}")), 0);
    assert_int_equal(findings_add_from_event_detail(&f, 6, slice_of("{\"seq\":1,\"finding\":\"x\"}")), 0);
    assert_int_equal(findings_add_from_event_detail(&f, 7, slice_of("{\"seq\":2,\"finding\":\"c,d\"}")),
                     0);
    findings_sort(&f);
    struct slice two = slice_of("a,b,c,d"), one = slice_of("x"), other = slice_of("y");
    assert_true(findings_remove_added_names(&f, 2, &two));
    assert_true(slice_is(two, "a"));
    assert_int_equal(findings_find_one_without_message(&f)->seq, 1);
    assert_true(findings_remove_added_names(&f, 1, &one));
    assert_null(one.p);
    assert_null(findings_find_one_without_message(&f));
    assert_false(findings_remove_added_names(&f, 1, &other));
    assert_true(findings_remove_added_names(&f, 3, &other));
    findings_close(&f);
}

static void test_findings_a_detail_of_another_form_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "x",
                                      "[]",
                                      "{}",
                                      "{\"seq\":1}",
                                      "{\"finding\":\"x\"}",
                                      "{\"seq\":\"1\",\"finding\":\"x\"}",
                                      "{\"seq\":1,\"finding\":2}"};
    struct findings_added f = {0};
    for (size_t i = 0; i < MI_COUNT(bad); i++)
        assert_int_equal(findings_add_from_event_detail(&f, 1, slice_of(bad[i])), MI_EINVAL);
    assert_int_equal(findings_add_from_event_detail(&f, 1, (struct slice){0}), MI_EINVAL);
    findings_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verdict_the_first_that_applies),
        cmocka_unit_test(test_verdict_without_an_anchor_it_is_not_valid),
        cmocka_unit_test(test_verdict_what_is_tampered_or_not_whole_fails),
        cmocka_unit_test(test_findings_are_removed_the_last_one_first),
        cmocka_unit_test(test_findings_a_detail_of_another_form_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
