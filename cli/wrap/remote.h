/* remote.h - wraps a server that has a URL: the interposer starts mcp-remote, which connects to
 * the URL.
 *
 * Wrapped   `"type": "http", "url": "https://x/mcp"` becomes `"type": "stdio", "command":
 *           "mcp-interposer", "args": ["proxy", "--name", "files", "--original", "\"url\": …",
 *           "--original", "\"type\": …", "--", "npx", "-y", "mcp-remote@VERSION",
 *           "https://x/mcp"]`. Each --original has the bytes of a member that was replaced, so
 *           that unwrapping restores them. Headers become `--header "NAME: VALUE"`.
 * Layout    `command` replaces the URL, and `args` replaces the headers. Without headers, `args`
 *           follows `command`. In opencode, the array `command` replaces the URL, and an empty
 *           `environment` replaces the headers.
 * Errors    if memory runs out, edits.text.failed is set. Functions return false if there is no
 *           room for more edits.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_REMOTE_H
#define MI_CLI_WRAP_REMOTE_H

#include "cli/wrap/inspect.h"
#include "cli/wrap/server_members.h"

#define REMOTE_PACKAGE "mcp-remote@0.15.1" /* the version that tests/sdk/package.json names */

/* Sets *why to the reason why a server with a URL cannot be wrapped, or to NULL if the server can
 * be wrapped. Returns 0 or MI_ENOMEM. */
MI_MUST int remote_check_wrappable(const struct mcpfile *f, const struct mcpfile_server *s,
                                   const char **why);
/* These functions add the edits that wrap, or unwrap, a server with a URL. */
MI_MUST bool remote_add_wrap_edits(struct edits *e, const struct mcpfile *f,
                                   const struct mcpfile_server *s, const struct wrap_with *with);
MI_MUST bool remote_add_unwrap_edits(struct edits *e, const struct mcpfile *f,
                                     const struct mcpfile_server *s, const struct wrap_view *v);

#endif
