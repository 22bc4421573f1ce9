/* Messages that the server sent unasked: each is sent once, after its cause, to clients that poll as the recorded client
 * did, less often, more often, in another order, or not at all. */
#include "tests/support/replay_unit.h"

#define CREATE(id, name) CALL(id, "work", "{\"on\":\"" name "\"}")
#define CREATED(id, name) RESULT(id, "{\"task\":{\"taskId\":\"" name "\",\"status\":\"working\"}}")
#define GET(id, name) REQUEST(id, "tasks/get", "{\"taskId\":\"" name "\"}")
#define GOT(id, name, status) RESULT(id, "{\"taskId\":\"" name "\",\"status\":\"" status "\"}")
#define STATUS(name, status)                                                                       \
    NOTE("notifications/tasks/status", "{\"taskId\":\"" name "\",\"status\":\"" status "\"}")
#define CHANGED NOTE("notifications/tools/list_changed", "{}")
#define LOG(text) NOTE("notifications/message", "{\"data\":\"" text "\"}")
#define LIST(id) REQUEST(id, "tools/list", "{}")
#define READ(id) REQUEST(id, "resources/read", "{\"uri\":\"a:b\"}")
#define TEXT(t) "{\"content\":[{\"type\":\"text\",\"text\":\"" t "\"}]}"
#define LIMIT_US (PACE_LATE_MAX_US + PACE_LATE_US)

/* Ends a replay, so that the test can begin another one. */
static void end_play(struct play_test *t)
{
    conversation_close(t->conversation);
    source_close(t->source);
    t->conversation = NULL;
    t->source = NULL;
    server_forget(t);
}

/* ---- polls ---- */

/* The client creates a task and polls it three times, a second apart. */
static void begin_polls(struct play_test *t)
{
    play_begin(t, "",
               LEGACY CLIENT(CREATE("1", "t")) SERVER(CREATED("1", "t")) CLIENT(
                   GET("2", "t")) SERVER(GOT("2", "t", "working"))
                   SERVER(STATUS("t", "half")) "+1000 >" GET("3", "t") "\n" SERVER(GOT(
                       "3", "t", "half")) "+1000 >" GET("4", "t") "\n" SERVER(STATUS("t", "done"))
                       SERVER(GOT("4", "t", "done")));
    client(t, CREATE("1", "t"));
    server_said(t, CREATED("1", "t") "\n");
}

static void test_unasked_message_keeps_its_place_between_the_polls(void **state)
{
    struct play_test *t = *state;
    begin_polls(t);
    client(t, GET("2", "t"));
    pass_us(t, 0);
    server_said(t, GOT("2", "t", "working") "\n" STATUS("t", "half") "\n");
    pass_us(t, 990000);
    client(t, GET("3", "t"));
    pass_us(t, 1010000);
    server_said(t, GOT("3", "t", "half") "\n");
    client(t, GET("4", "t"));
    pass_us(t, PACE_GAP_US);
    server_said(t, STATUS("t", "done") "\n" GOT("4", "t", "done") "\n");
}

static void test_unasked_message_comes_to_a_client_that_polls_less_often(void **state)
{
    struct play_test *t = *state;
    begin_polls(t);
    client(t, GET("2", "t"));
    pass_us(t, 0);
    server_said(t, GOT("2", "t", "working") "\n" STATUS("t", "half") "\n");
    pass_us(t, LIMIT_US - 1);
    server_said(t, "");
    pass_us(t, 1);
    server_said(t, STATUS("t", "done") "\n");
    assert_int_equal(conversation_next_event_us(t->conversation), CONVERSATION_NEVER);
}

static void test_unasked_message_comes_to_a_client_that_does_not_poll(void **state)
{
    struct play_test *t = *state;
    begin_polls(t);
    pass_us(t, PACE_LATE_US - 1);
    server_said(t, "");
    pass_us(t, 3000 + 1); /* recorded 3 ms after the answer that created the task */
    server_said(t, STATUS("t", "half") "\n");
    pass_us(t, LIMIT_US);
    server_said(t, STATUS("t", "done") "\n");
}

