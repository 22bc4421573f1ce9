/* What is sent to a collector, where, and what its answers mean. */
#include "ship/otlp/http_verdict.h"
#include "ship/otlp/session_walk.h"
#include "ship/otlp/url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- URLs ---- */

static void test_a_url_is_where_the_signals_are(void **state)
{
    (void)state;
    static const struct {
        const char *url, *base;
    } good[] = {
        {"otlp+http://h", "http://h"},
        {"otlp+http://h:4318/", "http://h:4318"},
        {"otlp+https://h.example/a/b//", "https://h.example/a/b"},
        {"otlp+http://[::1]:4318", "http://[::1]:4318"},
    };
    static const char *const bad[] = {
        "http://h",          "otlp://h",          "otlp+http://",        "otlp+http:///x",
        "otlp+http://:4318", "otlp+http://u@h",   "otlp+http://u:p@h/x", "otlp+http://h?a=b",
        "otlp+http://h#x",   "otlp+http://h/a b", "otlp+http://h\n",     "otlp+http://h/\x7f",
        "otlp+ftp://h",      "postgresql://h/db",
    };
    struct buf base = {0}, error = {0};
    for (size_t i = 0; i < MI_COUNT(good); i++) {
        buf_clear(&base);
        assert_true(url_is_otlp(good[i].url));
        assert_int_equal(url_make_base_url(good[i].url, &base, &error), 0);
        assert_string_equal(buf_str(&base), good[i].base);
    }
    assert_int_equal(error.n, 0);
    for (size_t i = 0; i < MI_COUNT(bad); i++) {
        buf_clear(&error);
        assert_int_equal(url_make_base_url(bad[i], &base, &error), MI_EINVAL);
        assert_true(error.n > 0);
    }
    buf_close(&base);
    buf_close(&error);
}

/* ---- headers ---- */

static int keep(void *ctx, const char *header)
{
    buf_adds(ctx, header);
    buf_addc(ctx, '\n');
    return 0;
}

