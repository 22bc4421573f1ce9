/* Configuration files of MCP clients: parsing, wrapping, and restoring the original bytes. */
#include "cli/wrap/mcpfile/string.h"
#include "cli/wrap/remote.h"
#include "cli/wrap/wrap_edit.h"

#include "tests/support/unit.h"

#include <dirent.h>

/* The N-th call fails, and with `fail_on` all later ones, too; 0: no call fails. */
static size_t calls, fail_at;
static bool fail_on;

static bool fails(void)
{
    return fail_at != 0 && (++calls == fail_at || (fail_on && calls > fail_at));
}

void *__real_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n)
{
    return fails() ? NULL : __real_realloc(p, n);
}

char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

static const char *const options[] = {"--name", "x y", NULL};
static const char *const program[] = {"/opt/a b/mcp-interposer", NULL};
static const char *const npx[] = {"npx", "-y", "mcp-interposer@1.2.3", NULL};
static struct wrap_with with = {program, options};

static char *slurp(const char *path, size_t *ret_n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    struct buf b = {0};
    for (int c; (c = getc(f)) != EOF;)
        buf_addc(&b, (char)c);
    fclose(f);
    char *copy = unit_copy(b.p, b.n);
    *ret_n = b.n;
    buf_close(&b);
    return copy;
}

static bool remote_too; /* servers with a URL are wrapped as well */

static bool fits(const struct mcpfile *f, const struct mcpfile_server *s)
{
    const char *why;
    assert_int_equal(remote_check_wrappable(f, s, &why), 0);
    return why == NULL;
}

/* Wraps or unwraps the servers of `which` (a bit for each; all: ~0). Returns their number, or -1: the text is invalid. */
static int change(struct slice text, enum mcpfile_format format, bool wrap, uint64_t which,
                  struct buf *ret)
{
    static struct edits e;
    struct mcpfile f;
    int n = -1;
    e.n = 0;
    if (mcpfile_read_servers(&f, text, format) == 0) {
        n = 0;
        for (size_t i = 0; i < f.servers; i++) {
            struct wrap_view v;
            assert_int_equal(wrap_inspect_server(&f, &f.server[i], &v), 0);
            bool wanted = which >> (i % 64) & 1;
            if (wanted && wrap && v.state == WRAP_PLAIN) {
                assert_true(wrap_edit_wrap_server(&e, &f, &f.server[i], &with));
                n++;
            } else if (wanted && wrap && remote_too && v.state == WRAP_REMOTE &&
                       fits(&f, &f.server[i])) {
                assert_true(remote_add_wrap_edits(&e, &f, &f.server[i], &with));
                n++;
            } else if (wanted && !wrap && v.state == WRAP_WRAPPED) {
                assert_true(wrap_edit_unwrap_server(&e, &f, &f.server[i], &v));
                n++;
            }
            wrap_view_close(&v);
        }
        edits_apply(&e, text, ret);
        assert_false(ret->failed);
    } else {
        assert_true(f.error.n > 0);
    }
    mcpfile_close(&f);
    edits_close(&e);
    return n;
}

/* The number of servers that were wrapped and unwrapped, or -1. */
static int round_trip(struct slice text, enum mcpfile_format format, uint64_t which)
{
    struct buf once = {0}, twice = {0}, back = {0};
    int n = change(text, format, true, which, &once);
    if (n >= 0) {
        assert_int_equal(change(buf_slice(&once), format, true, which, &twice), 0);
        assert_true(slice_eq(buf_slice(&twice), buf_slice(&once)));
        assert_int_equal(change(buf_slice(&once), format, false, which, &back), n);
        if (!slice_eq(buf_slice(&back), text))
            fail_msg("not the old bytes:\n%s", buf_str(&back));
    }
    buf_close(&once);
    buf_close(&twice);
    buf_close(&back);
    return n;
}

static const struct {
    const char *file;
    int wrappable;
} corpus[] = {
    {"bom.json", 1},
    {"claude-code-project.json", 2},
    {"claude-code.json", 2},
    {"claude-desktop.json", 3},
    {"codex.toml", 9},
    {"codex-crlf.toml", 2},
    {"cursor.json", 3},
    {"gemini.json", 1},
    {"vscode.json", 3},
    {"vscode-settings.json", 1},
    {"windsurf.json", 2},
    {"zed.json", 2},
    {"opencode.json", 3},
    {"opencode-2.jsonc", 2},
    {"cline.json", 1},
    {"copilot.json", 1},
    {"junie.json", 2},
    {"goose.yaml", 6},
    {"goose-crlf.yaml", 3},
    {"kiro.json", 1},
    {"kiro-agent.json", 1},
    {"antigravity.json", 1},
    {"lmstudio.json", 1},
    {"kilo.jsonc", 1},
    {"warp.json", 1},
    {"qwen.json", 1},
    {"droid.json", 1},
    {"kimi.json", 1},
    {"grok.toml", 1},
    {"pi.json", 1},
    {"crush.json", 1},
    {"trae.json", 1},
    {"qoder.json", 1},
    {"amazon-q.json", 1},
    {"mastra.json", 1},
    {"mcporter.json", 1},
    {"fx.json", 1},
    {"abacus.json", 1},
    {"devcontainer.json", 1},
    {"amp.json", 1},
    {"vibe.toml", 3},
    {"continue.yaml", 4},
    {"continue-block.yaml", 1},
    {"hermes.yaml", 3},
    {"openclaw.json", 3},
};

