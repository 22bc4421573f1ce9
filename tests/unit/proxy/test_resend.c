/* Requests that were pending when a server process ended: which of them the next process gets, and when. */
#include "proxy/session/resend.h"

#include "tests/support/unit.h"
#include "wire/mcp/method.h"

#define READ 100 /* bytes that the process has read */

static int open_table(void **state)
{
    static struct pending_table t;
    pending_open(&t);
    *state = &t;
    return 0;
}

static int close_table(void **state)
{
    pending_close(*state);
    return 0;
}

static struct pending *add(struct pending_table *t, const char *method, uint64_t written_at)
{
    static int id;
    char text[200];
    struct rpc m;
    struct pending *p = NULL;
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\"}", ++id, method);
    assert_int_equal(rpc_read(slice_of(text), &m), 0);
    struct rpc_id key = pending_make_id(t, &m);
    assert_int_equal(pending_add(t, &m, &key, &p), 0);
    p->written_at = written_at;
    return p;
}

/* The process ended, and the request is kept for the next one. */
static void keep(struct pending *p)
{
    assert_int_equal(resend_decide_for_request(p, READ, RESEND_END_UNKNOWN, true), RESEND_AGAIN);
    p->written_at = PENDING_NOT_STAGED;
}

static void send_again(struct pending *p, uint64_t written_at)
{
    p->written_at = written_at;
    p->resend = RESEND_TRIED;
}

static void test_resend_a_request_is_sent_again_once(void **state)
{
    struct pending_table *t = *state;
    struct pending *p = add(t, "tools/list", READ);
    keep(p);
    assert_true(p->was_read);
    assert_ptr_equal(resend_find_next(&t->open), p);
    assert_false(resend_has_pending_read_request(&t->open, READ));
    send_again(p, READ);
    assert_null(resend_find_next(&t->open));
    assert_true(resend_has_pending_read_request(&t->open, READ));
    assert_int_equal(resend_decide_for_request(p, READ, RESEND_END_UNKNOWN, true),
                     RESEND_ENDED_TWO);
}

static void test_resend_a_request_that_the_next_process_has_not_read_is_not_blamed(void **state)
{
    struct pending_table *t = *state;
    struct pending *p = add(t, "tools/list", READ);
    keep(p);
    send_again(p, READ + 1);
    assert_false(resend_has_pending_read_request(&t->open, READ));
    keep(p);
    assert_ptr_equal(resend_find_next(&t->open), p);
}

static void test_resend_one_at_a_time(void **state)
{
    struct pending_table *t = *state;
    struct pending *a = add(t, "tools/list", 10), *b = add(t, "prompts/list", 20);
    struct pending *unread = add(t, "tools/list", READ + 1);
    keep(a);
    keep(b);
    keep(unread);
    struct pending *next = resend_find_next(&t->open);
    assert_ptr_equal(next, a);
    assert_true(resend_should_send_now(a, next));
    assert_false(resend_should_send_now(b, next));
    assert_true(resend_should_send_now(unread, next)); /* it cannot have ended the process */
    send_again(a, 10);
    unread->written_at = 20;
    assert_null(resend_find_next(&t->open));
    assert_int_equal(resend_decide_for_request(a, READ, RESEND_END_UNKNOWN, true),
                     RESEND_ENDED_TWO);
    pending_remove(t, a);
    keep(b); /* its turn has not come */
    keep(unread);
    next = resend_find_next(&t->open);
    assert_ptr_equal(next, b);
    assert_false(resend_should_send_now(unread, next)); /* this time it was read */
    pending_remove(t, b);
    assert_ptr_equal(resend_find_next(&t->open), unread);
}

static void test_resend_only_what_may_be_repeated(void **state)
{
    struct pending_table *t = *state;
    struct pending *read = add(t, "tools/call", READ), *unread = add(t, "tools/call", READ + 1);
    struct pending *lsp = add(t, "tools/list", READ + 1);
    lsp->lsp_cancelled = true;
    assert_int_equal(resend_decide_for_request(read, READ, RESEND_END_UNKNOWN, false), RESEND_NOT);
    assert_int_equal(resend_decide_for_request(unread, READ, RESEND_END_UNKNOWN, false),
                     RESEND_AGAIN);
    assert_int_equal(unread->resend, RESEND_NONE);
    assert_int_equal(resend_decide_for_request(lsp, READ, RESEND_END_UNKNOWN, true), RESEND_NOT);
}

static void test_resend_not_after_a_hang(void **state)
{
    struct pending_table *t = *state;
    struct pending *p = add(t, "tools/list", READ), *waits = add(t, "prompts/list", READ);
    keep(waits);
    assert_int_equal(resend_decide_for_request(p, READ, RESEND_END_HUNG, true), RESEND_NOT);
    assert_int_equal(resend_decide_for_request(waits, READ, RESEND_END_HUNG, true), RESEND_AGAIN);
}

static void test_resend_nothing_is_blamed_for_what_a_cancelled_request_may_have_done(void **state)
{
    struct pending_table *t = *state;
    struct pending *a = add(t, "tools/list", 10), *b = add(t, "prompts/list", 20);
    keep(a);
    keep(b);
    send_again(a, 10);
    pending_mark_cancelled(t, a);
    assert_ptr_equal(resend_find_next(&t->open), b);
    send_again(b, 20);
    assert_false(resend_reset_cancelled_requests(&t->cancelled, 9)); /* it was not read */
    a->resend = RESEND_TRIED;
    assert_true(resend_reset_cancelled_requests(&t->cancelled, READ));
    assert_int_equal(resend_decide_for_request(b, READ, RESEND_END_CANCELLED, true), RESEND_AGAIN);
    b->written_at = PENDING_NOT_STAGED;
    assert_ptr_equal(resend_find_next(&t->open), b);
    send_again(b, 20);
    assert_false(
        resend_reset_cancelled_requests(&t->cancelled, READ)); /* this process did not get it */
    assert_int_equal(resend_decide_for_request(b, READ, RESEND_END_UNKNOWN, true),
                     RESEND_ENDED_TWO);
}

/* A subscription is pending in every process: it is sent to each, and never blamed. */
static void test_resend_subscriptions_are_always_sent_again(void **state)
{
    struct pending_table *t = *state;
    struct pending *p = add(t, "subscriptions/listen", 10);
    assert_true(p->flags & METHOD_LISTENS);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(resend_decide_for_request(
                             p, READ, i % 2 == 0 ? RESEND_END_HUNG : RESEND_END_UNKNOWN, true),
                         RESEND_AGAIN);
        assert_true(resend_should_send_now(p, NULL));
        assert_null(resend_find_next(&t->open));
    }
}

#define T(f) cmocka_unit_test_setup_teardown(f, open_table, close_table)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(test_resend_a_request_is_sent_again_once),
        T(test_resend_a_request_that_the_next_process_has_not_read_is_not_blamed),
        T(test_resend_one_at_a_time),
        T(test_resend_only_what_may_be_repeated),
        T(test_resend_not_after_a_hang),
        T(test_resend_nothing_is_blamed_for_what_a_cancelled_request_may_have_done),
        T(test_resend_subscriptions_are_always_sent_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
