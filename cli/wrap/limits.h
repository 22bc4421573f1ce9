/* limits.h - converts the time limits of a server in a client's configuration file to options of
 * `proxy`.
 *
 * Rules     each client has its own keys, units and meanings. limits.c has the table of these;
 *           docs/clients.md describes them. A limit for calls becomes a rule for tools/call; a
 *           limit for the start becomes a rule for initialize. The deadline of a rule is
 *           LIMITS_BEFORE_US shorter than the limit, so that the client gets the proxy's error
 *           before it gives up. A limit that would shorten the default deadline is left out. A
 *           limit above the default of --max-timeout also raises --max-timeout.
 * Errors    values that are not positive numbers are left out.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_LIMITS_H
#define MI_CLI_WRAP_LIMITS_H

#include "cli/wrap/mcpfile/servers.h"

/* microseconds by which a deadline of the proxy is shorter than the client's limit */
#define LIMITS_BEFORE_US 1000000

struct limits {
    /* Values of `proxy` options; "": the option is not given. */
    char call[40];        /* --timeout tools/call=… */
    char initialize[40];  /* --timeout initialize=… */
    char max_timeout[24]; /* --max-timeout … */
};

/* Reads the limits of the server. client: name of the client, as in struct client_file. */
void limits_read(struct limits *ret, const struct mcpfile *f, const struct mcpfile_server *s,
                 const char *client);

#endif
