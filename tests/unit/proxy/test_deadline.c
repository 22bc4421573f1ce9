/* Which deadline a request has: the rules of --timeout. */
#include "proxy/session/deadline.h"

#include "base/text.h"
#include "tests/support/unit.h"
#include "wire/mcp/method.h"

#define MS INT64_C(1000)
#define S (1000 * MS)

struct asked {
    const char *method, *tool;
    int64_t us;
};

static struct slice slice_or_none(const char *s)
{
    return s == NULL ? (struct slice){NULL, 0} : slice_of(s);
}

static int64_t deadline(const struct deadlines *d, const char *method, const char *tool)
{
    return deadline_of_request(d, method_flags(slice_of(method)), slice_of(method),
                               slice_or_none(tool));
}

static void add(struct deadlines *d, const char *rules)
{
    struct buf error = {0};
    if (deadlines_add(d, rules, &error) != 0)
        fail_msg("'%s' is rejected: %s", rules, buf_str(&error));
    assert_int_equal(error.n, 0);
}

static void check_all(const struct deadlines *d, const char *what, const struct asked *rows)
{
    for (; rows->method != NULL; rows++) {
        int64_t us = deadline(d, rows->method, rows->tool);
        if (us != rows->us)
            fail_msg("%s: %s %s has %jd us, not %jd", what, rows->method,
                     rows->tool == NULL ? "" : rows->tool, (intmax_t)us, (intmax_t)rows->us);
    }
}

static void test_deadline_without_rules_is_30_seconds(void **state)
{
    (void)state;
    struct deadlines d;
    deadlines_open(&d);
    check_all(&d, "default",
              (struct asked[]){{"tools/call", "x", 30 * S},
                               {"initialize", NULL, 120 * S},
                               {"no/such-method", NULL, 30 * S},
                               {"subscriptions/listen", NULL, 0},
                               {"tasks/result", NULL, 0},
                               {"server/discover", NULL, 0},
                               {0}});
    deadlines_close(&d);
}

static void test_deadline_of_initialize_is_longer_than_that_of_other_requests(void **state)
{
    (void)state;
    static const struct {
        const char *rules;
        int64_t us, login_us; /* of initialize; if the server may wait for a login */
        int64_t repeated_us;
    } rows[] = {
        {NULL, 120 * S, 300 * S, 30 * S},
        {"5s", 120 * S, 300 * S, 30 * S},
        {"tools/call=5s", 120 * S, 300 * S, 30 * S},
        {"4m", 240 * S, 300 * S, 30 * S},
        {"10m", 600 * S, 600 * S, 30 * S},
        {"0", 0, 0, 30 * S},
        {"initialize=5s", 5 * S, 5 * S, 5 * S},
        {"init*=7s", 7 * S, 7 * S, 7 * S},
        {"initialize=0", 0, 0, 30 * S},
        {"tool:initialize=5s", 120 * S, 300 * S, 30 * S},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct deadlines d;
        deadlines_open(&d);
        if (rows[i].rules != NULL)
            add(&d, rows[i].rules);
        int64_t ping = deadline(&d, "ping", NULL);
        assert_int_equal(deadline(&d, "initialize", NULL), rows[i].us);
        d.login = true;
        check_all(
            &d, rows[i].rules,
            (struct asked[]){{"initialize", NULL, rows[i].login_us}, {"ping", NULL, ping}, {0}});
        assert_int_equal(deadline_of_repeated_initialize(&d), rows[i].repeated_us);
        deadlines_close(&d);
    }
}

/* The timeouts that different clients expect, each in one option. */
static void test_deadline_option_accepts_several_rules(void **state)
{
    (void)state;
    static const struct {
        const char *rules;
        struct asked asked[8];
    } budgets[] = {
        {"resources/*=500ms,tools/call=1s,initialize=2s",
         {{"resources/list", NULL, 500 * MS},
          {"resources/read", "file:///x", 500 * MS},
          {"resources/templates/list", NULL, 500 * MS},
          {"tools/call", "any", 1 * S},
          {"initialize", NULL, 2 * S},
          {"tools/list", NULL, 30 * S}}},
        {"30s", {{"tools/call", "any", 30 * S}, {"initialize", NULL, 120 * S}}},
        {"60s", {{"tools/call", "any", 60 * S}, {"prompts/get", "p", 60 * S}}},
        {"1m", {{"tools/call", "any", 60 * S}, {"tasks/result", "t1", 0}}},
        {"5s", {{"tools/call", "any", 5 * S}, {"tools/list", NULL, 5 * S}}},
        {"tools/call=5s,initialize=2s,tools/list=2s",
         {{"tools/call", "any", 5 * S},
          {"initialize", NULL, 2 * S},
          {"tools/list", NULL, 2 * S},
          {"ping", NULL, 30 * S}}},
    };
    for (size_t i = 0; i < MI_COUNT(budgets); i++) {
        struct deadlines d;
        deadlines_open(&d);
        add(&d, budgets[i].rules);
        check_all(&d, budgets[i].rules, budgets[i].asked);
        deadlines_close(&d);
    }
}

