/* wrap_edit.h - the changes that `wrap` and `unwrap` make in a client's configuration file.
 *
 * Wrapped   `"command": "npx", "args": ["-y", "x"]` becomes `"command": "/usr/bin/mcp-interposer",
 *           "args": ["proxy", "--name", "files", "--", "npx", "-y", "x"]`. If the interposer's
 *           command is `npx -y mcp-interposer@1.2.3` (launch.h), `-y` and the package come before
 *           "proxy". The server's own strings do not change, so that the original bytes are
 *           restored when the interposer's strings are removed. A server without `args` also gets
 *           `--original`, so that unwrapping removes `args` again. remote.h describes servers with
 *           a URL.
 * Errors    if memory runs out, edits.text.failed is set. Functions return false if there is no
 *           room for more edits.
 * Blocks    never. Pure. */
#ifndef MI_CLI_WRAP_WRAP_EDIT_H
#define MI_CLI_WRAP_WRAP_EDIT_H

#include "cli/wrap/inspect.h"
#include "cli/wrap/server_members.h"

/* These functions add the edits that wrap a server, unwrap a wrapped server, or replace the command
 * that starts the interposer of a wrapped server. */
MI_MUST bool wrap_edit_wrap_server(struct edits *e, const struct mcpfile *f,
                                   const struct mcpfile_server *s, const struct wrap_with *with);
MI_MUST bool wrap_edit_unwrap_server(struct edits *e, const struct mcpfile *f,
                                     const struct mcpfile_server *s, const struct wrap_view *v);
MI_MUST bool wrap_edit_redirect_server(struct edits *e, const struct mcpfile *f,
                                       const struct mcpfile_server *s, const struct wrap_view *v,
                                       const char *const *command);

#endif