static void test_unasked_message_comes_once_to_a_client_that_polls_more_often(void **state)
{
    struct play_test *t = *state;
    begin_polls(t);
    for (int i = 0; i < 3; i++)
        client(t, GET("2", "t"));
    pass_us(t, PACE_GAP_US);
    server_said(t, GOT("2", "t", "working") "\n" STATUS("t", "half") "\n" GOT(
                       "2", "t", "half") "\n" STATUS("t", "done") "\n" GOT("2", "t", "done") "\n");
    for (int i = 0; i < 2; i++) {
        client(t, GET("2", "t"));
        pass_all(t);
        server_said(t, GOT("2", "t", "done") "\n");
    }
}

/* What a poll repeats does not count as progress of the client: it must not put off the message for ever. */
static void test_unasked_message_comes_to_a_client_that_polls_another_task(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CREATE("1", "a")) SERVER(CREATED("1", "a")) CLIENT(CREATE("2", "b"))
                   SERVER(CREATED("2", "b")) CLIENT(GET("3", "b")) SERVER(GOT("3", "b", "working"))
                       CLIENT(GET("4", "a")) SERVER(GOT("4", "a", "working"))
                           SERVER(STATUS("b", "done")));
    client(t, CREATE("1", "a"));
    client(t, CREATE("2", "b"));
    for (int i = 0; i < 20; i++) {
        client(t, GET("3", "b"));
        server_forget(t);
        pass_us(t, 10000);
        if (t->said.n > 0)
            break;
    }
    server_said(t, STATUS("b", "done") "\n");
}

/* ---- tasks ---- */

/* The polls of two tasks, and between them messages of a third one. */
static void
test_unasked_messages_of_a_task_keep_their_order_for_polls_in_another_order(void **state)
{
    struct play_test *t = *state;
    struct buf b = {0};
    buf_adds(&b,
             LEGACY CLIENT(CREATE("1", "a")) SERVER(CREATED("1", "a")) CLIENT(CREATE("2", "b")));
    buf_adds(&b, SERVER(CREATED("2", "b")) CLIENT(CREATE("3", "c")) SERVER(CREATED("3", "c")));
    buf_adds(&b,
             CLIENT(GET("4", "a")) SERVER(GOT("4", "a", "working")) SERVER(STATUS("c", "half")));
    buf_adds(&b,
             CLIENT(GET("5", "b")) SERVER(GOT("5", "b", "working")) SERVER(STATUS("c", "done")));
    play_begin(t, "", buf_str(&b));
    client(t, CREATE("1", "a"));
    client(t, CREATE("2", "b"));
    client(t, CREATE("3", "c"));
    server_forget(t);
    client(t, GET("5", "b"));
    client(t, GET("4", "a"));
    pass_all(t);
    server_said(t, STATUS("c", "half") "\n" GOT("5", "b", "working") "\n" GOT(
                       "4", "a", "working") "\n" STATUS("c", "done") "\n");
    buf_close(&b);
}

static void test_unasked_message_of_a_task_does_not_wait_for_another_task(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CREATE("1", "a")) SERVER(CREATED("1", "a")) CLIENT(CREATE("2", "b"))
                   SERVER(CREATED("2", "b")) SERVER(STATUS("a", "done")));
    client(t, CREATE("1", "a"));
    pass_us(t, 4000 + PACE_LATE_US);
    server_said(t, CREATED("1", "a") "\n" STATUS("a", "done") "\n");
    client(t, CREATE("2", "b"));
    pass_all(t);
    server_said(t, CREATED("2", "b") "\n");
}

