/* pager: when a pager is used, and that it gets all of the output. */
#include "cli/frame/pager.h"
#include "cli/settings/command.h"

#include "tests/support/vault_unit.h"

static bool pages(bool is_terminal, const char *term, const char *pager, const char *path)
{
    struct out o = {.is_terminal = is_terminal};
    struct pager p;
    term != NULL ? setenv("TERM", term, 1) : unsetenv("TERM");
    pager != NULL ? setenv("PAGER", pager, 1) : unsetenv("PAGER");
    setenv("PATH", path, 1);
    pager_open(&p, &o);
    bool opened = p.pid > 0;
    pager_close(&p);
    assert_int_equal(p.pid, 0);
    return opened;
}

static void test_pager_is_for_terminals_and_can_be_turned_off(void **state)
{
    const struct temp *t = *state;
    assert_true(pages(true, "xterm", "true", "/usr/bin:/bin"));
    assert_false(pages(false, "xterm", "true", "/usr/bin:/bin"));
    assert_false(pages(true, "dumb", "true", "/usr/bin:/bin"));
    assert_false(pages(true, NULL, "true", "/usr/bin:/bin"));
    assert_false(pages(true, "xterm", "", "/usr/bin:/bin"));
    assert_false(pages(true, "xterm", "cat", "/usr/bin:/bin"));
    assert_false(pages(true, "xterm", NULL, "/nonexistent"));
    assert_false(pages(true, "xterm", NULL, ""));
    /* `less` is used when it is in PATH */
    FILE *f = fopen(temp_path(t, "less"), "w");
    assert_non_null(f);
    fputs("#!/bin/sh\n", f);
    assert_int_equal(fclose(f), 0);
    char path[200];
    snprintf(path, sizeof path, "/nonexistent:%s", t->root);
    assert_false(pages(true, "xterm", NULL, path)); /* not executable */
    assert_int_equal(chmod(temp_path(t, "less"), 0700), 0);
    assert_true(pages(true, "xterm", NULL, path));
}

static void test_pager_gets_all_of_the_output(void **state)
{
    const struct temp *t = *state;
    struct out o;
    struct pager p;
    char command[300], text[5];
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("TERM", "xterm", 1);
    snprintf(command, sizeof command, "cat >'%s'; echo $LESS >'%s'", temp_path(t, "out"),
             temp_path(t, "less"));
    setenv("PAGER", command, 1);
    unsetenv("LESS");
    out_open(&o);
    o.is_terminal = true;
    pager_open(&p, &o);
    assert_true(p.pid > 0);
    for (int i = 0; i < 100000; i++)
        out_add_raw(&o, "line\n");
    assert_int_equal(out_close(&o), EXIT_FINE);
    pager_close(&p);
    (void)signal(SIGINT, SIG_DFL);
    size_t n;
    char *got = slurp(temp_path(t, "out"), &n);
    assert_int_equal(n, 500000);
    assert_memory_equal(got + n - 5, "line\n", 5);
    free(got);
    got = slurp(temp_path(t, "less"), &n);
    assert_int_equal(n, 4);
    memcpy(text, got, 4);
    assert_memory_equal(text, "FRX\n", 4);
    free(got);
}

/* What a pager finds in LESS and LV. */
static void test_pager_less_always_has_the_option_for_colours(void **state)
{
    const struct temp *t = *state;
    static const struct {
        const char *less, *lv, *want;
    } cases[] = {
        {NULL, NULL, "<FRX> <-c>\n"},
        {"FX", "-Ou8", "<-R FX> <-Ou8>\n"},
        {"-i -Pprompt", NULL, "<-R -i -Pprompt> <-c>\n"}, /* a prompt ends with the variable */
        {"", NULL, "<-R > <-c>\n"},
    };
    char command[200];
    setenv("PATH", "/usr/bin:/bin", 1);
    setenv("TERM", "xterm", 1);
    snprintf(command, sizeof command, "echo \"<$LESS> <$LV>\" >'%s'", temp_path(t, "less"));
    setenv("PAGER", command, 1);
    for (size_t i = 0; i < MI_COUNT(cases); i++) {
        struct out o = {.is_terminal = true};
        struct pager p;
        size_t n;
        cases[i].less != NULL ? setenv("LESS", cases[i].less, 1) : unsetenv("LESS");
        cases[i].lv != NULL ? setenv("LV", cases[i].lv, 1) : unsetenv("LV");
        pager_open(&p, &o);
        pager_close(&p);
        char *got = slurp(temp_path(t, "less"), &n);
        assert_int_equal(n, strlen(cases[i].want));
        assert_memory_equal(got, cases[i].want, n);
        free(got);
    }
    unsetenv("LESS");
    unsetenv("LV");
    (void)signal(SIGINT, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pager_is_for_terminals_and_can_be_turned_off,
                                        temp_set_up, temp_tear_down),
        cmocka_unit_test_setup_teardown(test_pager_less_always_has_the_option_for_colours,
                                        temp_set_up, temp_tear_down),
        cmocka_unit_test_setup_teardown(test_pager_gets_all_of_the_output, temp_set_up,
                                        temp_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
