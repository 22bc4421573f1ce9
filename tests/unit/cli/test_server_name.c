/* The default name of a server, derived from its command. */
#include "cli/frame/server_name.h"

#include "tests/support/unit.h"

#include "base/text.h"

static const struct {
    const char *name;
    const char *argv[10];
} commands[] = {
    /* plain programs */
    {"server", {"server"}},
    {"s", {"/opt/bin/s", "--flag"}},
    {"mail", {"./mail.py"}},
    {"my-server", {"/usr/bin/my-server", "npx"}},
    {"server-x", {"server-x@1.2"}},
    {"a.b", {"a.b"}},
    {"..", {".."}},
    {".py", {".py"}}, /* an extension alone is a name */
    /* node */
    {"server-x", {"npx", "-y", "@scope/server-x"}},
    {"server-x", {"npx", "-y", "@scope/server-x@1.2", "/dir"}},
    {"server-x", {"npx", "server-x@latest"}},
    {"server-x", {"/usr/local/bin/npx", "--yes", "server-x"}},
    {"server-x", {"npx", "--package", "@scope/all", "server-x"}},
    {"server-x", {"npx", "-p", "@scope/all", "server-x"}},
    {"server-x", {"npm", "exec", "@scope/server-x"}},
    {"npm", {"npm", "start"}},
    {"server-x", {"pnpm", "dlx", "server-x"}},
    {"server-x", {"bunx", "server-x"}},
    {"srv", {"node", "/srv/index.js"}},
    {"mail-server", {"node", "/opt/mail-server/dist/index.js"}},
    {"index", {"node", "index.js"}},
    {"index", {"node", "--enable-source-maps", "build/index.mjs"}},
    {"index", {"bun", "run", "index.ts"}},
    /* python */
    {"mail", {"python3", "tools/mail.py"}},
    {"mail",
     {"python", "-u", "-m", "mail"}}, /* -u takes a value for docker; here its word is eaten */
    {"mail", {"python3", "-m", "mail"}},
    {"mail", {"/x/.venv/bin/python3.11", "mail.py"}},
    {"email_mcp", {"python", "/home/me/mcp_servers/email_mcp/server.py"}},
    {"email_mcp", {"python", "/home/me/email_mcp/src/main.py"}},
    {"server", {"python", "/opt/server.py"}},
    {"server", {"python", "server.py"}},
    {"mcp-x", {"uvx", "mcp-x"}},
    {"mcp-x", {"uvx", "--from", "git+https://host/repo", "mcp-x"}},
    {"server", {"uv", "run", "--with", "mcp", "server.py"}},
    {"mcp-x", {"pipx", "run", "mcp-x"}},
    /* others */
    {"fs", {"docker", "run", "-i", "--rm", "-e", "KEY=1", "-v", "/a:/b", "mcp/fs:latest"}},
    {"server", {"env", "server"}},
    {"server", {"sh", "-c", "/opt/server --flag x/y"}},
    {"app", {"java", "-jar", "/lib/app.jar"}},
    {"server", {"sh", "-c", "\n  server\n  --flag"}},
    /* code on the command line has no name */
    {"python3", {"python3", "-c", "\nimport sys"}},
    {"node", {"node", "-e", "process.exit()"}},
    {"perl", {"perl", "-e", "exit"}},
    /* a launcher alone is a name */
    {"npx", {"npx"}},
    {"npx", {"npx", "-y"}},
    {"docker", {"docker", "ps"}},
    /* hostile */
    {"server", {""}},
    {"\\n\\x1b[31mred", {"\n\x1b[31mred"}},
    {"\\u{202e}txt", {"\xe2\x80\xaetxt"}},
    {"\\xff", {"\xff"}},
};

static void test_server_name_is_derived_from_the_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(commands); i++) {
        char name[SERVER_NAME_MAX];
        char *argv[11] = {0};
        for (size_t k = 0; commands[i].argv[k] != NULL; k++)
            argv[k] = (char *)(uintptr_t)commands[i].argv[k];
        server_name_choose(NULL, argv, name);
        if (strcmp(name, commands[i].name) != 0)
            fail_msg("row %zu: %s, wanted %s", i, name, commands[i].name);
    }
}

static void test_server_name_given_by_option_has_priority(void **state)
{
    (void)state;
    char word[] = "npx", package[] = "x";
    char *argv[] = {word, package, NULL};
    char name[SERVER_NAME_MAX];
    server_name_choose("my files", argv, name);
    assert_string_equal(name, "my files");
    server_name_choose("a/b/../c", argv, name);
    assert_string_equal(name, "a_b_.._c");
    server_name_choose("", argv, name);
    assert_string_equal(name, "x");
}

/* One short line without control characters or slashes, between two characters, and never empty. */
static void test_server_name_is_short_visible_and_without_slashes(void **state)
{
    (void)state;
    struct unit_random rnd = {17};
    for (int round = 0; round < 20000; round++) {
        char text[200], name[SERVER_NAME_MAX];
        char *argv[] = {text, NULL};
        size_t n = unit_random(&rnd, sizeof text);
        for (size_t i = 0; i < n; i++)
            text[i] = (char)(1 + unit_random(&rnd, round % 2 == 0 ? 255 : 126));
        text[n] = '\0';
        memset(name, '#', sizeof name);
        server_name_choose(round % 3 == 0 ? text : NULL, argv, name);
        size_t len = strnlen(name, sizeof name);
        assert_in_range(len, 1, SERVER_NAME_MAX - 1);
        assert_null(strchr(name, '/'));
        for (size_t i = 0; i < len;) {
            size_t c = text_utf8_len(name + i, len - i);
            assert_true(c > 0);
            assert_true((unsigned char)name[i] >= 0x20 && name[i] != 0x7f);
            i += c;
        }
    }
}

static void test_server_name_is_truncated_between_characters(void **state)
{
    (void)state;
    char given[400], name[SERVER_NAME_MAX];
    char word[] = "x";
    char *argv[] = {word, NULL};
    for (size_t i = 0; i < 132; i++)
        memcpy(given + 3 * i, "\xe2\x82\xac", 4);
    server_name_choose(given, argv, name);
    assert_int_equal(strlen(name), 63); /* 21 characters of 3 bytes; the next would end at 66 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_name_is_derived_from_the_command),
        cmocka_unit_test(test_server_name_given_by_option_has_priority),
        cmocka_unit_test(test_server_name_is_short_visible_and_without_slashes),
        cmocka_unit_test(test_server_name_is_truncated_between_characters),
    };
    return cmocka_run_group_tests_name("server_name", tests, NULL, NULL);
}
