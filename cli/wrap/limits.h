/* limits.h - the time limits that a client's configuration has for a server, as options of `proxy`.
 *
 * Rules     each client has its own key, unit and meaning: limits.c has the table, docs/clients.md describes it. A limit
 *           of calls becomes a rule for tools/call, one of the start a rule for initialize, each LIMITS_BEFORE_US
 *           earlier, so that the client gets our error before it gives up. A limit that would shorten the default
 *           deadline is left out. One beyond the default of --max-timeout raises that, too.
 * Errors    what is not a positive number is left out.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_LIMITS_H
#define MI_CLI_WRAP_LIMITS_H

#include "cli/wrap/mcpfile/servers.h"

#define LIMITS_BEFORE_US 1000000

struct limits {
    /* Values of options; "": none. */
    char call[40];        /* --timeout tools/call=… */
    char initialize[40];  /* --timeout initialize=… */
    char max_timeout[24]; /* --max-timeout … */
};

/* client: as in struct client_file. */
void limits_read(struct limits *ret, const struct mcpfile *f, const struct mcpfile_server *s,
                 const char *client);

#endif
