/* The commands that start the interposer: what is recognized, what is written, and what the variable may say. */
#include "cli/wrap/launch.h"
#include "cli/wrap/wrap_edit.h"

#include "tests/support/unit.h"

#include <stdlib.h>

static const struct {
    const char *command, *args[5];
    int n; /* -1: it does not start the interposer */
} known[] = {
    {"mcp-interposer", {"proxy", "x"}, 0},
    {"/usr/bin/mcp-interposer", {NULL}, 0},
    {"npx", {"-y", "mcp-interposer@1.2.3", "proxy"}, 2},
    {"/opt/node/bin/npx", {"--yes", "mcp-interposer", "proxy"}, 2},
    {"npx", {"mcp-interposer@latest"}, 1},
    {"npm", {"exec", "--", "mcp-interposer", "proxy"}, 3},
    {"pnpm", {"dlx", "mcp-interposer", "proxy"}, 2},
    {"bunx", {"mcp-interposer", "proxy"}, 1},
    {"npx", {"-y", "mcp-interposer-x"}, -1},
    {"npx", {"-y", "x", "mcp-interposer"}, -1},
    {"npx", {"-y"}, -1},
    {"npx", {NULL}, -1},
    {"npm", {"run", "mcp-interposer"}, -1},
    {"npm", {NULL}, -1},
    {"mcp-interposer.sh", {NULL}, -1},
    {"npx-y", {"mcp-interposer"}, -1},
};

static void test_launch_of_each_package_runner_is_recognized(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(known); i++) {
        size_t n = 77;
        bool ours = launch_starts_interposer(known[i].command, known[i].args, &n);
        if (ours != (known[i].n >= 0) || (ours && n != (size_t)known[i].n))
            fail_msg("%s %s …: %d, %zu", known[i].command, known[i].args[0], ours, n);
    }
}

static void test_launch_variable_gives_the_words(void **state)
{
    (void)state;
    struct launch l;
    struct buf error = {0}, typed = {0};
    setenv(LAUNCH_VARIABLE, " npx -y\tmcp-interposer@1.2.3 ", 1);
    assert_int_equal(launch_find_command(&l, &error), 0);
    assert_true(l.by_runner && !l.in_path);
    assert_string_equal(l.words[0], "npx");
    assert_string_equal(l.words[1], "-y");
    assert_string_equal(l.words[2], "mcp-interposer@1.2.3");
    assert_null(l.words[3]);
    launch_append_command(&l, &typed);
    assert_string_equal(buf_str(&typed), "npx -y mcp-interposer@1.2.3");
    assert_true(launch_word_names_other_version(&l, slice_of("mcp-interposer@1.2.4")));
    assert_false(launch_word_names_other_version(&l, slice_of("mcp-interposer@1.2.3")));
    assert_false(launch_word_names_other_version(&l, slice_of("mcp-interposer@latest")));
    assert_false(launch_word_names_other_version(&l, slice_of("mcp-interposer")));
    launch_close(&l);
    launch_close(&l);
    buf_close(&typed);
    buf_close(&error);
}

static void test_launch_variable_that_is_not_ours_is_refused(void **state)
{
    static const char *const values[] = {" ", "echo", "npx -y other", "npx -y mcp-interposer proxy",
                                         "npx -a -b -c -d -e -f -g -h mcp-interposer"};
    (void)state;
    for (size_t i = 0; i < MI_COUNT(values); i++) {
        struct launch l;
        struct buf error = {0};
        setenv(LAUNCH_VARIABLE, values[i], 1);
        assert_int_equal(launch_find_command(&l, &error), MI_EINVAL);
        assert_non_null(strstr(buf_str(&error), "does not start this program: expected"));
        launch_close(&l);
        buf_close(&error);
    }
}

static const char *const path[] = {"/b/mcp-interposer", NULL};
static const char *const npx[] = {"npx", "-y", "mcp-interposer@2.0.0", NULL};

