/* Calls without progress: what counts as the same, what ends a row, and the limits. */
#include "tests/support/unit.h"

#include "model/no_progress.h"

static struct no_progress p;
static int64_t seq;

static struct no_progress_found add(enum row_direction direction, enum row_kind kind,
                                    int64_t request_seq, const char *text)
{
    char *body = strdup(text);
    for (char *c = body; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    struct no_progress_message m = {.seq = ++seq,
                                    .request_seq = request_seq,
                                    .direction = direction,
                                    .kind = kind,
                                    .action = ROW_FORWARDED,
                                    .method = slice_of(kind == KIND_REQUEST ? "tools/call" : "")};
    struct rpc read;
    int st = rpc_read(slice_of(body), &read);
    struct no_progress_found f = no_progress_add_message(&p, &m, st == 0 ? &read : NULL);
    free(body);
    return f;
}

/* A call with these params, and its answer: a result or an error. Returns what is reported. */
static const char *call(const char *params, const char *answer)
{
    static char text[64];
    struct buf line = {0}, words = {0};
    buf_printf(&line, "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':%s}", params);
    assert_int_equal(add(ROW_C2S, KIND_REQUEST, 0, buf_str(&line)).times, 0);
    int64_t request = seq;
    buf_clear(&line);
    buf_printf(&line, "{'jsonrpc':'2.0','id':1,%s}", answer);
    bool is_error = strncmp(answer, "'error'", 7) == 0;
    struct no_progress_found f =
        add(ROW_S2C, is_error ? KIND_ERROR : KIND_RESULT, request, buf_str(&line));
    assert_int_equal(f.request, f.times > 0 ? request : f.request);
    if (f.times > 0)
        no_progress_append_reason(&words, f.times, f.failed);
    snprintf(text, sizeof text, "%s", buf_str(&words));
    buf_close(&line);
    buf_close(&words);
    return text;
}

static int set_up(void **state)
{
    (void)state;
    static const struct hash_key key = {1, 2};
    no_progress_open(&p, &key);
    seq = 0;
    return 0;
}

#define A "{'name':'a','arguments':{'x':1,'y':[1]}}"
#define A_SPELLED "{'_meta':{'progressToken':9},'arguments':{'y':[1.0],'x':1e0},'name':'\\u0061'}"
#define B "{'name':'b','arguments':{'x':1,'y':[1]}}"
#define DONE "'result':{'content':[{'type':'text','text':'done'}]}"
#define DONE_SPELLED "'result':{'_meta':{'t':7},'content':[{'text':'d\\u006fne','type':'text'}]}"
#define OTHER "'result':{'content':[{'type':'text','text':'other'}]}"
#define FAILED "'result':{'content':[],'isError':true}"
#define ERROR(text) "'error':{'code':-1,'message':'" text "'}"

static void test_no_progress_same_result_is_reported_at_five_and_each_doubling(void **state)
{
    (void)state;
    for (unsigned i = 1; i <= 41; i++) {
        char want[64] = "";
        if (i == 5 || i == 10 || i == 20 || i == 40)
            snprintf(want, sizeof want, "the same result %u times in a row", i);
        assert_string_equal(call(i % 2 == 0 ? A : A_SPELLED, i % 3 == 0 ? DONE : DONE_SPELLED),
                            want);
    }
}

static void test_no_progress_large_results_are_compared_as_they_are_written(void **state)
{
    (void)state;
    static char large[2][80000];
    for (size_t i = 0; i < 2; i++) {
        memset(large[i], ' ', sizeof large[i] - 1);
        const char *v = i == 0 ? "'result':{'a':1,'b':2," : "'result':{'b':2,'a':1,";
        memcpy(large[i], v, strlen(v));
        memcpy(large[i] + sizeof large[i] - 8, "'c':3}", 6);
    }
    for (unsigned i = 1; i <= 4; i++)
        assert_string_equal(call(A, large[0]), "");
    assert_string_equal(call(A, large[0]), "the same result 5 times in a row");
    for (unsigned i = 1; i <= 8; i++)
        assert_string_equal(call(A, large[i % 2]), "");
}

static void test_no_progress_row_ends_with_another_result_or_call(void **state)
{
    (void)state;
    static const struct {
        const char *params, *answer;
    } between[] = {{A, OTHER}, {B, DONE}, {"{'name':'a','arguments':{'x':2,'y':[1]}}", DONE}};
    for (size_t i = 0; i < MI_COUNT(between); i++) {
        set_up(NULL);
        for (int k = 0; k < 4; k++)
            assert_string_equal(call(A, DONE), "");
        assert_string_equal(call(between[i].params, between[i].answer), "");
        for (int k = 0; k < 4; k++)
            assert_string_equal(call(A, DONE), "");
        assert_string_equal(call(A, DONE), "the same result 5 times in a row");
    }
}

static void test_no_progress_other_messages_do_not_end_a_row(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        call(A, DONE);
        add(ROW_S2C, KIND_NOTIFICATION, 0, "{'jsonrpc':'2.0','method':'notifications/x'}");
        add(ROW_S2C, KIND_RESULT, 9999, "{'jsonrpc':'2.0','id':2,'result':{}}");
    }
    assert_string_equal(call(A, DONE), "the same result 5 times in a row");
}

