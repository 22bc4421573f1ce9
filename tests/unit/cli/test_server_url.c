/* The URL that a server's command connects to. */
#include "cli/frame/server_url.h"

#include "tests/support/unit.h"

static const struct {
    const char *url;
    const char *argv[10];
} commands[] = {
    {"", {"server"}},
    {"", {"https://example.com/mcp"}}, /* a program */
    {"https://example.com/mcp", {"npx", "-y", "mcp-remote@0.15.1", "https://example.com/mcp"}},
    {"http://localhost:8080/mcp", {"mcp-remote", "http://localhost:8080/mcp", "https://other/"}},
    {"https://example.com/mcp", {"mcp-proxy", "--api", "https://api/", "https://example.com/mcp"}},
    {"", {"server", "--api", "https://api/"}},
    {"https://example.com", {"server", "--", "https://example.com"}},
    {"", {"server", "--api=https://api/"}},
    {"", {"server", "ftp://example.com/"}},
    /* secrets */
    {"https://example.com:1/a@b", {"r", "https://me:word@example.com:1/a@b?token=x#y"}},
    {"https://example.com", {"r", "https://a@b@example.com?x@y"}},
    {"https://example.com/[redacted:github-token]/mcp",
     {"r", "https://example.com/ghp_16C7e42F292c6912E7710c838347Ae178B4a/mcp"}},
    {"https://example.com/\\x1b[1m", {"r", "https://example.com/\033[1m"}},
};

static void test_server_url_of_each_kind_of_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(commands); i++) {
        struct buf b = {0};
        char *argv[10];
        memcpy(argv, commands[i].argv, sizeof argv);
        server_url_append_from_argv(argv, &b);
        assert_string_equal(buf_str(&b), commands[i].url);
        buf_close(&b);
    }
}

static void test_server_url_that_is_long_is_cut(void **state)
{
    (void)state;
    struct buf url = {0}, b = {0};
    buf_adds(&url, "https://example.com/");
    for (int i = 0; i < 1000; i++)
        buf_adds(&url, "a/");
    char program[] = "r", *argv[] = {program, strdup(buf_str(&url)), NULL};
    server_url_append_from_argv(argv, &b);
    assert_int_equal(b.n, 512);
    free(argv[1]);
    buf_close(&url);
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_url_of_each_kind_of_command),
        cmocka_unit_test(test_server_url_that_is_long_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
