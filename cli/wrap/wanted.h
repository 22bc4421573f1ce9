/* wanted.h - which servers the user has named: the SERVER arguments and --client.
 *
 * Owns      the names of the servers that were looked at.
 * Errors    out of memory: no name is suggested for a misspelt one.
 * Blocks    never. Pure, apart from messages. */
#ifndef MI_CLI_WRAP_WANTED_H
#define MI_CLI_WRAP_WANTED_H

#include "cli/settings/config.h"

#define WANTED_MAX 256 /* SERVER arguments */

struct wanted {
    const struct settings *settings; /* borrowed */
    bool seen[WANTED_MAX];           /* of each SERVER: the server was found */
    struct buf names;                /* owned; of the servers that were found, each ended by NUL */
};

void wanted_close(struct wanted *w);
/* Whether all clients, or this one, are to be processed. */
bool wanted_client(const struct wanted *w, const char *client);
/* Whether all servers, or this one, are to be processed. */
bool wanted_server(const struct wanted *w, const char *name);
/* A server of this name was found. */
void wanted_found(struct wanted *w, const char *name);
/* Reports each SERVER that was not found, with the name that may have been meant. False: there is one. */
bool wanted_report(const struct wanted *w);

#endif
