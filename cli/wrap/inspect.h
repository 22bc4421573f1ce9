/* inspect.h - what a server in a configuration file is: plain, wrapped, remote, or not to be edited.
 *
 * Rules     a command with blanks is a program if a file of this name can be executed; a relative path is looked up from
 *           the working directory.
 * Blocks    on the file system, for such a command only. */
#ifndef MI_CLI_WRAP_INSPECT_H
#define MI_CLI_WRAP_INSPECT_H

#include "cli/wrap/mcpfile/servers.h"

#define WRAP_ORIGINALS_MAX 3 /* a URL, headers and a type */

enum wrap_state {
    WRAP_PLAIN,   /* not wrapped, but could be */
    WRAP_WRAPPED, /* started by the interposer */
    WRAP_REMOTE,  /* has a URL, no command */
    WRAP_ODD,     /* cannot be edited safely: see wrap_view.why */
};

struct wrap_view {
    enum wrap_state state;
    const char *why;    /* of WRAP_ODD: the reason; else NULL */
    struct buf command; /* owned; the value of `command` */
    bool ours;          /* it starts the interposer: WRAP_WRAPPED, or WRAP_ODD */
    bool is_mcp;        /* of WRAP_ODD: it is the interposer's own MCP server, `mcp` */
    size_t launch;      /* if ours: number of args before those of the interposer (launch.h) */
    size_t own;         /* of WRAP_WRAPPED: number of args before the server's command */
    bool
        had_no_args; /* it had no `args` before (older versions: those args do not end with `--`) */
    struct buf original[WRAP_ORIGINALS_MAX]; /* owned; of WRAP_WRAPPED: its --original (remote.h) */
    size_t originals;
};

/* Examines a server. 0 or MI_ENOMEM. */
MI_MUST int wrap_inspect(const struct mcpfile *f, const struct mcpfile_server *s,
                         struct wrap_view *ret);
void wrap_view_close(struct wrap_view *v);
/* The args of a server, decoded, ended by NULL; argv[0] is empty. Owned: wrap_argv_close(), NULL is fine. NULL: out of
 * memory. */
char **wrap_argv(const struct mcpfile *f, const struct mcpfile_server *s);
void wrap_argv_close(char **argv);

#endif
