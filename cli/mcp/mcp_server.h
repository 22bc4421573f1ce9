/* mcp_server.h - our MCP server: reads a line of the client, and writes the answer.
 *
 * Revisions `initialize` selects one of 2024-11-05 to 2025-11-25 for the connection. A request
 *           whose _meta has the protocol version belongs to 2026-07-28, even without `initialize`.
 *           Requests of 2026-07-28 and of the selected revision may come on one connection
 *           (mcp-wire.md 3).
 * Errors    the client gets a JSON-RPC error if a line, method, params, cursor or tool is invalid,
 *           and a result with isError if a call fails. From 2025-11-25 on, the client also gets
 *           such a result if arguments do not fit (mcp-wire.md 4.1).
 * Owns      the definitions of the tools. From one request to the next, only the revision is kept.
 * Blocks    on the vault, during tools/call. */
#ifndef MI_CLI_MCP_MCP_SERVER_H
#define MI_CLI_MCP_MCP_SERVER_H

#include "cli/mcp/toolbox.h"

#define SERVER_LINE_MAX ((size_t)1 << 20) /* maximum bytes of a line of the client */
#define SERVER_BATCH_MAX 50               /* maximum number of requests in a batch (2025-03-26) */

struct mcp_server {
    /* Opens the vault for one call; query_close() closes the vault. Returns 0, MI_ENOMEM, or MI_EIO
     * with the reason in `error`. */
    int (*open_vault)(void *ctx, struct query **ret, struct buf *error);
    /* Whether the client has cancelled the request with this id. NULL: requests cannot be
     * cancelled. */
    bool (*is_cancelled)(void *ctx, struct json_value id);
    void *ctx;

    struct toolbox toolbox;
    /* the revision that `initialize` has selected; until then, the newest revision that has
     * `initialize` */
    enum revision revision;
    struct json_value id; /* the id of the current request */
};

/* The caller has set the callbacks. Returns 0 or MI_ENOMEM; call mcp_server_close() in both
 * cases. */
MI_MUST int mcp_server_open(struct mcp_server *s);
void mcp_server_close(struct mcp_server *s);
/* Appends the answer to a line, without a newline. If there is no answer, appends nothing. Returns
 * 0 or MI_ENOMEM. */
MI_MUST int mcp_server_answer_line(struct mcp_server *s, struct slice line, struct buf *answer);
/* Appends the answer to a line that was too long. head: the first bytes of the line. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int mcp_server_answer_long_line(struct mcp_server *s, struct slice head,
                                        struct buf *answer);

#endif
