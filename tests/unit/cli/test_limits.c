/* Time limits in configuration files of MCP clients, as options of `proxy`. */
#include "cli/wrap/limits.h"

#include "tests/support/unit.h"

struct row {
    const char *client;
    enum mcpfile_format format;
    const char *text; /* with a server `x` */
    const char *call, *initialize, *max_timeout;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct mcpfile f;
        struct limits got;
        assert_int_equal(mcpfile_read_servers(&f, slice_of(rows[i].text), rows[i].format), 0);
        size_t x = 0;
        while (x < f.servers && strcmp(f.server[x].name, "x") != 0)
            x++;
        assert_true(x < f.servers);
        for (size_t k = 0; k < f.servers; k++)
            assert_string_not_equal(f.server[k].name, "servers");
        limits_read(&got, &f, &f.server[x], rows[i].client);
        if (strcmp(got.call, rows[i].call) != 0 ||
            strcmp(got.initialize, rows[i].initialize) != 0 ||
            strcmp(got.max_timeout, rows[i].max_timeout) != 0)
            fail_msg("%s: %s: got '%s' '%s' '%s'", rows[i].client, rows[i].text, got.call,
                     got.initialize, got.max_timeout);
        mcpfile_close(&f);
    }
}

#define J(members) "{\"mcpServers\":{\"x\":{\"command\":\"c\"," members "}}}"
#define T(members) "[mcp_servers.x]\ncommand = \"c\"\n" members "\n"
#define Y(members) "extensions:\n  x:\n    cmd: c\n" members "\n"

static void test_limits_each_client_has_its_unit_and_meaning(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"codex", MCPFILE_TOML, T("tool_timeout_sec = 60"), "tools/call=59s", "", ""},
        {"codex", MCPFILE_TOML, T("tool_timeout_sec = 1_00.5"), "tools/call=99500ms", "", ""},
        {"codex", MCPFILE_TOML, T("startup_timeout_sec = 300"), "", "initialize=299s", ""},
        {"codex", MCPFILE_TOML, T("startup_timeout_ms = 300000"), "", "initialize=299s", ""},
        {"codex", MCPFILE_TOML, T("timeout = 300"), "", "", ""},
        {"-", MCPFILE_TOML, T("tool_timeout_sec = 60"), "tools/call=59s", "", ""},
        {"claude-code", MCPFILE_JSON, J("\"timeout\": 60000"), "tools/call=59s", "", ""},
        {"claude-code", MCPFILE_JSON,
         "{\"projects\":{\"/p\":{\"mcpServers\":{\"x\":{\"timeout\":60000,\"command\":\"c\"}}}}}",
         "tools/call=59s", "", ""},
        {"copilot", MCPFILE_JSON, J("\"timeout\": 60000"), "tools/call=59s", "", ""},
        {"gemini", MCPFILE_JSON, J("\"timeout\": 600000"), "tools/call=599s", "initialize=599s",
         ""},
        {"cline", MCPFILE_JSON, J("\"timeout\": 60"), "tools/call=59s", "", ""},
        {"qwen", MCPFILE_JSON, J("\"timeout\": 600000"), "tools/call=599s", "initialize=599s", ""},
        {"kiro", MCPFILE_JSON, J("\"timeout\": 60000"), "tools/call=59s", "", ""},
        {"amazon-q", MCPFILE_JSON, J("\"timeout\": 60000"), "tools/call=59s", "", ""},
        {"crush", MCPFILE_JSON, J("\"timeout\": 300"), "", "initialize=299s", ""},
        {"kilo", MCPFILE_JSON, "{\"mcp\":{\"x\":{\"command\":[\"c\"],\"timeout\":300000}}}",
         "tools/call=299s", "initialize=299s", ""},
        {"openclaw", MCPFILE_JSON, J("requestTimeoutMs: 60000, connectionTimeoutMs: 240000"),
         "tools/call=59s", "initialize=239s", ""},
        {"hermes", MCPFILE_YAML,
         "mcp_servers:\n  x:\n    command: c\n    timeout: 300\n    connect_timeout: 240\n",
         "tools/call=299s", "initialize=239s", ""},
        {"continue", MCPFILE_YAML,
         "mcpServers:\n- name: x\n  command: c\n  connectionTimeout: 240000\n", "",
         "initialize=239s", ""},
        {"vibe", MCPFILE_TOML,
         "[[mcp_servers]]\ntool_timeout_sec = 60\nname = 'x'\ncommand = 'c'\n", "tools/call=59s",
         "", ""},
        {"goose", MCPFILE_YAML, Y("    timeout: 300"), "tools/call=299s", "initialize=299s", ""},
        {"opencode", MCPFILE_JSON, "{\"mcp\":{\"x\":{\"command\":[\"c\"],\"timeout\":300000}}}",
         "tools/call=299s", "initialize=299s", ""},
        {"opencode", MCPFILE_JSON,
         "{\"mcp\":{\"servers\":{\"timeout\":{\"command\":[\"c\"]},\"x\":{\"command\":[\"c\"]}}}}",
         "", "", ""},
        {"cursor", MCPFILE_JSON, J("\"timeout\": 60000"), "", "", ""},
        {"-", MCPFILE_JSON, J("\"timeout\": 60000"), "", "", ""},
    };
    check_rows(rows, MI_COUNT(rows));
}

