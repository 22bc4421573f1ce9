/* The list of calls or messages, read from both sides. */
#include "cli/ui/model/listing.h"

#include "tests/support/unit.h"

#define N 12

/* Two calls that overlap, one that failed, one that is open, one of the server. */
static const struct query_message session[N] = {
    {.seq = 1, .t_us = 100, .kind = KIND_REQUEST, .method = {"initialize", 10}},
    {.seq = 2,
     .t_us = 300,
     .kind = KIND_RESULT,
     .direction = ROW_S2C,
     .request_seq = 1,
     .request_method = {"initialize", 10}},
    {.seq = 3, .t_us = 400, .kind = KIND_NOTIFICATION, .method = {"notifications/initialized", 25}},
    {.seq = 4,
     .t_us = 1000,
     .kind = KIND_REQUEST,
     .method = {"tools/call", 10},
     .target = {"a", 1}},
    {.seq = 5,
     .t_us = 1100,
     .kind = KIND_REQUEST,
     .method = {"tools/call", 10},
     .target = {"b", 1}},
    {.seq = 6, .t_us = 1200, .kind = KIND_STDERR, .direction = ROW_S2C},
    {.seq = 7,
     .t_us = 1300,
     .kind = KIND_ERROR,
     .direction = ROW_S2C,
     .request_seq = 5,
     .request_method = {"tools/call", 10},
     .request_target = {"b", 1}},
    {.seq = 8,
     .t_us = 1400,
     .kind = KIND_REQUEST,
     .direction = ROW_S2C,
     .method = {"roots/list", 10}},
    {.seq = 9,
     .t_us = 1600,
     .kind = KIND_RESULT,
     .direction = ROW_C2S,
     .request_seq = 8,
     .request_method = {"roots/list", 10}},
    {.seq = 10,
     .t_us = 3000,
     .kind = KIND_RESULT,
     .direction = ROW_S2C,
     .request_seq = 4,
     .request_method = {"tools/call", 10},
     .request_target = {"a", 1}},
    {.seq = 11,
     .t_us = 3100,
     .kind = KIND_RESULT,
     .direction = ROW_S2C,
     .request_seq = 4,
     .request_method = {"tools/call", 10},
     .request_target = {"a", 1}},
    {.seq = 12,
     .t_us = 4000,
     .kind = KIND_REQUEST,
     .method = {"tools/call", 10},
     .target = {"a", 1}},
};

/* The calls that follow from them. */
static const struct query_call calls[] = {
    {.request_seq = 1,
     .closing_seq = 2,
     .t_us = 100,
     .duration_us = 200,
     .method = {"initialize", 10}},
    {.request_seq = 4,
     .closing_seq = 10,
     .t_us = 1000,
     .duration_us = 2000,
     .method = {"tools/call", 10},
     .target = {"a", 1}},
    {.request_seq = 5,
     .closing_seq = 7,
     .t_us = 1100,
     .duration_us = 200,
     .status = CALL_ERROR,
     .method = {"tools/call", 10},
     .target = {"b", 1}},
    {.request_seq = 8,
     .closing_seq = 9,
     .t_us = 1400,
     .duration_us = 200,
     .direction = ROW_S2C,
     .method = {"roots/list", 10}},
    {.request_seq = 12,
     .closing_seq = N + 1,
     .t_us = 4000,
     .method = {"tools/call", 10},
     .target = {"a", 1}},
};

/* A call as it is when the messages up to `last` are recorded. */
static struct query_call call_then(size_t i, int64_t last)
{
    struct query_call c = calls[i];
    if (c.closing_seq > last) {
        c.closing_seq = 0;
        c.duration_us = -1;
        c.status = CALL_OPEN;
    }
    return c;
}

typedef bool (*matches_fn)(const struct query_message *m);

static void add(struct listing *l, int64_t seq, int64_t last, matches_fn matches,
                enum listing_end end)
{
    const struct query_message *m = &session[seq - 1];
    assert_int_equal(listing_add_message(l, m, matches == NULL || matches(m), end), 0);
    for (size_t i = 0; i < MI_COUNT(calls); i++) {
        struct query_call c = call_then(i, last);
        if (c.request_seq == seq)
            assert_int_equal(listing_add_call(l, &c, end), 0);
        else if (end == LISTING_NEWER && c.request_seq == m->request_seq)
            assert_int_equal(listing_update_call(l, &c), 0);
    }
}

/* The messages up to `split` are read backwards, later ones as they are recorded. */
static void read_all(struct listing *l, enum listing_mode mode, bool every, int split,
                     matches_fn matches)
{
    listing_open(l, mode, every, split);
    int older = split, newer = split;
    while (older > 0 || newer < N) { /* in turn */
        if (newer < N) {
            newer++;
            add(l, newer, newer, matches, LISTING_NEWER);
        }
        if (older > 0)
            add(l, older--, newer, matches, LISTING_OLDER);
    }
    listing_extend_message_range(l, 1, N);
}

