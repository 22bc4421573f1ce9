/* filter: options that select sessions; question: the arguments of `search`. */
#include "cli/frame/filter.h"
#include "cli/look/search/question.h"

#include "tests/support/log_unit.h"
#include "tests/support/unit.h"

static const struct opt table[] = {
    {'n', "limit", "N", "20", "a number"},
    {'x', "exact", NULL, NULL, "a flag"},
    FILTER_OPTS,
    COMMAND_OPTS,
};
static const struct command command = {.name = "search", .table = table, .operands_max = 200};
static const struct command *const commands[] = {&command, NULL};

#define WORDS_MAX 100
static char home[] = "/nonexistent/home";

static struct settings read_words(const char *const *words)
{
    static char *argv[WORDS_MAX];
    struct settings s = {0};
    struct buf error = {0};
    int argc = 0;
    argv[argc++] = home;
    for (; *words != NULL; words++)
        argv[argc++] = (char *)(uintptr_t)*words;
    argv[argc] = NULL;
    setenv("HOME", home, 1);
    unsetenv("XDG_CONFIG_HOME");
    if (settings_read_all_sources(&s, commands, &command, argc, argv, &error) != SETTINGS_READY)
        fail_msg("%s", buf_str(&error));
    buf_close(&error);
    return s;
}
#define READ(...) read_words((const char *const[]){__VA_ARGS__, NULL})

static bool is_of_server(const char *glob, struct slice name)
{
    struct filter f = FILTER_ANY;
    f.server = glob;
    return filter_matches_session(&f, FILTER_HOLDS, &(struct query_session){.name = name});
}

