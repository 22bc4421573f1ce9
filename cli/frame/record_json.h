/* record_json.h - rows of the vault as JSON objects on one line, for `--json`.
 *
 * Rules     a column is a member of the same name; NULL is null. `command`, `rpc_id`, `body` and `detail`
 *           hold JSON text: they become JSON values, or strings when they are not valid JSON, or deeper than JSON_TREE_DEPTH.
 *           Control characters and bidirectional overrides are escaped, also inside such values.
 * Owns      nothing; everything is appended to a buffer of the caller, whose `failed` reports errors.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_RECORD_JSON_H
#define MI_CLI_FRAME_RECORD_JSON_H

#include "cli/frame/session.h"
#include "vault/query/reader.h"

/* Each adds one object without a newline. */
void record_json_session(struct buf *b, const struct query_session *s,
                         const struct session_view *v);
/* body: that of the message, or the large body read from its file; {NULL, 0} and body_error if reading failed. */
void record_json_message(struct buf *b, const struct query_session *s,
                         const struct query_message *m, struct slice body, const char *body_error);
void record_json_event(struct buf *b, const struct query_session *s, const struct query_event *e);

#endif