static void test_unasked_message_of_a_task_before_its_answer_belongs_to_its_request(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CREATE("1", "a")) CLIENT(CREATE("2", "b")) SERVER(STATUS("a", "new"))
                   SERVER(STATUS("b", "new")) SERVER(CREATED("1", "a")) SERVER(CREATED("2", "b")));
    client(t, CREATE("2", "b"));
    pass_us(t, PACE_GAP_US);
    server_said(t, STATUS("b", "new") "\n" CREATED("2", "b") "\n");
    client(t, CREATE("1", "a"));
    pass_us(t, PACE_GAP_US);
    server_said(t, STATUS("a", "new") "\n" CREATED("1", "a") "\n");
}

static void test_unasked_message_of_a_task_that_no_answer_names_is_sent(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CREATE("1", "a")) SERVER(STATUS("x", "new"))
                   SERVER(RESULT("1", TEXT("a"))) CLIENT(CREATE("2", "a"))
                       SERVER(STATUS("y", "new")));
    client(t, CREATE("1", "a"));
    pass_all(t);
    server_said(t, RESULT("1", TEXT("a")) "\n" STATUS("x", "new") "\n");
}

static void test_unasked_message_of_a_task_waits_for_what_changes_the_task(void **state)
{
    struct play_test *t = *state;
#define CANCEL_TASK(id) REQUEST(id, "tasks/cancel", "{\"taskId\":\"a\"}")
    play_begin(t, "",
               LEGACY CLIENT(CREATE("1", "a")) SERVER(CREATED("1", "a")) CLIENT(GET("2", "a"))
                   SERVER(GOT("2", "a", "working")) SERVER(STATUS("a", "half"))
                       CLIENT(CANCEL_TASK("3")) SERVER(STATUS("a", "cancelled"))
                           SERVER(GOT("3", "a", "cancelled")) CLIENT(LIST("4"))
                               SERVER(RESULT("4", "{}")) SERVER(STATUS("a", "gone")));
    client(t, CREATE("1", "a"));
    client(t, CANCEL_TASK("3"));
    pass_us(t, PACE_GAP_US);
    server_said(t, CREATED("1", "a") "\n" STATUS("a", "half") "\n" STATUS(
                       "a", "cancelled") "\n" GOT("3", "a", "cancelled") "\n");
    pass_all(t);
    server_said(t, STATUS("a", "gone") "\n");
}

static void begin_question(struct play_test *t)
{
#define WAIT(id) REQUEST(id, "tasks/result", "{\"taskId\":\"a\"}")
#define ASK(id)                                                                                    \
    REQUEST(id, "elicitation/create",                                                              \
            "{\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"a\"}}}")
    play_begin(t, "",
               LEGACY CLIENT(CREATE("1", "a")) SERVER(CREATED("1", "a")) CLIENT(GET("2", "a"))
                   SERVER(GOT("2", "a", "half")) SERVER(STATUS("a", "half")) CLIENT(WAIT("3"))
                       SERVER(ASK("0")) CLIENT(RESULT("0", "{}")) CLIENT(LIST("4"))
                           SERVER(RESULT("4", "{}")) SERVER(STATUS("a", "done"))
                               SERVER(RESULT("3", "{}")) SERVER(STATUS("a", "gone")));
    client(t, CREATE("1", "a"));
    server_said(t, CREATED("1", "a") "\n");
}

static void test_unasked_message_of_a_task_waits_for_the_answer_of_the_client(void **state)
{
    struct play_test *t = *state;
    begin_question(t);
    pass_all(t);
    server_said(t, STATUS("a", "half") "\n");
    client(t, WAIT("3"));
    pass_all(t);
    server_said(t, ASK("1") "\n");
    client(t, RESULT("1", "{}"));
    pass_all(t);
    server_said(t, STATUS("a", "done") "\n" RESULT("3", "{}") "\n" STATUS("a", "gone") "\n");
}

static void test_unasked_messages_of_a_task_keep_their_order_for_a_fast_client(void **state)
{
    struct play_test *t = *state;
    begin_question(t);
    client(t, WAIT("3"));
    client(t, RESULT("1", "{}"));
    pass_all(t);
    server_said(t, STATUS("a", "half") "\n" ASK("1") "\n" STATUS("a", "done") "\n" RESULT(
                       "3", "{}") "\n" STATUS("a", "gone") "\n");
}

