/* Recorded messages are checked against the rules, in order. */
#include "cli/check/recheck.h"

#include "tests/support/unit.h"

/* "> …" from the client, "< …" from the server; "* …" an error or a request of the interposer; after the first two
 * characters stands the seq of the request that it answers, or 0, and a blank. 'single' quotes. */
struct recording {
    const char *say[12];
    const char *broken; /* "2:unknown-method 5:…": line numbers, which are the seq */
};

#define REQ(id, method, params)                                                                    \
    "0 {'jsonrpc':'2.0','id':" id ",'method':'" method "','params':" params "}"
#define NOTE(method, params) "0 {'jsonrpc':'2.0','method':'" method "','params':" params "}"
#define RES(seq, id, result) #seq " {'jsonrpc':'2.0','id':" id ",'result':" result "}"
#define ERR(seq, id) #seq " {'jsonrpc':'2.0','id':" id ",'error':{'code':-32001,'message':'m'}}"
#define START                                                                                      \
    "> " REQ("'i'", "initialize",                                                                  \
             "{'protocolVersion':'2025-11-25','capabilities':{},'clientInfo':{}}"),                \
        "< " RES(1, "'i'",                                                                         \
                 "{'protocolVersion':'2025-11-25','capabilities':{'tools':{'listChanged':true}},"  \
                 "'serverInfo':{}}"),                                                              \
        "> " NOTE("notifications/initialized", "{}")
#define CALL(id, name, more) REQ(id, "tools/call", "{'name':'" name "'" more "}")
#define TOKEN ",'_meta':{'progressToken':'t'}"
#define PROGRESS(n) NOTE("notifications/progress", "{'progressToken':'t','progress':" n "}")
#define TOOLS                                                                                      \
    "{'tools':[{'name':'add','inputSchema':{'type':'object','required':['a']},'outputSchema':{'"   \
    "required':['b']}}]"                                                                           \
    "}"

/* Checks one message; appends the broken rules and their details to got. */
static void say(struct recheck *r, const char *line, int64_t seq, struct buf *got)
{
    struct rpc rpc;
    breaches broken;
    const char *body = strchr(line + 2, ' ') + 1;
    char *copy = unit_copy(body, strlen(body));
    for (char *p = copy; p < copy + strlen(body); p++)
        if (*p == '\'')
            *p = '"';
    struct slice text = {copy, strlen(body)};
    assert_int_equal(rpc_read(text, &rpc), 0);
    struct query_message m = {
        .seq = seq,
        .direction = line[0] == '>' || rpc.kind == RPC_REQUEST ? ROW_C2S : ROW_S2C,
        .origin = line[0] == '*' ? ROW_INTERPOSER : ROW_PEER,
        .kind = row_kind_of_rpc(rpc.kind),
        .action = ROW_FORWARDED,
        .method = rpc.method,
        .request_seq = atoi(line + 2),
    };
    if (line[0] == '<')
        m.direction = ROW_S2C;
    assert_int_equal(recheck_message(r, &m, text, &broken), 0);
    if (broken != 0) {
        buf_printf(got, "%s%d:", got->n > 0 ? " " : "", (int)seq);
        finding_append_names(got, 0, broken);
        for (int i = 0; i < RULE_COUNT; i++) {
            size_t before = got->n;
            if ((broken & RULE(i)) != 0)
                recheck_explain_breach(r, (enum rule)i, got);
            if (got->n > before)
                buf_addc(got, ';');
        }
    }
    free(copy);
}

static void play(const struct recording *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct recheck r;
        struct buf got = {0};
        recheck_open(&r);
        for (size_t k = 0; k < MI_COUNT(c[i].say) && c[i].say[k] != NULL; k++)
            say(&r, c[i].say[k], (int64_t)k + 1, &got);
        if (strcmp(buf_str(&got), c[i].broken) != 0)
            fail_msg("recording %zu:\n  got    %s\n  wanted %s", i, buf_str(&got), c[i].broken);
        recheck_close(&r);
        buf_close(&got);
    }
}

static void test_recheck_ids_and_tokens_can_be_reused_after_the_answer(void **state)
{
    (void)state;
    static const struct recording rows[] = {
        /* a pending id is the finding reused-id; an answered one breaks a rule */
        {{START, "> " REQ("1", "ping", "{}"), "> " REQ("1", "ping", "{}")}, ""},
        {{START, "> " REQ("1", "ping", "{}"), "< " RES(4, "1", "{}"), "> " REQ("1", "ping", "{}")},
         "6:repeated-id"},
        {{START, "> " REQ("1", "ping", "{}"),
          "> " NOTE("notifications/cancelled", "{'requestId':1}"), "> " REQ("1", "ping", "{}")},
         "6:repeated-id"},
        /* the interposer has answered it */
        {{START, "> " REQ("1", "ping", "{}"), "* " ERR(4, "1"), "> " REQ("1", "ping", "{}")},
         "6:repeated-id"},
        /* an answer to an abandoned request is ignored */
        {{START, "> " REQ("1", "tools/list", "{}"), "* " ERR(4, "1"), "< " RES(4, "1", "{}")}, ""},
        {{START, "> " REQ("1", "tools/list", "{}"), "< " RES(4, "1", "{}")},
         "5:invalid-result`tools`;"},
        /* initialize cannot be cancelled */
        {{"> " REQ("'i'", "initialize", "{}"),
          "> " NOTE("notifications/cancelled", "{'requestId':'i'}"), "< " RES(1, "'i'", "{}")},
         "1:invalid-params`protocolVersion`; 3:invalid-result`protocolVersion`;"},
        {{START, "> " CALL("1", "x", TOKEN), "> " CALL("2", "x", TOKEN),
          "< " RES(4, "1", "{'content':[]}"), "< " PROGRESS("1"), "< " PROGRESS("1"),
          "< " RES(5, "2", "{'content':[]}"), "< " PROGRESS("2")},
         "5:reused-token 8:progress-not-increasing 10:stray-progress"},
        {{START, "> " CALL("1", "x", TOKEN),
          "> " NOTE("notifications/cancelled", "{'requestId':1}"), "< " PROGRESS("1"),
          "> " CALL("2", "x", TOKEN)},
         ""},
    };
    play(rows, MI_COUNT(rows));
}