static const struct {
    enum mcpfile_format format;
    const char *const *command;
    const char *old, *new;
} redirects[] = {
    {MCPFILE_JSON, path,
     "{\"servers\":{\"a\":{\"command\":\"/a/mcp-interposer\",\"args\":[\"proxy\",\"x\"]}}}",
     "{\"servers\":{\"a\":{\"command\":\"/b/mcp-interposer\",\"args\":[\"proxy\",\"x\"]}}}"},
    {MCPFILE_JSON, npx,
     "{\"servers\":{\"a\":{\"command\":\"/a/mcp-interposer\",\"args\":[\"proxy\",\"x\"]}}}",
     "{\"servers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\", \"mcp-interposer@2.0.0\", "
     "\"proxy\",\"x\"]}}}"},
    {MCPFILE_JSON, npx,
     "{\"servers\":{\"a\":{\"command\":\"npx\",\"args\":[\"mcp-interposer@1.0.0\",\"proxy\",\"x\"]}"
     "}}",
     "{\"servers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\", \"mcp-interposer@2.0.0\", "
     "\"proxy\",\"x\"]}}}"},
    {MCPFILE_JSON, path,
     "{\"servers\":{\"a\":{\"args\":[\"-y\", \"mcp-interposer\" , "
     "\"proxy\",\"x\"],\"command\":\"/n/npx\"}}}",
     "{\"servers\":{\"a\":{\"args\":[\"proxy\",\"x\"],\"command\":\"/b/mcp-interposer\"}}}"},
    {MCPFILE_JSON, npx, "{\"mcp\":{\"a\":{\"command\":[\"/a/mcp-interposer\",\"proxy\",\"x\"]}}}",
     "{\"mcp\":{\"a\":{\"command\":[\"npx\",\"-y\", \"mcp-interposer@2.0.0\", \"proxy\",\"x\"]}}}"},
    {MCPFILE_TOML, npx, "[mcp_servers.a]\nargs = ['proxy', 'x']\ncommand = 'mcp-interposer'\n",
     "[mcp_servers.a]\nargs = [\"-y\", \"mcp-interposer@2.0.0\", 'proxy', 'x']\ncommand = "
     "\"npx\"\n"},
    {MCPFILE_YAML, npx,
     "extensions:\n  a:\n    cmd: mcp-interposer\n    args:\n    - proxy\n    - x\n",
     "extensions:\n  a:\n    cmd: \"npx\"\n    args:\n    - \"-y\"\n    - "
     "\"mcp-interposer@2.0.0\"\n    - proxy\n    - x\n"},
    {MCPFILE_YAML, path,
     "extensions:\n  a:\n    cmd: npx\n    args:\n    - -y\n    - mcp-interposer\n    - proxy\n    "
     "- x\n",
     "extensions:\n  a:\n    cmd: \"/b/mcp-interposer\"\n    args:\n    - proxy\n    - x\n"},
};

static void test_launch_of_a_wrapped_server_is_replaced(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(redirects); i++) {
        static struct edits e;
        struct slice old = slice_of(redirects[i].old);
        struct mcpfile f;
        struct wrap_view v;
        struct buf got = {0};
        e.n = 0;
        assert_int_equal(mcpfile_read_servers(&f, old, redirects[i].format), 0);
        assert_int_equal(wrap_inspect_server(&f, &f.server[0], &v), 0);
        assert_int_equal(v.state, WRAP_WRAPPED);
        assert_true(v.ours);
        assert_true(wrap_edit_redirect_server(&e, &f, &f.server[0], &v, redirects[i].command));
        edits_apply(&e, old, &got);
        assert_string_equal(buf_str(&got), redirects[i].new);
        buf_close(&got);
        wrap_view_close(&v);
        mcpfile_close(&f);
        edits_close(&e);
    }
}

/* Written by hand; npx has options of its own. */
static const struct {
    const char *args;
    enum wrap_state state;
} states[] = {
    {"\"-y\",\"mcp-interposer@1.0.0\",\"proxy\",\"--name\",\"a\",\"--\",\"x\"", WRAP_WRAPPED},
    {"\"mcp-interposer\",\"--name\",\"a\",\"--\",\"x\"", WRAP_WRAPPED},
    {"\"mcp-interposer\",\"sessions\"", WRAP_ODD},
    {"\"mcp-interposer\"", WRAP_ODD},
    {"\"mcp-interposer\",\"proxy\",\"--bananas\",\"x\"", WRAP_ODD},
    {"\"-y\",\"another\",\"proxy\",\"x\"", WRAP_PLAIN},
};

static void test_launch_by_npx_is_inspected(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(states); i++) {
        struct buf text = {0};
        struct mcpfile f;
        struct wrap_view v;
        buf_printf(&text, "{\"servers\":{\"a\":{\"command\":\"npx\",\"args\":[%s]}}}",
                   states[i].args);
        assert_int_equal(mcpfile_read_servers(&f, buf_slice(&text), MCPFILE_JSON), 0);
        assert_int_equal(wrap_inspect_server(&f, &f.server[0], &v), 0);
        if (v.state != states[i].state)
            fail_msg("%s: state %d", states[i].args, (int)v.state);
        wrap_view_close(&v);
        mcpfile_close(&f);
        buf_close(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch_of_each_package_runner_is_recognized),
        cmocka_unit_test(test_launch_variable_gives_the_words),
        cmocka_unit_test(test_launch_variable_that_is_not_ours_is_refused),
        cmocka_unit_test(test_launch_of_a_wrapped_server_is_replaced),
        cmocka_unit_test(test_launch_by_npx_is_inspected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
