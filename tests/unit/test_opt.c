/* Options: forms on the command line, environment, configuration, which of them wins, and the help. */
#include "base/opt.h"

#include "tests/unit/unit.h"

static const struct opt table[] = {
    {'V', "vault", "DIR", NULL, "where everything is stored"},
    {'n', "name", "NAME", "server", "the server's name"},
    {0, "max-message", "SIZE", "128MiB", "longer lines are refused"},
    {'v', "verbose", NULL, NULL, "say more"},
    {'q', "quiet", NULL, "yes", "say less"},
    {0},
};

static const char *const names[] = {"vault", "name", "max-message", "verbose", "quiet"};

/* Reads a command line (up to NULL) into a new set. Close it. */
static int parse(struct opt_set *s, const char *const *words, const char **operands, int *ret_n)
{
    char *argv[24];
    int argc = 0;
    for (; words[argc] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc];
    char *found[24];
    opt_open(s, table);
    int st = opt_parse(s, argc, argv, 0, operands != NULL ? found : NULL, ret_n);
    for (int i = 0; st == 0 && operands != NULL && i < *ret_n; i++)
        operands[i] = found[i];
    return st;
}

static void is(const struct opt_set *s, const char *name, const char *want)
{
    const char *got = opt_get(s, name);
    if ((got == NULL) != (want == NULL) || (got != NULL && strcmp(got, want) != 0))
        fail_msg("%s is %s, not %s", name, got != NULL ? got : "not given",
                 want != NULL ? want : "not given");
}

static void test_opt_line_of_each_form_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *words[8];
        const char *value[5]; /* in the order of names[] */
        int next;
    } rows[] = {
        {{NULL}, {NULL, "server", "128MiB", NULL, "yes"}, 0},
        {{"--vault", "/v"}, {"/v", "server", "128MiB", NULL, "yes"}, 2},
        {{"--vault=/v"}, {"/v", "server", "128MiB", NULL, "yes"}, 1},
        {{"--vault="}, {"", "server", "128MiB", NULL, "yes"}, 1},
        {{"--vault", ""}, {"", "server", "128MiB", NULL, "yes"}, 2},
        {{"--vault=a=b"}, {"a=b", "server", "128MiB", NULL, "yes"}, 1},
        {{"-V", "/v"}, {"/v", "server", "128MiB", NULL, "yes"}, 2},
        {{"-V/v"}, {"/v", "server", "128MiB", NULL, "yes"}, 1},
        {{"-Vn"}, {"n", "server", "128MiB", NULL, "yes"}, 1},
        {{"--verbose"}, {NULL, "server", "128MiB", "yes", "yes"}, 1},
        {{"-v"}, {NULL, "server", "128MiB", "yes", "yes"}, 1},
        {{"-vq"}, {NULL, "server", "128MiB", "yes", "yes"}, 1},
        {{"-vn", "x"}, {NULL, "x", "128MiB", "yes", "yes"}, 2},
        {{"-vnx"}, {NULL, "x", "128MiB", "yes", "yes"}, 1},
        {{"-n", "a", "--name", "b"}, {NULL, "b", "128MiB", NULL, "yes"}, 4},
        {{"--max-message", "1MiB", "-V", "d"}, {"d", "server", "1MiB", NULL, "yes"}, 4},
        {{"--vault", "--name"}, {"--name", "server", "128MiB", NULL, "yes"}, 2},
        {{"--vault", "--"}, {"--", "server", "128MiB", NULL, "yes"}, 2},
        {{"-V", "-v"}, {"-v", "server", "128MiB", NULL, "yes"}, 2},
        /* it ends behind `--`, or before the first operand */
        {{"-v", "--", "-n", "x"}, {NULL, "server", "128MiB", "yes", "yes"}, 2},
        {{"-v", "cmd", "-n", "x"}, {NULL, "server", "128MiB", "yes", "yes"}, 1},
        {{"-", "-v"}, {NULL, "server", "128MiB", NULL, "yes"}, 0},
        {{"", "-v"}, {NULL, "server", "128MiB", NULL, "yes"}, 0},
        {{"--"}, {NULL, "server", "128MiB", NULL, "yes"}, 1},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct opt_set s;
        int next = -1;
        if (parse(&s, rows[i].words, NULL, &next) != 0)
            fail_msg("row %zu: %s", i, buf_str(&s.error));
        for (size_t k = 0; k < MI_COUNT(names); k++)
            is(&s, names[k], rows[i].value[k]);
        assert_int_equal(next, rows[i].next);
        opt_close(&s);
    }
}