static void test_headers_are_decoded_and_cannot_begin_another_one(void **state)
{
    (void)state;
    static const struct {
        const char *list, *headers; /* NULL: an error */
    } table[] = {
        {"", ""},
        {"a=b", "a: b\n"},
        {" a = b c ,, x-y=%41%2C%3d=", "a: b c\nx-y: A,==\n"},
        {"a=100%,b=%zz,c=%4", "a: 100%\nb: %zz\nc: %4\n"},
        {"a=", "a;\n"},
        {"a", NULL},
        {"=b", NULL},
        {"a b=c", NULL},
        {"a:=c", NULL},
        {"a=b%0d%0ax: y", NULL},
        {"a=b\nc", NULL},
        {"a=%00", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(table); i++) {
        struct buf b = {0}, error = {0};
        int st = url_read_headers(table[i].list, keep, &b, &error);
        assert_int_equal(st, table[i].headers != NULL ? 0 : MI_EINVAL);
        assert_int_equal(error.n > 0, table[i].headers == NULL);
        if (table[i].headers != NULL)
            assert_string_equal(buf_str(&b), table[i].headers);
        buf_close(&b);
        buf_close(&error);
    }
}

/* ---- answers ---- */

static void test_what_each_status_means(void **state)
{
    (void)state;
    static const struct {
        int status;
        enum verdict verdict;
    } table[] = {
        {200, VERDICT_TAKEN},          {202, VERDICT_TAKEN},          {204, VERDICT_TAKEN},
        {429, VERDICT_LATER},          {502, VERDICT_LATER},          {503, VERDICT_LATER},
        {504, VERDICT_LATER},          {400, VERDICT_BATCH_REFUSED},  {408, VERDICT_BATCH_REFUSED},
        {413, VERDICT_BATCH_REFUSED},  {415, VERDICT_BATCH_REFUSED},  {422, VERDICT_BATCH_REFUSED},
        {500, VERDICT_BATCH_REFUSED},  {501, VERDICT_BATCH_REFUSED},  {505, VERDICT_BATCH_REFUSED},
        {401, VERDICT_CLIENT_REFUSED}, {403, VERDICT_CLIENT_REFUSED}, {404, VERDICT_CLIENT_REFUSED},
        {405, VERDICT_CLIENT_REFUSED}, {407, VERDICT_CLIENT_REFUSED}, {301, VERDICT_CLIENT_REFUSED},
        {308, VERDICT_CLIENT_REFUSED}, {100, VERDICT_CLIENT_REFUSED}, {0, VERDICT_CLIENT_REFUSED},
    };
    for (size_t i = 0; i < MI_COUNT(table); i++)
        assert_int_equal(verdict_choose_by_http_status(table[i].status, OTLP_SPANS),
                         table[i].verdict);
    static const enum otlp_signal others[] = {OTLP_LOGS, OTLP_METRICS};
    for (size_t i = 0; i < MI_COUNT(others); i++) { /* not every collector takes them */
        assert_int_equal(verdict_choose_by_http_status(404, others[i]), VERDICT_SIGNAL_REFUSED);
        assert_int_equal(verdict_choose_by_http_status(405, others[i]), VERDICT_SIGNAL_REFUSED);
        assert_int_equal(verdict_choose_by_http_status(401, others[i]), VERDICT_CLIENT_REFUSED);
        assert_int_equal(verdict_choose_by_http_status(503, others[i]), VERDICT_LATER);
    }
}

static void test_retry_after_is_followed_up_to_an_hour(void **state)
{
    (void)state;
    assert_int_equal(verdict_limit_retry_wait(0), 0);
    assert_int_equal(verdict_limit_retry_wait(-5), 0);
    assert_int_equal(verdict_limit_retry_wait(7), 7000);
    assert_int_equal(verdict_limit_retry_wait(3599), 3599000);
    assert_int_equal(verdict_limit_retry_wait(3600), VERDICT_WAIT_MAX_MS);
    assert_int_equal(verdict_limit_retry_wait(INT64_MAX), VERDICT_WAIT_MAX_MS);
}

static void test_an_answer_may_say_what_was_not_taken(void **state)
{
    (void)state;
    static const struct {
        const char *body, *text;
        int64_t rejected;
    } table[] = {
        {"", "", 0},
        {"{}", "", 0},
        {"[]", "", 0},
        {"\n\b\x03\x12", "", 0}, /* protobuf */
        {"{\"partialSuccess\":null}", "", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"3\",\"errorMessage\":\"a\\nb\"}}", "a\nb", 3},
        {"{\"partialSuccess\":{\"rejectedLogRecords\":4}}", "", 4},
        {"{\"partialSuccess\":{\"rejectedDataPoints\":\"5\"}}", "", 5},
        {"{\"partialSuccess\":{\"rejectedSpans\":-1,\"errorMessage\":7}}", "", 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"9223372036854775807\","
         "\"rejectedLogRecords\":9223372036854775807}}",
         "", 2 * VERDICT_COUNT_MAX},
        {"{\"partialSuccess\":{\"rejectedSpans\":true,\"errorMessage\":\"w\"}}", "w", 0},
        {"{\"code\":3,\"message\":\"bad\"}", "bad", 0},
    };
    for (size_t i = 0; i < MI_COUNT(table); i++) {
        struct buf text = {0};
        int64_t rejected = -1;
        verdict_read_answer_body(slice_of(table[i].body), &text, &rejected);
        assert_string_equal(buf_str(&text), table[i].text);
        assert_int_equal(rejected, table[i].rejected);
        buf_close(&text);
    }
    char *large = malloc(4096);
    struct buf text = {0};
    int64_t rejected;
    memset(large, 'x', 4096);
    memcpy(large, "{\"message\":\"", 12);
    memcpy(large + 4094, "\"}", 2);
    verdict_read_answer_body((struct slice){large, 4096}, &text, &rejected);
    assert_in_range(text.n, 1, 512);
    buf_close(&text);
    free(large);
}

/* ---- which calls are closed ---- */

static struct query_message message(int64_t seq, enum row_kind kind, enum row_direction d,
                                    int64_t request)
{
    return (struct query_message){.seq = seq,
                                  .t_us = seq * 10,
                                  .kind = kind,
                                  .direction = d,
                                  .origin = ROW_PEER,
                                  .action = ROW_FORWARDED,
                                  .request_seq = request};
}

static int64_t step(struct walk *w, struct query_message m)
{
    int64_t call;
    assert_int_equal(walk_update_open_calls(w, &m, &call), 0);
    assert_int_equal(w->seq, m.seq);
    assert_int_equal(w->t_us, m.t_us);
    return call;
}

static void test_a_call_is_closed_once_by_an_answer_or_a_cancellation(void **state)
{
    (void)state;
    struct walks list = {0};
    struct walk *w = session_walks_add(&list, 7);
    assert_non_null(w);
    step(w, message(1, KIND_REQUEST, ROW_C2S, 0));
    step(w, message(2, KIND_REQUEST, ROW_C2S, 0));
    step(w, message(3, KIND_REQUEST, ROW_S2C, 0));
    step(w, message(4, KIND_REQUEST, ROW_C2S, 0));
    assert_int_equal(step(w, message(5, KIND_RESULT, ROW_C2S, 1)), 0);       /* from its own side */
    assert_int_equal(step(w, message(6, KIND_NOTIFICATION, ROW_S2C, 1)), 0); /* progress */
    assert_int_equal(step(w, message(7, KIND_RESULT, ROW_S2C, 9)), 0);
    struct query_message dropped = message(8, KIND_RESULT, ROW_S2C, 1);
    dropped.action = ROW_SWALLOWED;
    assert_int_equal(step(w, dropped), 0);
    assert_int_equal(step(w, message(9, KIND_NOTIFICATION, ROW_C2S, 1)), 1);
    assert_int_equal(step(w, message(10, KIND_RESULT, ROW_S2C, 1)), 0); /* too late */
    assert_int_equal(step(w, message(11, KIND_ERROR, ROW_C2S, 3)), 3);
    assert_int_equal(step(w, message(12, KIND_ERROR, ROW_S2C, 2)), 2);
    assert_int_equal(step(w, message(13, KIND_STDERR, ROW_S2C, 0)), 0);
    struct query_message own = message(14, KIND_REQUEST, ROW_C2S, 0); /* of the proxy itself */
    own.origin = ROW_INTERPOSER;
    step(w, own);
    assert_int_equal(walk_remove_first_open_call(w), 4);
    assert_int_equal(walk_remove_first_open_call(w), 0);
    session_walks_drop_saved(&list, true);
}

static void test_sessions_are_kept_by_id_until_they_are_complete_and_saved(void **state)
{
    (void)state;
    static const int64_t ids[] = {50, 10, 30, 20, 40};
    struct walks list = {0};
    for (size_t i = 0; i < MI_COUNT(ids); i++)
        assert_non_null(session_walks_add(&list, ids[i]));
    for (size_t i = 0; i < MI_COUNT(ids); i++)
        assert_int_equal(session_walks_find(&list, ids[i])->id, ids[i]);
    assert_null(session_walks_find(&list, 25));
    struct walk *w = session_walks_find(&list, 20);
    step(w, message(1, KIND_REQUEST, ROW_C2S, 0));
    w->complete = true;
    w->saved = false;
    session_walks_drop_saved(&list, false);
    assert_int_equal(list.n, 5);
    w->saved = true;
    session_walks_drop_saved(&list, false);
    assert_int_equal(list.n, 4);
    assert_null(session_walks_find(&list, 20));
    session_walks_remove(&list, 50);
    assert_null(session_walks_find(&list, 50));
    assert_int_equal(session_walks_find(&list, 40)->id, 40);
    session_walks_drop_saved(&list, true);
    assert_int_equal(list.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_url_is_where_the_signals_are),
        cmocka_unit_test(test_headers_are_decoded_and_cannot_begin_another_one),
        cmocka_unit_test(test_what_each_status_means),
        cmocka_unit_test(test_retry_after_is_followed_up_to_an_hour),
        cmocka_unit_test(test_an_answer_may_say_what_was_not_taken),
        cmocka_unit_test(test_a_call_is_closed_once_by_an_answer_or_a_cancellation),
        cmocka_unit_test(test_sessions_are_kept_by_id_until_they_are_complete_and_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