static void test_recheck_tools_are_checked_against_the_list(void **state)
{
    (void)state;
    static const struct recording rows[] = {
        {{START, "> " CALL("0", "add", ""), "> " REQ("1", "tools/list", "{}"),
          "< " RES(5, "1", TOOLS), "> " CALL("2", "add", ""),
          "< " RES(7, "2", "{'content':[],'structuredContent':{}}"),
          "> " CALL("3", "add", ",'arguments':{'a':1}"),
          "< " RES(9, "3", "{'content':[],'structuredContent':{'b':1}}"),
          "> " CALL("4", "sub", "")},
         "7:invalid-arguments\"a\" is missing; 8:invalid-structured-content\"b\" is missing; "
         "11:unknown-tool"},
        {{START, "> " REQ("1", "tools/list", "{}"), "< " RES(4, "1", TOOLS),
          "< " NOTE("notifications/tools/list_changed", "{}"), "> " CALL("2", "sub", "")},
         ""},
        /* a new process may have other tools */
        {{START, "> " REQ("1", "tools/list", "{}"), "< " RES(4, "1", TOOLS),
          "* " REQ("'mcp-interposer-1'", "initialize", "{}"), "> " CALL("2", "sub", "")},
         ""},
        {{START, "> " REQ("1", "tools/list", "{}"), "< " RES(4, "1", TOOLS),
          "> " CALL("2", "sub", "")},
         "6:unknown-tool"},
    };
    play(rows, MI_COUNT(rows));
}

/* The id of a request without its body is unknown: a later cancellation by the same side may mean it. */
static void test_recheck_request_without_body_excuses_cancellations_of_its_sender_only(void **state)
{
    (void)state;
    static const struct {
        enum row_direction sender;
        const char *broken;
    } cases[] = {{ROW_C2S, ""}, {ROW_S2C, "2:stray-cancellation"}};
    for (size_t i = 0; i < MI_COUNT(cases); i++) {
        struct recheck r;
        struct buf got = {0};
        breaches broken;
        recheck_open(&r);
        struct query_message m = {.seq = 1,
                                  .direction = cases[i].sender,
                                  .origin = ROW_PEER,
                                  .kind = KIND_REQUEST,
                                  .action = ROW_FORWARDED,
                                  .method = slice_of("ping")};
        assert_int_equal(recheck_message(&r, &m, (struct slice){0}, &broken), 0);
        say(&r, "> " NOTE("notifications/cancelled", "{'requestId':99}"), 2, &got);
        assert_string_equal(buf_str(&got), cases[i].broken);
        buf_close(&got);
        recheck_close(&r);
    }
}

static void test_recheck_pending_requests_over_the_limit_violate_no_rule(void **state)
{
    (void)state;
    struct recheck r;
    struct buf got = {0};
    char line[100];
    recheck_open(&r);
    int64_t seq = 1;
    static const char *const start[] = {START};
    for (size_t i = 0; i < MI_COUNT(start); i++)
        say(&r, start[i], seq++, &got);
    for (int i = 0; i <= RECHECK_PENDING_MAX; i++) {
        snprintf(line, sizeof line, "> 0 {'jsonrpc':'2.0','id':%d,'method':'tools/list'}", i);
        say(&r, line, seq++, &got);
    }
    assert_int_equal(r.n, RECHECK_PENDING_MAX);
    say(&r, "< " RES(4, "0", "{}"), seq++, &got); /* dropped, and its answer is ignored */
    assert_string_equal(buf_str(&got), "");
    say(&r, "< " RES(5, "1", "{}"), seq++, &got);
    assert_int_equal(r.n, RECHECK_PENDING_MAX - 1);
    assert_true(got.n > 0);
    recheck_close(&r);
    recheck_close(&r);
    buf_close(&got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recheck_ids_and_tokens_can_be_reused_after_the_answer),
        cmocka_unit_test(test_recheck_tools_are_checked_against_the_list),
        cmocka_unit_test(test_recheck_request_without_body_excuses_cancellations_of_its_sender_only),
        cmocka_unit_test(test_recheck_pending_requests_over_the_limit_violate_no_rule),
    };
    return cmocka_run_group_tests_name("recheck", tests, NULL, NULL);
}