static void test_no_progress_failing_call_is_counted_across_other_calls(void **state)
{
    (void)state;
    static const char *const answers[] = {FAILED, ERROR("x"), ERROR("y"), FAILED, ERROR("z")};
    for (size_t i = 0; i < MI_COUNT(answers); i++) {
        char text[32];
        snprintf(text, sizeof text, "'result':{'n':%zu}", i);
        assert_string_equal(call(B, text), "");
        assert_string_equal(call(A, answers[i]), i == 4 ? "failed 5 times" : "");
    }
    assert_string_equal(call(A, DONE), ""); /* it has succeeded */
    for (int k = 0; k < 4; k++)
        assert_string_equal(call(A, FAILED), "");
    assert_string_equal(call(A, FAILED), "failed 5 times");
}

/* The client has not seen the answer of the one before. */
static void test_no_progress_calls_at_once_count_as_one(void **state)
{
    (void)state;
    static const char *const answers[] = {DONE, ERROR("x")};
    for (size_t i = 0; i < MI_COUNT(answers); i++) {
        int64_t first[20];
        set_up(NULL);
        for (int k = 0; k < 20; k++) {
            add(ROW_C2S, KIND_REQUEST, 0,
                "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':" A "}");
            first[k] = seq;
        }
        for (int k = 19; k >= 0; k--) {
            char line[128];
            snprintf(line, sizeof line, "{'jsonrpc':'2.0','id':1,%s}", answers[i]);
            assert_int_equal(add(ROW_S2C, i == 0 ? KIND_RESULT : KIND_ERROR, first[k], line).times,
                             0);
        }
        for (int k = 2; k <= 5; k++)
            assert_int_equal(call(A, answers[i])[0] != '\0', k == 5);
    }
}

static void test_no_progress_answer_that_was_dropped_counts_for_nothing(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++)
        call(A, DONE);
    add(ROW_C2S, KIND_REQUEST, 0, "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':" A "}");
    struct no_progress_message m = {.seq = seq + 1,
                                    .request_seq = seq,
                                    .direction = ROW_S2C,
                                    .kind = KIND_RESULT,
                                    .action = ROW_SWALLOWED};
    struct rpc read;
    assert_int_equal(rpc_read(slice_of("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), &read), 0);
    assert_int_equal(no_progress_add_message(&p, &m, &read).times, 0);
    m.action = ROW_FORWARDED;
    assert_int_equal(no_progress_add_message(&p, &m, NULL).times, 0); /* not available */
    assert_int_equal(p.same, 4);
}

/* What the limits forget is not counted, and nothing else is. */
static void test_no_progress_limits_forget_the_oldest(void **state)
{
    (void)state;
    char params[64];
    for (int k = 0; k < 4; k++)
        call(A, FAILED);
    for (int i = 0; i < NO_PROGRESS_FAILING - 1; i++) {
        snprintf(params, sizeof params, "{'name':'t','arguments':{'i':%d}}", i);
        call(params, FAILED);
    }
    assert_string_equal(call(A, FAILED), "failed 5 times");
    snprintf(params, sizeof params, "{'name':'t','arguments':{'i':-1}}");
    call(params, FAILED); /* takes the place of A */
    for (int k = 0; k < 4; k++)
        assert_string_equal(call(A, FAILED), "");
    assert_string_equal(call(A, FAILED), "failed 5 times");
    for (int i = 0; i < NO_PROGRESS_OPEN + 1; i++)
        add(ROW_C2S, KIND_REQUEST, 0,
            "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':" B "}");
    struct no_progress_found f =
        add(ROW_S2C, KIND_RESULT, seq - NO_PROGRESS_OPEN, "{'jsonrpc':'2.0','id':1," DONE "}");
    assert_int_equal(f.times, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_no_progress_same_result_is_reported_at_five_and_each_doubling,
                               set_up),
        cmocka_unit_test_setup(test_no_progress_large_results_are_compared_as_they_are_written,
                               set_up),
        cmocka_unit_test_setup(test_no_progress_row_ends_with_another_result_or_call, set_up),
        cmocka_unit_test_setup(test_no_progress_other_messages_do_not_end_a_row, set_up),
        cmocka_unit_test_setup(test_no_progress_failing_call_is_counted_across_other_calls, set_up),
        cmocka_unit_test_setup(test_no_progress_calls_at_once_count_as_one, set_up),
        cmocka_unit_test_setup(test_no_progress_answer_that_was_dropped_counts_for_nothing, set_up),
        cmocka_unit_test_setup(test_no_progress_limits_forget_the_oldest, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