static void test_wrap_corpus_is_restored_byte_for_byte(void **state)
{
    int with_urls = 0;
    (void)state;
    for (size_t i = 0; i < MI_COUNT(corpus); i++) {
        char path[128];
        size_t n;
        snprintf(path, sizeof path, "tests/clients/%s", corpus[i].file);
        char *text = slurp(path, &n);
        enum mcpfile_format format = mcpfile_format_by_name(path);
        int got = round_trip((struct slice){text, n}, format, ~(uint64_t)0);
        if (got != corpus[i].wrappable)
            fail_msg("%s: %d servers, not %d", path, got, corpus[i].wrappable);
        for (unsigned k = 0; k < 16; k++)
            (void)round_trip((struct slice){text, n}, format, (uint64_t)1 << k);
        remote_too = true;
        with_urls += round_trip((struct slice){text, n}, format, ~(uint64_t)0) - got;
        with.command = npx;
        assert_true(round_trip((struct slice){text, n}, format, ~(uint64_t)0) >= got);
        with.command = program;
        remote_too = false;
        free(text);
    }
    assert_true(with_urls >= 8);
}

static void test_wrap_corpus_lists_every_file(void **state)
{
    (void)state;
    size_t n = 0;
    DIR *dir = opendir("tests/clients");
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir)) != NULL;)
        n += e->d_name[0] != '.';
    closedir(dir);
    assert_int_equal(n, MI_COUNT(corpus));
}

/* A truncated file, or one with a changed byte, is rejected, or wrapped and restored. */
static void test_wrap_damaged_file_is_rejected_or_restored(void **state)
{
    (void)state;
    struct unit_random random = {7};
    for (size_t i = 0; i < MI_COUNT(corpus); i++) {
        char path[128];
        size_t n;
        snprintf(path, sizeof path, "tests/clients/%s", corpus[i].file);
        char *text = slurp(path, &n);
        enum mcpfile_format format = mcpfile_format_by_name(path);
        for (size_t cut = 0; cut < n; cut += unit_slow() ? 37 : 1) {
            remote_too = cut % 2 != 0;
            char *copy = unit_copy(text, cut); /* sanitizers detect reads beyond its end */
            (void)round_trip((struct slice){copy, cut}, format, ~(uint64_t)0);
            free(copy);
        }
        for (int k = 0; k < (unit_slow() ? 20 : 1000); k++) {
            static const char bytes[] = "\"'\\{}[],:=.#/*\n\r\t a0-\x80";
            char *copy = unit_copy(text, n);
            copy[unit_random(&random, n)] = bytes[unit_random(&random, sizeof bytes - 1)];
            struct buf once = {0};
            (void)change((struct slice){copy, n}, format, true, ~(uint64_t)0, &once);
            buf_close(&once);
            free(copy);
        }
        remote_too = false;
        free(text);
    }
}

