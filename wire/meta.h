/* meta.h - the keys of _meta that MCP reserves (mcp-wire.md 3.3), and the formats of keys and of
 * some values.
 *
 * Blocks    never. Pure. */
#ifndef MI_WIRE_META_H
#define MI_WIRE_META_H

#include "base/base.h"

/* keys of _meta in requests of revision 2026-07-28 */
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
/* keys of _meta in results and notifications of revision 2026-07-28 */
#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
/* keys of _meta in messages of revision 2025-11-25 */
#define META_RELATED_TASK "io.modelcontextprotocol/related-task"

/* Whether the raw text is a traceparent of W3C Trace Context: 00-<32 hex>-<16 hex>-<2 hex>. A
 * traceparent of a later version may be longer. No id in it may be all zeros. */
bool meta_is_traceparent(struct slice s);
/* Whether the raw text is a list of KEY=VALUE, as `tracestate` and `baggage` are. */
bool meta_is_pair_list(struct slice s);
/* Whether MCP allows this raw key in _meta. Such a key has an optional prefix (labels with dots
 * between them, then a slash) and a name. */
bool meta_key_is_valid(struct slice key);

#endif
