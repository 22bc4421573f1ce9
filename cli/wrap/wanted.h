/* wanted.h - which servers the user has named: the SERVER arguments and --client.
 *
 * Owns      the names of the servers that were looked at.
 * Errors    out of memory: no name is suggested for a misspelt one.
 * Blocks    never. Pure, apart from messages. */
#ifndef MI_CLI_WRAP_WANTED_H
#define MI_CLI_WRAP_WANTED_H

#include "cli/settings/config.h"

#define WANTED_MAX 256 /* SERVER arguments */

/* Where a server was found; of several, the last of these counts. */
enum wanted_where {
    WANTED_NOWHERE,
    WANTED_FIXED,     /* in a file that is not changed */
    WANTED_ELSEWHERE, /* in a file of another directory */
    WANTED_HERE,
};

struct wanted {
    const struct settings *settings;    /* borrowed */
    enum wanted_where seen[WANTED_MAX]; /* of each SERVER */
    struct buf names; /* owned; of the servers that were found, each ended by NUL */
};

void wanted_close(struct wanted *w);
/* Whether all clients, or this one, are to be processed. */
bool wanted_client(const struct wanted *w, const char *client);
/* Whether all servers, or this one, are to be processed. */
bool wanted_server(const struct wanted *w, const char *name);
/* A server of this name was found. */
void wanted_found(struct wanted *w, const char *name, enum wanted_where where);
/* Reports each SERVER that was not found here, with the name that may have been meant. False: there is one. */
bool wanted_report(const struct wanted *w);

#endif