static const struct {
    enum mcpfile_format format;
    const char *plain, *wrapped;
} forms[] = {
#define US "\"/opt/a b/mcp-interposer\""
#define WORDS "\"proxy\", \"--name\", \"x y\", "
#define NO_ARGS WORDS "\"--original\", \"no args\", \"--\", "
    {MCPFILE_JSON, "{\"mcpServers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\"]}}}",
     "{\"mcpServers\":{\"a\":{\"command\":" US ",\"args\":[" WORDS "\"--\", \"npx\", \"-y\"]}}}"},
    {MCPFILE_JSON, "{\"mcpServers\":{\"a\":{\"args\":[],\"command\":\"n\\u0070x\"}}}",
     "{\"mcpServers\":{\"a\":{\"args\":[" WORDS "\"--\", \"n\\u0070x\"],\"command\":" US "}}}"},
    {MCPFILE_JSON, "{\"servers\":{\"a\":{\"command\":\"npx\"}}}",
     "{\"servers\":{\"a\":{\"command\":" US ", \"args\": [" NO_ARGS "\"npx\"]}}}"},
    {MCPFILE_JSON, "{\"servers\":{\"a\":{\n  \"command\":\"npx\"\n}}}",
     "{\"servers\":{\"a\":{\n  \"command\":" US ",\n  \"args\": [" NO_ARGS "\"npx\"]\n}}}"},
    {MCPFILE_TOML, "[mcp_servers.a]\ncommand = 'npx' # c\n",
     "[mcp_servers.a]\ncommand = " US " # c\nargs = [" NO_ARGS "'npx']\n"},
    {MCPFILE_TOML, "mcp_servers.a.command = 'npx'",
     "mcp_servers.a.command = " US "\nmcp_servers.a.args = [" NO_ARGS "'npx']"},
    {MCPFILE_TOML, "mcp_servers.a = {command = 'npx'}",
     "mcp_servers.a = {command = " US ", args = [" NO_ARGS "'npx']}"},
    {MCPFILE_TOML, "[mcp_servers.a]\nargs = [ ]\ncommand = 'npx'",
     "[mcp_servers.a]\nargs = [" WORDS "\"--\", 'npx' ]\ncommand = " US},
    {MCPFILE_JSON, "{\"mcp\":{\"a\":{\"command\":[\"npx\", \"-y\"]}}}",
     "{\"mcp\":{\"a\":{\"command\":[" US ", " WORDS "\"--\", \"npx\", \"-y\"]}}}"},
    {MCPFILE_JSON, "{\"context_servers\":{\"a\":{\"command\":[ \"npx\" ]}}}",
     "{\"context_servers\":{\"a\":{\"command\":[ " US ", " WORDS "\"--\", \"npx\" ]}}}"},
    {MCPFILE_YAML, "extensions:\n  a:\n    cmd: npx # c\n    args:\n      -   -y\n      - 'z'\n",
     "extensions:\n  a:\n    cmd: " US
     " # c\n    args:\n      -   \"proxy\"\n      -   \"--name\"\n"
     "      -   \"x y\"\n      -   \"--\"\n      -   npx\n      -   -y\n      - 'z'\n"},
    {MCPFILE_YAML, "extensions:\n  a:\n    cmd: npx # c\n",
     "extensions:\n  a:\n    cmd: " US " # c\n    args: [" NO_ARGS "npx]\n"},
    {MCPFILE_YAML, "extensions:\n  a:\n    cmd: npx", /* no newline at the end */
     "extensions:\n  a:\n    cmd: " US "\n    args: [" NO_ARGS "npx]"},
    {MCPFILE_YAML, "extensions:\n  a:\n    args: []\n    cmd: npx\n",
     "extensions:\n  a:\n    args: [" WORDS "\"--\", npx]\n    cmd: " US "\n"},
    {MCPFILE_JSON, "{mcp:{servers:{a:{command:'npx',args:['it\\'s','\\x41',],},},},}",
     "{mcp:{servers:{a:{command:" US ",args:[" WORDS "\"--\", 'npx', 'it\\'s','\\x41',],},},},}"},
    {MCPFILE_YAML, "mcpServers:\n- command: npx\n  name: a\n",
     "mcpServers:\n- command: " US "\n  args: [" NO_ARGS "npx]\n  name: a\n"},
    {MCPFILE_YAML, "mcpServers:\n - name: a\n   command: npx",
     "mcpServers:\n - name: a\n   command: " US "\n   args: [" NO_ARGS "npx]"},
    {MCPFILE_YAML, "mcp_servers:\n  a:\n    command: npx\n    args: [x]\n",
     "mcp_servers:\n  a:\n    command: " US "\n    args: [" WORDS "\"--\", npx, x]\n"},
    {MCPFILE_JSON, "{\"mcpServers\":[{\"name\":\"a\",\"command\":\"npx\"}]}",
     "{\"mcpServers\":[{\"name\":\"a\",\"command\":" US ", \"args\": [" NO_ARGS "\"npx\"]}]}"},
    {MCPFILE_TOML,
     "[[mcp_servers]]\nname = 'a'\ncommand = 'npx'\n[mcp_servers.env]\ncommand = 'x'\n",
     "[[mcp_servers]]\nname = 'a'\ncommand = " US "\nargs = [" NO_ARGS
     "'npx']\n[mcp_servers.env]\ncommand = 'x'\n"},
    {MCPFILE_TOML,
     "mcp_servers = [\n  {name = 'a', command = ['npx']}, {name = 'b', command = 'y'}]",
     "mcp_servers = [\n  {name = 'a', command = [" US ", " WORDS
     "\"--\", 'npx']}, {name = 'b', command = 'y'}]"},
    {MCPFILE_YAML, "extensions: {a: {cmd: npx}}",
     "extensions: {a: {cmd: " US ", args: [" NO_ARGS "npx]}}"},
};

static void test_wrap_form_of_each_kind_is_as_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(forms); i++) {
        struct buf once = {0}, back = {0};
        assert_int_equal(change(slice_of(forms[i].plain), forms[i].format, true, 1, &once), 1);
        assert_string_equal(buf_str(&once), forms[i].wrapped);
        assert_int_equal(change(buf_slice(&once), forms[i].format, false, 1, &back), 1);
        assert_string_equal(buf_str(&back), forms[i].plain);
        buf_close(&once);
        buf_close(&back);
    }
}

