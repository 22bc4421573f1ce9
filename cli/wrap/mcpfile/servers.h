/* servers.h - finds the servers in an MCP client's configuration file, and the positions of their
 * members.
 *
 * Files     JSON with the extensions that clients accept (comments, trailing commas, a byte order
 *           mark), JSON5, TOML or YAML. collect.c lists where servers are in each language. A
 *           server has a command and args, or both in one array (opencode), or a URL with headers.
 * Result    a list of positions: an editor replaces these bytes and leaves the rest of the file
 *           unchanged. (A plain JSON tokenizer such as jsmn stops at the first comment, and does
 *           not read TOML.)
 * Owns      the list; the text is borrowed.
 * Errors    MI_EINVAL with one sentence in `error`: the line and the reason.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_MCPFILE_SERVERS_H
#define MI_CLI_WRAP_MCPFILE_SERVERS_H

#include "base/buf.h"

#define MCPFILE_DEPTH_MAX 128 /* maximum depth of nested brackets */

enum mcpfile_format {
    MCPFILE_JSON,
    MCPFILE_TOML,
    MCPFILE_YAML,
    /* JSON whose servers may be at the top level; mcpfile.format is then MCPFILE_JSON */
    MCPFILE_BARE,
};

struct span {
    size_t at, n; /* offset and length in the text; n == 0: missing */
};

/* A member as it is written in the file. */
struct mcpfile_member {
    /* the key; in TOML with its prefix, such as a.b.key; n == 0: there is no such member */
    struct span key;
    /* the value, with quotes or brackets; a YAML list without brackets begins at its first dash */
    struct span value;
    size_t end; /* offset at which a new member is inserted after this member */
    /* the member is on a line of its own; a new member must also get a line of its own */
    bool on_line;
};

/* Members with a time limit; limits.h says what a limit means for which client. */
enum mcpfile_limit {
    MCPFILE_TIMEOUT,
    MCPFILE_TIMEOUT_STARTUP, /* the member `startup` of an object `timeout` */
    MCPFILE_TIMEOUT_REQUEST, /* the member `request` of an object `timeout` */
    MCPFILE_TOOL_TIMEOUT_SEC,
    MCPFILE_STARTUP_TIMEOUT_SEC,
    MCPFILE_STARTUP_TIMEOUT_MS,
    MCPFILE_CONNECT_TIMEOUT,    /* the limit is in seconds */
    MCPFILE_CONNECTION_TIMEOUT, /* the limit is in milliseconds */
    MCPFILE_REQUEST_TIMEOUT,    /* the limit is in milliseconds */
    MCPFILE_NLIMITS
};

struct mcpfile_server {
    char *name; /* owned */
    /* owned; directory of the project in which the server is used; NULL: all projects */
    char *project;
    bool unnamed; /* the server is an element of a list, and its `name` has not been read yet */
    /* offset of the server's object or list element, used as an identifier; 0: a TOML table */
    size_t object;
    struct mcpfile_member command, args, url, type, headers;
    struct mcpfile_member env; /* the member `environment` of opencode */
    /* `command` is an array: command.value is its first string, the args are the others */
    bool one_array;
    /* args of the server: mcpfile.arg[first_arg..first_arg + args_n - 1] */
    size_t first_arg, args_n;
    /* true: the args are a YAML block sequence, with one item per line */
    bool dashes;
    struct span limit[MCPFILE_NLIMITS]; /* time limits of the server, as written in the file */
    /* headers of the server: mcpfile.header[first_header..first_header + headers_n - 1] */
    size_t first_header, headers_n;
    const char *odd; /* why the server must not be edited; NULL: it may be edited */
    /* why a command must not replace the URL; NULL: a command may replace the URL */
    const char *remote_odd;
};

struct mcpfile_header {
    struct span name, value;
};

struct mcpfile {
    struct slice text; /* borrowed */
    enum mcpfile_format format;
    struct mcpfile_server *server; /* owned */
    size_t servers, servers_cap;
    struct span *arg; /* owned; the args of all servers */
    size_t args, args_cap;
    struct mcpfile_header *header; /* owned; the headers of all servers */
    size_t headers, headers_cap;
    /* in a file of opencode: time limits of servers that have no limits of their own */
    struct span limit[MCPFILE_NLIMITS];
    struct buf error; /* owned */
};

/* Determines the format by the end of the name (.toml, .yaml, .yml, otherwise JSON), or by the name
 * .mcp.json, which plugins of Claude Code use. */
enum mcpfile_format mcpfile_format_by_name(const char *path);
/* Finds the servers of the text. Returns 0, MI_EINVAL or MI_ENOMEM. */
MI_MUST int mcpfile_read_servers(struct mcpfile *f, struct slice text, enum mcpfile_format format);
void mcpfile_close(struct mcpfile *f); /* safe to call twice */
/* Returns the version of libyaml, such as "0.2.5". */
const char *mcpfile_libyaml_version(void);

#endif
