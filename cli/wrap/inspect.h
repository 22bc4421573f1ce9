/* inspect.h - determines what a server in a configuration file is: plain, wrapped, remote, or not
 * to be edited.
 *
 * Rules     a command with blanks counts as a program if an executable file has this name; a
 *           relative path is looked up in the working directory.
 * Blocks    on the file system, only for a command with blanks. */
#ifndef MI_CLI_WRAP_INSPECT_H
#define MI_CLI_WRAP_INSPECT_H

#include "cli/wrap/mcpfile/servers.h"

#define WRAP_ORIGINALS_MAX 3 /* maximum number of --original options: URL, headers, type */

enum wrap_state {
    WRAP_PLAIN, /* the server is not wrapped, but can be wrapped */
    /* the command of the server starts the interposer, which starts the server itself */
    WRAP_WRAPPED,
    WRAP_REMOTE, /* the server has a URL and no command */
    WRAP_ODD,    /* the server cannot be edited safely; wrap_view.why has the reason */
};

struct wrap_view {
    enum wrap_state state;
    const char *why;    /* reason for the state WRAP_ODD; NULL in other states */
    struct buf command; /* owned; the value of `command` */
    bool ours;          /* the server starts the interposer; state is WRAP_WRAPPED or WRAP_ODD */
    /* if the state is WRAP_ODD: true if the server is the interposer's own MCP server, `mcp` */
    bool is_mcp;
    size_t launch; /* if `ours` is true: number of args before the interposer's args (launch.h) */
    size_t own;    /* if WRAP_WRAPPED: number of args before the server's own command */
    /* The server had no `args` before it was wrapped. Older versions of this program recorded this
     * fact by leaving out `--` before the server's command. */
    bool had_no_args;
    /* owned; if the state is WRAP_WRAPPED: the values of --original (remote.h) */
    struct buf original[WRAP_ORIGINALS_MAX];
    size_t originals;
};

/* Examines a server. Returns 0 or MI_ENOMEM. */
MI_MUST int wrap_inspect_server(const struct mcpfile *f, const struct mcpfile_server *s,
                                struct wrap_view *ret);
void wrap_view_close(struct wrap_view *v);
/* Returns the decoded args of a server, ended by NULL; argv[0] is empty. Free them with
 * server_argv_close(), which accepts NULL. Returns NULL if memory is short. */
char **wrap_make_server_argv(const struct mcpfile *f, const struct mcpfile_server *s);
void server_argv_close(char **argv);

#endif
