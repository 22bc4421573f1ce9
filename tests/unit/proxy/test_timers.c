/* Deadlines of pending requests: single cases, and random ones against a list without a heap. */
#include "proxy/session/timers.h"

#include "base/text.h"
#include "tests/support/unit.h"

#define MS INT64_C(1000)

/* Requests in a list, as in the pending table: the oldest first. */
struct row {
    struct deadlines rules;
    struct timers timers;
    struct pending *oldest, *newest;
    uint64_t staged;
};

static struct row *row_make(const char *rules, int64_t max_us)
{
    struct row *r = calloc(1, sizeof *r);
    struct buf error = {0};
    assert_non_null(r);
    deadlines_open(&r->rules);
    assert_int_equal(deadlines_add(&r->rules, rules, &error), 0);
    timers_open(&r->timers, &r->rules, max_us);
    return r;
}

static void row_free(struct row *r)
{
    for (struct pending *p = r->oldest, *next; p != NULL; p = next) {
        next = p->next;
        free(p);
    }
    timers_close(&r->timers);
    deadlines_close(&r->rules);
    free(r);
}

/* A request of ten bytes. */
static struct pending *row_add(struct row *r, const char *method, int64_t now_us)
{
    struct pending *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->method = slice_of(method);
    p->prev = r->newest;
    if (r->newest != NULL)
        r->newest->next = p;
    else
        r->oldest = p;
    r->newest = p;
    p->written_at = r->staged += 10;
    assert_int_equal(timers_add(&r->timers, p, now_us), 0);
    return p;
}

static void row_remove(struct row *r, struct pending *p)
{
    timers_remove(&r->timers, p);
    if (p->prev != NULL)
        p->prev->next = p->next;
    else
        r->oldest = p->next;
    if (p->next != NULL)
        p->next->prev = p->prev;
    else
        r->newest = p->prev;
    free(p);
}

/* Due at that time, and not one microsecond before. */
static void check_due(struct row *r, const struct pending *p, int64_t at_us)
{
    assert_true(timers_get_us_until_deadline(&r->timers, at_us - 1) <= 1);
    assert_null(timers_find_expired_request(&r->timers, at_us - 1));
    assert_int_equal(timers_get_us_until_deadline(&r->timers, at_us - 1), 1);
    assert_ptr_equal(timers_find_expired_request(&r->timers, at_us), p);
    assert_int_equal(timers_get_us_until_deadline(&r->timers, at_us + 7), 0);
}

static void test_timers_start_when_the_last_byte_is_written(void **state)
{
    (void)state;
    struct row *r = row_make("100ms", 0);
    struct pending *p = row_add(r, "ping", 5 * MS);
    timers_start_for_read_requests(&r->timers, 9, 50 * MS);
    timers_start_for_read_requests(&r->timers, 10, 70 * MS);
    check_due(r, p, 170 * MS);
    row_free(r);
}

static void test_timers_unread_request_has_a_deadline(void **state)
{
    (void)state;
    struct row *r = row_make("100ms", 0);
    struct pending *p = row_add(r, "ping", 5 * MS);
    check_due(r, p, 105 * MS);
    timers_start_for_read_requests(&r->timers, 3, 60 * MS); /* it reads, slowly */
    check_due(r, p, 160 * MS);
    timers_start_for_read_requests(&r->timers, 3, 150 * MS);
    check_due(r, p, 160 * MS);
    row_free(r);
}

static void test_timers_progress_restarts_the_timer_but_not_the_maximum(void **state)
{
    (void)state;
    struct row *r = row_make("100ms", 250 * MS);
    struct pending *p = row_add(r, "tools/call", 0);
    struct pending *q = row_add(r, "tools/call", 0);
    timers_start_for_read_requests(&r->timers, 20, 1 * MS);
    timers_restart_after_progress(&r->timers, p, 90 * MS);
    check_due(r, q, 101 * MS);
    row_remove(r, q);
    check_due(r, p, 190 * MS);
    timers_restart_after_progress(&r->timers, p, 180 * MS);
    check_due(r, p, 251 * MS);
    row_free(r);
}

static void test_timers_pause_while_a_server_request_is_pending(void **state)
{
    (void)state;
    struct row *r = row_make("100ms", 0);
    struct pending *p = row_add(r, "tools/call", 0);
    timers_start_for_read_requests(&r->timers, 10, 10 * MS);
    timers_pause(&r->timers, TIMERS_CLIENT_ASKED, true, 60 * MS);
    timers_pause(&r->timers, TIMERS_CLIENT_ASKED, true,
                 90 * MS); /* a second request during the pause changes nothing */
    assert_null(timers_find_expired_request(&r->timers, 100000 * MS));
    assert_int_equal(timers_get_us_until_deadline(&r->timers, 100000 * MS), -1);
    timers_pause(&r->timers, TIMERS_CLIENT_ASKED, false, 1060 * MS);
    timers_pause(&r->timers, TIMERS_CLIENT_ASKED, false, 1090 * MS);
    struct pending *q = row_add(r, "tools/call", 1100 * MS);
    timers_start_for_read_requests(&r->timers, 20, 1100 * MS);
    check_due(r, p, 1160 * MS); /* not 1110: the server may need time to go on */
    row_remove(r, p);
    check_due(r, q, 1200 * MS);
    row_free(r);
}

