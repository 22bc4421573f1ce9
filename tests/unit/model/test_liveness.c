/* Whether a session runs, from each combination of facts. */
#include "model/liveness.h"

#include "tests/support/unit.h"

static const enum liveness_lock locks[] = {LIVENESS_NO_LOCK, LIVENESS_LOCKED, LIVENESS_UNLOCKED};
static const enum liveness_place places[] = {LIVENESS_PLACE_UNKNOWN, LIVENESS_HERE,
                                             LIVENESS_NOT_HERE};

/* Each combination as {lock, boot, pids, host, process, ended}. */
static struct liveness combination(unsigned i)
{
    return (struct liveness){.lock = locks[i % 3],
                             .boot = places[i / 3 % 3],
                             .pids = places[i / 9 % 3],
                             .host = i / 27 % 2 != 0,
                             .process = i / 54 % 2 != 0,
                             .ended = i / 108 % 2 != 0};
}

static void test_liveness_end_and_lock_decide_before_processes(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 216; i++) {
        struct liveness f = combination(i);
        enum session_state s = session_state_by_liveness(&f);
        if (f.ended)
            assert_int_equal(s, SESSION_ENDED);
        else if (f.lock == LIVENESS_LOCKED)
            assert_int_equal(s, SESSION_LIVE);
        else if (f.lock == LIVENESS_UNLOCKED && f.boot == LIVENESS_HERE)
            assert_int_equal(s, SESSION_DIED);
        else
            assert_int_not_equal(s, SESSION_ENDED);
    }
}

static void test_liveness_without_a_lock_follows_from_its_process(void **state)
{
    (void)state;
    static const struct {
        enum liveness_place boot, pids;
        bool host, process;
        enum session_state state;
    } rows[] = {
        {LIVENESS_HERE, LIVENESS_HERE, true, true, SESSION_LIVE},
        {LIVENESS_HERE, LIVENESS_HERE, true, false, SESSION_DIED},
        {LIVENESS_HERE, LIVENESS_HERE, false, false, SESSION_DIED}, /* the host was renamed */
        {LIVENESS_HERE, LIVENESS_NOT_HERE, true, true, SESSION_ELSEWHERE},
        {LIVENESS_HERE, LIVENESS_PLACE_UNKNOWN, true, true, SESSION_ELSEWHERE},
        {LIVENESS_NOT_HERE, LIVENESS_HERE, true, true, SESSION_DIED}, /* booted again */
        {LIVENESS_NOT_HERE, LIVENESS_HERE, false, true, SESSION_ELSEWHERE},
        {LIVENESS_PLACE_UNKNOWN, LIVENESS_PLACE_UNKNOWN, true, true, SESSION_LIVE},
        {LIVENESS_PLACE_UNKNOWN, LIVENESS_PLACE_UNKNOWN, true, false, SESSION_DIED},
        {LIVENESS_PLACE_UNKNOWN, LIVENESS_PLACE_UNKNOWN, false, true, SESSION_ELSEWHERE},
        {LIVENESS_PLACE_UNKNOWN, LIVENESS_NOT_HERE, true, true, SESSION_ELSEWHERE},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct liveness f = {.boot = rows[i].boot,
                             .pids = rows[i].pids,
                             .host = rows[i].host,
                             .process = rows[i].process};
        assert_int_equal(session_state_by_liveness(&f), rows[i].state);
        f.lock = LIVENESS_UNLOCKED; /* says nothing of another boot */
        if (f.boot != LIVENESS_HERE)
            assert_int_equal(session_state_by_liveness(&f), rows[i].state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_liveness_end_and_lock_decide_before_processes),
        cmocka_unit_test(test_liveness_without_a_lock_follows_from_its_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
