/* The MCP server: whatever the line, the answer is one line of valid JSON; whatever the recorded body, each part of it is
 * visible text on lines of its own, and the parts have the whole. The first line of the data goes to the server, the
 * rest is a body. */
#include "cli/mcp/body.h"
#include "cli/mcp/mcp_server.h"

#include "base/text.h"
#include "tests/fuzz/fuzz.h"

static int open_vault(void *ctx, struct query **ret, struct buf *error)
{
    (void)ctx, (void)ret;
    buf_adds(error, "no vault");
    return MI_EIO;
}

static bool is_json(struct slice text)
{
    struct json_scan scan;
    return json_scan(text, NULL, NULL, &scan) == 0;
}

static void answer(struct slice line)
{
    static struct mcp_server server;
    struct buf b = {0};
    if (server.open_vault == NULL) {
        server.open_vault = open_vault;
        MUST(mcp_server_open(&server) == 0);
    }
    MUST(mcp_server_answer_line(&server, line, &b) == 0);
    MUST(b.n == 0 || is_json(buf_slice(&b)));
    MUST(memchr(buf_slice(&b).p, '\n', b.n) == NULL);
    b.n = 0;
    MUST(mcp_server_answer_long_line(&server, line, &b) == 0 && is_json(buf_slice(&b)));
    buf_close(&b);
}

/* No character changes when the text is made visible once more, except line ends. */
static bool is_visible(struct slice text)
{
    struct buf b = {0};
    append_lines_with_prefix(&b, text, "");
    bool same = slice_eq(buf_slice(&b), text);
    buf_close(&b);
    return same;
}

/* Returns next_offset; -1: this is the end. */
static int64_t part(struct slice body, int64_t offset)
{
    struct tool_call c = {.now_us = 0};
    struct body_view v = {"answer", "", offset, 200};
    struct json_scan scan;
    struct buf text = {0};
    int64_t next = -1;
    c.j = json_out_to(&c.json);
    json_out_object(&c.j, NULL);
    MUST(body_add_members(&c, &v, body) == 0);
    MUST(tool_end_result(&c) == 0);
    MUST(json_scan(buf_slice(&c.json), NULL, NULL, &scan) == 0);
    struct json_value root = {scan.type, scan.root};
    json_unescape(&text, json_string_raw(json_get(root, "text")));
    MUST(is_visible(buf_slice(&text)) && is_visible(buf_slice(&c.text)));
    for (const char *p = buf_str(&c.text); *p != '\0'; p = strchr(p, '\n') + 1)
        MUST(strncmp(p, "| ", 2) == 0 || strncmp(p, "Cut: ", 5) == 0);
    bool more = json_int(json_get(root, "next_offset"), &next);
    MUST(!more || next > offset);
    buf_close(&text);
    tool_close(&c);
    return more ? next : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice all = {(const char *)data, size};
    const char *end = memchr(all.p, '\n', size);
    size_t n = end != NULL ? (size_t)(end - all.p) : size;
    answer((struct slice){all.p, n});
    if (end == NULL)
        return 0;
    struct slice body = {end + 1, size - n - 1};
    for (int64_t at = 0; at >= 0;)
        at = part(body, at);
    return 0;
}
