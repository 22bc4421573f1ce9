/* cmdline: the kind of the last word of a command line; candidates: the words offered for it. */
#include "cli/complete/candidates.h"
#include "cli/complete/cmdline.h"

#include "tests/support/unit.h"

static const struct opt proxy_opts[] = {
    {'n', "name", "NAME", NULL, "a name"},
    {'v', "verbose", NULL, NULL, "a flag"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};
static const struct command proxy = {.name = "proxy",
                                     .usage = "[OPTIONS] [--] SERVER [ARG...]",
                                     .table = proxy_opts,
                                     .server_command = true};
static const struct command verify = {.name = "verify",
                                      .aliases = "again twice",
                                      .usage = "[OPTIONS] [SESSION|FILE] -- SERVER [ARG...]",
                                      .table = proxy_opts,
                                      .operands_max = 1000};
static const struct command send = {.name = "send",
                                    .usage = "[METHOD] [ARG=VALUE...] [-- SERVER [ARG...]]",
                                    .table = proxy_opts,
                                    .operands_max = 1000};
static const struct command export = {.name = "export",
                                      .usage = "[OPTIONS] [SESSION] -o FILE",
                                      .table = proxy_opts,
                                      .operands_max = 1};
static const struct command audit_key = {
    .name = "audit key", .usage = "[OPTIONS] new|show", .table = proxy_opts, .operands_max = 1};
static const struct command *const verbs[] = {&audit_key, NULL};
static const struct command audit = {.name = "audit", .verbs = verbs};
static const struct command *const commands[] = {&proxy, &verify, &send, &export, &audit, NULL};

#define WORDS_MAX 16

/* Words with single blanks between; a blank at the end starts an empty word. */
static struct cmdline read_line(const char *text)
{
    static char copy[256];
    static char *words[WORDS_MAX];
    struct cmdline l;
    int n = 0;
    snprintf(copy, sizeof copy, "%s", text);
    for (char *at = copy; at != NULL;) {
        char *end = strchr(at, ' ');
        assert_in_range(n, 0, WORDS_MAX - 1);
        words[n++] = at;
        if (end != NULL)
            *end++ = '\0';
        at = end;
    }
    cmdline_read(&l, commands, n, words);
    return l;
}

static void test_cmdline_kind_of_completion_follows_from_the_position(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum cmdline_want want;
        const char *word;
    } rows[] = {
        {"", CMDLINE_COMMAND, ""},
        {"ex", CMDLINE_COMMAND, "ex"},
        {"-", CMDLINE_COMMAND, "-"},
        {"help ex", CMDLINE_HELP_TOPIC, "ex"},
        {"help export ", CMDLINE_NOTHING, ""},
        {"audit ", CMDLINE_VERB, ""},
        {"audit k", CMDLINE_VERB, "k"},
        {"audit key ", CMDLINE_OPERAND, ""},
        {"audit key new ", CMDLINE_NOTHING, ""},
        {"audit key --na", CMDLINE_OPTION, "--na"},
        {"audit key --name ", CMDLINE_VALUE, ""},
        {"audit other ", CMDLINE_NOTHING, ""},
        {"help audit k", CMDLINE_VERB, "k"},
        {"help audit key ", CMDLINE_NOTHING, ""},
        {"unknown x", CMDLINE_NOTHING, "x"},
        {"export ", CMDLINE_OPERAND, ""},
        {"export 1", CMDLINE_OPERAND, "1"},
        {"export 1 ", CMDLINE_NOTHING, ""},
        {"export -", CMDLINE_OPTION, "-"},
        {"export --na", CMDLINE_OPTION, "--na"},
        {"export 1 --na", CMDLINE_OPTION, "--na"},
        {"export -- --na", CMDLINE_OPERAND, "--na"},
        {"export --name ", CMDLINE_VALUE, ""},
        {"export --name -x", CMDLINE_VALUE, "-x"},
        {"export --name x ", CMDLINE_OPERAND, ""},
        {"export --name=x", CMDLINE_VALUE, "x"},
        {"export --name=x ", CMDLINE_OPERAND, ""},
        {"export --verbose=x", CMDLINE_NOTHING, "x"},
        {"export --other=x", CMDLINE_NOTHING, "x"},
        {"export --other ", CMDLINE_OPERAND, ""},
        {"export -n ", CMDLINE_VALUE, ""},
        {"export -vn ", CMDLINE_VALUE, ""},
        {"export -nv ", CMDLINE_OPERAND, ""},
        {"export -v ", CMDLINE_OPERAND, ""},
        {"again ", CMDLINE_OPERAND, ""},
        {"twice 1 ", CMDLINE_NOTHING, ""},
        {"verify 1 --name ", CMDLINE_VALUE, ""},
        {"send ping ", CMDLINE_OPERAND, ""},
        {"send tools/call echo x", CMDLINE_OPERAND, "x"},
        {"verify 1 x", CMDLINE_NOTHING, "x"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct cmdline l = read_line(rows[i].text);
        if (l.want != rows[i].want || strcmp(l.word, rows[i].word) != 0)
            fail_msg("'%s': want %d, word '%s'", rows[i].text, (int)l.want, l.word);
    }
}

static void test_cmdline_server_command_starts_at_its_first_word(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int at; /* 0: absent */
    } rows[] = {
        {"proxy s", 1},       {"proxy s -", 1},          {"proxy -v s --name ", 2},
        {"proxy -n x s", 3},  {"proxy --name=x -- ", 3}, {"proxy -- -x", 2},
        {"proxy -", 0},       {"proxy --name s", 0},     {"verify 1 -- s", 3},
        {"verify -- s a", 2}, {"verify s", 0},           {"-v -- s", 2},
        {"-V x -- s", 3},     {"export -- s", 0},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct cmdline l = read_line(rows[i].text);
        if ((l.want == CMDLINE_SERVER ? l.server_at : 0) != rows[i].at)
            fail_msg("'%s': want %d at %d", rows[i].text, (int)l.want, l.server_at);
    }
}

