/* advice.h - what `wrap` tells people after it has changed files: what was written, and what to do
 * next.
 *
 * Owns      the texts that were collected.
 * Errors    out of memory: the advice is not printed.
 * Blocks    on the file system in advice_add_missing_runner(), and when it prints. */
#ifndef MI_CLI_WRAP_ADVICE_H
#define MI_CLI_WRAP_ADVICE_H

#include "cli/frame/out.h"
#include "cli/wrap/clients.h"
#include "cli/wrap/launch.h"

struct advice {
    struct buf clients; /* owned; names of the clients that must be restarted, each once */
    struct buf remotes; /* owned; names of servers with a URL, which were not changed */
    /* owned; names of servers that were wrapped before and keep their old `proxy` arguments */
    struct buf kept;
    struct buf elsewhere; /* owned; paths of files in other directories that have wrapped servers */
    struct buf lines;     /* owned; other advice, as complete lines */
};

void advice_close(struct advice *a);
/* Notes that a file of this client was changed. `path` is printed if the client is unknown. */
void advice_add_client(struct advice *a, const char *client, const char *path);
/* A server with a URL was not changed: advises `wrap --remote`. */
void advice_add_remote(struct advice *a, const char *server);
/* A server was already wrapped, so it keeps its old `proxy` arguments: advises how to give it other
 * deadlines. */
void advice_add_already_wrapped(struct advice *a, const char *server);
/* A file in another directory has wrapped servers and was not changed: advises `unwrap --all`. */
void advice_add_file_elsewhere(struct advice *a, const char *path);
/* The file must also work on other systems (it is in git, or for a container). Tells the user how
 * its servers are started, and what to install. */
void advice_add_portable_file(struct advice *a, const struct launch *l,
                              const struct client_file *where);
/* Warns if the client, which is started from a desktop, may not find a package runner in its short
 * PATH. */
void advice_add_missing_runner(struct advice *a, const struct launch *l,
                               const struct client_file *where);
/* Prints the collected advice. If files were changed, also prints which clients to restart, how to
 * undo the change (if `wrapped` is true), and the default deadline of calls (unless `chosen` is
 * true). program: the command that starts this program in a shell. */
void advice_print(struct advice *a, struct out *o, bool wrapped, bool chosen, const char *program);

#endif