static void test_timers_pause_while_the_server_is_not_read(void **state)
{
    (void)state;
    struct row *r = row_make("5s", 6000 * MS);
    struct pending *p = row_add(r, "tools/call", 0);
    timers_start_for_read_requests(&r->timers, 10, 0);
    timers_pause(&r->timers, TIMERS_SERVER_NOT_READ, true, 1000 * MS);
    timers_pause(&r->timers, TIMERS_CLIENT_ASKED, true, 1500 * MS);
    timers_pause(&r->timers, TIMERS_CLIENT_ASKED, false, 2000 * MS); /* the other reason is left */
    assert_null(timers_find_expired_request(&r->timers, 100000 * MS));
    assert_int_equal(timers_get_us_until_deadline(&r->timers, 100000 * MS), -1);
    timers_pause(&r->timers, TIMERS_SERVER_NOT_READ, false, 11000 * MS);
    timers_restart_after_progress(&r->timers, p, 12000 * MS);
    check_due(r, p, 16000 * MS); /* --max-timeout stands still as well */
    row_free(r);
}

static void test_timers_short_pauses_do_not_put_off_a_deadline_forever(void **state)
{
    (void)state;
    struct row *r = row_make("5s", 0);
    struct pending *p = row_add(r, "tools/call", 0);
    timers_start_for_read_requests(&r->timers, 10, 0);
    int64_t now = 0;
    for (int i = 0; i < 59; i++) { /* of each 200 ms, half is a pause */
        timers_pause(&r->timers, TIMERS_SERVER_NOT_READ, true, now + 100 * MS);
        now += 200 * MS;
        timers_pause(&r->timers, TIMERS_SERVER_NOT_READ, false, now);
        if (i < 49)
            assert_null(timers_find_expired_request(&r->timers, now));
    }
    assert_ptr_equal(timers_find_expired_request(&r->timers, now), p);
    row_free(r);
}

static void test_timers_skip_time_in_which_the_process_did_not_run(void **state)
{
    (void)state;
    struct row *r = row_make("5s,ping=400ms", 0);
    struct pending *p = row_add(r, "tools/call", 0);
    struct pending *q = row_add(r, "ping", 0);
    timers_start_for_read_requests(&r->timers, 20, 0);
    assert_true(timers_skip_stalled_time(&r->timers, 60000 * MS, 60390 * MS));
    check_due(r, q, 60790 * MS); /* its whole timeout again, as that is less than a second */
    row_remove(r, q);
    assert_false(
        timers_skip_stalled_time(&r->timers, 1000 * MS, 63000 * MS)); /* soon after: only skipped */
    assert_true(timers_skip_stalled_time(&r->timers, 7000 * MS, 72800 * MS));
    check_due(r, p, 73800 * MS); /* not 73000: a second at least */
    row_free(r);
}

static void test_timers_skip_nothing_during_a_pause(void **state)
{
    (void)state;
    struct row *r = row_make("5s", 0);
    struct pending *p = row_add(r, "tools/call", 0);
    timers_start_for_read_requests(&r->timers, 10, 0);
    timers_pause(&r->timers, TIMERS_SERVER_NOT_READ, true, 1000 * MS);
    (void)timers_skip_stalled_time(&r->timers, 60000 * MS,
                                   62000 * MS); /* it belongs to the pause */
    timers_pause(&r->timers, TIMERS_SERVER_NOT_READ, false, 63000 * MS);
    check_due(r, p, 67000 * MS);
    row_free(r);
}

static void test_timers_request_added_during_a_pause_has_its_full_time(void **state)
{
    (void)state;
    struct row *r = row_make("100ms", 0);
    timers_pause(&r->timers, TIMERS_CLIENT_ASKED, true, 10 * MS);
    struct pending *p = row_add(r, "ping", 20 * MS);
    timers_start_for_read_requests(&r->timers, 10, 30 * MS);
    timers_pause(&r->timers, TIMERS_CLIENT_ASKED, false, 40 * MS);
    check_due(r, p, 140 * MS);
    row_free(r);
}

