/* rewrite.h - a recorded message with the ids of the live conversation in it.
 *
 * Rules     mcp-wire.md 6.5. Only the values named here change; every other byte stays as it was recorded.
 *           A live id or token is written as the client wrote it, so its JSON type is the client's.
 * Owns      nothing; the result is appended to a buffer of the caller.
 * Errors    MI_EPROTO: the recorded text is no such message; MI_ENOENT: what should be rewritten is not
 *           in it; MI_ENOMEM. Nothing is appended then.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_REWRITE_H
#define MI_REPLAY_REWRITE_H

#include "base/buf.h"
#include "wire/json.h"

enum rewrite_what {
    REWRITE_ID,           /* the id of an answer or a request */
    REWRITE_TOKEN,        /* params.progressToken */
    REWRITE_SUBSCRIPTION, /* params._meta["io.modelcontextprotocol/subscriptionId"], or in result */
    REWRITE_REQUEST_ID,   /* params.requestId */
    REWRITE_TASK, /* params.taskId, or that of _meta["io.modelcontextprotocol/related-task"] */
    REWRITE_COUNT
};

#define META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define META_RELATED_TASK "io.modelcontextprotocol/related-task"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LOG_LEVEL "io.modelcontextprotocol/logLevel"
#define META_VERSION "io.modelcontextprotocol/protocolVersion"

/* `with` has a JSON text for each place that is to change; {NULL, 0}: as recorded. A place that is not
 * there is an error for REWRITE_ID, and none for the others. */
MI_MUST int rewrite(struct buf *b, struct slice recorded, const struct slice with[REWRITE_COUNT]);
/* The value at such a place of a valid message; JSON_NONE: it is not there. */
struct json_value rewrite_at(struct slice message, enum rewrite_what what);

#endif
