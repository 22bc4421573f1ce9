/* What a silent server is, for every combination of facts that matters. */
#include "proxy/session/liveness.h"

#include "tests/support/unit.h"

static void check_deadline(struct liveness_facts f, enum liveness expected)
{
    enum liveness got = liveness_judge_at_deadline(&f);
    if (got != expected)
        fail_msg("got %s, expected %s", liveness_name(got), liveness_name(expected));
}

static void test_liveness_silent_server_is_asked(void **state)
{
    (void)state;
    check_deadline((struct liveness_facts){.answered = true}, LIVENESS_SILENT);
}

static void test_liveness_cpu_of_the_server_itself_is_no_proof(void **state)
{
    (void)state;
    check_deadline((struct liveness_facts){.answered = true, .processes_us = 30000000},
                   LIVENESS_SILENT);
    check_deadline((struct liveness_facts){.answered = true, .process_runs = true},
                   LIVENESS_SILENT);
    check_deadline((struct liveness_facts){.answered = true, .wrote_stderr = true},
                   LIVENESS_SILENT);
}

static void test_liveness_helpers_prove_work_until_max_timeout(void **state)
{
    (void)state;
    check_deadline((struct liveness_facts){.answered = true, .helpers_us = 10000},
                   LIVENESS_AT_WORK);
    check_deadline((struct liveness_facts){.answered = true, .helper_runs = true},
                   LIVENESS_AT_WORK);
    check_deadline((struct liveness_facts){.answered = true, .helpers_us = 10000, .last = true},
                   LIVENESS_SILENT);
    check_deadline((struct liveness_facts){.answered = true, .helper_runs = true, .last = true},
                   LIVENESS_SILENT);
}

static void test_liveness_before_the_first_answer_silence_is_enough(void **state)
{
    (void)state;
    check_deadline((struct liveness_facts){0}, LIVENESS_HUNG);
}

static void test_liveness_server_that_works_before_its_first_answer_is_starting(void **state)
{
    (void)state;
    const struct liveness_facts works[] = {
        {.processes_us = 10000}, {.process_runs = true}, {.wrote_stderr = true}};
    for (size_t i = 0; i < MI_COUNT(works); i++) {
        struct liveness_facts f = works[i];
        check_deadline(f, LIVENESS_STARTING);
        f.last = true;
        check_deadline(f, LIVENESS_HUNG);
    }
}

static void test_liveness_on_hang_decides_before_any_fact(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 128; bits++) {
        struct liveness_facts f = {.answered = bits & 1,
                                   .last = bits & 2,
                                   .helpers_us = bits & 4,
                                   .helper_runs = bits & 8,
                                   .processes_us = bits & 16,
                                   .process_runs = bits & 32,
                                   .wrote_stderr = bits & 64};
        f.on_hang = ON_HANG_CANCEL;
        check_deadline(f, LIVENESS_SLOW);
        f.on_hang = ON_HANG_KILL_NOW;
        check_deadline(f, LIVENESS_HUNG);
    }
}

static void check_question(struct liveness_asked f, enum liveness expected)
{
    enum liveness got = liveness_judge_probed_server(&f);
    if (got != expected)
        fail_msg("got %s, expected %s", liveness_name(got), liveness_name(expected));
}

static void test_liveness_server_that_does_not_answer_the_question_is_hung(void **state)
{
    (void)state;
    check_question((struct liveness_asked){0}, LIVENESS_HUNG);
    check_question((struct liveness_asked){.last = true}, LIVENESS_HUNG);
    check_question((struct liveness_asked){.processes_us = 10000, .server_runs = true},
                   LIVENESS_HUNG);
    check_question((struct liveness_asked){.processes_us = 10000}, LIVENESS_HUNG);
}

static void test_liveness_helpers_that_work_after_the_question_are_proof(void **state)
{
    (void)state;
    check_question((struct liveness_asked){.helpers_us = 10000, .processes_us = 10000},
                   LIVENESS_AT_WORK);
    check_question((struct liveness_asked){.helper_runs = true}, LIVENESS_AT_WORK);
    check_question(
        (struct liveness_asked){.helpers_us = 10000, .processes_us = 10000, .last = true},
        LIVENESS_HUNG);
}

static void test_liveness_server_that_gets_no_processor_is_asked_longer(void **state)
{
    (void)state;
    check_question((struct liveness_asked){.server_runs = true}, LIVENESS_SILENT);
    check_question((struct liveness_asked){.server_runs = true, .last = true}, LIVENESS_SILENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_liveness_silent_server_is_asked),
        cmocka_unit_test(test_liveness_cpu_of_the_server_itself_is_no_proof),
        cmocka_unit_test(test_liveness_helpers_prove_work_until_max_timeout),
        cmocka_unit_test(test_liveness_before_the_first_answer_silence_is_enough),
        cmocka_unit_test(test_liveness_server_that_works_before_its_first_answer_is_starting),
        cmocka_unit_test(test_liveness_on_hang_decides_before_any_fact),
        cmocka_unit_test(test_liveness_server_that_does_not_answer_the_question_is_hung),
        cmocka_unit_test(test_liveness_helpers_that_work_after_the_question_are_proof),
        cmocka_unit_test(test_liveness_server_that_gets_no_processor_is_asked_longer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
