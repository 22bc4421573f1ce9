/* Uncertain calls, and what becomes of equal ones: each state with each event, and the limits of memory. */
#include "tests/support/unit.h"

#include "proxy/session/repeats.h"
#include "wire/json/text.h"

#define S INT64_C(1000000)
#define WINDOW (600 * S)
#define A 1 /* keys */
#define B 2

static struct repeats r;

static void begin(enum on_repeat mode)
{
    repeats_close(&r);
    repeats_open(&r, mode, WINDOW, &(struct hash_key){1, 2});
}

static int tear_down(void **state)
{
    (void)state;
    repeats_close(&r);
    return 0;
}

static enum repeats_added add(uint64_t key, uint64_t seq, int64_t at_us, uint64_t written_at)
{
    struct uncertain_call u = {.key = key,
                          .seq = seq,
                          .called_us = at_us - S,
                          .at_us = at_us,
                          .cause = "timeout",
                          .written_at = written_at};
    return repeats_add_call(&r, &u);
}

static void late(uint64_t seq, enum late_answer a)
{
    assert_non_null(repeats_store_late_answer(&r, seq, a, slice_of("{\"content\":[]}"), 2 * S));
}

static uint64_t client_read = 1000; /* the errors end at 500 */

/* What happens to a call with this key, as a word, and the seq that it names. */
static const char *decide(uint64_t key, bool can_refuse, int64_t now_us)
{
    static char text[64];
    struct uncertain_call *first;
    enum repeat_decision d =
        repeats_decide_about_call(&r, key, false, can_refuse, now_us, client_read, &first);
    assert_true((d == REPEAT_NONE) == (first == NULL));
    if (d == REPEAT_REFUSED && first->refused_at == 0)
        first->refused_at = 500;
    snprintf(text, sizeof text, "%s %llu", repeat_decision_name(d),
             first != NULL ? (unsigned long long)first->seq : 0);
    return text;
}

/* ---- each state with each mode ---- */

enum state {
    NO_CALL,
    OTHER_CALL,
    UNCERTAIN,
    UNCERTAIN_TWICE, /* the repeat is uncertain, too */
    REFUSED_ONCE,
    INSISTED_ONCE,
    HAS_RESULT,
    HAS_TOOL_ERROR,
    HAS_ERROR,
    HAS_CANCELLED,
    HAS_UNFINISHED,
    REFUSED_THEN_RESULT,
    RESULT_OF_OLDER, /* two are uncertain, the first has its answer */
    SETTLED,
    WINDOW_OVER,
    ENDED_READ,   /* the process ended, and had read it */
    ENDED_UNREAD, /* … and had not */
    STATES
};

static int64_t bring_about(enum state s)
{
    if (s == OTHER_CALL)
        add(B, 9, S, 100);
    if (s == NO_CALL || s == OTHER_CALL)
        return 2 * S;
    add(A, 5, S, 100);
    switch (s) {
    case UNCERTAIN_TWICE:
    case RESULT_OF_OLDER:
        add(A, 7, 2 * S, 200);
        if (s == RESULT_OF_OLDER)
            late(5, LATE_RESULT);
        break;
    case REFUSED_ONCE:
    case REFUSED_THEN_RESULT:
        (void)decide(A, true, 2 * S);
        if (s == REFUSED_THEN_RESULT)
            late(5, LATE_RESULT);
        break;
    case INSISTED_ONCE:
        (void)decide(A, true, 2 * S);
        (void)decide(A, true, 2 * S);
        break;
    case HAS_RESULT:
        late(5, LATE_RESULT);
        break;
    case HAS_TOOL_ERROR:
        late(5, LATE_TOOL_ERROR);
        break;
    case HAS_ERROR:
        late(5, LATE_ERROR);
        break;
    case HAS_CANCELLED:
        late(5, LATE_CANCELLED);
        break;
    case HAS_UNFINISHED:
        late(5, LATE_UNFINISHED);
        break;
    case SETTLED:
        repeats_remove_key(&r, A);
        break;
    case WINDOW_OVER:
        return S + WINDOW + 1;
    case ENDED_READ:
        repeats_handle_process_end(&r, 100);
        break;
    case ENDED_UNREAD:
        repeats_handle_process_end(&r, 99);
        break;
    default:
        break;
    }
    return s == UNCERTAIN ? S + WINDOW : 3 * S; /* the last moment of the window */
}

