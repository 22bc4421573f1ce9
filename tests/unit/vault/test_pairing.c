/* Which request an answer belongs to, if several have its id. */
#include "vault/cassette/pairing.h"

#include "tests/support/unit.h"

struct pairs {
    struct pairing p;
    int64_t seq;
};

/* Adds a line and returns the request that it belongs to by this rule. */
static int64_t line(struct pairs *x, enum pairing_rule rule, bool from_client, const char *text)
{
    struct rpc m;
    int64_t re = 0;
    assert_int_equal(rpc_read(slice_of(text), &m), 0);
    assert_int_equal(pairing_find_request(&x->p, rule, from_client, &m, &re), 0);
    x->seq++;
    assert_int_equal(pairing_add_message(&x->p, from_client, &m, x->seq, x->seq, m.method,
                                         (struct slice){0}, ROW_FORWARDED, re),
                     0);
    return re;
}

#define CALL(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{}}"
#define ANSWER(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{}}"
#define CANCEL(id)                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id "}}"

static void test_pairing_of_a_reused_id_follows_the_rule(void **state)
{
    (void)state;
    struct pairs oldest = {.seq = 0}, newest = {.seq = 0};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(line(&oldest, PAIRING_OLDEST, true, CALL("7")), 0);
        assert_int_equal(line(&newest, PAIRING_NEWEST, true, CALL("7")), 0);
    }
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(line(&oldest, PAIRING_OLDEST, false, ANSWER("7")), i);
        assert_int_equal(line(&newest, PAIRING_NEWEST, false, ANSWER("7")), 4 - i);
    }
    assert_int_equal(line(&oldest, PAIRING_OLDEST, false, ANSWER("7")), 0);
    assert_int_equal(line(&newest, PAIRING_NEWEST, false, ANSWER("7")), 0);
    pairing_close(&oldest.p);
    pairing_close(&newest.p);
}

static void test_pairing_cancelled_request_comes_after_open_ones(void **state)
{
    (void)state;
    struct pairs x = {.seq = 0};
    assert_int_equal(line(&x, PAIRING_OLDEST, true, CALL("7")), 0);   /* 1 */
    assert_int_equal(line(&x, PAIRING_OLDEST, true, CANCEL("7")), 1); /* 2 */
    assert_int_equal(line(&x, PAIRING_OLDEST, true, CALL("7")), 0);   /* 3 */
    assert_int_equal(line(&x, PAIRING_OLDEST, false, ANSWER("7")), 3);
    assert_int_equal(line(&x, PAIRING_OLDEST, false, ANSWER("7")), 1); /* late */
    assert_int_equal(line(&x, PAIRING_OLDEST, false, ANSWER("7")), 0);
    pairing_close(&x.p);
    x = (struct pairs){.seq = 0}; /* the newest, whether it is cancelled or not */
    assert_int_equal(line(&x, PAIRING_NEWEST, true, CALL("7")), 0);
    assert_int_equal(line(&x, PAIRING_NEWEST, true, CALL("7")), 0);
    assert_int_equal(line(&x, PAIRING_NEWEST, true, CANCEL("7")), 2);
    assert_int_equal(line(&x, PAIRING_NEWEST, true, CANCEL("7")), 0);
    assert_int_equal(line(&x, PAIRING_NEWEST, false, ANSWER("\"7\"")), 2);
    assert_int_equal(line(&x, PAIRING_NEWEST, false, ANSWER("7")), 1);
    pairing_close(&x.p);
}

static void test_pairing_finds_requests_in_both_orders_after_growing(void **state)
{
    (void)state;
    char text[80];
    for (int rule = 0; rule < 2; rule++) {
        struct pairs x = {.seq = 0};
        for (int i = 0; i < 500; i++) {
            snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"x\"}",
                     i % 250);
            assert_int_equal(line(&x, (enum pairing_rule)rule, true, text), 0);
        }
        for (int i = 0; i < 500; i++) {
            snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}", i % 250);
            bool first = (rule == PAIRING_OLDEST) == (i < 250);
            assert_int_equal(line(&x, (enum pairing_rule)rule, false, text),
                             i % 250 + 1 + (first ? 0 : 250));
        }
        pairing_close(&x.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairing_of_a_reused_id_follows_the_rule),
        cmocka_unit_test(test_pairing_cancelled_request_comes_after_open_ones),
        cmocka_unit_test(test_pairing_finds_requests_in_both_orders_after_growing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