static void test_timers_request_without_a_deadline_is_never_due(void **state)
{
    (void)state;
    struct row *r = row_make("0", 50 * MS);
    struct pending *p = row_add(r, "ping", 0);
    assert_int_equal(timers_get_us_until_deadline(&r->timers, 1000 * MS), -1);
    timers_start_for_read_requests(&r->timers, 10, 1 * MS);
    assert_int_equal(timers_get_us_until_deadline(&r->timers, 1000 * MS), -1);
    assert_null(timers_find_expired_request(&r->timers, 1000 * MS));
    timers_restart_after_progress(&r->timers, p, 2 * MS);
    assert_null(timers_find_expired_request(&r->timers, 1000 * MS));
    row_free(r);
}

static void test_timers_request_that_waits_for_a_user_has_only_the_maximum(void **state)
{
    (void)state;
    struct row *r = row_make("100ms", 500 * MS);
    struct pending *p = calloc(1, sizeof *p);
    assert_non_null(p);
    *p = (struct pending){
        .method = slice_of("tools/call"), .waits_for_user = true, .written_at = 10};
    r->oldest = r->newest = p;
    assert_int_equal(timers_add(&r->timers, p, 0), 0);
    timers_start_for_read_requests(&r->timers, 10, 10 * MS);
    check_due(r, p, 510 * MS);
    row_free(r);
}

static void test_timers_restart_with_a_new_process(void **state)
{
    (void)state;
    struct row *r = row_make("100ms", 150 * MS);
    struct pending *p = row_add(r, "ping", 0);
    struct pending *q = row_add(r, "tools/list", 0);
    timers_start_for_read_requests(&r->timers, 10, 10 * MS);
    q->written_at = 10; /* staged again, in the opposite order */
    p->written_at = 20;
    r->oldest = q;
    q->prev = NULL;
    q->next = p;
    p->prev = q;
    p->next = NULL;
    r->newest = p;
    timers_begin_new_process(&r->timers, q, 1000 * MS);
    timers_start_for_read_requests(&r->timers, 10, 1010 * MS);
    check_due(r, q, 1110 * MS);
    row_remove(r, q);
    timers_start_for_read_requests(&r->timers, 20, 1020 * MS);
    check_due(r, p, 1120 * MS);
    row_free(r);
}

static void test_timers_shortest_unread_request_is_due_first(void **state)
{
    (void)state;
    struct row *r = row_make("100ms,tools/list=30ms,tasks/result=0", 0);
    row_add(r, "tasks/result", 0); /* has no deadline, but those after it have */
    struct pending *p = row_add(r, "ping", 0);
    struct pending *q = row_add(r, "tools/list", 10 * MS);
    check_due(r, q, 40 * MS);
    timers_start_for_read_requests(&r->timers, 3, 30 * MS);
    check_due(r, q, 60 * MS);
    row_remove(r, q);
    check_due(r, p, 130 * MS);
    row_free(r);
}

static void test_timers_maximum_applies_to_unread_requests(void **state)
{
    (void)state;
    struct row *r = row_make("100ms", 50 * MS);
    struct pending *p = row_add(r, "ping", 0);
    check_due(r, p, 50 * MS);
    timers_start_for_read_requests(&r->timers, 10, 10 * MS);
    check_due(r, p, 60 * MS);
    row_free(r);
}

static void test_timers_deadlines_apply_while_no_server_runs(void **state)
{
    (void)state;
    struct row *r = row_make("100ms,tools/list=30ms", 0);
    struct pending *p = row_add(r, "ping", 0);
    timers_start_for_read_requests(&r->timers, 10, 10 * MS);
    struct pending *q = row_add(r, "ping", 20 * MS);
    timers_set_server_absent(&r->timers, true, 30 * MS);
    check_due(r, p, 110 * MS); /* the server had read this one */
    row_remove(r, p);
    struct pending *s =
        row_add(r, "tools/list", 40 * MS); /* a shorter timeout than those before it */
    check_due(r, s, 70 * MS);
    timers_begin_new_process(&r->timers, q, 50 * MS);
    check_due(r, s, 70 * MS); /* counted since it was received */
    row_remove(r, s);
    check_due(r, q, 120 * MS);
    timers_set_server_absent(&r->timers, false, 60 * MS);
    check_due(r, q, 160 * MS);
    timers_start_for_read_requests(&r->timers, r->staged, 70 * MS);
    check_due(r, q, 170 * MS);
    row_free(r);
}

/* ---- against a list -------------------------------------------------------------------------- */

/* When it is due by the rules of timers.h but the last. */
static int64_t model_due_unfairly(const struct row *r, const struct pending *p)
{
    if (p->written_us == 0)
        return (p->started_us > r->timers.last_read_us ? p->started_us : r->timers.last_read_us) +
               p->timeout_us;
    int64_t due = p->started_us + p->timeout_us;
    if (r->timers.max_us > 0 && due > p->first_started_us + r->timers.max_us)
        due = p->first_started_us + r->timers.max_us;
    return due;
}

