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
    int next = 1, status = EXIT_FINE;
    if (!is_wanted())
        return EXIT_FINE;
    opt_open(&s, command_proxy.table);
    int st = opt_parse(&s, argc, argv, 1, NULL, &next);
    if (st == 0 && !opt_on(&s, "help")) {
        if (opt_env(&s) < 0)
            log_warn("%s", buf_str(&s.error)); /* of another option than --path */
        status = next < argc ? server_path_extend(&s)
                             : command_usage(&command_proxy, SERVER_PATH_MISSING);
        if (status == EXIT_FINE)
            status = become(argv + next);
    } else if (st < 0) {
        status = command_usage(&command_proxy, buf_str(&s.error));
    }
    opt_close(&s);
    return status;
}
