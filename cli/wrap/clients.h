/* clients.h - the configuration files of MCP clients.
 *
 * Rules     paths as the clients document them, for Linux and macOS: those of the user, and those of a project in the
 *           working directory (.mcp.json and others).
 * Owns      the list owns its paths.
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_CLIENTS_H
#define MI_CLI_WRAP_CLIENTS_H

#include "base/base.h"

struct client_file {
    const char *client; /* "claude-code" and the like; "-": not known */
    bool desktop;       /* started from a desktop, with a short PATH */
    bool elsewhere;     /* found by elsewhere_find() */
    char *path;         /* owned; absolute */
};

struct client_files {
    struct client_file *file; /* owned */
    size_t n, cap;
};

/* Every file that exists, once. 0 or MI_ENOMEM. */
MI_MUST int client_files_find(struct client_files *l);
/* A file given by name. 0 or MI_ENOMEM. */
MI_MUST int client_files_add(struct client_files *l, const char *path);
/* Whether this file is in the list, by this or another path. False also for a file that does not exist. */
bool client_files_contain(const struct client_files *l, const char *path);
void client_files_close(struct client_files *l);

const char *client_name(size_t i); /* "claude-code" and the like; NULL: past the last one */

#endif