static void test_filter_names_are_exact_or_globs(void **state)
{
    (void)state;
    static const struct {
        const char *glob, *text;
        bool matches;
    } rows[] = {
        {NULL, "any", true},
        {"files", "files", true},
        {"files", "file", false},
        {"files", "files2", false},
        {"git*", "github", true},
        {"git*", "agit", false},
        {"g?t", "git", true},
        {"[fg]it", "git", true},
        {"*", "", true},
        {"", "", true},
        {"", "x", false},
        {"tools/*", "tools/call", true},
        {"*l", "tools/call", true},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        if (is_of_server(rows[i].glob, slice_of(rows[i].text)) != rows[i].matches)
            fail_msg("'%s' and '%s'", rows[i].glob, rows[i].text);
    assert_true(is_of_server("", (struct slice){0}));
    assert_true(is_of_server("*", (struct slice){0}));
    assert_false(is_of_server("x", (struct slice){0}));
}

static void test_filter_name_is_not_read_past_its_end(void **state)
{
    (void)state;
    char *name = unit_copy("github", 3);
    assert_true(is_of_server("g*t", (struct slice){name, 3}));
    assert_true(is_of_server("git", (struct slice){name, 3}));
    free(name);
}

static void test_filter_tool_matches_only_targets_of_calls(void **state)
{
    (void)state;
    struct slice call = slice_of("tools/call"), read = slice_of("resources/read");
    assert_true(filter_matches_call(&(struct filter){0}, (struct slice){0}, (struct slice){0}));
    assert_true(
        filter_matches_call(&(struct filter){.tool = "send_*"}, call, slice_of("send_mail")));
    assert_false(
        filter_matches_call(&(struct filter){.tool = "send_*"}, read, slice_of("send_mail")));
    assert_false(filter_matches_call(&(struct filter){.tool = "send_*"}, (struct slice){0},
                                     slice_of("send_mail")));
    assert_false(filter_matches_call(&(struct filter){.method = "resources/*", .tool = "send_*"},
                                     call, slice_of("send_mail")));
    assert_true(filter_matches_call(&(struct filter){.method = "tools/*"}, call, slice_of("x")));
}

static void test_filter_time_applies_to_session_starts_and_to_messages(void **state)
{
    (void)state;
    struct settings s = READ("--since", "2026-01-31 10:00Z", "--until", "2026-01-31 11:00Z", "x");
    const int64_t hour = 3600 * (int64_t)1000000, ten = 1769853600 * (int64_t)1000000;
    struct filter f;
    filter_read_from_options(&f, &s);
    assert_int_equal(f.since_us, ten);
    assert_int_equal(f.until_us, ten + hour);
    assert_true(filter_includes_time(&f, ten));
    assert_false(filter_includes_time(&f, ten - 1));
    assert_false(filter_includes_time(&f, ten + hour));
    struct query_session x = {.name = slice_of("a"), .started_at_us = ten - hour};
    assert_false(filter_matches_session(&f, FILTER_BEGAN, &x));
    assert_true(filter_matches_session(&f, FILTER_HOLDS, &x)); /* it is still open */
    x.ended_at_us = ten - 1;
    assert_false(filter_matches_session(&f, FILTER_HOLDS, &x));
    x.ended_at_us = ten;
    assert_true(filter_matches_session(&f, FILTER_HOLDS, &x));
    x.started_at_us = ten + hour;
    assert_false(filter_matches_session(&f, FILTER_HOLDS, &x));
    settings_close(&s);
    s = READ("--server", "g*", "x");
    filter_read_from_options(&f, &s);
    x = (struct query_session){.name = slice_of("git"), .started_at_us = 1};
    assert_true(filter_matches_session(&f, FILTER_BEGAN, &x));
    x.name = slice_of("files");
    assert_false(filter_matches_session(&f, FILTER_BEGAN, &x));
    settings_close(&s);
}

/* ---- questions ---- */

static void rejected(const char *const *words, const char *says)
{
    struct settings s = read_words(words);
    struct question x;
    said_begin();
    assert_int_equal(question_open(&x, &s), EXIT_USAGE);
    if (!said_holds(says))
        fail_msg("'%s' is not in: %s", says, buf_str(&said));
    said_end();
    question_close(&x);
    settings_close(&s);
}
#define REJECTED(says, ...) rejected((const char *const[]){__VA_ARGS__, NULL}, says)

static void test_question_invalid_arguments_are_rejected(void **state)
{
    (void)state;
    REJECTED("nothing to search for", "-x");
    REJECTED("empty TEXT", "a", "");
    REJECTED("'tool:' is given twice", "tool:a", "tool:b");
    REJECTED("expected status:failed|ok|tool-error|", "status:bad");
    REJECTED("expected kind:request|", "kind:");
    REJECTED("expected took:>DURATION", "took:>soon");
    REJECTED("expected took:>DURATION", "took:0");
    REJECTED("unknown field 'is'; the fields are server:, ", "is:failed");
    REJECTED("kind: and took:; to search for this text, use 'is failed' or --exact", "is:failed");
    const char *many[SEARCH_TERMS_MAX + 2] = {0};
    for (size_t i = 0; i < SEARCH_TERMS_MAX + 1; i++)
        many[i] = "word";
    rejected(many, "at most 32");
}

static void test_question_fields_are_distinguished_from_texts(void **state)
{
    (void)state;
    struct settings s = READ("tool:send_*", "a word", "http://x", "kind:request", "server:");
    struct question x;
    assert_int_equal(question_open(&x, &s), EXIT_FINE);
    assert_string_equal(x.field[QUESTION_TOOL], "send_*");
    assert_string_equal(x.field[QUESTION_SERVER], "");
    assert_null(x.field[QUESTION_STATUS]);
    assert_int_equal(x.fields.kinds, 1u << KIND_REQUEST);
    assert_int_equal(x.terms.n, 2);
    assert_string_equal(buf_str(&x.terms.term[1].text), "http://x");
    assert_true(x.narrowed);
    assert_false(x.all_exact);
    question_close(&x);
    settings_close(&s);
}

static void test_question_exact_texts_do_not_use_the_index(void **state)
{
    (void)state;
    struct question x;
    struct settings s = READ("-x", "a word");
    assert_int_equal(question_open(&x, &s), EXIT_FINE);
    assert_true(x.all_exact);
    assert_false(x.narrowed);
    question_close(&x);
    settings_close(&s);
    s = READ("!!!"); /* no word in it */
    assert_int_equal(question_open(&x, &s), EXIT_FINE);
    assert_true(x.all_exact);
    question_close(&x);
    settings_close(&s);
}

static void test_question_matches_messages_by_their_fields(void **state)
{
    (void)state;
    struct question x;
    struct settings s = READ("tool:send", "status:refused");
    assert_int_equal(question_open(&x, &s), EXIT_FINE);
    struct query_message m = {.kind = KIND_REQUEST,
                              .action = ROW_REFUSED,
                              .method = slice_of("tools/call"),
                              .target = slice_of("send")};
    assert_true(question_matches_message(&x, 0, &m));
    m.action = ROW_FORWARDED;
    assert_false(question_matches_message(&x, 0, &m));
    m.action = ROW_REFUSED;
    m.target = slice_of("other");
    assert_false(question_matches_message(&x, 0, &m));
    question_close(&x);
    settings_close(&s);
    s = READ("kind:error", "tool:send");
    assert_int_equal(question_open(&x, &s), EXIT_FINE);
    m = (struct query_message){.kind = KIND_ERROR,
                               .request_method = slice_of("tools/call"),
                               .request_target = slice_of("send")};
    assert_true(question_matches_message(&x, 0, &m)); /* by its request */
    m.kind = KIND_RESULT;
    assert_false(question_matches_message(&x, 0, &m));
    question_close(&x);
    settings_close(&s);
}

static void test_question_fields_are_a_filter(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        struct filter is;
    } rows[] = {
        {"word", {.failed = false}},
        {"status:failed", {.failed = true}},
        {"status:tool-error", {.statuses = 1u << CALL_TOOL_ERROR}},
        {"kind:batch", {.kinds = 1u << KIND_BATCH}},
        {"took:>1.5s", {.slow_us = 1500000}},
        {"took:200ms", {.slow_us = 200000}},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct question x;
        struct settings s = READ(rows[i].word);
        assert_int_equal(question_open(&x, &s), EXIT_FINE);
        const struct filter *f = x.filter.also, *is = &rows[i].is;
        if (f->failed != is->failed || f->statuses != is->statuses || f->kinds != is->kinds ||
            f->slow_us != is->slow_us || x.narrowed == (i == 0))
            fail_msg("%s", rows[i].word);
        question_close(&x);
        settings_close(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filter_names_are_exact_or_globs),
        cmocka_unit_test(test_filter_name_is_not_read_past_its_end),
        cmocka_unit_test(test_filter_tool_matches_only_targets_of_calls),
        cmocka_unit_test(test_filter_time_applies_to_session_starts_and_to_messages),
        cmocka_unit_test(test_question_invalid_arguments_are_rejected),
        cmocka_unit_test(test_question_fields_are_distinguished_from_texts),
        cmocka_unit_test(test_question_exact_texts_do_not_use_the_index),
        cmocka_unit_test(test_question_matches_messages_by_their_fields),
        cmocka_unit_test(test_question_fields_are_a_filter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