static void test_opt_operands_between_options_are_gathered(void **state)
{
    (void)state;
    static const struct {
        const char *words[8];
        const char *operands[6];
    } rows[] = {
        {{NULL}, {NULL}},
        {{"a"}, {"a"}},
        {{"a", "-v", "b", "--name", "x", "c"}, {"a", "b", "c"}},
        {{"-v", "--", "-n", "--", "b"}, {"-n", "--", "b"}},
        {{"a", "--", "b"}, {"a", "b"}},
        {{"-", ""}, {"-", ""}},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct opt_set s;
        const char *operands[24];
        int n = -1;
        assert_int_equal(parse(&s, rows[i].words, operands, &n), 0);
        int want = 0;
        for (; rows[i].operands[want] != NULL; want++) {
            assert_true(want < n);
            assert_string_equal(operands[want], rows[i].operands[want]);
        }
        assert_int_equal(n, want);
        opt_close(&s);
    }
}

static void test_opt_wrong_line_is_refused_with_a_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *words[4];
        const char *error;
    } rows[] = {
        {{"--nosuch"}, "unknown option --nosuch"},
        {{"--nosuch=1"}, "unknown option --nosuch=1"},
        {{"--vaul", "x"}, "unknown option --vaul; did you mean --vault?"},
        {{"--vaults", "x"}, "unknown option --vaults; did you mean --vault?"},
        {{"--Vault", "x"}, "unknown option --Vault; did you mean --vault?"},
        {{"--vualt=x"}, "unknown option --vualt=x; did you mean --vault?"},
        {{"--=x"}, "unknown option --=x"},
        {{"--vaultvaultvaultvaultvaultvaultvaultvault"},
         "unknown option --vaultvaultvaultvaultvaultvaultvaultvault"},
        {{"-x"}, "unknown option -x"},
        {{"-vx"}, "unknown option -x"},
        {{"--vault"}, "option --vault needs a value: --vault DIR"},
        {{"-V"}, "option -V needs a value: -V DIR"},
        {{"-vV"}, "option -V needs a value: -V DIR"},
        {{"--verbose=yes"}, "option --verbose takes no value"},
        {{"a", "--verbose="}, "option --verbose takes no value"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct opt_set s;
        const char *operands[24];
        int n = 4711;
        assert_int_equal(parse(&s, rows[i].words, operands, &n), MI_EINVAL);
        assert_string_equal(buf_str(&s.error), rows[i].error);
        assert_int_equal(n, 4711);
        opt_close(&s);
    }
}

static void clear_environment(void)
{
    unsetenv("MCP_INTERPOSER_VAULT");
    unsetenv("MCP_INTERPOSER_NAME");
    unsetenv("MCP_INTERPOSER_MAX_MESSAGE");
    unsetenv("MCP_INTERPOSER_VERBOSE");
    unsetenv("MCP_INTERPOSER_QUIET");
}

static int no_environment(void **state)
{
    (void)state;
    clear_environment();
    return 0;
}

static void test_opt_environment_is_read_by_long_name(void **state)
{
    (void)state;
    setenv("MCP_INTERPOSER_MAX_MESSAGE", "1MiB", 1);
    setenv("MCP_INTERPOSER_VAULT", "", 1); /* as good as not set */
    setenv("MCP_INTERPOSER_VERBOSE", "on", 1);
    setenv("MCP_INTERPOSER_QUIET", "0", 1);
    struct opt_set s;
    opt_open(&s, table);
    assert_int_equal(opt_env(&s), 0);
    is(&s, "max-message", "1MiB");
    is(&s, "vault", NULL);
    is(&s, "name", "server");
    assert_true(opt_on(&s, "verbose"));
    assert_false(opt_on(&s, "quiet"));
    assert_int_equal(opt_source(&s, "max-message"), OPT_ENVIRONMENT);
    assert_int_equal(opt_source(&s, "name"), OPT_DEFAULT);
    opt_close(&s);
}