/* Servers with a URL. */
static const struct {
    enum mcpfile_format format;
    const char *plain, *wrapped;
} remotes[] = {
#define RUNS "\"--\", \"npx\", \"-y\", \"" REMOTE_PACKAGE "\", "
    {MCPFILE_JSON, "{\"mcpServers\":{\"a\":{\"url\": \"https://x/m\"}}}",
     "{\"mcpServers\":{\"a\":{\"command\": " US ", \"args\": [" WORDS
     "\"--original\", \"\\\"url\\\": \\\"https://x/m\\\"\", " RUNS "\"https://x/m\"]}}}"},
    {MCPFILE_JSON, "{\"servers\":{\"a\":{\n  \"type\":\"sse\",\n  \"url\":\"http://x/m\"\n}}}",
     "{\"servers\":{\"a\":{\n  \"type\":\"stdio\",\n  \"command\": " US ",\n  \"args\": [" WORDS
     "\"--original\", \"\\\"url\\\":\\\"http://x/m\\\"\", \"--original\", "
     "\"\\\"type\\\":\\\"sse\\\"\", " RUNS
     "\"http://x/m\", \"--transport\", \"sse-first\", \"--allow-http\"]\n}}}"},
    {MCPFILE_JSON,
     "{\"mcpServers\":{\"a\":{\"headers\":{\"K\":\"v\",\"L\":\"w\"},\"tools\":[\"*\"],\"httpUrl\":"
     "\"http://localhost:1/\"}}}",
     "{\"mcpServers\":{\"a\":{\"args\": [" WORDS
     "\"--original\", \"\\\"httpUrl\\\":\\\"http://localhost:1/\\\"\", \"--original\", "
     "\"\\\"headers\\\":{\\\"K\\\":\\\"v\\\",\\\"L\\\":\\\"w\\\"}\", " RUNS
     "\"http://localhost:1/\", \"--header\", \"K: v\", \"--header\", \"L: "
     "w\"],\"tools\":[\"*\"],\"command\": " US "}}}"},
    {MCPFILE_JSON,
     "{\"mcp\":{\"a\":{\"type\": \"remote\", \"url\": \"https://x/m\", \"headers\": {}}}}",
     "{\"mcp\":{\"a\":{\"type\": \"local\", \"command\": [" US ", " WORDS
     "\"--original\", \"\\\"url\\\": \\\"https://x/m\\\"\", \"--original\", \"\\\"headers\\\": "
     "{}\", "
     "\"--original\", \"\\\"type\\\": \\\"remote\\\"\", " RUNS
     "\"https://x/m\"], \"environment\": {}}}}"},
    {MCPFILE_TOML, "[mcp_servers.a]\nurl = 'http://127.0.0.1:1' # c\nenabled = true\n",
     "[mcp_servers.a]\ncommand = " US "\nargs = [" WORDS
     "\"--original\", \"url = 'http://127.0.0.1:1'\", " RUNS
     "\"http://127.0.0.1:1\"] # c\nenabled = true\n"},
    {MCPFILE_TOML, "mcp_servers.a.url = 'http://127.0.0.1.x/'",
     "mcp_servers.a.command = " US "\nmcp_servers.a.args = [" WORDS
     "\"--original\", \"mcp_servers.a.url = 'http://127.0.0.1.x/'\", " RUNS
     "\"http://127.0.0.1.x/\", \"--allow-http\"]"},
    {MCPFILE_YAML,
     "extensions:\n  a:\n    type: streamable_http\n    uri: https://x/m?a=[b]\n    headers:\n     "
     " K: v\n"
     "      L: 'w'\n    timeout: 3\n",
     "extensions:\n  a:\n    type: \"stdio\"\n    cmd: " US "\n    args: [" WORDS
     "\"--original\", \"uri: https://x/m?a=[b]\", \"--original\", \"headers:\\n      K: v\\n      "
     "L: 'w'\", "
     "\"--original\", \"type: streamable_http\", " RUNS
     "\"https://x/m?a=[b]\", \"--header\", \"K: v\", \"--header\", \"L: w\"]\n    timeout: 3\n"},
    {MCPFILE_YAML, "mcpServers:\n- url: https://x/m\n  name: a\n",
     "mcpServers:\n- command: " US "\n  args: [" WORDS "\"--original\", \"url: https://x/m\", " RUNS
     "\"https://x/m\"]\n  name: a\n"},
    {MCPFILE_TOML,
     "[[mcp_servers]]\nname = 'a'\ntransport = 'http'\nurl = 'https://x'\nheaders = {K = 'v'}\n",
     "[[mcp_servers]]\nname = 'a'\ntransport = \"stdio\"\ncommand = " US "\nargs = [" WORDS
     "\"--original\", \"url = 'https://x'\", \"--original\", \"headers = {K = 'v'}\", "
     "\"--original\", \"transport = 'http'\", " RUNS "\"https://x\", \"--header\", \"K: v\"]\n"},
    {MCPFILE_YAML, "extensions: {a: {uri: 'https://x', headers: {}}}",
     "extensions: {a: {cmd: " US ", args: [" WORDS
     "\"--original\", \"uri: 'https://x'\", \"--original\", \"headers: {}\", " RUNS
     "\"https://x\"]}}"},
};

static void test_wrap_remote_of_each_kind_is_as_documented(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(remotes); i++) {
        static struct edits e;
        struct buf once = {0}, back = {0};
        struct mcpfile f;
        struct wrap_view v;
        e.n = 0;
        assert_int_equal(mcpfile_read_servers(&f, slice_of(remotes[i].plain), remotes[i].format),
                         0);
        assert_int_equal(wrap_inspect_server(&f, &f.server[0], &v), 0);
        assert_int_equal(v.state, WRAP_REMOTE);
        assert_true(fits(&f, &f.server[0]));
        assert_true(remote_add_wrap_edits(&e, &f, &f.server[0], &with));
        edits_apply(&e, slice_of(remotes[i].plain), &once);
        assert_string_equal(buf_str(&once), remotes[i].wrapped);
        assert_int_equal(change(buf_slice(&once), remotes[i].format, false, 1, &back), 1);
        assert_string_equal(buf_str(&back), remotes[i].plain);
        wrap_view_close(&v);
        mcpfile_close(&f);
        edits_close(&e);
        buf_close(&once);
        buf_close(&back);
    }
}

