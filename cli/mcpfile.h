/* mcpfile.h - the servers that a client's configuration file names, and where their words stand in it.
 *
 * Files     JSON with what clients allow in it (comments, commas before a closing bracket, a byte order
 *           mark), or TOML. Servers are the members of `mcpServers`, `servers`, `mcp.servers`,
 *           `projects.PATH.mcpServers` (Claude Code) and, in TOML, `mcp_servers` (Codex).
 * Form      nothing is built but a list of places: whoever edits replaces these bytes, and the rest of
 *           the file stays as it is. (A tokenizer for JSON proper, like jsmn, stops at the first comment,
 *           and knows no TOML.)
 * Owns      the list; the text is borrowed.
 * Errors    MI_EINVAL with one sentence in `error`: the line and the reason.
 * Blocks    never. Pure. */
#ifndef MI_CLI_MCPFILE_H
#define MI_CLI_MCPFILE_H

#include "base/buf.h"

#define MCPFILE_DEPTH_MAX 128 /* brackets within brackets */

struct span {
    size_t at, n; /* in the text; n == 0: not there */
};

struct mcpfile_server {
    char *name;              /* owned */
    char *project;           /* owned; the directory that it belongs to; NULL: to all */
    size_t object;           /* where its JSON object begins; 0: a TOML table */
    struct span command;     /* the string, with its quotes */
    struct span command_key; /* as written, with what stands before a dot */
    struct span args;        /* the array, with its brackets */
    struct span args_key;
    size_t command_end; /* a member after `command` is put in here */
    bool on_line;       /* `command = …` has a line to itself, and so would that member */
    size_t word, words; /* the strings in args: mcpfile.word[word…] */
    bool remote;        /* it has a URL, and no process */
    const char *odd;    /* why nobody should edit it; NULL: it is as usual */
};

struct mcpfile {
    struct slice text; /* borrowed */
    bool toml;
    struct mcpfile_server *server; /* owned */
    size_t servers, servers_cap;
    struct span *word; /* owned */
    size_t words, words_cap;
    struct buf error; /* owned */
};

MI_MUST int mcpfile_read(struct mcpfile *f, struct slice text,
                         bool toml);   /* 0, MI_EINVAL, MI_ENOMEM */
void mcpfile_close(struct mcpfile *f); /* safe to call twice */
/* What the string at this place says, escapes resolved. */
void mcpfile_string(const struct mcpfile *f, struct span token, struct buf *b);

#endif