static void test_cmdline_vault_and_configuration_are_read_from_the_line(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "export --vault /v --config /c ", "export --vault=/v --config=/c ",
        "export -vV /v --config /c x", "export -V/v --config=/c --name ",
        "-V /v --config /c --name "};
    for (size_t i = 0; i < MI_COUNT(lines); i++) {
        struct cmdline l = read_line(lines[i]);
        assert_string_equal(l.vault, "/v");
        assert_string_equal(l.config, "/c");
    }
    assert_null(read_line("export --vault /v").vault); /* the last word is still being typed */
    assert_null(read_line("export -- --vault /v ").vault);
}

static void test_cmdline_value_starts_after_the_first_equals_sign(void **state)
{
    (void)state;
    struct cmdline l = read_line("export --name=a=b");
    assert_true(slice_is(l.before, "--name="));
    assert_string_equal(l.word, "a=b");
    assert_string_equal(l.option->name, "name");
    assert_ptr_equal(l.before.p + l.before.n, l.word);
    l = read_line("--name=a");
    assert_int_equal(l.want, CMDLINE_VALUE);
    assert_string_equal(l.word, "a");
}

static void test_cmdline_operands_match_the_usage(void **state)
{
    (void)state;
    assert_true(cmdline_takes_operand(&export, "SESSION"));
    assert_false(cmdline_takes_operand(&export, "FILE")); /* the value of -o */
    assert_true(cmdline_takes_operand(&verify, "FILE"));
    assert_false(cmdline_takes_operand(&verify, "[SERVER]"));
}

static void lines_are(struct candidates *c, const char *want)
{
    assert_string_equal(buf_str(&c->lines), want);
    buf_close(&c->lines);
    c->recorded = 0;
}

static void test_candidates_start_with_the_word(void **state)
{
    (void)state;
    struct candidates c = {.word = "ca", .before = slice_of("--format=")};
    candidates_add_words(&c, "cassette|csv|card");
    candidates_add(&c, "cat", "an animal");
    candidates_add(&c, "dog", "another");
    candidates_add(&c, "c", NULL);
    lines_are(&c, "--format=cassette\n--format=card\n--format=cat\tan animal\n");
    c = (struct candidates){.word = ""};
    candidates_add_words(&c, "one, two");
    candidates_add_words(&c, "");
    candidates_request_from_shell(&c, "files");
    lines_are(&c, "one\ntwo\n:files\n");
}

static void test_candidates_from_recordings_contain_no_shell_syntax(void **state)
{
    (void)state;
    static const char *const safe[] = {"read_file", "a.b-c", "tools/list", "@scope/x", "1"};
    struct candidates c = {.word = ""};
    for (int i = 1; i < 256; i++) {
        char text[] = {'a', (char)i, 'b', '\0'};
        size_t n = c.lines.n;
        candidates_add_recorded_word(&c, slice_of(text), NULL);
        c.recorded = 0;
        bool plain = (i >= '0' && i <= '9') || (i >= 'a' && i <= 'z') || (i >= 'A' && i <= 'Z') ||
                     strchr("_-.:/@+%,", i) != NULL;
        assert_int_equal(c.lines.n > n, plain);
    }
    buf_clear(&c.lines);
    candidates_add_recorded_word(&c, slice_of(":files"), NULL);
    candidates_add_recorded_word(&c, slice_of("-rf"), NULL);
    candidates_add_recorded_word(&c, slice_of(""), NULL);
    candidates_add_recorded_word(&c, (struct slice){0}, NULL);
    candidates_add_recorded_word(&c, (struct slice){"a\0b", 3}, NULL);
    assert_int_equal(c.lines.n, 0);
    for (size_t i = 0; i < MI_COUNT(safe); i++)
        candidates_add_recorded_word(&c, slice_of(safe[i]), NULL);
    lines_are(&c, "read_file\na.b-c\ntools/list\n@scope/x\n1\n");
}

static void test_candidates_from_recordings_are_unique_and_limited(void **state)
{
    (void)state;
    struct candidates c = {.word = "", .before = slice_of("x=")};
    candidates_add_recorded_word(&c, slice_of("long"), "of a file");
    candidates_add_recorded_word(&c, slice_of("lon"), NULL);
    candidates_add_recorded_word(&c, slice_of("long"), NULL);
    candidates_add_recorded_word(&c, slice_of("lon"), NULL);
    lines_are(&c, "x=long\tof a file\nx=lon\n");
    for (int i = 0; i < 2 * CANDIDATES_MAX; i++) {
        char text[16];
        snprintf(text, sizeof text, "t%d", i);
        candidates_add_recorded_word(&c, slice_of(text), NULL);
    }
    assert_int_equal(c.recorded, CANDIDATES_MAX);
    candidates_add(&c, "after", NULL);
    assert_non_null(strstr(buf_str(&c.lines), "x=t49\nx=after\n"));
    buf_close(&c.lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmdline_kind_of_completion_follows_from_the_position),
        cmocka_unit_test(test_cmdline_server_command_starts_at_its_first_word),
        cmocka_unit_test(test_cmdline_vault_and_configuration_are_read_from_the_line),
        cmocka_unit_test(test_cmdline_value_starts_after_the_first_equals_sign),
        cmocka_unit_test(test_cmdline_operands_match_the_usage),
        cmocka_unit_test(test_candidates_start_with_the_word),
        cmocka_unit_test(test_candidates_from_recordings_contain_no_shell_syntax),
        cmocka_unit_test(test_candidates_from_recordings_are_unique_and_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