/* Reordered or rewritten by a client. */
static const struct {
    enum mcpfile_format format;
    const char *wrapped, *plain;
} rewritten[] = {
#define ARGS "[\"proxy\",\"--original\",\"\\\"url\\\":\\\"https://x\\\"\",\"--\",\"npx\",\"u\"]"
    {MCPFILE_JSON,
     "{\"servers\":{\"a\":{\"args\":" ARGS ",\"tools\":[],\"command\":\"mcp-interposer\"}}}",
     "{\"servers\":{\"a\":{\"tools\":[],\"url\":\"https://x\"}}}"},
    {MCPFILE_JSON,
     "{\"servers\":{\"a\":{\"command\":\"mcp-interposer\",\"tools\":[],\n\"args\":" ARGS "}}}",
     "{\"servers\":{\"a\":{\"url\":\"https://x\",\"tools\":[]}}}"},
    {MCPFILE_TOML,
     "[mcp_servers.a]\nargs = [\"--original\", \"url = 'https://x'\", \"npx\"] # c\nenabled = "
     "true\n"
     "command = 'mcp-interposer'\n",
     "[mcp_servers.a]\nenabled = true\nurl = 'https://x'\n"},
    {MCPFILE_YAML,
     "extensions:\n  a:\n    cmd: mcp-interposer\n    args:\n    - proxy\n    - --original\n    - "
     "'uri: https://x'\n"
     "    - --original\n    - 'type: sse'\n    - --\n    - npx\n    type: stdio\n",
     "extensions:\n  a:\n    uri: https://x\n    type: sse\n"},
};

static void test_wrap_remote_rewritten_by_a_client_is_removed(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rewritten); i++) {
        struct buf back = {0};
        assert_int_equal(
            change(slice_of(rewritten[i].wrapped), rewritten[i].format, false, 1, &back), 1);
        assert_string_equal(buf_str(&back), rewritten[i].plain);
        buf_close(&back);
    }
}

static const struct {
    enum mcpfile_format format;
    const char *server, *why;
} refused[] = {
    {MCPFILE_JSON, "\"url\":\"unix:///x\"", "the URL does not begin with http:// or https://"},
    {MCPFILE_JSON, "\"url\":5", "the URL is not a string"},
    {MCPFILE_JSON, "\"url\":\"https://\xff\"", "the URL, headers or type are not valid UTF-8"},
    {MCPFILE_JSON, "\"url\":\"https://x\",\"httpUrl\":\"https://y\"", "the server has two URLs"},
    {MCPFILE_JSON, "\"url\":\"https://x\",\"headers\":{\"a\":1}", "a value in `headers`"},
    {MCPFILE_JSON, "\"url\":\"https://x\",\"headers\":[]", "`headers` is not one object"},
    {MCPFILE_JSON, "\"url\":\"https://x\",\"type\":\"http\",\"transport\":\"http\"",
     "the server states its type more than once"},
    {MCPFILE_JSON, "\"url\":\"https://x\",\"oauth\":{\"clientId\":\"c\"}",
     "the server has login settings"},
    {MCPFILE_TOML, "[mcp_servers.a]\nurl = 'https://x'\nbearer_token_env_var = 'T'",
     "the server has login settings"},
    {MCPFILE_TOML, "[mcp_servers.a]\nurl = 'https://x'\n[mcp_servers.a.http_headers]\nK = 'v'",
     "the server has login settings"},
    {MCPFILE_TOML, "[[mcp_servers]]\nurl = 'https://x'\n[mcp_servers.headers]\nK = 'v'",
     "`headers` are not in braces"},
    {MCPFILE_TOML, "[[mcp_servers]]\nurl = 'https://x'\nheaders.K = 'v'",
     "`headers` are not in braces"},
    {MCPFILE_TOML, "[[mcp_servers]]\nurl = 'https://x'\napi_key_env = 'K'",
     "the server has login settings"},
};

static void test_wrap_remote_that_cannot_be_a_command_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(refused); i++) {
        struct buf text = {0};
        struct mcpfile f;
        buf_printf(&text, refused[i].format == MCPFILE_JSON ? "{\"servers\":{\"a\":{%s}}}" : "%s",
                   refused[i].server);
        assert_int_equal(mcpfile_read_servers(&f, buf_slice(&text), refused[i].format), 0);
        assert_int_equal(f.servers, 1);
        const char *why;
        assert_int_equal(remote_check_wrappable(&f, &f.server[0], &why), 0);
        if (why == NULL || !slice_begins(slice_of(why), refused[i].why))
            fail_msg("%s: %s", refused[i].server, why != NULL ? why : "accepted");
        mcpfile_close(&f);
        buf_close(&text);
    }
}

/* Wrapped by hand, or reformatted by a client. */
static const struct {
    const char *wrapped, *plain;
} by_hand[] = {
    {"\"command\":\"mcp-interposer\",\"args\":[\"proxy\",\"--\",\"npx\",\"-y\"]",
     "\"command\":\"npx\",\"args\":[\"-y\"]"},
    {"\"args\":[\n\"proxy\",\n\"npx\",\n\"-y\"\n],\"command\":\"mcp-interposer\"",
     "\"args\":[\n\"-y\"\n],\"command\":\"npx\""},
    {"\"command\":\"/x/mcp-interposer\",\"args\":[\"-t\",\"1m\",\"--\",\"npx\",\"--\",\"-y\"]",
     "\"command\":\"npx\",\"args\":[\"--\",\"-y\"]"},
    {"\"command\":\"mcp-interposer\",\"args\":[\"proxy\",\"--\",\"npx\" ,]",
     "\"command\":\"npx\",\"args\":[]"},
    {"\"command\":\"mcp-interposer\",\"env\":{},\"args\":[\"proxy\",\"npx\"]",
     "\"command\":\"npx\",\"env\":{},\"args\":[]"},
};

