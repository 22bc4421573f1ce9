/* own.h - writes the messages of MCP that this program sends in its own name.
 *
 * Each function appends JSON to a buffer: a whole message, as one line without its newline, or the
 * value of a member. Ids are JSON text.
 * Owns      nothing; b->failed reports a lack of memory.
 * Blocks    never. Pure.
 * Source    mcp-wire.md 2 (handshake) and 5. */
#ifndef MI_WIRE_MCP_OWN_H
#define MI_WIRE_MCP_OWN_H

#include "base/buf.h"
#include "wire/mcp/method.h"

/* Writes the params of an initialize request. */
void own_write_initialize_params(struct buf *b, enum revision revision);
void own_write_initialized_message(struct buf *b);
/* Writes the `_meta` of a request of 2026-07-28. */
void own_write_request_meta(struct buf *b);
/* Writes a request for a page of the tools. meta: `_meta` as JSON, or {NULL, 0}. cursor: JSON, or
 * {NULL, 0} for the first page. */
void own_write_tools_list(struct buf *b, struct slice id, struct slice meta, struct slice cursor);
/* Writes a cancellation. reason may be NULL. */
void own_write_cancelled_message(struct buf *b, struct slice id, const char *reason);

#endif