/* ---- other messages ---- */

#define EACH_READ(X)                                                                               \
    X("ping", "{}")                                                                                \
    X("tools/list", "{}")                                                                          \
    X("prompts/list", "{}")                                                                        \
    X("prompts/get", "{\"name\":\"p\"}")                                                           \
    X("resources/list", "{}")                                                                      \
    X("resources/templates/list", "{}")                                                            \
    X("resources/read", "{\"uri\":\"a:b\"}")                                                       \
    X("completion/complete", "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}}")                 \
    X("tasks/get", "{\"taskId\":\"t\"}")                                                           \
    X("tasks/list", "{}")                                                                          \
    X("tasks/result", "{\"taskId\":\"t\"}")

static void test_unasked_message_does_not_wait_for_ever_for_a_request_that_reads(void **state)
{
    struct play_test *t = *state;
#define TWO(method, params)                                                                        \
    {REQUEST("1", method, params),                                                                 \
     LEGACY CLIENT(REQUEST("1", method, params)) SERVER(CHANGED) SERVER(RESULT("1", "{}"))         \
         SERVER(NOTE("notifications/x", "{}"))},
    static const struct {
        const char *request, *recording;
    } reads[] = {EACH_READ(TWO)};
    for (size_t i = 0; i < MI_COUNT(reads); i++) {
        play_begin(t, "", reads[i].recording);
        client(t, NOTE("notifications/initialized", "{}"));
        server_said(t, "");
        client(t, reads[i].request);
        pass_us(t, PACE_GAP_US);
        server_said(t, CHANGED "\n" RESULT("1", "{}") "\n" NOTE("notifications/x", "{}") "\n");
        client(t, reads[i].request);
        pass_all(t);
        server_said(t, RESULT("1", "{}") "\n"); /* nothing is sent twice */
        end_play(t);
        play_begin(t, "", reads[i].recording);
        client(t, NOTE("notifications/initialized", "{}"));
        pass_all(t);
        server_said(t, CHANGED "\n" NOTE("notifications/x", "{}") "\n");
        end_play(t);
    }
}

static void test_unasked_message_waits_for_a_request_that_may_cause_it(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(CALL("1", "a", "{}")) SERVER(RESULT("1", "{}")) CLIENT(LIST("2"))
                   SERVER(RESULT("2", "{}")) SERVER(CHANGED));
    client(t, NOTE("notifications/initialized", "{}"));
    client(t, LIST("2"));
    pass_all(t);
    server_said(t, RESULT("2", "{}") "\n");
    client(t, CALL("1", "a", "{}"));
    pass_all(t);
    server_said(t, RESULT("1", "{}") "\n" CHANGED "\n");
}

static void test_unasked_log_message_belongs_to_the_request_that_reads(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(READ("1")) SERVER(LOG("read")) SERVER(RESULT("1", "{}"))
                   SERVER(LOG("later")));
    client(t, NOTE("notifications/initialized", "{}"));
    pass_all(t);
    server_said(t, LOG("later") "\n");
    for (int i = 0; i < 2; i++) {
        client(t, READ("1"));
        pass_us(t, PACE_GAP_US);
        server_said(t, LOG("read") "\n" RESULT("1", "{}") "\n");
    }
}

static void test_unasked_message_does_not_wait_for_what_only_informs(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(PROGRESS("1", "1")) CLIENT(STATUS("own", "working"))
                   SERVER(REQUEST("9", "ping", "{}")) CLIENT(RESULT("9", "{}")) SERVER(CHANGED));
    client(t, NOTE("notifications/initialized", "{}"));
    pass_all(t);
    server_said(t, REQUEST("1", "ping", "{}") "\n" CHANGED "\n");
}

