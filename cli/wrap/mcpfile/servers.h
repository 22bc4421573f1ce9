/* servers.h - the servers in an MCP client's configuration file, and the positions of their members.
 *
 * Files     JSON with the extensions that clients accept (comments, trailing commas, a byte order mark), JSON5, TOML or YAML.
 *           Where servers are, by language: collect.c. A server has a command and args, or both in one array (opencode),
 *           or a URL with headers.
 * Form      a list of positions: an editor replaces these bytes and leaves the rest of the file unchanged. (A plain
 *           JSON tokenizer such as jsmn stops at the first comment, and does not read TOML.)
 * Owns      the list; the text is borrowed.
 * Errors    MI_EINVAL with one sentence in `error`: the line and the reason.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_MCPFILE_SERVERS_H
#define MI_CLI_WRAP_MCPFILE_SERVERS_H

#include "base/buf.h"

#define MCPFILE_DEPTH_MAX 128 /* brackets within brackets */

enum mcpfile_format {
    MCPFILE_JSON,
    MCPFILE_TOML,
    MCPFILE_YAML,
    MCPFILE_BARE, /* JSON that may also have the servers themselves at its top level; read as MCPFILE_JSON */
};

struct span {
    size_t at, n; /* in the text; n == 0: not there */
};

struct mcpfile_member {
    struct span
        key; /* as written, in TOML with the parts before a dot; n == 0: there is no such member */
    struct span
        value;  /* with its quotes or brackets; a YAML list without brackets: from its first dash */
    size_t end; /* where a new member is inserted after this one */
    bool on_line; /* it is on a line of its own; so will be the new member */
};

/* Members with a time limit; each client has its own (limits.h). */
enum mcpfile_limit {
    MCPFILE_TIMEOUT,
    MCPFILE_TIMEOUT_STARTUP, /* `startup` in an object `timeout` */
    MCPFILE_TIMEOUT_REQUEST, /* `request` in it */
    MCPFILE_TOOL_TIMEOUT_SEC,
    MCPFILE_STARTUP_TIMEOUT_SEC,
    MCPFILE_STARTUP_TIMEOUT_MS,
    MCPFILE_CONNECT_TIMEOUT,    /* s */
    MCPFILE_CONNECTION_TIMEOUT, /* ms */
    MCPFILE_REQUEST_TIMEOUT,    /* ms */
    MCPFILE_NLIMITS
};

struct mcpfile_server {
    char *name;    /* owned */
    char *project; /* owned; directory of the project it belongs to; NULL: all projects */
    bool unnamed;  /* an element of a list, without `name` */
    size_t object; /* identifies its object or element of a list; 0: a TOML table */
    struct mcpfile_member command, args, url, type, headers,
        env; /* env: opencode's `environment` */
    bool
        one_array; /* `command` is an array that begins with the program: command.value is its first
                                   string, and the args are the others */
    size_t first_arg, args_n; /* the strings in args: mcpfile.arg[first_arg…] */
    bool dashes;              /* a YAML list whose strings follow a dash, one on each line */
    struct span limit[MCPFILE_NLIMITS]; /* values, as written */
    size_t first_header;                /* mcpfile.header[first_header…] */
    size_t headers_n;
    const char *odd;        /* why it must not be edited; NULL: it may be edited */
    const char *remote_odd; /* why its URL must not be replaced by a command; NULL: it may be */
};

struct mcpfile_header {
    struct span name, value;
};

struct mcpfile {
    struct slice text; /* borrowed */
    enum mcpfile_format format;
    struct mcpfile_server *server; /* owned */
    size_t servers, servers_cap;
    struct span *arg; /* owned; the strings in the args of all servers */
    size_t args, args_cap;
    struct mcpfile_header *header; /* owned; the headers of all servers */
    size_t headers, headers_cap;
    struct span limit[MCPFILE_NLIMITS]; /* of servers that do not have their own; opencode */
    struct buf error;                   /* owned */
};

/* By the end of its name: .toml, .yaml, .yml, otherwise JSON; by its name: .mcp.json, as in plugins of Claude Code. */
enum mcpfile_format mcpfile_format_of(const char *path);
MI_MUST int mcpfile_read(struct mcpfile *f, struct slice text,
                         enum mcpfile_format format); /* 0, MI_EINVAL, MI_ENOMEM */
void mcpfile_close(struct mcpfile *f);                /* safe to call twice */
/* The version of libyaml: "0.2.5". */
const char *mcpfile_libyaml(void);

#endif