static void test_deadline_most_specific_rule_wins_in_any_order(void **state)
{
    (void)state;
    static const char *const rules[] = {
        "9s",          "tools/*=8s",  "t*=7s",   "tools/call=6s", "tool:*=5s",
        "tool:ab*=4s", "tool:abc=3s", "res*=2s", "prompts/get=1s"};
    static const struct asked wanted[] = {{"tools/call", "abc", 3 * S},
                                          {"tools/call", "abd", 4 * S},
                                          {"tools/call", "x", 5 * S},
                                          {"tools/call", NULL, 6 * S},
                                          {"tools/list", NULL, 8 * S},
                                          {"tasks/get", "abc", 7 * S},
                                          {"resources/read", "abc", 2 * S},
                                          {"prompts/get", "abc", 1 * S},
                                          {"ping", NULL, 9 * S},
                                          {0}};
    struct unit_random r = {12};
    for (int round = 0; round < 200; round++) {
        size_t order[MI_COUNT(rules)];
        struct deadlines d;
        deadlines_open(&d);
        for (size_t i = 0; i < MI_COUNT(rules); i++) {
            size_t j = unit_random(&r, i + 1);
            order[i] = order[j];
            order[j] = i;
        }
        for (size_t i = 0; i < MI_COUNT(rules); i++)
            add(&d, rules[order[i]]);
        check_all(&d, "in some order", wanted);
        deadlines_close(&d);
    }
}

static void test_deadline_last_of_equal_rules_wins(void **state)
{
    (void)state;
    struct deadlines d;
    deadlines_open(&d);
    add(&d, "1s,ping=2s,tool:x=3s,a*=4s,*b=5s");
    add(&d, "6s,ping=7s,tool:x=8s");
    check_all(&d, "twice",
              (struct asked[]){{"other", NULL, 6 * S},
                               {"ping", NULL, 7 * S},
                               {"tools/call", "x", 8 * S},
                               {"ab", NULL, 5 * S},
                               {0}});
    deadlines_close(&d);
}

static void test_deadline_of_zero_never_expires(void **state)
{
    (void)state;
    struct deadlines d;
    deadlines_open(&d);
    add(&d, "0,ping=1s,tool:slow=0");
    check_all(&d, "0",
              (struct asked[]){
                  {"tools/list", NULL, 0}, {"ping", NULL, 1 * S}, {"tools/call", "slow", 0}, {0}});
    deadlines_close(&d);
}

static void test_deadline_of_a_method_without_one_needs_a_rule_by_name(void **state)
{
    (void)state;
    struct deadlines d;
    deadlines_open(&d);
    add(&d, "1s,*=1s,tasks/*=2s,s*=2s,server/discover=3s");
    check_all(&d, "patient",
              (struct asked[]){{"tasks/get", "t", 2 * S},
                               {"tasks/result", "t", 0},
                               {"subscriptions/listen", NULL, 0},
                               {"server/discover", NULL, 3 * S},
                               {0}});
    deadlines_close(&d);
}

/* Escapes are resolved before a name is compared: both spellings are one tool. */
static void test_deadline_compares_names_without_escapes(void **state)
{
    (void)state;
    struct deadlines d;
    deadlines_open(&d);
    add(&d, "tool:a\"b=1s,tool:k=v=2s,tool:\xc3\xa9=3s");
    check_all(&d, "escaped",
              (struct asked[]){{"tools/call", "a\\\"b", 1 * S},
                               {"tools\\/call", "a\\u0022b", 1 * S},
                               {"tools/call", "k=v", 2 * S},
                               {"tools/call", "\\u00e9", 3 * S},
                               {"tools/call", "\\u0000", 30 * S},
                               {0}});
    deadlines_close(&d);
}

static void test_deadline_of_a_too_long_name_is_the_default(void **state)
{
    (void)state;
    char longest[4096];
    struct deadlines d;
    deadlines_open(&d);
    add(&d, "7s,tool:*=1s,*x*=2s");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(deadline(&d, longest, NULL), 7 * S);
    deadlines_close(&d);
}