static void test_unasked_request_of_the_server_does_not_wait_for_polls(void **state)
{
    struct play_test *t = *state;
    play_begin(t, "",
               LEGACY CLIENT(LIST("1")) SERVER(RESULT("1", "{}"))
                   SERVER(REQUEST("9", "roots/list", "{}")) CLIENT(RESULT("9", "{\"roots\":[]}"))
                       SERVER(CHANGED));
    client(t, NOTE("notifications/initialized", "{}"));
    pass_all(t);
    server_said(t, REQUEST("1", "roots/list", "{}") "\n");
    client(t, RESULT("1", "{\"roots\":[]}"));
    pass_all(t);
    server_said(t, CHANGED "\n");
}

static void test_unasked_message_of_a_subscription_does_not_wait_for_polls(void **state)
{
    struct play_test *t = *state;
#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}"
#define LISTEN(id) REQUEST(id, "subscriptions/listen", "{" META "}")
#define MODERN(id, method) REQUEST(id, method, "{" META "}")
#define ON_STREAM(id)                                                                              \
    NOTE("notifications/tools/list_changed",                                                       \
         "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}}")
    play_begin(t, "",
               CLIENT(LISTEN("1")) CLIENT(MODERN("2", "tools/list")) SERVER(RESULT("2", "{}"))
                   SERVER(ON_STREAM("1")) CLIENT(MODERN("3", "x/change")) SERVER(RESULT("3", "{}"))
                       CLIENT(MODERN("4", "prompts/list")) SERVER(RESULT("4", "{}"))
                           SERVER(ON_STREAM("1")));
    client(t, LISTEN("\"L\""));
    server_said(t, "");
    pass_all(t);
    server_said(t, ON_STREAM("\"L\"") "\n");
    client(t, MODERN("3", "x/change"));
    pass_us(t, 0);
    server_said(t, RESULT("3", "{}") "\n");
    pass_all(t);
    server_said(t, ON_STREAM("\"L\"") "\n");
}

/* ---- the end ---- */

static void test_unasked_messages_come_before_the_exit_of_the_server(void **state)
{
    struct play_test *t = *state;
    play_begin(t, ",\"end_reason\":\"server-exited\",\"exit_status\":7",
               LEGACY CLIENT(CREATE("1", "a")) SERVER(CREATED("1", "a")) CLIENT(GET("2", "a"))
                   SERVER(GOT("2", "a", "half")) SERVER(STATUS("a", "half")) CLIENT(GET("3", "a"))
                       SERVER(GOT("3", "a", "half")) SERVER(STATUS("a", "done"))
                           CLIENT(CALL("4", "b", "{}")) SERVER(RESULT("4", "{}")));
    client(t, CREATE("1", "a"));
    client(t, CALL("4", "b", "{}"));
    server_said(t, CREATED("1", "a") "\n" STATUS("a", "half") "\n" STATUS("a", "done") "\n" RESULT(
                       "4", "{}") "\n");
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_SERVER_ENDED);
}

/* A server that exits by itself does not do so before the client has done what the recorded client did. */
static void test_unasked_exit_of_the_server_waits_for_polls(void **state)
{
    struct play_test *t = *state;
    play_begin(t, ",\"end_reason\":\"server-exited\",\"exit_status\":7",
               LEGACY CLIENT(LIST("1")) SERVER(RESULT("1", "{}")) SERVER(CHANGED));
    client(t, NOTE("notifications/initialized", "{}"));
    pass_all(t);
    server_said(t, CHANGED "\n");
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_RUNNING);
    client(t, LIST("1"));
    server_said(t, RESULT("1", "{}") "\n");
    assert_int_equal(conversation_get_end_reason(t->conversation), CONVERSATION_SERVER_ENDED);
}

static void test_unasked_message_is_sent_when_the_client_leaves(void **state)
{
    struct play_test *t = *state;
    begin_polls(t);
    assert_int_equal(conversation_handle_client_hangup(t->conversation, t->now_us), 0);
    server_said(t, STATUS("t", "half") "\n" STATUS("t", "done") "\n");
    assert_int_equal(conversation_count_playbacks(t->conversation), 0);
}