static void test_repeats_each_state_and_mode_has_its_decision(void **state)
{
    (void)state;
    static const struct {
        const char *warn, *answer, *refuse;
    } want[STATES] = {
        [NO_CALL] = {"none 0", "none 0", "none 0"},
        [OTHER_CALL] = {"none 0", "none 0", "none 0"},
        [UNCERTAIN] = {"forwarded 5", "refused 5", "refused 5"},
        [UNCERTAIN_TWICE] = {"forwarded 7", "refused 7", "refused 7"},
        [REFUSED_ONCE] = {"forwarded 5", "insisted 5", "insisted 5"},
        [INSISTED_ONCE] = {"forwarded 5", "refused 5", "refused 5"},
        [HAS_RESULT] = {"forwarded 5", "answered 5", "refused 5"},
        [HAS_TOOL_ERROR] = {"forwarded 5", "answered 5", "refused 5"},
        [HAS_ERROR] = {"forwarded 5", "answered 5", "refused 5"},
        [HAS_CANCELLED] = {"forwarded 5", "refused 5", "refused 5"},
        [HAS_UNFINISHED] = {"forwarded 5", "refused 5", "refused 5"},
        [REFUSED_THEN_RESULT] = {"forwarded 5", "answered 5", "insisted 5"},
        [RESULT_OF_OLDER] = {"forwarded 7", "answered 5", "refused 7"},
        [SETTLED] = {"none 0", "none 0", "none 0"},
        [WINDOW_OVER] = {"none 0", "none 0", "none 0"},
        [ENDED_READ] = {"forwarded 5", "refused 5", "refused 5"},
        [ENDED_UNREAD] = {"none 0", "none 0", "none 0"},
    };
    for (int s = 0; s < STATES; s++) {
        const char *words[] = {want[s].warn, want[s].answer, want[s].refuse};
        for (int mode = ON_REPEAT_WARN; mode <= ON_REPEAT_REFUSE; mode++) {
            begin((enum on_repeat)mode);
            int64_t now_us = bring_about((enum state)s);
            const char *got = decide(A, true, now_us);
            if (strcmp(got, words[mode]) != 0)
                fail_msg("state %d, mode %d: got %s, wanted %s", s, mode, got, words[mode]);
            begin((enum on_repeat)mode);
            now_us = bring_about((enum state)s);
            if (strcmp(words[mode], "none 0") != 0)
                assert_string_equal(decide(A, false, now_us), want[s].warn);
        }
    }
}

/* Calls that are sent before the client has read the error are refused as well. */
static void test_repeats_insists_who_has_read_the_refusal(void **state)
{
    (void)state;
    begin(ON_REPEAT_REFUSE);
    add(A, 5, S, 100);
    client_read = 499;
    assert_string_equal(decide(A, true, 2 * S), "refused 5");
    assert_string_equal(decide(A, true, 2 * S), "refused 5");
    client_read = 500;
    assert_string_equal(decide(A, true, 2 * S), "insisted 5");
    assert_string_equal(decide(A, true, 2 * S), "refused 5");
    client_read = 1000;
}

static void test_repeats_late_answer_of_another_form_is_not_given(void **state)
{
    (void)state;
    struct uncertain_call *first;
    begin(ON_REPEAT_ANSWER);
    add(A, 5, S, 100);
    late(5, LATE_RESULT);
    assert_int_equal(repeats_decide_about_call(&r, A, true, true, 2 * S, 0, &first), REPEAT_REFUSED);
    assert_int_equal(repeats_decide_about_call(&r, A, false, true, 2 * S, 0, &first), REPEAT_ANSWERED);
    assert_true(slice_is((struct slice){first->text, first->text_n}, "{\"content\":[]}"));
}

static void test_repeats_only_the_first_late_answer_counts(void **state)
{
    (void)state;
    begin(ON_REPEAT_ANSWER);
    add(A, 5, S, 100);
    assert_null(repeats_store_late_answer(&r, 6, LATE_RESULT, slice_of("{}"), S));
    late(5, LATE_CANCELLED);
    assert_null(repeats_store_late_answer(&r, 5, LATE_RESULT, slice_of("{}"), S));
    assert_string_equal(decide(A, true, 2 * S), "refused 5");
}

/* Bytes that were staged before the new process got its handshake come after it. */
static void test_repeats_moved_calls_are_compared_with_what_the_new_process_read(void **state)
{
    (void)state;
    begin(ON_REPEAT_WARN);
    add(A, 5, S, 100);
    repeats_handle_process_end(&r, 100);
    add(B, 6, S, 50);
    repeats_shift_written_offsets(&r, 1000);
    repeats_handle_process_end(&r, 1049);
    assert_string_equal(decide(A, true, 2 * S), "forwarded 5");
    assert_string_equal(decide(B, true, 2 * S), "none 0");
}

/* ---- limits ---- */