static void expect_row(const struct listing *l, size_t at, int64_t seq, int64_t answer,
                       int64_t took_us, enum call_status status)
{
    struct listed r = listing_get_row_at(l, at);
    assert_int_equal(r.seq, seq);
    assert_int_equal(r.answer, answer);
    assert_int_equal(r.took_us, took_us);
    assert_int_equal(r.status, status);
}

static void test_listing_calls_are_the_same_wherever_reading_began(void **state)
{
    (void)state;
    for (int split = 0; split <= N; split++) {
        struct listing l;
        read_all(&l, LISTING_CALLS, true, split, NULL);
        assert_int_equal(listing_count_rows(&l), 5);
        expect_row(&l, 0, 1, 2, 200, CALL_OK);
        expect_row(&l, 1, 4, 10, 2000, CALL_OK); /* the first answer counts */
        expect_row(&l, 2, 5, 7, 200, CALL_ERROR);
        expect_row(&l, 3, 8, 9, 200, CALL_OK);
        expect_row(&l, 4, 12, 0, -1, CALL_OPEN);
        assert_int_equal(l.figures.all.calls, 4); /* those of the client */
        assert_int_equal(l.figures.all.failed, 1);
        assert_int_equal(l.figures.all.open, 1);
        assert_int_equal(l.figures.others, 1); /* of the server */
        assert_int_equal(l.figures.others_failed, 0);
        assert_int_equal(l.figures.all.latency.n, 3);
        assert_int_equal(l.figures.all.latency.most_us, 2000);
        listing_close(&l);
    }
}

static bool is_error(const struct query_message *m)
{
    return m->kind == KIND_ERROR;
}

static void test_listing_call_matches_by_its_answer_and_all_are_counted(void **state)
{
    (void)state;
    for (int split = 0; split <= N; split++) {
        struct listing l;
        read_all(&l, LISTING_CALLS, false, split, is_error);
        assert_int_equal(listing_count_rows(&l), 1);
        expect_row(&l, 0, 5, 7, 200, CALL_ERROR);
        assert_int_equal(l.figures.all.calls, 4);
        listing_close(&l);
    }
}

static bool is_result(const struct query_message *m)
{
    return m->kind == KIND_RESULT;
}

static void test_listing_calls_that_match_late_are_in_order(void **state)
{
    (void)state;
    static const int64_t want[] = {1, 4, 8};
    for (int split = 0; split <= N; split++) {
        struct listing l;
        read_all(&l, LISTING_CALLS, false, split, is_result);
        assert_int_equal(listing_count_rows(&l), MI_COUNT(want));
        for (size_t i = 0; i < MI_COUNT(want); i++)
            assert_int_equal(listing_get_row_at(&l, i).seq, want[i]);
        listing_close(&l);
    }
}

static bool is_request_5(const struct query_message *m)
{
    return m->seq == 5;
}

/* The call 4 is read backwards and does not match; its end, recorded later, does. Then it stands before call 5, which was
 * read backwards as well. */
static void test_listing_call_that_matches_late_stands_among_old_ones(void **state)
{
    (void)state;
    struct listing l;
    listing_open(&l, LISTING_CALLS, false, 5);
    add(&l, 5, 5, is_request_5, LISTING_OLDER);
    add(&l, 4, 5, is_request_5, LISTING_OLDER);
    add(&l, 10, 10, NULL, LISTING_NEWER);
    assert_int_equal(listing_count_rows(&l), 2);
    expect_row(&l, 0, 4, 10, 2000, CALL_OK);
    expect_row(&l, 1, 5, 0, -1, CALL_OPEN);
    assert_int_equal(listing_find_row_of_seq(&l, 5), 1);
    listing_close(&l);
}

static void test_listing_all_messages_need_no_rows(void **state)
{
    (void)state;
    struct listing l;
    read_all(&l, LISTING_MESSAGES, true, 6, NULL);
    assert_int_equal(listing_count_rows(&l), N);
    assert_int_equal(l.old_n + l.young_n, 0);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(listing_get_row_at(&l, i).seq, i + 1);
        assert_int_equal(listing_find_row_of_seq(&l, (int64_t)i + 1), i);
    }
    assert_int_equal(l.figures.all.calls, 4);
    listing_close(&l);
}

static void test_listing_messages_that_match(void **state)
{
    (void)state;
    for (int split = 0; split <= N; split++) {
        struct listing l;
        read_all(&l, LISTING_MESSAGES, false, split, is_result);
        static const int64_t want[] = {2, 9, 10, 11};
        assert_int_equal(listing_count_rows(&l), MI_COUNT(want));
        for (size_t i = 0; i < MI_COUNT(want); i++)
            assert_int_equal(listing_get_row_at(&l, i).seq, want[i]);
        assert_int_equal(listing_find_row_of_seq(&l, 3), 1);
        assert_int_equal(listing_find_row_of_seq(&l, 12), MI_COUNT(want));
        listing_close(&l);
    }
}

