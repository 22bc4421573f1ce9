/* clients.h - the configuration files of MCP clients.
 *
 * Rules     paths as the clients document them, for Linux and macOS: those of the user, and those of a project in the
 *           working directory (.mcp.json and others).
 * Owns      the list owns its paths.
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_CLIENTS_H
#define MI_CLI_WRAP_CLIENTS_H

#include "base/base.h"

/* What `wrap` and `unwrap` may do with a file. */
enum client_file_kind {
    CLIENT_FILE_EDITED, /* change it */
    CLIENT_FILE_CONTAINER, /* change it; its servers are started in a container, where no path of this system counts */
    CLIENT_FILE_UNUSED,    /* its client reads another file instead: only unwrap */
    CLIENT_FILE_ELSEWHERE, /* found by elsewhere_find(): list it, and unwrap with --all */
    CLIENT_FILE_PLUGIN,    /* of a plugin or an extension, replaced at each update: list it */
    CLIENT_FILE_MANAGED,   /* of the administrator: list it */
    CLIENT_FILE_SCRIPT,    /* a program: say what to do by hand */
};

/* Files that `wrap` does not change, by their kind: the state of their servers, and the reason. NULL: of other kinds. */
extern const struct client_file_fixed {
    const char *state, *why;
} client_file_fixed[];

struct client_file {
    const char *client; /* "claude-code" and the like; "-": not known */
    bool desktop;       /* started from a desktop, with a short PATH */
    enum client_file_kind kind;
    char *path; /* owned; absolute */
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
