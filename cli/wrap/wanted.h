/* wanted.h - which servers and clients the user has named: the SERVER arguments and --client.
 *
 * Owns      the names of the servers that were found.
 * Errors    out of memory: no correction is suggested for a misspelt name.
 * Blocks    never. Pure, apart from messages. */
#ifndef MI_CLI_WRAP_WANTED_H
#define MI_CLI_WRAP_WANTED_H

#include "cli/settings/config.h"

#define WANTED_MAX 256 /* maximum number of SERVER arguments */

/* Where a server was found. If a server was found in several files, the highest of the values is
 * used. */
enum wanted_where {
    WANTED_NOWHERE,
    WANTED_FIXED,     /* the server is in a file that this command never changes */
    WANTED_ELSEWHERE, /* the server is in a file of another directory */
    WANTED_HERE,
};

struct wanted {
    const struct settings *settings;    /* borrowed */
    enum wanted_where seen[WANTED_MAX]; /* for each SERVER argument: where the server was found */
    struct buf names; /* owned; NUL-terminated names of all servers that were found */
};

void wanted_close(struct wanted *w);
/* Returns whether this client is selected. Without --client, all clients are selected. */
bool wanted_has_client(const struct wanted *w, const char *client);
/* Returns whether this server is selected. Without SERVER arguments, all servers are selected. */
bool wanted_has_server(const struct wanted *w, const char *name);
/* Notes where a server with this name was found. */
void wanted_note_server_found(struct wanted *w, const char *name, enum wanted_where where);
/* Reports each SERVER argument that is not WANTED_HERE, with a suggestion. Returns true if every
 * SERVER argument is WANTED_HERE. */
bool wanted_report_missing_servers(const struct wanted *w);

#endif
