/* clients.h - the configuration files of MCP clients.
 *
 * Rules     paths as the clients document them, for Linux and macOS: files of the user, and files
 *           of a project in the working directory (.mcp.json and others).
 * Owns      the list owns its paths.
 * Blocks    on the file system only. */
#ifndef MI_CLI_WRAP_CLIENTS_H
#define MI_CLI_WRAP_CLIENTS_H

#include "base/base.h"

/* What `wrap` and `unwrap` may do with a file. */
enum client_file_kind {
    CLIENT_FILE_EDITED, /* `wrap` and `unwrap` change the file */
    /* `wrap` and `unwrap` change the file; its servers run in a container, where paths of this
     * system are not valid */
    CLIENT_FILE_CONTAINER,
    /* the client ignores this file and reads another one, so this file is only unwrapped */
    CLIENT_FILE_UNUSED,
    /* the file is in another directory (elsewhere.h): the file is listed, and is unwrapped with
     * --all */
    CLIENT_FILE_ELSEWHERE,
    /* the file is only listed: it belongs to a plugin or an extension, whose updates replace it */
    CLIENT_FILE_PLUGIN,
    CLIENT_FILE_MANAGED, /* the file is only listed: it belongs to the administrator */
    CLIENT_FILE_SCRIPT,  /* the file is a program: the user is told what to do by hand */
};

/* For each kind of file that `wrap` never changes: the state of its servers, and the reason. state
 * and why are NULL for the kinds that `wrap` changes. They are also NULL for CLIENT_FILE_ELSEWHERE
 * and CLIENT_FILE_SCRIPT, which are reported in other ways. */
extern const struct client_file_fixed {
    const char *state, *why;
} client_file_fixed[];

struct client_file {
    const char *client; /* name of the client, such as "claude-code"; "-": unknown */
    bool desktop;       /* the client is started from a desktop, with a short PATH */
    enum client_file_kind kind;
    char *path; /* owned; absolute */
};

struct client_files {
    struct client_file *file; /* owned */
    size_t n, cap;
};

/* Adds each configuration file that exists. Returns 0 or MI_ENOMEM. */
MI_MUST int client_files_find(struct client_files *l);
/* Adds a file that the user named. Returns 0 or MI_ENOMEM. */
MI_MUST int client_files_add(struct client_files *l, const char *path);
/* Returns whether the list has this file, under any path. Returns false if the file does not
 * exist. */
bool client_files_contain(const struct client_files *l, const char *path);
void client_files_close(struct client_files *l);

const char *client_name(size_t i); /* returns a name such as "claude-code"; NULL after the last */

#endif
