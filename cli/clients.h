/* clients.h - where MCP clients keep their configuration.
 *
 * Rules     by the clients' own documentation, Linux and macOS, for the user and for the project that the
 *           working directory is: .mcp.json and the like.
 * Owns      the list owns its paths.
 * Blocks    on the file system only. */
#ifndef MI_CLI_CLIENTS_H
#define MI_CLI_CLIENTS_H

#include "base/base.h"

#define CLIENT_FILES_MAX 64

struct client_file {
    const char *client; /* "claude-code" and the like; "-": not known */
    bool desktop;       /* started from a desktop it has a short PATH */
    char *path;         /* owned; absolute */
};

struct client_files {
    struct client_file file[CLIENT_FILES_MAX];
    size_t n;
};

/* All that exist, each once. 0, or MI_ENOMEM. */
MI_MUST int client_files_find(struct client_files *l);
/* One that was named. 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int client_files_add(struct client_files *l, const char *path);
void client_files_close(struct client_files *l);

bool client_is_known(const char *client);
const char *client_names(void); /* "claude-code, claude-desktop, …" */

#endif
