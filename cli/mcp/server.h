/* server.h - our MCP server: a line of the client in, an answer out.
 *
 * Revisions `initialize` selects one of 2024-11-05 to 2025-11-25 for the connection. A request with the protocol version
 *           in its _meta is of 2026-07-28 by itself; both kinds may come on one connection (mcp-wire.md 3).
 * Errors    to the client: JSON-RPC errors for lines, methods, params, cursors and tools that are invalid. A call that
 *           fails is a result with isError; so are arguments that do not fit, from 2025-11-25 on (mcp-wire.md 4.1).
 * Owns      the definitions of the tools. Nothing is kept from one request to the next but the revision.
 * Blocks    on the vault, during tools/call. */
#ifndef MI_CLI_MCP_SERVER_H
#define MI_CLI_MCP_SERVER_H

#include "cli/mcp/toolbox.h"

#define SERVER_LINE_MAX ((size_t)1 << 20) /* bytes of a line of the client */
#define SERVER_BATCH_MAX 50               /* requests in a batch (2025-03-26) */

struct mcp_server {
    /* Opens the vault for one call; query_close() follows. MI_EIO: error has the reason. MI_ENOMEM. */
    int (*open_vault)(void *ctx, struct query **ret, struct buf *error);
    /* Whether the client has cancelled the request with this id. NULL: never. */
    bool (*is_cancelled)(void *ctx, struct json_value id);
    void *ctx;

    struct toolbox toolbox;
    enum revision revision; /* negotiated; before: the newest one with initialize */
    struct json_value id;   /* of the current request */
};

/* The callbacks are set. MI_ENOMEM. mcp_server_close() in any case. */
MI_MUST int mcp_server_open(struct mcp_server *s);
void mcp_server_close(struct mcp_server *s);
/* Appends the answer to a line, without a newline; nothing if there is none. 0 or MI_ENOMEM. */
MI_MUST int mcp_server_line(struct mcp_server *s, struct slice line, struct buf *answer);
/* The same for a line that was too long; head: its first bytes. */
MI_MUST int mcp_server_too_long(struct mcp_server *s, struct slice head, struct buf *answer);

#endif