/* When it is due by the rules of timers.h; -1: never. */
static int64_t model_due(const struct row *r, const struct pending *p)
{
    int64_t fair = p->timeout_us < TIMERS_FAIR_US ? p->timeout_us : TIMERS_FAIR_US;
    int64_t due = model_due_unfairly(r, p);
    if (p->timeout_us == 0)
        return -1;
    return due > r->timers.fair_us + fair ? due : r->timers.fair_us + fair;
}

static int64_t model_first(const struct row *r)
{
    int64_t first = -1;
    for (const struct pending *p = r->oldest; p != NULL; p = p->next) {
        int64_t due = model_due(r, p);
        if (due >= 0 && (first < 0 || due < first))
            first = due;
    }
    return first;
}

static struct pending *any(struct row *r, struct unit_random *random, size_t n)
{
    struct pending *p = r->oldest;
    for (size_t i = unit_random(random, n); i > 0; i--)
        p = p->next;
    return p;
}

static void test_timers_become_due_in_order(void **state)
{
    (void)state;
    static const char *const methods[] = {"ping", "tools/list", "prompts/get", "tasks/result", "x"};
    struct unit_random random = {77};
    struct row *r = row_make("100ms,tools/list=30ms,prompts/get=2s,tasks/result=0", 700 * MS);
    int64_t now = 1;
    size_t n = 0;
    for (int step = 0; step < (unit_slow() ? 3000 : 30000); step++) {
        now += (int64_t)unit_random(&random, 5000);
        switch (unit_random(&random, 9)) {
        case 6: /* the server is killed, and a new process starts */
            timers_set_server_absent(&r->timers, true, now);
            if (unit_random(&random, 2) == 0)
                timers_begin_new_process(&r->timers, r->oldest, now);
            timers_set_server_absent(&r->timers, false, now);
            break;
        case 8: /* this process did not run */
            now += (int64_t)unit_random(&random, 50000);
            (void)timers_skip_stalled_time(&r->timers, (int64_t)unit_random(&random, 5000), now);
            break;
        case 7: /* a user is asked */
            timers_pause(&r->timers, TIMERS_CLIENT_ASKED, true, now);
            now += (int64_t)unit_random(&random, 50000);
            timers_pause(&r->timers, TIMERS_CLIENT_ASKED, false, now);
            break;
        case 0:
        case 1:
            row_add(r, methods[unit_random(&random, MI_COUNT(methods))], now);
            n++;
            break;
        case 2:
            if (n > 200 || (n > 0 && unit_random(&random, 2) == 0)) {
                row_remove(r, any(r, &random, n));
                n--;
            }
            break;
        case 3:
            if (n > 0)
                timers_restart_after_progress(&r->timers, any(r, &random, n), now);
            break;
        default:
            timers_start_for_read_requests(
                &r->timers,
                r->timers.written +
                    unit_random(&random, (size_t)(r->staged - r->timers.written) + 1),
                now);
        }
        int64_t first = model_first(r);
        int64_t clock = now - r->timers.paused_total_us;
        int64_t next = timers_get_us_until_deadline(&r->timers, now);
        assert_int_equal(next >= 0, first >= 0);
        assert_true(first < 0 || next <= (first > clock ? first - clock : 0));
        struct pending *p = timers_find_expired_request(&r->timers, now);
        assert_int_equal(p != NULL, first >= 0 && first <= clock);
        assert_true(p != NULL || timers_get_us_until_deadline(&r->timers, now) != 0);
        if (p != NULL) {
            assert_true(model_due(r, p) <= clock);
            row_remove(r, p);
            n--;
        }
    }
    row_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timers_start_when_the_last_byte_is_written),
        cmocka_unit_test(test_timers_unread_request_has_a_deadline),
        cmocka_unit_test(test_timers_progress_restarts_the_timer_but_not_the_maximum),
        cmocka_unit_test(test_timers_pause_while_a_server_request_is_pending),
        cmocka_unit_test(test_timers_pause_while_the_server_is_not_read),
        cmocka_unit_test(test_timers_short_pauses_do_not_put_off_a_deadline_forever),
        cmocka_unit_test(test_timers_skip_time_in_which_the_process_did_not_run),
        cmocka_unit_test(test_timers_skip_nothing_during_a_pause),
        cmocka_unit_test(test_timers_request_added_during_a_pause_has_its_full_time),
        cmocka_unit_test(test_timers_request_without_a_deadline_is_never_due),
        cmocka_unit_test(test_timers_request_that_waits_for_a_user_has_only_the_maximum),
        cmocka_unit_test(test_timers_restart_with_a_new_process),
        cmocka_unit_test(test_timers_shortest_unread_request_is_due_first),
        cmocka_unit_test(test_timers_maximum_applies_to_unread_requests),
        cmocka_unit_test(test_timers_deadlines_apply_while_no_server_runs),
        cmocka_unit_test(test_timers_become_due_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
