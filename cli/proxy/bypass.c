#include "cli/proxy/bypass.h"

#include "base/log.h"
#include "cli/proxy/commands.h"
#include "cli/proxy/server_path.h"
#include "proxy/proxy_run.h"
#include "proxy/refuse.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool bypass_is_wanted(void)
{
    const char *value = getenv("MCP_INTERPOSER");
    bool on;
    if (value == NULL || value[0] == '\0')
        return false;
    if (opt_parse_yes_or_no(value, &on))
        return !on;
    log_warn("MCP_INTERPOSER=%s has no effect: use off, to start the server without the "
             "interposer, or on",
             value);
    return false;
}

/* Reads the options. Skips an invalid option, and the words after it that may be its value. Returns
 * the index of the server's command; argc if there is none. */
static int bypass_read_options(struct opt_set *s, int argc, char **argv)
{
    int at = 1;
    while (opt_parse(s, argc, argv, at, NULL, &at) < 0) {
        log_warn("ignored, because MCP_INTERPOSER is off: %s", buf_str(&s->error));
        do
            at++;
        while (at < argc && argv[at][0] != '-');
    }
    return at;
}

/* Executes the server in this process. Returns the exit status if that fails. */
static int bypass_exec_server(char *const *argv)
{
    char text[LOG_LINE_MAX];
    (void)signal(SIGXFSZ, SIG_DFL);
    execvp(argv[0], argv);
    int e = errno;
    snprintf(text, sizeof text, "cannot start the server '%s' (MCP_INTERPOSER is off): %s", argv[0],
             strerror(e));
    log_error("%s", text);
    proxy_refuse_requests(text);
    return e == ENOENT ? PROXY_NOT_FOUND : PROXY_NO_EXEC;
}

int bypass_proxy_if_requested(int argc, char **argv)
{
    struct opt_set s;
    struct buf error = {0};
    int status = EXIT_FINE;
    if (!bypass_is_wanted())
        return EXIT_FINE;
    opt_open(&s, command_proxy.table);
    int server = bypass_read_options(&s, argc, argv);
    if (!opt_is_on(&s, "help")) {
        if (opt_read_environment(&s) < 0)
            log_warn("%s", buf_str(&s.error)); /* the error is about an option other than --path */
        int st = server_path_extend(&s, &error);
        if (st < 0)
            log_warn("%s", st == MI_ENOMEM ? "out of memory, --path is ignored" : buf_str(&error));
        status = server < argc ? bypass_exec_server(argv + server)
                               : command_fail_usage(&command_proxy, SERVER_PATH_MISSING);
    }
    opt_close(&s);
    buf_close(&error);
    return status;
}