static void test_wrap_by_hand_is_removed(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(by_hand); i++) {
        struct buf text = {0}, back = {0}, plain = {0};
        buf_printf(&text, "{\"servers\":{\"a\":{%s}}}", by_hand[i].wrapped);
        buf_printf(&plain, "{\"servers\":{\"a\":{%s}}}", by_hand[i].plain);
        assert_int_equal(change(buf_slice(&text), MCPFILE_JSON, false, 1, &back), 1);
        assert_string_equal(buf_str(&back), buf_str(&plain));
        buf_close(&text);
        buf_close(&back);
        buf_close(&plain);
    }
}

static const struct {
    const char *server;
    enum wrap_state state;
    const char *why; /* its beginning */
} states[] = {
    {"\"command\":\"npx\"", WRAP_PLAIN, NULL},
    {"\"command\":\"/opt/my server/x\"", WRAP_PLAIN, NULL},
    {"\"url\":\"https://x\"", WRAP_REMOTE, NULL},
    {"\"serverUrl\":\"https://x\"", WRAP_REMOTE, NULL},
    {"\"url\":\"https://x\",\"command\":\"npx\"", WRAP_PLAIN, NULL},
    {"\"command\":\"mcp-interposer\",\"args\":[\"proxy\",\"x\"]", WRAP_WRAPPED, NULL},
    {"\"command\":\"mcp-interposer\",\"args\":[\"replay\",\"x\"]", WRAP_ODD,
     "the command runs the interposer, but"},
    {"\"command\":\"mcp-interposer\",\"args\":[\"proxy\"]", WRAP_ODD,
     "the command runs the interposer without"},
    {"\"command\":\"mcp-interposer\",\"args\":[]", WRAP_ODD,
     "the command runs the interposer, but"},
    {"\"command\":\"mcp-interposer\"", WRAP_ODD, "the command runs the interposer, but"},
    {"\"command\":\"mcp-interposer\",\"args\":[\"proxy\",\"--bananas\",\"x\"]", WRAP_ODD,
     "the command runs the interposer with unknown"},
    {"\"command\":\"npx -y thing\"", WRAP_ODD, "the command contains blanks"},
    {"\"command\":\"\"", WRAP_ODD, "the server has no command"},
    {"\"args\":[]", WRAP_ODD, "the server has no command"},
    {"\"command\":\"-x\"", WRAP_ODD, "the command begins with"},
    {"\"command\":5", WRAP_ODD, "`command` is not a string"},
    {"\"command\":\"a\",\"command\":\"b\"", WRAP_ODD, "the server has two members `command`"},
    {"\"command\":\"a\",\"args\":[],\"args\":[]", WRAP_ODD, "the server has two members `args`"},
    {"\"command\":\"a\",\"args\":\"b\"", WRAP_ODD, "`args` is not an array"},
    {"\"command\":\"a\",\"args\":[\"b\",5]", WRAP_ODD, "`args` is not an array"},
};

static void test_wrap_state_is_reported_for_each_kind(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(states); i++) {
        struct buf text = {0};
        struct mcpfile f;
        struct wrap_view v;
        buf_printf(&text, "{\"mcpServers\":{\"a\":{%s}}}", states[i].server);
        assert_int_equal(mcpfile_read_servers(&f, buf_slice(&text), MCPFILE_JSON), 0);
        assert_int_equal(f.servers, 1);
        assert_string_equal(f.server[0].name, "a");
        assert_int_equal(wrap_inspect_server(&f, &f.server[0], &v), 0);
        if (v.state != states[i].state)
            fail_msg("%s: state %d", states[i].server, (int)v.state);
        if (states[i].why != NULL)
            assert_true(slice_begins(slice_of(v.why), states[i].why));
        else
            assert_null(v.why);
        wrap_view_close(&v);
        mcpfile_close(&f);
        buf_close(&text);
    }
}

/* Wraps a file while the N-th call fails. true: there were fewer calls. */
static bool survives(struct slice text, enum mcpfile_format format, size_t nth,
                     const struct buf *want)
{
    static struct edits e;
    struct mcpfile f;
    struct buf got = {0};
    e.n = 0;
    calls = 0;
    fail_at = nth;
    int st = mcpfile_read_servers(&f, text, format);
    for (size_t i = 0; st == 0 && i < f.servers; i++) {
        struct wrap_view v;
        const char *why = NULL;
        st = wrap_inspect_server(&f, &f.server[i], &v);
        if (st == 0) {
            if (v.state == WRAP_PLAIN)
                assert_true(wrap_edit_wrap_server(&e, &f, &f.server[i], &with));
            else if (v.state == WRAP_REMOTE)
                st = remote_check_wrappable(&f, &f.server[i], &why);
            if (st == 0 && v.state == WRAP_REMOTE && why == NULL)
                assert_true(remote_add_wrap_edits(&e, &f, &f.server[i], &with));
            wrap_view_close(&v);
        }
    }
    if (st == 0)
        edits_apply(&e, text, &got);
    bool failed = calls >= nth;
    fail_at = 0;
    if (failed)
        assert_true(st == MI_ENOMEM || got.failed);
    else
        assert_true(st == 0 && !got.failed && slice_eq(buf_slice(&got), buf_slice(want)));
    mcpfile_close(&f);
    edits_close(&e);
    buf_close(&got);
    return !failed;
}

