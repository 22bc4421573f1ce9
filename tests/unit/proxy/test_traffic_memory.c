/* Memory runs out: a message that cannot be handled is refused, and the session goes on. */
#include "proxy/session/traffic.h"

#include "tests/support/traffic_words.h"

static bool fail;

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_malloc(size_t n)
{
    return fail ? NULL : __real_malloc(n);
}

/* The journal is memory of its own. */
static uint64_t append(void *owner, const struct row *row)
{
    bool was = fail;
    fail = false;
    uint64_t seq = fake_append(owner, row);
    fail = was;
    return seq;
}

static void begin(struct fixture *f)
{
    f->journal.journal.append = append;
    traffic_begin(f, VALIDATE_WIRE, MAX);
}

/* A line of the client, in a chunk of its own, that is handled without memory. */
static void say_without_memory(struct fixture *f, const char *text)
{
    size_t n = strlen(text);
    struct chunk *c = chunk_new(n + 1);
    assert_non_null(c);
    memcpy(c->data, text, n);
    traffic_quotes(c->data, n);
    struct line line = {c->data, n, c};
    fail = true;
    traffic_handle_line(&f->traffic, ROW_C2S, &line);
    fail = false;
    chunk_release(c);
}

static void test_traffic_request_without_memory_is_refused(void **state)
{
    struct fixture *f = *state;
    begin(f);
    say_without_memory(f, PING("1"));
    say_without_memory(f, PING("'two'"));
    traffic_say(f, "C " PING("3"));
    say_without_memory(f, PING("4"));
    traffic_turn(f);
    traffic_say(f, "S " OK("3"));
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_C2S), PING("3") "|");
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<1 -32603 out-of-memory><'two' -32603 out-of-memory>"
                        "<4 -32603 out-of-memory>" OK("3") "|");
    assert_string_equal(traffic_rows(f), "1 c2s request refused 1 ping - - - - -;"
                                         "2 s2c* error forwarded 1 - - 1 -32603 - -;"
                                         "3 c2s request refused 'two' ping - - - - -;"
                                         "4 s2c* error forwarded 'two' - - 3 -32603 - -;"
                                         "5 c2s request forwarded 3 ping - - - - -;"
                                         "6 c2s request refused 4 ping - - - - -;"
                                         "7 s2c* error forwarded 4 - - 6 -32603 - -;"
                                         "8 s2c result forwarded 3 - - 5 - - -");
    assert_int_equal(said_lines(), 0);
    traffic_end(f);
}

/* What was set aside is used again when it is written. */
static void test_traffic_many_turns_without_memory_go_on(void **state)
{
    struct fixture *f = *state;
    begin(f);
    for (int i = 0; i < 500; i++) {
        say_without_memory(f, PING("1"));
        traffic_turn(f);
    }
    assert_false(f->traffic.out[ROW_S2C].broken);
    traffic_end(f);
}

static void test_traffic_client_is_disconnected_when_no_error_fits(void **state)
{
    struct fixture *f = *state;
    int refused = 0;
    begin(f);
    for (; !f->traffic.out[ROW_S2C].broken; refused++) {
        assert_true(refused < 1000);
        say_without_memory(f, PING("1"));
    }
    assert_true(refused > 50);
    assert_true(said_holds("out of memory for an answer, closing the connection"));
    traffic_end(f);
}

/* The queue for the server cannot grow. */
static void test_traffic_message_that_cannot_be_staged_is_refused(void **state)
{
    struct fixture *f = *state;
    struct outbox *to_server = &f->traffic.out[ROW_C2S];
    begin(f);
    traffic_say(f, "C " NOTE);
    size_t cap = to_server->cap;
    for (size_t i = 1; i < cap; i++)
        say_without_memory(f, NOTE);
    assert_int_equal(to_server->count, cap);
    say_without_memory(f, PING("1"));
    say_without_memory(f, "{'jsonrpc':'2.0','method':'notifications/lost'}");
    assert_false(to_server->broken);
    assert_int_equal(to_server->count, cap);
    traffic_say(f, "C " PING("2"));
    assert_int_equal(to_server->count, cap + 1);
    traffic_turn(f);
    assert_string_equal(traffic_got(f, ROW_S2C),
                        "<1 -32603 out-of-memory><null -32603 out-of-memory>");
    traffic_end(f);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, traffic_set_up, traffic_tear_down)
    const struct CMUnitTest tests[] = {
        T(test_traffic_request_without_memory_is_refused),
        T(test_traffic_many_turns_without_memory_go_on),
        T(test_traffic_client_is_disconnected_when_no_error_fits),
        T(test_traffic_message_that_cannot_be_staged_is_refused),
    };
    return cmocka_run_group_tests_name("traffic_memory", tests, NULL, NULL);
}
