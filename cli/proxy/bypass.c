#include "cli/proxy/bypass.h"

#include "base/log.h"
#include "cli/proxy/commands.h"
#include "cli/proxy/server_path.h"
#include "proxy/refuse.h"
#include "proxy/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_wanted(void)
{
    const char *value = getenv("MCP_INTERPOSER");
    return value != NULL && (strcmp(value, "off") == 0 || strcmp(value, "0") == 0);
}

/* Returns only if the server cannot be started. */
static int become(char *const *argv)
{
    char text[LOG_LINE_MAX];
    execvp(argv[0], argv);
    int e = errno;
    snprintf(text, sizeof text, "cannot start the server '%s' (MCP_INTERPOSER is off): %s", argv[0],
             strerror(e));
    log_error("%s", text);
    proxy_refuse(text);
    return e == ENOENT ? PROXY_NOT_FOUND : PROXY_NO_EXEC;
}

int bypass(int argc, char **argv)
{
    struct opt_set s;
    struct buf error = {0};
    int next = 1, status = EXIT_FINE;
    if (!is_wanted())
        return EXIT_FINE;
    opt_open(&s, command_proxy.table);
    int st = opt_parse(&s, argc, argv, 1, NULL, &next);
    bool help = st == 0 && opt_on(&s, "help");
    if (st == 0 && !help) {
        if (opt_env(&s) < 0)
            log_warn("%s", buf_str(&s.error)); /* of another option than --path */
        st = server_path_extend(&s, &error);
    }
    if (st == MI_ENOMEM) {
        log_error("out of memory");
        status = EXIT_TROUBLE;
    } else if (st < 0) {
        status = command_usage(&command_proxy, buf_str(error.n > 0 ? &error : &s.error));
    } else if (!help) {
        status =
            next < argc ? become(argv + next) : command_usage(&command_proxy, SERVER_PATH_MISSING);
    }
    opt_close(&s);
    buf_close(&error);
    return status;
}
