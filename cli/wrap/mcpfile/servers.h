/* servers.h - the servers in an MCP client's configuration file, and the positions of their strings.
 *
 * Files     JSON with the extensions that clients accept (comments, trailing commas, a byte order mark), or TOML.
 *           Servers are the members of `mcpServers`, `servers`, `mcp.servers`, `projects.PATH.mcpServers` (Claude
 *           Code) and, in TOML, `mcp_servers` (Codex).
 * Form      a list of positions: an editor replaces these bytes and leaves the rest of the file unchanged. (A plain
 *           JSON tokenizer such as jsmn stops at the first comment, and does not read TOML.)
 * Owns      the list; the text is borrowed.
 * Errors    MI_EINVAL with one sentence in `error`: the line and the reason.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_MCPFILE_SERVERS_H
#define MI_CLI_WRAP_MCPFILE_SERVERS_H

#include "base/buf.h"

#define MCPFILE_DEPTH_MAX 128 /* brackets within brackets */

struct span {
    size_t at, n; /* in the text; n == 0: not there */
};

struct mcpfile_server {
    char *name;              /* owned */
    char *project;           /* owned; directory of the project it belongs to; NULL: all projects */
    size_t object;           /* offset of its JSON object; 0: a TOML table */
    struct span command;     /* the string, with its quotes */
    struct span command_key; /* as written, with the parts before a dot */
    struct span args;        /* the array, with its brackets */
    struct span args_key;
    size_t command_end; /* where a new member is inserted after `command` */
    bool on_line;       /* `command = …` is on a line of its own; so will be the new member */
    size_t first_arg, args_n; /* the strings in args: mcpfile.arg[first_arg…] */
    bool remote;              /* it has a URL */
    const char *odd;          /* why it must not be edited; NULL: it may be edited */
};

struct mcpfile {
    struct slice text; /* borrowed */
    bool toml;
    struct mcpfile_server *server; /* owned */
    size_t servers, servers_cap;
    struct span *arg; /* owned; the strings in the args of all servers */
    size_t args, args_cap;
    struct buf error; /* owned */
};

MI_MUST int mcpfile_read(struct mcpfile *f, struct slice text,
                         bool toml);   /* 0, MI_EINVAL, MI_ENOMEM */
void mcpfile_close(struct mcpfile *f); /* safe to call twice */

#endif
