/* wrap_selection.h - which servers and clients the user has named: the SERVER arguments and
 * --client.
 *
 * Owns      the names of the servers that were found.
 * Errors    out of memory: no correction is suggested for a misspelt name.
 * Blocks    never. Pure, apart from messages. */
#ifndef MI_CLI_WRAP_WRAP_SELECTION_H
#define MI_CLI_WRAP_WRAP_SELECTION_H

#include "cli/settings/config.h"

#define WRAP_SERVERS_MAX 256 /* maximum number of SERVER arguments */

/* Where a server was found. If a server was found in several files, the highest of the values is
 * used. */
enum wrap_found {
    WRAP_FOUND_NOWHERE,
    WRAP_FOUND_FIXED,     /* the server is in a file that this command never changes */
    WRAP_FOUND_ELSEWHERE, /* the server is in a file of another directory */
    WRAP_FOUND_HERE,
};

struct wrap_selection {
    const struct settings *settings; /* borrowed */
    /* for each SERVER argument: where the server was found */
    enum wrap_found seen[WRAP_SERVERS_MAX];
    struct buf names; /* owned; NUL-terminated names of all servers that were found */
};

void wrap_selection_close(struct wrap_selection *w);
/* Returns whether this client is selected. Without --client, all clients are selected. */
bool wrap_selection_has_client(const struct wrap_selection *w, const char *client);
/* Returns whether this server is selected. Without SERVER arguments, all servers are selected. */
bool wrap_selection_has_server(const struct wrap_selection *w, const char *name);
/* Notes where a server with this name was found. */
void wrap_selection_note_found_server(struct wrap_selection *w, const char *name,
                                      enum wrap_found where);
/* Reports each SERVER argument that is not WRAP_FOUND_HERE, with a suggestion. Returns true if
 * every SERVER argument is WRAP_FOUND_HERE. */
bool wrap_selection_report_missing(const struct wrap_selection *w);

#endif