static void test_deadline_invalid_rule_is_rejected(void **state)
{
    (void)state;
    static const struct {
        const char *rules, *said;
    } rows[] = {
        {"soon", "invalid duration 'soon'"},
        {"", "invalid duration ''"},
        {"5s,", "invalid duration ''"},
        {"-1s", "invalid duration '-1s'"},
        {"ping=", "invalid duration ''"},
        {"=5s", "missing method name"},
        {"tool:=5s", "missing tool name"},
        {"5s,ping=never", "invalid duration 'never'"},
        {"tool=5s", "'tool' is not a method that a client requests; did you mean 'tools/"},
        {"tool=5s", "tool:tool=DURATION for a tool"},
        {"echo=5s", "'echo' is not a method that a client requests. Use a duration alone"},
        {"tools/cal=5s",
         "did you mean 'tools/call'? Use a duration alone, METHOD=DURATION, a glob"},
        {"tools/cal=5s", "tool:NAME=DURATION for a tool"},
        {"notifications/cancelled=5s", "'notifications/cancelled' is not a method"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct deadlines d;
        struct buf error = {0};
        deadlines_open(&d);
        if (deadlines_add(&d, rows[i].rules, &error) != MI_EINVAL)
            fail_msg("'%s' is accepted", rows[i].rules);
        if (strstr(buf_str(&error), rows[i].said) == NULL)
            fail_msg("'%s': '%s' is not in '%s'", rows[i].rules, rows[i].said, buf_str(&error));
        buf_close(&error);
        deadlines_close(&d);
    }
}

/* What is suggested can be copied to a command line, whatever the server calls its tools. */
static void test_deadline_suggested_rule_is_one_plain_word(void **state)
{
    (void)state;
    char lengthy[66];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[65] = '\0';
    const struct {
        const char *method, *target, *rule;
    } rows[] = {
        {"tools/call", "send_e-mail.v2", "tool:send_e-mail.v2"},
        {"tools/call", NULL, "tools/call"},
        {"resources/read", "file:///x", "resources/read"},
        {"tools/call", "x; rm -r ~", "tool:NAME"},
        {"tools/call", "$(date)", "tool:NAME"},
        {"tools/call", "a=1s,b", "tool:NAME"},
        {"tools/call", "gr\xc3\xbcn", "tool:NAME"},
        {"tools/call", "", "tool:NAME"},
        {"tools/call", lengthy, "tool:NAME"},
        {"tools/call", lengthy + 1, NULL},
        {"$/x `id`", NULL, "METHOD"},
        {"", NULL, "METHOD"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0};
        struct slice target = {0};
        if (rows[i].target != NULL)
            target = slice_of(rows[i].target);
        deadline_suggest_rule(&b, slice_of(rows[i].method), target);
        if (rows[i].rule != NULL)
            assert_string_equal(buf_str(&b), rows[i].rule);
        else
            assert_string_equal(buf_str(&b) + strlen("tool:"), rows[i].target);
        buf_close(&b);
    }
}

static void test_deadline_rules_past_the_limit_are_rejected(void **state)
{
    (void)state;
    struct deadlines d;
    struct buf error = {0};
    char rule[32];
    deadlines_open(&d);
    for (int i = 0; i < DEADLINES_MAX; i++) {
        snprintf(rule, sizeof rule, "tool:t%d=%ds", i, i + 1);
        add(&d, rule);
    }
    assert_int_equal(deadlines_add(&d, "tool:more=1s", &error), MI_EFULL);
    assert_non_null(strstr(buf_str(&error), "256"));
    assert_int_equal(deadline(&d, "tools/call", "t255"), 256 * S);
    buf_close(&error);
    deadlines_close(&d);
}

static void test_deadline_rules_can_be_closed_twice(void **state)
{
    (void)state;
    struct deadlines d;
    deadlines_open(&d);
    add(&d, "ping=1s");
    deadlines_close(&d);
    deadlines_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deadline_without_rules_is_30_seconds),
        cmocka_unit_test(test_deadline_of_initialize_is_longer_than_that_of_other_requests),
        cmocka_unit_test(test_deadline_option_accepts_several_rules),
        cmocka_unit_test(test_deadline_most_specific_rule_wins_in_any_order),
        cmocka_unit_test(test_deadline_last_of_equal_rules_wins),
        cmocka_unit_test(test_deadline_of_zero_never_expires),
        cmocka_unit_test(test_deadline_of_a_method_without_one_needs_a_rule_by_name),
        cmocka_unit_test(test_deadline_compares_names_without_escapes),
        cmocka_unit_test(test_deadline_of_a_too_long_name_is_the_default),
        cmocka_unit_test(test_deadline_invalid_rule_is_rejected),
        cmocka_unit_test(test_deadline_suggested_rule_is_one_plain_word),
        cmocka_unit_test(test_deadline_rules_past_the_limit_are_rejected),
        cmocka_unit_test(test_deadline_rules_can_be_closed_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
