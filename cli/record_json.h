/* record_json.h - rows of the vault as JSON objects on one line: what `--json` prints.
 *
 * Rules     a column is a member of the same name; NULL is null. `command`, `rpc_id`, `body` and `detail`
 *           hold JSON text: they become JSON values, or strings when they are not valid JSON.
 *           Control characters and what reorders text are escaped, also inside such values.
 * Owns      nothing; everything is appended to a buffer of the caller, whose `failed` tells of errors.
 * Blocks    never. Pure. */
#ifndef MI_CLI_RECORD_JSON_H
#define MI_CLI_RECORD_JSON_H

#include "cli/session.h"
#include "vault/query.h"

/* Each adds one object without a newline. */
void record_json_session(struct buf *b, const struct query_session *s,
                         const struct session_view *v);
/* body: the message's, or the large one that was read; {NULL, 0} with body_error when that failed. */
void record_json_message(struct buf *b, const struct query_session *s,
                         const struct query_message *m, struct slice body, const char *body_error);
void record_json_event(struct buf *b, const struct query_session *s, const struct query_event *e);

#endif