static void test_listing_call_matches_by_a_request_that_continues_it(void **state)
{
    (void)state;
    struct query_call c = call_then(1, 5); /* 4, open */
    struct listing l;
    listing_open(&l, LISTING_CALLS, false, 5);
    assert_int_equal(listing_add_message(&l, &session[4], true, LISTING_OLDER), 0);
    assert_int_equal(listing_link_request_to_call(&l, 5, 4), 0);
    assert_int_equal(listing_link_request_to_call(&l, 3, 1), 0); /* it does not match */
    assert_int_equal(listing_add_call(&l, &c, LISTING_OLDER), 0);
    assert_int_equal(listing_count_rows(&l), 1);
    expect_row(&l, 0, 4, 0, -1, CALL_OPEN);
    assert_int_equal(l.matched.n, 0);
    listing_close(&l);

    /* It was read, and matches while it is open, then when it has ended. */
    listing_open(&l, LISTING_CALLS, false, 5);
    assert_int_equal(listing_add_call(&l, &c, LISTING_OLDER), 0);
    assert_int_equal(listing_count_rows(&l), 0);
    listing_extend_message_range(&l, 1, 5);
    for (int i = 0; i < 2; i++) { /* the second time it is in the list */
        assert_int_equal(listing_add_message(&l, &session[11], true, LISTING_NEWER), 0);
        assert_int_equal(listing_link_request_to_call(&l, 12, 4), 0);
        assert_int_equal(listing_update_call(&l, &c), 0);
        assert_int_equal(listing_count_rows(&l), 1);
        expect_row(&l, 0, 4, 0, -1, CALL_OPEN);
    }
    c = call_then(1, 12);
    assert_int_equal(listing_update_call(&l, &c), 0);
    expect_row(&l, 0, 4, 10, 2000, CALL_OK);
    assert_int_equal(listing_count_rows(&l), 1);
    listing_close(&l);
}

static void test_listing_call_matches_by_the_notification_that_ended_its_task(void **state)
{
    (void)state;
    struct query_message ends = {
        .seq = 9, .kind = KIND_NOTIFICATION, .method = slice_of("notifications/tasks")};
    struct query_message other = {
        .seq = 8, .kind = KIND_NOTIFICATION, .method = slice_of("notifications/message")};
    struct query_call c = {.request_seq = 4,
                           .closing_seq = 9,
                           .duration_us = 5,
                           .status = CALL_OK,
                           .method = slice_of("tools/call")};
    struct listing l;
    listing_open(&l, LISTING_CALLS, false, 9);
    assert_int_equal(listing_add_message(&l, &ends, true, LISTING_OLDER), 0);
    assert_int_equal(listing_add_message(&l, &other, true, LISTING_OLDER), 0);
    assert_int_equal(listing_add_call(&l, &c, LISTING_OLDER), 0);
    assert_int_equal(listing_count_rows(&l), 1);
    expect_row(&l, 0, 4, 9, 5, CALL_OK);
    assert_int_equal(l.matched.n, 0);
    listing_close(&l);

    /* It was read while it was open. */
    struct query_call open = {.request_seq = 4, .duration_us = -1, .status = CALL_OPEN};
    listing_open(&l, LISTING_CALLS, false, 5);
    assert_int_equal(listing_add_call(&l, &open, LISTING_OLDER), 0);
    listing_extend_message_range(&l, 1, 5);
    assert_int_equal(listing_add_message(&l, &ends, true, LISTING_NEWER), 0);
    assert_int_equal(listing_update_call(&l, &c), 0);
    expect_row(&l, 0, 4, 9, 5, CALL_OK);
    assert_int_equal(l.matched.n + l.open.n, 0);
    listing_close(&l);
}

static void test_listing_refused_call_is_closed(void **state)
{
    (void)state;
    struct query_call c = {.request_seq = 4, .status = CALL_REFUSED, .method = {"tools/call", 10}};
    struct listing l;
    listing_open(&l, LISTING_CALLS, true, 4);
    assert_int_equal(listing_add_call(&l, &c, LISTING_OLDER), 0);
    assert_int_equal(listing_get_row_at(&l, 0).status, CALL_REFUSED);
    assert_int_equal(l.figures.all.open, 0);
    assert_int_equal(l.figures.all.failed, 1);
    listing_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_listing_calls_are_the_same_wherever_reading_began),
        cmocka_unit_test(test_listing_call_matches_by_its_answer_and_all_are_counted),
        cmocka_unit_test(test_listing_calls_that_match_late_are_in_order),
        cmocka_unit_test(test_listing_call_that_matches_late_stands_among_old_ones),
        cmocka_unit_test(test_listing_all_messages_need_no_rows),
        cmocka_unit_test(test_listing_messages_that_match),
        cmocka_unit_test(test_listing_call_matches_by_a_request_that_continues_it),
        cmocka_unit_test(test_listing_call_matches_by_the_notification_that_ended_its_task),
        cmocka_unit_test(test_listing_refused_call_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
