/* Options: forms on the command line, environment, configuration, their priority, and the help. */
#include "base/opt.h"

#include "tests/support/unit.h"

static const struct opt table[] = {
    {'V', "vault", "DIR", NULL, "where everything is stored"},
    {'n', "name", "NAME", "server", "the server's name"},
    {0, "max-message", "SIZE", "128MiB", "longer lines are refused"},
    {'v', "verbose", NULL, NULL, "say more"},
    {'q', "quiet", NULL, "yes", "say less"},
    {0, "for-programs-that-start-us", "WORD", NULL, NULL},
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

static void test_opt_every_form_of_command_line_is_parsed(void **state)
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
        /* options end after `--`, or before the first operand */
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

static void test_opt_operands_between_options_are_collected(void **state)
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

static void test_opt_invalid_command_line_is_rejected_with_a_message(void **state)
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
        {{"--vault"}, "option --vault requires a value: --vault DIR"},
        {{"-V"}, "option -V requires a value: -V DIR"},
        {{"-vV"}, "option -V requires a value: -V DIR"},
        {{"--verbose=yes"}, "option --verbose does not take a value"},
        {{"a", "--verbose="}, "option --verbose does not take a value"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct opt_set s;
        const char *operands[24];
        int n = 4711, invalid = rows[i].words[0][0] != '-';
        assert_int_equal(parse(&s, rows[i].words, operands, &n), MI_EINVAL);
        assert_string_equal(buf_str(&s.error), rows[i].error);
        assert_int_equal(n, invalid); /* its index */
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
    setenv("MCP_INTERPOSER_VAULT", "", 1); /* like an unset variable */
    setenv("MCP_INTERPOSER_VERBOSE", "on", 1);
    setenv("MCP_INTERPOSER_QUIET", "0", 1);
    struct opt_set s;
    opt_open(&s, table);
    assert_int_equal(opt_read_environment(&s), 0);
    is(&s, "max-message", "1MiB");
    is(&s, "vault", NULL);
    is(&s, "name", "server");
    assert_true(opt_is_on(&s, "verbose"));
    assert_false(opt_is_on(&s, "quiet"));
    assert_int_equal(opt_get_source(&s, "max-message"), OPT_ENVIRONMENT);
    assert_int_equal(opt_get_source(&s, "name"), OPT_DEFAULT);
    opt_close(&s);
}

static void test_opt_flag_accepts_every_word_for_yes_and_no(void **state)
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
        int st = opt_set_from_config(&s, "verbose", rows[i].word);
        assert_int_equal(st, rows[i].on < 0 ? MI_EINVAL : 0);
        assert_int_equal(opt_is_on(&s, "verbose"), rows[i].on == 1);
        if (rows[i].on < 0) {
            char want[80];
            snprintf(want, sizeof want, "verbose: invalid value '%s': use yes or no", rows[i].word);
            assert_string_equal(buf_str(&s.error), want);
        }
        opt_close(&s);
        bool yes = false;
        assert_int_equal(opt_parse_yes_or_no(rows[i].word, &yes), rows[i].on >= 0);
        assert_int_equal(yes, rows[i].on == 1);
    }
    setenv("MCP_INTERPOSER_VERBOSE", "perhaps", 1);
    struct opt_set s;
    opt_open(&s, table);
    assert_int_equal(opt_read_environment(&s), MI_EINVAL);
    assert_string_equal(buf_str(&s.error), "verbose: invalid value 'perhaps': use yes or no");
    opt_close(&s);
}

static void test_opt_unknown_key_in_the_configuration_is_named(void **state)
{
    (void)state;
    struct opt_set s;
    opt_open(&s, table);
    assert_int_equal(opt_set_from_config(&s, "name", "x"), 0);
    assert_int_equal(opt_set_from_config(&s, "nosuch", "x"), MI_ENOENT);
    assert_int_equal(opt_set_from_config(&s, "--name", "y"), MI_ENOENT);
    assert_int_equal(opt_set_from_config(&s, "n", "y"), MI_ENOENT);
    is(&s, "name", "x");
    assert_int_equal(opt_get_source(&s, "name"), OPT_CONFIG);
    opt_close(&s);
}

/* All combinations of sources, in every order: the one with the highest priority wins. */
static void test_opt_source_with_priority_wins_in_any_order(void **state)
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
                int st = from == OPT_CONFIG        ? opt_set_from_config(&s, "name", "config")
                         : from == OPT_ENVIRONMENT ? opt_read_environment(&s)
                                                   : opt_parse(&s, 2, argv, 0, NULL, &next);
                assert_int_equal(st, 0);
            }
            is(&s, "name", value[strongest]);
            assert_int_equal(opt_get_source(&s, "name"), strongest);
            opt_close(&s);
        }
}

static void test_opt_help_is_aligned_and_shows_the_defaults(void **state)
{
    (void)state;
    struct buf b = {0};
    opt_write_help(&b, table);
    assert_string_equal(buf_str(&b), "  -V, --vault DIR         where everything is stored\n"
                                     "  -n, --name NAME         the server's name [server]\n"
                                     "      --max-message SIZE  longer lines are refused [128MiB]\n"
                                     "  -v, --verbose           say more\n"
                                     "  -q, --quiet             say less [yes]\n");
    buf_close(&b);
}

static void test_opt_help_fits_in_80_columns(void **state)
{
    (void)state;
    static const struct opt wide[] = {
        {'a', "all", NULL, NULL, "short"},
        {'f', "format", "text|json|junit|sarif|markdown", "text", "begins on the next line"},
        {0, "limit", "N", "20",
         "this text is exactly as wide as the screen, counted with its indent, and more"},
        {0},
    };
    struct buf b = {0};
    opt_write_help(&b, wide);
    assert_string_equal(
        buf_str(&b),
        "  -a, --all      short\n"
        "  -f, --format text|json|junit|sarif|markdown\n"
        "                 begins on the next line [text]\n"
        "      --limit N  this text is exactly as wide as the screen, counted with its\n"
        "                 indent, and more [20]\n");
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opt_every_form_of_command_line_is_parsed),
        cmocka_unit_test(test_opt_operands_between_options_are_collected),
        cmocka_unit_test(test_opt_invalid_command_line_is_rejected_with_a_message),
        cmocka_unit_test_setup_teardown(test_opt_environment_is_read_by_long_name, no_environment,
                                        no_environment),
        cmocka_unit_test_setup_teardown(test_opt_flag_accepts_every_word_for_yes_and_no,
                                        no_environment, no_environment),
        cmocka_unit_test(test_opt_unknown_key_in_the_configuration_is_named),
        cmocka_unit_test_setup_teardown(test_opt_source_with_priority_wins_in_any_order,
                                        no_environment, no_environment),
        cmocka_unit_test(test_opt_help_is_aligned_and_shows_the_defaults),
        cmocka_unit_test(test_opt_help_fits_in_80_columns),
    };
    return cmocka_run_group_tests_name("opt", tests, NULL, NULL);
}
