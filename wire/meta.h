/* meta.h - the keys of _meta that MCP reserves (mcp-wire.md 3.3). */
#ifndef MI_WIRE_META_H
#define MI_WIRE_META_H

/* of requests of 2026-07-28 */
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
/* of results and notifications of 2026-07-28 */
#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
/* of messages of 2025-11-25 */
#define META_RELATED_TASK "io.modelcontextprotocol/related-task"

#endif