#define O(server) "\"x\":{\"command\":[\"c\"]" server "}"
#define OBJECT(members) "\"timeout\":{" members "}"

static void test_limits_of_opencode_may_be_objects_and_for_all_servers(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"opencode", MCPFILE_JSON,
         "{\"mcp\":{\"servers\":{" O("," OBJECT("\"startup\":300000,\"request\":60000")) "}}}",
         "tools/call=59s", "initialize=299s", ""},
        {"opencode", MCPFILE_JSON,
         "{\"mcp\":{" O("," OBJECT("\"request\":60000 /* a minute */,\"other\":1")) "}}",
         "tools/call=59s", "", ""},
        {"opencode", MCPFILE_JSON,
         "{\"mcp\":{\"servers\":{" O("") "}," OBJECT("\"startup\":300000,\"request\":60000") "}}",
         "tools/call=59s", "initialize=299s", ""},
        {"opencode", MCPFILE_JSON,
         "{\"mcp\":{" OBJECT("\"startup\":300000,\"request\":60000") ",\"servers\":{" O(
             "," OBJECT("\"request\":20000")) "}}}",
         "", "initialize=299s", ""},
        {"opencode", MCPFILE_JSON, "{\"mcp\":{\"timeout\":60000,\"servers\":{" O("") "}}}",
         "tools/call=59s", "", ""},
        {"opencode", MCPFILE_JSON, "{\"mcp\":{" O("") "},\"experimental\":{\"mcp_timeout\":60000}}",
         "tools/call=59s", "", ""},
        {"opencode", MCPFILE_JSON,
         "{\"mcp\":{" O(",\"timeout\":300000") "},\"experimental\":{\"mcp_timeout\":60000}}",
         "tools/call=299s", "initialize=299s", ""},
        /* a server with this name */
        {"opencode", MCPFILE_JSON,
         "{\"experimental\":{\"mcp_timeout\":60000},\"mcp\":{\"timeout\":{\"command\":[\"c\"]}," O(
             "") "}}",
         "tools/call=59s", "", ""},
        {"cursor", MCPFILE_JSON, J(OBJECT("\"request\":60000")), "", "", ""},
    };
    check_rows(rows, MI_COUNT(rows));
}

static void test_limits_never_shorten_a_default_deadline(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"codex", MCPFILE_TOML, T("tool_timeout_sec = 31"), "", "", ""},
        {"codex", MCPFILE_TOML, T("tool_timeout_sec = 31.5"), "tools/call=30500ms", "", ""},
        {"codex", MCPFILE_TOML, T("startup_timeout_sec = 121"), "", "", ""},
        {"gemini", MCPFILE_JSON, J("\"timeout\": 15000"), "", "", ""},
        {"claude-code", MCPFILE_JSON, J("\"timeout\": 500"), "", "", ""},
        {"goose", MCPFILE_YAML, "extensions:\n  x:\n    uri: https://y\n    timeout: 300\n",
         "tools/call=299s", "", ""},
    };
    check_rows(rows, MI_COUNT(rows));
}

static void test_limits_over_ten_minutes_raise_max_timeout(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"claude-code", MCPFILE_JSON, J("\"timeout\": 601000"), "tools/call=600s", "", ""},
        {"claude-code", MCPFILE_JSON, J("\"timeout\": 3600000"), "tools/call=3599s", "", "3599s"},
        {"claude-code", MCPFILE_JSON, J("\"timeout\": 1e300"), "tools/call=2591999s", "",
         "2591999s"},
    };
    check_rows(rows, MI_COUNT(rows));
}

static void test_limits_that_are_no_positive_number_are_left_out(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"claude-code", MCPFILE_JSON, J("\"timeout\": \"60000\""), "", "", ""},
        {"claude-code", MCPFILE_JSON, J("\"timeout\": null"), "", "", ""},
        {"claude-code", MCPFILE_JSON, J("\"timeout\": -60000"), "", "", ""},
        {"claude-code", MCPFILE_JSON, J("\"timeout\": {\"a\": 60000}"), "", "", ""},
        {"claude-code", MCPFILE_JSON, J("\"timeout\": [60000]"), "", "", ""},
        {"codex", MCPFILE_TOML, T("tool_timeout_sec = nan"), "", "", ""},
        {"codex", MCPFILE_TOML, T("tool_timeout_sec = 60s"), "", "", ""},
        {"codex", MCPFILE_TOML, T("tool_timeout_sec = 600000000000000000000000000000000000000"), "",
         "", ""},
    };
    check_rows(rows, MI_COUNT(rows));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits_each_client_has_its_unit_and_meaning),
        cmocka_unit_test(test_limits_of_opencode_may_be_objects_and_for_all_servers),
        cmocka_unit_test(test_limits_never_shorten_a_default_deadline),
        cmocka_unit_test(test_limits_over_ten_minutes_raise_max_timeout),
        cmocka_unit_test(test_limits_that_are_no_positive_number_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