/* Out of memory is reported, and gives no text to write. */
static void test_wrap_out_of_memory_is_reported(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(corpus); i++) {
        char path[128];
        size_t n;
        snprintf(path, sizeof path, "tests/clients/%s", corpus[i].file);
        char *text = slurp(path, &n);
        enum mcpfile_format format = mcpfile_format_by_name(path);
        struct buf want = {0};
        remote_too = true;
        assert_true(change((struct slice){text, n}, format, true, ~(uint64_t)0, &want) >=
                    corpus[i].wrappable);
        remote_too = false;
        for (int on = 0; on < 2; on++) {
            fail_on = on != 0;
            for (size_t nth = 1; !survives((struct slice){text, n}, format, nth, &want); nth++)
                assert_true(nth < 10000);
        }
        buf_close(&want);
        free(text);
    }
}

/* Each has one server, or none (NULL). */
static const struct {
    enum mcpfile_format format;
    const char *text, *server;
} names[] = {
    {MCPFILE_BARE, "{\"a\": {\"command\": \"x\"}}", "a"},
    {MCPFILE_BARE, "{\"mcpServers\": {}, \"a\": {\"command\": \"x\"}}", NULL},
    {MCPFILE_JSON, "{\xE2\x80\x83mcp:\xE2\x80\x80{a\xE2\x80\x8A:{command:'x'}}}", "a"},
    {MCPFILE_YAML, "mcp_servers: {&k a: {command: x}}", "&k a"},
    {MCPFILE_YAML, "mcp_servers: {? [k] : {command: x}, b: {command: x}}", "b"},
    {MCPFILE_YAML, "mcp_servers: {a: {? {url: x} : y, command: x}}", "a"},
    {MCPFILE_YAML, "mcp_servers:\n  ? {command: x}\n  : [x, {y: z}]\n", NULL},
};

static void test_mcpfile_servers_have_their_names(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(names); i++) {
        struct mcpfile f;
        assert_int_equal(mcpfile_read_servers(&f, slice_of(names[i].text), names[i].format), 0);
        if (f.servers != (names[i].server != NULL) ||
            (f.servers == 1 &&
             (strcmp(f.server[0].name, names[i].server) != 0 || f.server[0].url.key.n > 0)))
            fail_msg("%s: %zu servers, %s", names[i].text, f.servers,
                     f.servers > 0 ? f.server[0].name : "");
        mcpfile_close(&f);
    }
}

static void test_mcpfile_too_many_servers_are_rejected(void **state)
{
    (void)state;
    struct mcpfile f;
    struct buf b = {0};
    buf_adds(&b, "mcpServers:\n");
    for (int i = 0; i < 10001; i++)
        buf_adds(&b, "- command: x\n");
    assert_int_equal(mcpfile_read_servers(&f, buf_slice(&b), MCPFILE_YAML), MI_EINVAL);
    assert_string_equal(buf_str(&f.error), "line 10002: too many servers");
    mcpfile_close(&f);
    buf_close(&b);
}

static const struct {
    enum mcpfile_format format;
    const char *text, *error;
} bad[] = {
    {MCPFILE_JSON, "[]", "line 1: expected { at the beginning"},
    {MCPFILE_JSON, "{\n\"a\" 1}", "line 2: expected a colon"},
    {MCPFILE_JSON, "{\"a\":1 \"b\":2}", "line 1: expected a comma or }"},
    {MCPFILE_JSON, "{\"a\":[1 2]}", "line 1: expected a comma or ]"},
    {MCPFILE_JSON, "{\"a\":}", "line 1: expected a value"},
    {MCPFILE_JSON, "{-:1}", "line 1: expected a name, in quotes or of letters, digits, _ and $"},
    {MCPFILE_JSON, "{5a:1}", "line 1: expected a name, in quotes or of letters, digits, _ and $"},
    {MCPFILE_JSON, "{'a\":1}", "line 1: unterminated string"},
    {MCPFILE_JSON, "{\"a\":\"x\n\"}", "line 1: control character or end of line in a string"},
    {MCPFILE_JSON, "{\"a\":\"\\x\"}",
     "line 1: invalid \\u or \\x escape: too few hexadecimal digits"},
    {MCPFILE_JSON, "{\"a\":\"\\1\"}", "line 1: invalid escape in a string"},
    {MCPFILE_JSON, "{\"a\":\"\\u12\"}",
     "line 1: invalid \\u or \\x escape: too few hexadecimal digits"},
    {MCPFILE_JSON, "{\"a\":\"", "line 1: unterminated string"},
    {MCPFILE_JSON, "{\n\n/* ", "line 3: unterminated comment"},
    {MCPFILE_JSON, "{\"a\":1", "line 1: expected a comma or }"},
    {MCPFILE_JSON, "{} {}", "line 1: unexpected text after the last }"},
    {MCPFILE_TOML, "a", "line 1: expected ="},
    {MCPFILE_TOML, "a = ", "line 1: unexpected end of the file"},
    {MCPFILE_TOML, "a = \n", "line 1: expected a value"},
    {MCPFILE_TOML, "\n[a", "line 2: expected ]"},
    {MCPFILE_TOML, "[[a]", "line 1: expected ]"},
    {MCPFILE_TOML, "a = 'x", "line 1: unterminated string"},
    {MCPFILE_TOML, "a = \"\\q\"", "line 1: invalid escape in a string"},
    {MCPFILE_TOML, "a = \"\\u12\"",
     "line 1: invalid \\u, \\U or \\x escape: too few hexadecimal digits"},
    {MCPFILE_TOML, "a = [1\n2]", "line 2: expected a comma or ]"},
    {MCPFILE_TOML, "a = {b = 1 c = 2}", "line 1: expected a comma or }"},
    {MCPFILE_TOML, "a = 'b' c", "line 1: expected the end of the line"},
    {MCPFILE_TOML, "= 1", "line 1: expected a key"},
    {MCPFILE_YAML, "a: 'x", "line 1: found unexpected end of stream"},
    {MCPFILE_YAML, "a: [1\nb: 2", "line 2: did not find expected ',' or ']'"},
    {MCPFILE_YAML, "a:\n  b: 1\n c: 2", "line 3: did not find expected key"},
    {MCPFILE_YAML, "\xc3\xa4: 1\nb: c: d",
     "line 2: mapping values are not allowed in this context"},
    {MCPFILE_YAML, "a: 1\n---\nb: 2", "line 2: expected one document"},
    {MCPFILE_YAML, "a: \x01", "line 1: control characters are not allowed"},
};

