/* rewrite.h - replaces the ids in a recorded message with those of the live conversation.
 *
 * Rules     mcp-wire.md 6.5. Only the values listed here change; all other bytes stay as recorded.
 *           A live id or token is copied as the client wrote it, with its JSON type.
 * Owns      nothing; the result is appended to the caller's buffer.
 * Errors    MI_EPROTO: the recorded text is not a valid message; MI_ENOENT: it has no id to
 *           replace; MI_ENOMEM. After an error, nothing is appended.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_PLAN_REWRITE_H
#define MI_REPLAY_PLAN_REWRITE_H

#include "base/buf.h"
#include "wire/json/scan.h"
#include "wire/meta.h"

enum rewrite_what {
    REWRITE_ID,    /* the id of an answer or a request */
    REWRITE_TOKEN, /* params.progressToken */
    /* id of a subscription in the params or in the result:
     * _meta["io.modelcontextprotocol/subscriptionId"] */
    REWRITE_SUBSCRIPTION,
    REWRITE_REQUEST_ID, /* params.requestId */
    REWRITE_TASK, /* params.taskId, or taskId in _meta["io.modelcontextprotocol/related-task"] */
    REWRITE_COUNT
};

/* Copies a message and replaces ids in the copy. with: the new JSON text for each enum
 * rewrite_what; {NULL, 0}: the id is unchanged. It is an error if the message lacks the id for
 * REWRITE_ID; other ids may be missing. */
MI_MUST int rewrite_message(struct buf *b, struct slice recorded,
                            const struct slice with[REWRITE_COUNT]);
/* Returns the value that `what` names in a message; JSON_NONE if the message lacks this value. */
struct json_value message_get_value_to_rewrite(struct slice message, enum rewrite_what what);

#endif