/* The answer to one request sends the last message that follows another one, which ends that list. */
static void test_unasked_list_that_an_answer_ends_when_the_client_leaves(void **state)
{
    struct play_test *t = *state;
    t->rules.pace.speed = 1;
    play_begin(t, "",
               LEGACY CLIENT(CALL_TOKEN("1", "b", "{}", "1")) SERVER(RESULT("1", "{}")) CLIENT(CALL(
                   "2", "a", "{}")) "+1000 <" PROGRESS("1", "1") "\n" SERVER(RESULT("2", "{}")));
    client(t, CALL_TOKEN("1", "b", "{}", "1"));
    pass_us(t, 1000);
    client(t, CALL("2", "a", "{}"));
    assert_int_equal(conversation_handle_client_hangup(t->conversation, t->now_us), 0);
    pass_us(t, PACE_GAP_US);
    server_said(t, RESULT("1", "{}") "\n" PROGRESS("1", "1") "\n" RESULT("2", "{}") "\n");
    assert_int_equal(conversation_count_playbacks(t->conversation), 0);
}

static void test_unasked_message_keeps_the_recorded_distance_at_speed_1(void **state)
{
    struct play_test *t = *state;
    t->rules.pace.speed = 1;
    play_begin(t, "", LEGACY "+10000 >" LIST("2") "\n" SERVER(RESULT("2", "{}")) SERVER(CHANGED));
    client(t, NOTE("notifications/initialized", "{}"));
    pass_us(t, 10020000); /* the client is 20 ms late */
    server_said(t, "");
    client(t, LIST("2"));
    pass_us(t, 1000);
    server_said(t, RESULT("2", "{}") "\n" CHANGED "\n");
    end_play(t);
    play_begin(t, "", LEGACY "+10000 >" LIST("2") "\n" SERVER(RESULT("2", "{}")) SERVER(CHANGED));
    client(t, NOTE("notifications/initialized", "{}"));
    pass_us(t, 10002000 + PACE_LATE_US - 1);
    server_said(t, "");
    pass_us(t, 1);
    server_said(t, CHANGED "\n");
}

/* ---- any client ---- */

#define TASKS 3
#define STATES 6

static unsigned next_random(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % below;
}

/* A message with numbers in it. */
#define LINE(line, ...) (snprintf(line, sizeof line, __VA_ARGS__), line)
#define CREATE_N(line, task) LINE(line, CREATE("1", "%u"), task)
#define CREATED_N(line, task) LINE(line, CREATED("1", "%u"), task)
#define GET_N(line, task) LINE(line, GET("2", "%u"), task)
#define STATUS_N(line, task, n) LINE(line, STATUS("%u", "s%u"), task, n)

/* A recording in which each task has STATES messages, anywhere between polls of all tasks. */
static void write_random(struct buf *b, unsigned *seed)
{
    char line[256];
    unsigned created = 0, sent[TASKS] = {0}, left = TASKS * STATES;
    buf_adds(b, LEGACY);
    while (left > 0) {
        unsigned what = next_random(seed, 8), task = next_random(seed, TASKS);
        if (what == 0 && created < TASKS) {
            buf_printf(b, ">%s\n", CREATE_N(line, created));
            buf_printf(b, "<%s\n", CREATED_N(line, created));
            created++;
        } else if (what < 3 && task < created && sent[task] < STATES) {
            buf_printf(b, "<%s\n", STATUS_N(line, task, sent[task]++));
            left--;
        } else if (what < 7 && task < created) {
            buf_printf(b, "+%u >%s\n", next_random(seed, 1500), GET_N(line, task));
            buf_printf(b, "<%s\n", RESULT("2", "{}"));
        } else if (what == 7) {
            buf_adds(b, CLIENT(LIST("3")) SERVER(RESULT("3", "{}")));
        }
    }
}

