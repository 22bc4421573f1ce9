/* limits.h - converts the time limits of a server in a client's configuration file to options of
 * `proxy`.
 *
 * Rules     each client has its own keys, units and meanings: limits.c has the table,
 *           docs/clients.md describes them. A limit of calls becomes a rule for tools/call, a limit
 *           of the start a rule for initialize. Both are LIMITS_BEFORE_US shorter, so that the
 *           client gets our error before it gives up. A limit that would shorten the default
 *           deadline is left out. A limit above the default of --max-timeout also raises
 *           --max-timeout.
 * Errors    values that are not positive numbers are left out.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_LIMITS_H
#define MI_CLI_WRAP_LIMITS_H

#include "cli/wrap/mcpfile/servers.h"

#define LIMITS_BEFORE_US 1000000 /* our deadline is this much shorter than the client's limit */

struct limits {
    /* Values of `proxy` options; "": the option is not given. */
    char call[40];        /* --timeout tools/call=… */
    char initialize[40];  /* --timeout initialize=… */
    char max_timeout[24]; /* --max-timeout … */
};

/* Reads the limits of the server. client: its name in struct client_file. */
void limits_read(struct limits *ret, const struct mcpfile *f, const struct mcpfile_server *s,
                 const char *client);

#endif
