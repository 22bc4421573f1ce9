/* cmd_proxy.c - `mcp-interposer proxy -- SERVER…`: what a client's mcp.json calls. */
#include "base/log.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/retain.h"
#include "cli/server_name.h"
#include "proxy/notify.h"
#include "proxy/proxy.h"

#include <stdlib.h>

static const struct opt proxy_opts[] = {
    {'t', "timeout", "[WHAT=]DURATION...", "30s",
     "deadline of a request; WHAT: method, glob, tool:NAME; 0: never"},
    {0, "max-timeout", "DURATION", "10m", "the end of it, whatever progress is reported; 0: never"},
    {0, "on-hang", "kill|cancel", "kill", "what a server gets that is silent past a deadline"},
    {0, "restarts", "N", "3", "restarts of a server within a minute; 0: never"},
    {0, "escalate-command", "CMD", NULL,
     "run for each new escalation file, its path appended; no shell"},
    {'n', "name", "NAME", NULL, "the server's name in records; made from its command if not given"},
    {0, "path", "DIR...", NULL, "looked through for the server's command, too, after PATH"},
    {0, "validate", "none|wire|protocol", "wire",
     "what is refused: nothing, no messages, or what breaks a MUST"},
    {0, "check-arguments", "off|warn|reject", "warn",
     "calls that do not fit their tool's inputSchema"},
    {0, "record", "full|standard|minimal", "standard",
     "what is kept: all but secrets; content's head; no bodies"},
    {0, "on-record-error", "pass|stop", "pass",
     "when recording fails: go on with a gap, or stop serving"},
    {0, "sync", "normal|full", "normal",
     "what a record survives: our death, or a power cut as well"},
    {0, "max-message", "SIZE", "128MiB", "longer messages are refused"},
    {0, "grace", "DURATION", "1.5s",
     "from closing the server's stdin to SIGKILL; SIGTERM half-way"},
    {'v', "verbose", NULL, NULL, "say more on stderr"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* All rules, those of the configuration file first. EXIT_USAGE when one is wrong. */
static int read_deadlines(const struct settings *s, struct deadlines *d)
{
    struct buf error = {0};
    int st = 0;
    size_t at = 0;
    deadlines_open(d);
    for (const char *v; st == 0 && (v = settings_each(s, "timeout", &at)) != NULL;)
        st = deadlines_add(d, v, &error);
    if (st < 0)
        st = settings_usage(&command_proxy, "--timeout: %s", buf_str(&error));
    else if (settings_text(s, "escalate-command") != NULL &&
             notify_check(settings_text(s, "escalate-command"), &error) < 0)
        st = settings_usage(&command_proxy, "--escalate-command: %s", buf_str(&error));
    else if (s->set.overflow)
        st = settings_usage(&command_proxy, "--timeout: more than %d times", OPT_MANY_MAX);
    buf_close(&error);
    return st;
}

static enum keep_level record_level(const struct settings *s)
{
    enum keep_level level = KEEP_FULL;
    while (!settings_is(s, "record", keep_level_name(level)))
        level++; /* it is one of the three: settings are checked */
    return level;
}

/* The server finds there what it runs itself, too: `npx` is a script that looks for `node`. */
static int add_paths(const struct settings *s)
{
    struct buf b = {0};
    const char *path = getenv("PATH");
    size_t at = 0;
    if (settings_text(s, "path") == NULL)
        return EXIT_FINE;
    buf_adds(&b, path != NULL && path[0] != '\0' ? path : "/usr/local/bin:/usr/bin:/bin");
    for (const char *dir; (dir = settings_each(s, "path", &at)) != NULL;) {
        if (dir[0] != '/') {
            buf_close(&b);
            return settings_usage(&command_proxy, "--path: '%s' is no absolute path", dir);
        }
        buf_addc(&b, ':');
        buf_adds(&b, dir);
    }
    bool set = !b.failed && setenv("PATH", buf_str(&b), 1) == 0;
    buf_close(&b);
    if (!set)
        log_error("no memory");
    return set ? EXIT_FINE : EXIT_TROUBLE;
}

static int run_proxy(const struct settings *s, const struct deadlines *deadlines)
{
    char name[SERVER_NAME_MAX];
    char *vault = settings_vault(s);
    if (vault == NULL)
        return EXIT_TROUBLE;
    server_name(settings_text(s, "name"), s->operands, name);
    struct proxy_config cfg = {
        .argv = s->operands,
        .vault = vault,
        .name = name,
        .validate = settings_is(s, "validate", "none")       ? VALIDATE_NONE
                    : settings_is(s, "validate", "protocol") ? VALIDATE_PROTOCOL
                                                             : VALIDATE_WIRE,
        .check_arguments = settings_is(s, "check-arguments", "off")    ? ARGUMENTS_OFF
                           : settings_is(s, "check-arguments", "warn") ? ARGUMENTS_WARN
                                                                       : ARGUMENTS_REJECT,
        .level = record_level(s),
        .stop_on_record_error = settings_is(s, "on-record-error", "stop"),
        .sync_full = settings_is(s, "sync", "full"),
        .max_message = settings_size(s, "max-message"),
        .grace_us = settings_duration_us(s, "grace"),
        .deadlines = deadlines,
        .max_timeout_us = settings_duration_us(s, "max-timeout"),
        .kill_hung = settings_is(s, "on-hang", "kill"),
        .escalate_command = settings_text(s, "escalate-command"),
        .restarts = (unsigned)settings_number(s, "restarts"),
    };
    retain_configured(s, &cfg.retention);
    if (settings_on(s, "verbose"))
        log_set_level(LOG_INFO);
    int status = proxy_run(&cfg);
    free(vault);
    return status;
}

static int cmd_proxy(int argc, char **argv)
{
    struct settings s;
    struct deadlines deadlines = {0};
    if (!settings_read(&s, &command_proxy, argc, argv))
        return s.exit_status;
    int status;
    if (s.operands_n == 0)
        status = settings_usage(&command_proxy, "no server given: name its command after --");
    else if (settings_size(&s, "max-message") < 1024)
        status = settings_usage(&command_proxy, "--max-message: at least 1KiB");
    else if (settings_number(&s, "restarts") > PROXY_RESTARTS_MAX)
        status = settings_usage(&command_proxy, "--restarts: at most %d", PROXY_RESTARTS_MAX);
    else if ((status = read_deadlines(&s, &deadlines)) == 0 && (status = add_paths(&s)) == 0)
        status = run_proxy(&s, &deadlines);
    deadlines_close(&deadlines);
    settings_close(&s);
    return status;
}

const struct command command_proxy = {
    .name = "proxy",
    .summary = "run an MCP server behind the interposer: forward, check, record",
    .usage = "[OPTIONS] [--] SERVER [ARG...]",
    .about =
        "Put this as the command of a server into a client's mcp.json. Messages pass between the\n"
        "client (stdin, stdout) and SERVER byte for byte, each recorded before it goes on.\n"
        "Exit status: the server's own (128+N when signal N ended it); 2 usage; 3 our own\n"
        "failure; 124 the server hung and was not started again; 126 it could not be started;\n"
        "127 it was not found.\n",
    .table = proxy_opts,
    .server_command = true,
    .run = cmd_proxy,
};