/* A client that creates the tasks in a random order, and polls at random times. */
static void play_random(struct play_test *t, unsigned *seed)
{
    char line[256];
    unsigned created = 0, order[TASKS], first = next_random(seed, TASKS);
    for (unsigned i = 0; i < TASKS; i++)
        order[i] = (first + i * (1 + *seed % 2)) % TASKS;
    unsigned polls = next_random(seed, 3) * 10; /* 0: never */
    while (created < TASKS) {
        if (next_random(seed, 3) == 0)
            client(t, CREATE_N(line, order[created++]));
        for (unsigned i = 0; created > 0 && polls > 0 && i < next_random(seed, polls); i++)
            client(t, GET_N(line, order[next_random(seed, created)]));
        pass_us(t, next_random(seed, 200) * 1000);
    }
    pass_all(t);
}

static const char *once(struct play_test *t, const char *line)
{
    const char *at = strstr(buf_str(&t->said), line);
    if (at == NULL || strstr(at + 1, line) != NULL)
        fail_msg("%s is there %s: %s", line, at == NULL ? "not at all" : "twice",
                 buf_str(&t->said));
    return at;
}

static void test_unasked_messages_of_tasks_reach_any_client_in_their_order(void **state)
{
    struct play_test *t = *state;
    char line[256];
    for (unsigned round = 0; round < 300; round++) {
        unsigned seed = round;
        struct buf b = {0};
        write_random(&b, &seed);
        play_begin(t, "", buf_str(&b));
        play_random(t, &seed);
        for (unsigned task = 0; task < TASKS; task++) {
            const char *before = once(t, CREATED_N(line, task));
            for (unsigned n = 0; n < STATES; n++) {
                const char *at = once(t, STATUS_N(line, task, n));
                if (at < before)
                    fail_msg("round %u: %s comes too early: %s\nrecorded: %s", round, line,
                             buf_str(&t->said), buf_str(&b));
                before = at;
            }
        }
        end_play(t);
        buf_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        play_test(test_unasked_message_keeps_its_place_between_the_polls),
        play_test(test_unasked_message_comes_to_a_client_that_polls_less_often),
        play_test(test_unasked_message_comes_to_a_client_that_does_not_poll),
        play_test(test_unasked_message_comes_once_to_a_client_that_polls_more_often),
        play_test(test_unasked_message_comes_to_a_client_that_polls_another_task),
        play_test(test_unasked_messages_of_a_task_keep_their_order_for_polls_in_another_order),
        play_test(test_unasked_message_of_a_task_does_not_wait_for_another_task),
        play_test(test_unasked_message_of_a_task_before_its_answer_belongs_to_its_request),
        play_test(test_unasked_message_of_a_task_that_no_answer_names_is_sent),
        play_test(test_unasked_message_of_a_task_waits_for_what_changes_the_task),
        play_test(test_unasked_message_of_a_task_waits_for_the_answer_of_the_client),
        play_test(test_unasked_messages_of_a_task_keep_their_order_for_a_fast_client),
        play_test(test_unasked_message_does_not_wait_for_ever_for_a_request_that_reads),
        play_test(test_unasked_message_waits_for_a_request_that_may_cause_it),
        play_test(test_unasked_log_message_belongs_to_the_request_that_reads),
        play_test(test_unasked_message_does_not_wait_for_what_only_informs),
        play_test(test_unasked_request_of_the_server_does_not_wait_for_polls),
        play_test(test_unasked_message_of_a_subscription_does_not_wait_for_polls),
        play_test(test_unasked_messages_come_before_the_exit_of_the_server),
        play_test(test_unasked_exit_of_the_server_waits_for_polls),
        play_test(test_unasked_message_is_sent_when_the_client_leaves),
        play_test(test_unasked_list_that_an_answer_ends_when_the_client_leaves),
        play_test(test_unasked_message_keeps_the_recorded_distance_at_speed_1),
        play_test(test_unasked_messages_of_tasks_reach_any_client_in_their_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
