/* command.c - `mcp-interposer proxy -- SERVER…`: the command that a client starts. */
#include "cli/proxy/commands.h"

#include "base/log.h"
#include "cli/frame/server_name.h"
#include "cli/frame/server_url.h"
#include "cli/proxy/server_path.h"
#include "cli/proxy/sign.h"
#include "cli/settings/deadlines.h"
#include "cli/settings/retain.h"
#include "cli/settings/tool_settings.h"
#include "proxy/proxy_run.h"
#include "proxy/refuse.h"
#include "record/notifier.h"

#include <stdlib.h>

static const struct opt proxy_opts[] = {
    {'t', "timeout", "[WHAT=]DURATION...", "30s",
     "deadline of a request; WHAT: method, glob, tool:NAME; 0: never"},
    {0, "max-timeout", "DURATION", "10m", "deadline that progress does not extend; 0: never"},
    {0, "on-hang", "kill|kill-now|cancel", "kill",
     "what to do if a server is silent until a deadline; kill: ask it whether it is alive, then "
     "kill it; kill-now: kill it at once; cancel: do not kill it"},
    {0, "on-repeat", "warn|answer|refuse", "warn",
     "what to do if a call equals an earlier one that failed but may have run; warn: note it; "
     "answer: give the late answer of the earlier call; refuse: return an error"},
    {0, "repeat-window", "DURATION", "10m",
     "how long a failed call is remembered that the server may have executed; 0: not at all"},
    {0, "restarts", "N", "3", "restarts allowed within a minute; 0: never restart"},
    {0, "escalate-command", "CMD", NULL,
     "command to run for each escalation file, with its path; no shell"},
    {0, "name", "NAME", NULL, "the server's name in records; derived from its command by default"},
    {0, "path", "DIR...", NULL, "directory to search for the server's command after those of PATH"},
    {0, "validate", "none|wire|protocol", "wire",
     "what to reject; none: nothing; wire: invalid messages; protocol: protocol violations, too"},
    {0, "check-arguments", "off|warn|reject", "warn",
     "what to do with calls that violate the tool's inputSchema"},
    {0, "tools", "TOOLS", NULL,
     "the tools that the client may see and call: names or globs, separated by commas"},
    {0, "hide-tools", "TOOLS", NULL,
     "tools that the client must not see or call: names or globs, separated by commas"},
    {0, "read-only", NULL, NULL, "hide tools that the server does not mark readOnlyHint: true"},
    {0, "record", "full|standard|minimal", "standard",
     "what is stored; full: all but secrets; standard: the same with long content truncated; "
     "minimal: no message text"},
    {0, "on-record-error", "pass|stop", "pass",
     "what to do when recording fails; pass: continue with a gap; stop: end the session"},
    {0, "sync", "normal|full", "normal",
     "what recorded messages must survive; normal: a killed process; full: a power failure, too"},
    {0, "max-message", "SIZE", "128MiB", "reject longer messages"},
    {0, "max-waiting", "SIZE", "256MiB",
     "limit for messages that wait in memory, in all sessions, while the vault cannot be written; "
     "0: no limit"},
    {0, "grace", "DURATION", "1.5s",
     "time from closing the server's stdin to SIGKILL; SIGTERM is sent after half of this time"},
    /* `wrap --remote` writes this option: the text that was replaced, which `unwrap` restores. */
    {0, "original", "TEXT...", NULL, NULL},
    /* `send` gives this option: the recorded request that is sent again. The option is recorded as
     * an event. */
    {0, "sent", "REQUEST", NULL, NULL},
    /* `replay` gives this option: the recorded tool rule, which overrides all other tool rules. If
     * the rule is not empty, it also overrides `validate = none`: messages are checked as with
     * `wire`. */
    {0, "tools-rule", "RULE", NULL, NULL},
    {'v', "verbose", NULL, NULL, "write more to stderr"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* Reads the rules of --timeout, and checks --escalate-command. Returns EXIT_FINE, EXIT_USAGE or
 * EXIT_TROUBLE. */
static int read_deadlines(const struct settings *s, struct deadlines *d)
{
    struct buf error = {0};
    int st = settings_read_deadlines(s, d, &error);
    if (st == MI_ENOMEM) {
        log_error("out of memory");
        st = EXIT_TROUBLE;
    } else if (st < 0)
        st = settings_fail_usage(s, "--timeout: %s", buf_str(&error));
    else if (settings_get_text(s, "escalate-command") != NULL &&
             notifier_check_command(settings_get_text(s, "escalate-command"), &error) < 0)
        st = settings_fail_usage(s, "--escalate-command: %s", buf_str(&error));
    buf_close(&error);
    return st;
}

static enum record_level record_level(const struct settings *s)
{
    enum record_level level = RECORD_FULL;
    while (!settings_value_equals(s, "record", record_level_name(level)))
        level++; /* settings were checked, so the value is one of the three levels */
    return level;
}

static int proxy_extend_path(const struct settings *s)
{
    struct buf error = {0};
    int st = server_path_extend(&s->set, &error), status = EXIT_FINE;
    if (st == MI_ENOMEM) {
        log_error("out of memory");
        status = EXIT_TROUBLE;
    } else if (st < 0) {
        status = settings_fail_usage(s, "%s", buf_str(&error));
    }
    buf_close(&error);
    return status;
}

static int read_tool_rule(const struct settings *s, const char *server, struct tool_rule *ret)
{
    struct buf error = {0};
    int st = settings_read_tool_rule(s, server, ret, &error), status = EXIT_FINE;
    if (st == MI_ENOMEM)
        status = command_fail(st, &error);
    else if (st < 0)
        status = settings_fail_usage(s, "%s", buf_str(&error));
    buf_close(&error);
    return status;
}

static int run_proxy(const struct settings *s, struct deadlines *deadlines, const char *name,
                     struct tool_rule *tools)
{
    struct buf url = {0};
    bool checks = !settings_value_equals(s, "validate", "none") || tool_rule_exists(tools);
    char *vault = settings_get_vault_path(s);
    if (vault == NULL)
        return EXIT_TROUBLE;
    server_url_append_from_argv(s->operands, &url);
    deadlines->login = url.n > 0;
    pid_t recorder = 0;
    struct proxy_config cfg = {
        .ret_recorder = &recorder,
        .argv = s->operands,
        .vault = vault,
        .name = name,
        .url = url.n > 0 ? buf_str(&url) : NULL,
        .validate = !checks                                            ? VALIDATE_NONE
                    : settings_value_equals(s, "validate", "protocol") ? VALIDATE_PROTOCOL
                                                                       : VALIDATE_WIRE,
        .check_arguments = settings_value_equals(s, "check-arguments", "off")    ? ARGUMENTS_OFF
                           : settings_value_equals(s, "check-arguments", "warn") ? ARGUMENTS_WARN
                                                                                 : ARGUMENTS_REJECT,
        .tools = tool_rule_exists(tools) ? tools : NULL,
        .on_repeat = settings_value_equals(s, "on-repeat", "warn")     ? ON_REPEAT_WARN
                     : settings_value_equals(s, "on-repeat", "answer") ? ON_REPEAT_ANSWER
                                                                       : ON_REPEAT_REFUSE,
        .repeat_window_us = settings_duration_us(s, "repeat-window"),
        .level = record_level(s),
        .stop_on_record_error = settings_value_equals(s, "on-record-error", "stop"),
        .sync_full = settings_value_equals(s, "sync", "full"),
        .max_message = settings_get_size(s, "max-message"),
        .max_waiting = settings_get_size(s, "max-waiting"),
        .grace_us = settings_duration_us(s, "grace"),
        .deadlines = deadlines,
        .max_timeout_us = settings_duration_us(s, "max-timeout"),
        .on_hang = settings_value_equals(s, "on-hang", "kill")       ? ON_HANG_KILL
                   : settings_value_equals(s, "on-hang", "kill-now") ? ON_HANG_KILL_NOW
                                                                     : ON_HANG_CANCEL,
        .escalate_command = settings_get_text(s, "escalate-command"),
        .sent = settings_get_text(s, "sent"),
        .restarts = (unsigned)settings_get_number(s, "restarts"),
    };
    retain_read_configured_rules(s, &cfg.retention);
    if (settings_is_on(s, "verbose"))
        log_set_level(LOG_INFO);
    int status = proxy_run(&cfg);
    sign_session(s, vault, recorder);
    buf_close(&url);
    free(vault);
    return status;
}

static int proxy_command_run(const struct settings *s)
{
    char name[SERVER_NAME_MAX];
    struct deadlines deadlines = {0};
    struct tool_rule tools = {0};
    int status;
    if (s->operands_n > 0)
        server_name_choose(settings_get_text(s, "name"), s->operands, name);
    if (s->operands_n == 0)
        status = settings_fail_usage(s, SERVER_PATH_MISSING);
    else if (settings_get_size(s, "max-message") < 1024)
        status = settings_fail_usage(s, "--max-message: must be at least 1KiB");
    else if (settings_get_number(s, "restarts") > PROXY_RESTARTS_MAX)
        status = settings_fail_usage(s, "--restarts: must be at most %d", PROXY_RESTARTS_MAX);
    else if ((status = read_deadlines(s, &deadlines)) == 0 &&
             (status = proxy_extend_path(s)) == 0 &&
             (status = read_tool_rule(s, name, &tools)) == 0)
        status = run_proxy(s, &deadlines, name, &tools);
    deadlines_close(&deadlines);
    tool_rule_close(&tools);
    return status;
}

const struct command command_proxy = {
    .name = "proxy",
    .summary = "run an MCP server; forward, check and record its messages",
    .usage = "[OPTIONS] [--] SERVER [ARG...]",
    .about = "Use this as the command of a server in the configuration of a client. Messages\n"
             "between the client (stdin, stdout) and SERVER are recorded, then forwarded byte\n"
             "for byte.\n"
             "Exit status: that of the server (128+N after signal N); 2 usage error; 3\n"
             "internal failure; 124 the server hung and was not restarted; 126 it could not be\n"
             "started; 127 it was not found.\n",
    .table = proxy_opts,
    .server_command = true,
    .run = proxy_command_run,
    .refuse = proxy_refuse_requests,
};