static void test_opt_flag_is_yes_or_no_in_each_word_for_it(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        int on; /* -1: neither */
    } rows[] = {
        {"yes", 1}, {"true", 1}, {"on", 1}, {"1", 1}, {"no", 0},     {"false", 0}, {"off", 0},
        {"0", 0},   {"Yes", -1}, {"2", -1}, {"", -1}, {"maybe", -1}, {"yes ", -1},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct opt_set s;
        opt_open(&s, table);
        int st = opt_config(&s, "verbose", rows[i].word);
        assert_int_equal(st, rows[i].on < 0 ? MI_EINVAL : 0);
        assert_int_equal(opt_on(&s, "verbose"), rows[i].on == 1);
        if (rows[i].on < 0) {
            char want[80];
            snprintf(want, sizeof want, "verbose: '%s' is neither yes nor no", rows[i].word);
            assert_string_equal(buf_str(&s.error), want);
        }
        opt_close(&s);
    }
    setenv("MCP_INTERPOSER_VERBOSE", "perhaps", 1);
    struct opt_set s;
    opt_open(&s, table);
    assert_int_equal(opt_env(&s), MI_EINVAL);
    assert_string_equal(buf_str(&s.error), "verbose: 'perhaps' is neither yes nor no");
    opt_close(&s);
}

static void test_opt_configuration_names_what_it_does_not_know(void **state)
{
    (void)state;
    struct opt_set s;
    opt_open(&s, table);
    assert_int_equal(opt_config(&s, "name", "x"), 0);
    assert_int_equal(opt_config(&s, "nosuch", "x"), MI_ENOENT);
    assert_int_equal(opt_config(&s, "--name", "y"), MI_ENOENT);
    assert_int_equal(opt_config(&s, "n", "y"), MI_ENOENT);
    is(&s, "name", "x");
    assert_int_equal(opt_source(&s, "name"), OPT_CONFIG);
    opt_close(&s);
}

/* Each source alone and with each other, in every order: the stronger one wins. */
static void test_opt_stronger_source_wins_in_any_order(void **state)
{
    (void)state;
    static const char *const value[] = {"server", "config", "environment", "flag"};
    static const int orders[][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                    {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    for (size_t o = 0; o < MI_COUNT(orders); o++)
        for (unsigned given = 0; given < 8; given++) {
            struct opt_set s;
            char *argv[] = {(char[]){"--name"}, (char[]){"flag"}};
            int next, strongest = 0;
            opt_open(&s, table);
            clear_environment();
            setenv("MCP_INTERPOSER_NAME", "environment", 1);
            for (size_t i = 0; i < 3; i++) {
                int from = orders[o][i];
                if (!(given & 1u << (from - 1)))
                    continue;
                strongest = from > strongest ? from : strongest;
                int st = from == OPT_CONFIG        ? opt_config(&s, "name", "config")
                         : from == OPT_ENVIRONMENT ? opt_env(&s)
                                                   : opt_parse(&s, 2, argv, 0, NULL, &next);
                assert_int_equal(st, 0);
            }
            is(&s, "name", value[strongest]);
            assert_int_equal(opt_source(&s, "name"), strongest);
            opt_close(&s);
        }
}

static void test_opt_help_is_aligned_and_shows_the_defaults(void **state)
{
    (void)state;
    struct buf b = {0};
    opt_help(&b, table);
    assert_string_equal(buf_str(&b), "  -V, --vault DIR         where everything is stored\n"
                                     "  -n, --name NAME         the server's name [server]\n"
                                     "      --max-message SIZE  longer lines are refused [128MiB]\n"
                                     "  -v, --verbose           say more\n"
                                     "  -q, --quiet             say less [yes]\n");
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opt_line_of_each_form_is_read),
        cmocka_unit_test(test_opt_operands_between_options_are_gathered),
        cmocka_unit_test(test_opt_wrong_line_is_refused_with_a_sentence),
        cmocka_unit_test_setup_teardown(test_opt_environment_is_read_by_long_name, no_environment,
                                        no_environment),
        cmocka_unit_test_setup_teardown(test_opt_flag_is_yes_or_no_in_each_word_for_it,
                                        no_environment, no_environment),
        cmocka_unit_test(test_opt_configuration_names_what_it_does_not_know),
        cmocka_unit_test_setup_teardown(test_opt_stronger_source_wins_in_any_order, no_environment,
                                        no_environment),
        cmocka_unit_test(test_opt_help_is_aligned_and_shows_the_defaults),
    };
    return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