static void test_repeats_ten_thousand_calls_take_bounded_memory(void **state)
{
    (void)state;
    size_t in_place = 0;
    struct buf text = {0};
    begin(ON_REPEAT_ANSWER);
    for (size_t i = 0; i < 9000; i++)
        buf_addc(&text, 'x');
    for (uint64_t i = 1; i <= 10000; i++) {
        in_place += add(i, i, S, 1) == REPEATS_IN_PLACE;
        assert_non_null(repeats_store_late_answer(&r, i, LATE_RESULT, buf_slice(&text), S));
        assert_true(r.n <= REPEATS_MAX && r.bytes <= REPEATS_BYTES_MAX);
    }
    assert_int_equal(in_place, 10000 - REPEATS_MAX);
    assert_int_equal(r.dropped, 10000 - REPEATS_MAX);
    assert_true(r.cap <= 2 * REPEATS_MAX);
    assert_string_equal(decide(10000 - REPEATS_MAX, true, S), "none 0");
    assert_string_equal(decide(10000 - REPEATS_MAX + 1, true, S),
                        "refused 8977"); /* its answer is forgotten */
    assert_string_equal(decide(10000, true, S), "answered 10000");
    buf_close(&text);
}

static void test_repeats_long_late_answer_is_known_but_not_kept(void **state)
{
    (void)state;
    struct buf text = {0};
    begin(ON_REPEAT_ANSWER);
    for (size_t i = 0; i < REPEATS_LATE_MAX + 1; i++)
        buf_addc(&text, 'x');
    add(A, 5, S, 100);
    assert_int_equal(repeats_store_late_answer(&r, 5, LATE_RESULT, buf_slice(&text), S)->late,
                     LATE_RESULT);
    assert_int_equal(r.bytes, 0);
    assert_string_equal(decide(A, true, S), "refused 5");
    buf_close(&text);
}

static void test_repeats_without_a_window_nothing_is_uncertain(void **state)
{
    (void)state;
    repeats_close(&r);
    repeats_open(&r, ON_REPEAT_REFUSE, 0, &(struct hash_key){1, 2});
    assert_int_equal(add(A, 5, S, 100), REPEATS_ADDED);
    assert_int_equal(r.n, 0);
}

/* ---- what is equal, and what an answer is ---- */

static uint64_t key_of(const char *params)
{
    struct buf line = {0};
    struct rpc m;
    buf_printf(&line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":%s}",
               params);
    for (size_t i = 0; i < line.n; i++)
        line.p[i] = line.p[i] == '\'' ? '"' : line.p[i];
    assert_int_equal(rpc_read(buf_slice(&line), &m), 0);
    uint64_t key = repeats_compute_call_key(&r, &m);
    assert_true(key != 0);
    buf_close(&line);
    return key;
}

static void test_repeats_key_ignores_order_spelling_and_meta(void **state)
{
    (void)state;
    begin(ON_REPEAT_WARN);
    uint64_t key = key_of("{'name':'send','arguments':{'to':'a','n':1,'x':{'p':[1,2],'q':null}}}");
    static const char *const equal[] = {
        "{'arguments':{'x':{'q':null,'p':[1,2]},'n':1.0,'to':'a'},'name':'send'}",
        "{'name':'\\u0073end','arguments':{'to':'\\u0061','n':10e-1,'x':{'p':[1, 2.0],'q':null}},"
        "'_meta':{'progressToken':7}}",
        "{'name':'send','task':{'ttl':5},'arguments':{'n':1,'to':'a','x':{'p':[1,2],'q':null}}}",
    };
    static const char *const different[] = {
        "{'name':'send2','arguments':{'to':'a','n':1,'x':{'p':[1,2],'q':null}}}",
        "{'name':'send','arguments':{'to':'a','n':'1','x':{'p':[1,2],'q':null}}}",
        "{'name':'send','arguments':{'to':'a','n':1,'x':{'p':[2,1],'q':null}}}",
        "{'name':'send','arguments':{'to':'a','n':1,'x':{'p':[1,2]}}}",
        "{'name':'send'}",
        "{'name':'send','arguments':null}",
        "{'name':'send','arguments':{'to':'a','n':1,'x':{'p':[1,2],'q':null}},'requestState':'s'}",
        "{'name':'send','arguments':{'to':'a','n':1,'x':{'p':[1,2],'q':null}},"
        "'inputResponses':{'ok':{'action':'accept'}}}",
    };
    for (size_t i = 0; i < MI_COUNT(equal); i++)
        if (key_of(equal[i]) != key)
            fail_msg("not equal: %s", equal[i]);
    for (size_t i = 0; i < MI_COUNT(different); i++)
        if (key_of(different[i]) == key)
            fail_msg("equal: %s", different[i]);
    assert_true(key_of("{'name':'send'}") == key_of("{'name':'send','arguments':{}}"));
    assert_true(key_of("{'name':'send','inputResponses':{'ok':{'action':'accept'}}}") !=
                key_of("{'name':'send','inputResponses':{'ok':{'action':'decline'}}}"));
    assert_true(key_of("{'name':'send','inputResponses':{'a':1,'b':2}}") ==
                key_of("{'name':'send','inputResponses':{'b':2, 'a':1.0}}"));
}