static void test_mcpfile_error_has_its_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(bad); i++) {
        struct mcpfile f;
        size_t n = strlen(bad[i].text);
        char *copy = unit_copy(bad[i].text, n);
        int st = mcpfile_read_servers(&f, (struct slice){copy, n}, bad[i].format);
        if (st != MI_EINVAL || strcmp(buf_str(&f.error), bad[i].error) != 0)
            fail_msg("%s: %d %s", bad[i].text, st, buf_str(&f.error));
        mcpfile_close(&f);
        free(copy);
    }
}

static void test_mcpfile_nul_and_depth_are_rejected(void **state)
{
    (void)state;
    struct mcpfile f;
    assert_int_equal(mcpfile_read_servers(&f, (struct slice){"{\0}", 3}, MCPFILE_JSON), MI_EINVAL);
    mcpfile_close(&f);
    static const char *const begin[] = {
        [MCPFILE_JSON] = "{\"a\":", [MCPFILE_TOML] = "a = ", [MCPFILE_YAML] = "a: "};
    for (enum mcpfile_format format = MCPFILE_JSON; format <= MCPFILE_YAML; format++) {
        struct buf b = {0};
        buf_adds(&b, begin[format]);
        for (int i = 0; i < 100000; i++)
            buf_addc(&b, '[');
        assert_int_equal(mcpfile_read_servers(&f, buf_slice(&b), format), MI_EINVAL);
        assert_string_equal(buf_str(&f.error), "line 1: too many nested brackets");
        mcpfile_close(&f);
        buf_close(&b);
    }
}

static const struct {
    enum mcpfile_format format;
    const char *token, *says;
} strings[] = {
    {MCPFILE_JSON, "$bare_1", "$bare_1"},
    {MCPFILE_JSON, "'it\\'s \"x\"'", "it's \"x\""},
    {MCPFILE_JSON, "\"\\x41\\v\\q\\\\\\/\\ud83d\\ude00\"", "A\vq\\/\xf0\x9f\x98\x80"},
    {MCPFILE_JSON,
     "'a\\\r\nb\\\nc\\\xE2\x80\xA8"
     "d'",
     "abcd"},
    {MCPFILE_JSON, "''", ""},
    {MCPFILE_TOML, "bare-key_1", "bare-key_1"},
    {MCPFILE_TOML, "'C:\\no'", "C:\\no"},
    {MCPFILE_TOML, "\"a\\tb\\\\\\\"\\u00e9\\U0001F600\\x41\"",
     "a\tb\\\"\xc3\xa9\xf0\x9f\x98\x80"
     "A"},
    {MCPFILE_TOML, "'''\nit's\n'''", "it's\n"},
    {MCPFILE_TOML, "\"\"\"\r\na\\\n   b\"\"\"\"", "ab\""},
    {MCPFILE_TOML, "\"\"", ""},
    {MCPFILE_TOML, "\"\\ud800\\U00110000\"", "\xef\xbf\xbd\xef\xbf\xbd"}, /* not valid characters */
};

static void test_mcpfile_string_of_each_kind_is_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(strings); i++) {
        struct mcpfile f = {.text = slice_of(strings[i].token), .format = strings[i].format};
        struct buf b = {0};
        mcpfile_append_string(&f, (struct span){0, f.text.n}, &b);
        assert_string_equal(buf_str(&b), strings[i].says);
        buf_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wrap_corpus_is_restored_byte_for_byte),
        cmocka_unit_test(test_wrap_corpus_lists_every_file),
        cmocka_unit_test(test_wrap_damaged_file_is_rejected_or_restored),
        cmocka_unit_test(test_wrap_form_of_each_kind_is_as_documented),
        cmocka_unit_test(test_wrap_remote_of_each_kind_is_as_documented),
        cmocka_unit_test(test_wrap_remote_rewritten_by_a_client_is_removed),
        cmocka_unit_test(test_wrap_remote_that_cannot_be_a_command_is_refused),
        cmocka_unit_test(test_wrap_by_hand_is_removed),
        cmocka_unit_test(test_wrap_state_is_reported_for_each_kind),
        cmocka_unit_test(test_wrap_out_of_memory_is_reported),
        cmocka_unit_test(test_mcpfile_error_has_its_line),
        cmocka_unit_test(test_mcpfile_servers_have_their_names),
        cmocka_unit_test(test_mcpfile_too_many_servers_are_rejected),
        cmocka_unit_test(test_mcpfile_nul_and_depth_are_rejected),
        cmocka_unit_test(test_mcpfile_string_of_each_kind_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
