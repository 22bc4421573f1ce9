/* record_json.h - rows of the vault as JSON objects, for `--json` and for the tools of `mcp`.
 *
 * Rules     a column is a member of the same name; NULL is null. `command`, `rpc_id`, `body` and
 *           `detail` contain JSON text: they become JSON values, or strings if they are not valid
 *           JSON or deeper than JSON_TREE_DEPTH. Control characters and bidirectional overrides are
 *           escaped, also inside such values. If json_out.max_text is set (`mcp` sets it), long
 *           texts are cut, JSON values are written as strings, and null members are left out.
 * Owns      nothing; everything is appended to a buffer of the caller, whose `failed` reports
 *           errors.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_RECORD_JSON_H
#define MI_CLI_FRAME_RECORD_JSON_H

#include "base/json_out.h"
#include "cli/frame/session_line.h"

/* The next three functions add the members of an object. */
/* Adds all members of a message, except its body. */
void record_json_add_message_members(struct json_out *j, const struct query_session *s,
                                     const struct query_message *m);
void record_json_add_event_members(struct json_out *j, const struct query_session *s,
                                   const struct query_event *e);
void record_json_add_call_members(struct json_out *j, const struct query_call *c);

/* The next three functions add one object without a newline. */
void record_json_append_session(struct buf *b, const struct query_session *s,
                                const struct session_view *v);
/* operations: the operations of the session; NULL: not known. body: the body of the message, which
 * the caller has read from its file if it is large; {NULL, 0}, and the reason in body_error, if the
 * file cannot be read. */
void record_json_append_message(struct buf *b, const struct query_session *s,
                                const struct query_message *m,
                                const struct operation_list *operations, struct slice body,
                                const char *body_error);
void record_json_append_event(struct buf *b, const struct query_session *s,
                              const struct query_event *e);

#endif
