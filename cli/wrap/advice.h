/* advice.h - what `wrap` tells people after it has changed files: what was written, and what to do next.
 *
 * Owns      the texts that were collected.
 * Errors    out of memory: the advice is not printed.
 * Blocks    on the file system for advice_add_runner(), and when it prints. */
#ifndef MI_CLI_WRAP_ADVICE_H
#define MI_CLI_WRAP_ADVICE_H

#include "cli/frame/out.h"
#include "cli/wrap/clients.h"
#include "cli/wrap/launch.h"

struct advice {
    struct buf clients; /* owned; names of those to restart, each once */
    struct buf remotes; /* owned; names of servers with a URL that were left alone */
    struct buf
        kept; /* owned; names of servers that were wrapped before, with other arguments of `proxy` */
    struct buf elsewhere; /* owned; paths of files of other directories with wrapped servers */
    struct buf lines;     /* owned; whole lines */
};

void advice_close(struct advice *a);
/* A file of this client was changed. `path` names the file of an unknown client. */
void advice_add_client(struct advice *a, const char *client, const char *path);
/* A server with a URL was left alone: `wrap --remote` is advised. */
void advice_add_remote(struct advice *a, const char *server);
/* A server was wrapped before: arguments that were given now do not reach it. */
void advice_add_kept(struct advice *a, const char *server);
/* A file of another directory was left alone, with wrapped servers: `unwrap --all` is advised. */
void advice_add_elsewhere(struct advice *a, const char *path);
/* The servers of this file are started by a name that counts on other systems, too, or should be. */
void advice_add_portable(struct advice *a, const struct launch *l, const struct client_file *where);
/* The PATH of a client that is started from a desktop may lack the directory of a package runner. */
void advice_add_runner(struct advice *a, const struct launch *l, const struct client_file *where);
/* Prints all of it; if files were changed, what to restart, and with `wrapped` how to undo it (`program`: what starts
 * this program in a shell), and which deadline calls have now, unless it was chosen. */
void advice_print(struct advice *a, struct out *o, bool wrapped, bool chosen, const char *program);

#endif