static void test_repeats_key_of_long_arguments_is_of_their_spelling(void **state)
{
    (void)state;
    begin(ON_REPEAT_WARN);
    static const char *const spelled[] = {"'a':1,'b':2", "'b':2,'a':1"};
    uint64_t keys[2][2]; /* [long][spelling] */
    for (size_t i = 0; i < 4; i++) {
        struct buf b = {0};
        buf_printf(&b, "{'name':'send','arguments':{%s,'c':'", spelled[i % 2]);
        for (size_t n = i < 2 ? 1000 : REPEATS_CANONICAL_MAX; n > 0; n--)
            buf_addc(&b, 'x');
        buf_adds(&b, "'}}");
        keys[i / 2][i % 2] = key_of(buf_str(&b));
        if (i == 2)
            assert_true(keys[1][0] == key_of(buf_str(&b)));
        buf_close(&b);
    }
    assert_true(keys[0][0] == keys[0][1]);
    assert_true(keys[1][0] != keys[1][1]);
}

static void test_repeats_key_of_another_session_differs(void **state)
{
    (void)state;
    begin(ON_REPEAT_WARN);
    uint64_t key = key_of("{'name':'send'}");
    repeats_open(&r, ON_REPEAT_WARN, WINDOW, &(struct hash_key){1, 3});
    assert_true(key_of("{'name':'send'}") != key);
}

static void test_late_answer_is_what_it_says(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        enum late_answer want;
    } rows[] = {
        {"'result':{'content':[]}", LATE_RESULT},
        {"'result':{'content':[],'isError':false,'resultType':'complete'}", LATE_RESULT},
        {"'result':{'content':[],'isError':true}", LATE_TOOL_ERROR},
        {"'result':{'resultType':'input_required','requestState':'x'}", LATE_UNFINISHED},
        {"'result':{'resultType':'task','taskId':'x'}", LATE_UNFINISHED},
        {"'result':{'task':{'taskId':'x'}}", LATE_UNFINISHED},
        {"'error':{'code':-32603,'message':'no such mailbox'}", LATE_ERROR},
        {"'error':{'code':0,'message':'Request cancelled'}", LATE_CANCELLED},
        {"'error':{'code':-32800,'message':'stopped'}", LATE_CANCELLED},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        char line[256];
        struct rpc m;
        struct slice text;
        snprintf(line, sizeof line, "{'jsonrpc':'2.0','id':1,%s}", rows[i].members);
        for (char *p = line; *p != '\0'; p++)
            *p = *p == '\'' ? '"' : *p;
        assert_int_equal(rpc_read(slice_of(line), &m), 0);
        if (classify_late_answer(&m, &text) != rows[i].want)
            fail_msg("%s is taken for %s", rows[i].members,
                     late_answer_name(classify_late_answer(&m, &text)));
        assert_true(text.p[0] == '{');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_repeats_each_state_and_mode_has_its_decision, tear_down),
        cmocka_unit_test_teardown(test_repeats_insists_who_has_read_the_refusal, tear_down),
        cmocka_unit_test_teardown(test_repeats_late_answer_of_another_form_is_not_given, tear_down),
        cmocka_unit_test_teardown(test_repeats_only_the_first_late_answer_counts, tear_down),
        cmocka_unit_test_teardown(
            test_repeats_moved_calls_are_compared_with_what_the_new_process_read, tear_down),
        cmocka_unit_test_teardown(test_repeats_ten_thousand_calls_take_bounded_memory, tear_down),
        cmocka_unit_test_teardown(test_repeats_long_late_answer_is_known_but_not_kept, tear_down),
        cmocka_unit_test_teardown(test_repeats_without_a_window_nothing_is_uncertain, tear_down),
        cmocka_unit_test_teardown(test_repeats_key_ignores_order_spelling_and_meta, tear_down),
        cmocka_unit_test_teardown(test_repeats_key_of_long_arguments_is_of_their_spelling,
                                  tear_down),
        cmocka_unit_test_teardown(test_repeats_key_of_another_session_differs, tear_down),
        cmocka_unit_test_teardown(test_late_answer_is_what_it_says, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
