/* command.c - `mcp-interposer mcp`: an MCP server that reads the vault, on stdin and stdout. */
#include "cli/mcp/commands.h"

#include "base/log.h"
#include "cli/frame/session.h"
#include "cli/mcp/inbox.h"
#include "cli/mcp/mcp_server.h"
#include "cli/settings/config.h"
#include "proxy/refuse.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

/* Milliseconds that an answer waits for a client to read, if the client has closed its end of
 * stdin. */
#define LEAVE_MS 5000
#define WRITE_MAX 4096 /* bytes that a writable pipe takes at once (PIPE_BUF) */

static const struct opt table_of_options[] = {
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "An MCP server on stdin and stdout, for a model that looks for the cause of a\n"
    "problem in recorded sessions. Its tools only read: list_sessions, list_calls,\n"
    "get_call, search, stats, context_cost, findings, diff, list_running,\n"
    "list_escalations and list_asked. Results are short, come in pages, and are\n"
    "marked as recorded data.\n"
    "It answers all revisions from 2024-11-05 to 2026-07-28. mcp-server.md has the\n"
    "entries for clients (`mcp-interposer help` says where it is).\n"
    "\n"
    "  claude mcp add recordings -- mcp-interposer mcp\n";
/* clang-format on */

struct serving {
    const struct settings *settings;
    char *vault; /* owned; the path of the vault */
    struct inbox inbox;
    struct mcp_server server;
    struct buf answer; /* owned */
};

/* Opens the vault. Called for each tool call, so that a vault that is created or restored later is
 * found. */
static int mcp_open_vault(void *ctx, struct query **ret, struct buf *error)
{
    const struct serving *s = ctx;
    return session_vault_open_at_path(s->settings, s->vault, ret, error);
}

static bool serving_request_is_cancelled(void *ctx, struct json_value id)
{
    struct serving *s = ctx;
    return inbox_is_cancelled(&s->inbox, id);
}

/* Waits until stdout is writable. Returns false if the client does not read any more: the client
 * has closed its end of stdout, or has closed its end of stdin and then not read for LEAVE_MS. */
static bool wait_for_writable_stdout(void)
{
    int left_ms = LEAVE_MS;
    for (;;) {
        struct pollfd p[] = {{.fd = STDOUT_FILENO, .events = POLLOUT},
                             {.fd = STDIN_FILENO, .events = 0}};
        int n = poll(p, 2, 100);
        if (n < 0 && errno != EINTR)
            return false;
        if (n > 0 && (p[0].revents & POLLOUT) != 0)
            return true;
        if (n > 0 && p[0].revents != 0)
            return false;
        /* stdin is closed: poll() returns at once with POLLHUP, so the wait is here */
        if (n > 0 && p[1].revents != 0) {
            (void)poll(NULL, 0, 100);
            left_ms -= 100;
        }
        if (left_ms <= 0)
            return false;
    }
}

/* Writes a line to stdout. Returns false if the client does not read any more. */
static bool send_line(struct slice line)
{
    while (line.n > 0) {
        if (!wait_for_writable_stdout())
            return false;
        ssize_t n = write(STDOUT_FILENO, line.p, size_min(line.n, WRITE_MAX));
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        if (n > 0)
            line = (struct slice){line.p + n, line.n - (size_t)n};
    }
    return true;
}

static int mcp_answer_line(struct serving *s, const struct inbox_line *l)
{
    struct slice text = {l->text, l->n};
    buf_clear(&s->answer);
    int st = l->too_long ? mcp_server_answer_long_line(&s->server, text, &s->answer)
                         : mcp_server_answer_line(&s->server, text, &s->answer);
    if (st < 0 || s->answer.n == 0)
        return st;
    buf_addc(&s->answer, '\n');
    if (s->answer.failed)
        return MI_ENOMEM;
    return send_line(buf_slice(&s->answer)) ? 0 : MI_ENOENT;
}

/* Serves the client. Returns MI_ENOENT when the client leaves, or MI_ENOMEM. */
static int serve_mcp_client(struct serving *s)
{
    int st = mcp_server_open(&s->server);
    while (st == 0) {
        struct inbox_line *l;
        st = inbox_read_next_line(&s->inbox, &l);
        if (st < 0)
            break;
        st = mcp_answer_line(s, l);
        free(l);
    }
    return st;
}

static int mcp_run(const struct settings *settings)
{
    struct serving s = {.settings = settings, .vault = settings_get_vault_path(settings)};
    if (s.vault == NULL)
        return EXIT_TROUBLE;
    s.server.open_vault = mcp_open_vault;
    s.server.is_cancelled = serving_request_is_cancelled;
    s.server.ctx = &s;
    (void)signal(SIGPIPE, SIG_IGN);
    if (isatty(STDIN_FILENO) == 1)
        log_warn(
            "waiting for JSON-RPC messages on the terminal, one per line: a client starts this "
            "command, see `mcp-interposer mcp --help`; Ctrl-D ends it");
    inbox_open(&s.inbox, STDIN_FILENO, SERVER_LINE_MAX);
    int st = serve_mcp_client(&s);
    if (st == MI_ENOMEM)
        log_error("out of memory");
    inbox_close(&s.inbox);
    mcp_server_close(&s.server);
    buf_close(&s.answer);
    free(s.vault);
    return st == MI_ENOENT ? EXIT_FINE : EXIT_TROUBLE;
}

const struct command command_mcp = {
    .name = "mcp",
    .summary = "serve the recordings to a model, as an MCP server",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = mcp_run,
    .refuse = proxy_refuse_requests,
};
