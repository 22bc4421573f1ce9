/* tool_list.h - reads the tools of a server from a recorded session.
 *
 * Rules     the list of a session is the first complete answer to tools/list among the session's
 *           first TOOL_LIST_MESSAGES messages. It is read as recorded: secrets are replaced.
 * Owns      a list owns its tools; tool_list_close() frees them.
 * Errors    MI_ENOENT: no session of that server has a complete list; and the errors of
 *           vault/query/reader.h.
 * Blocks    on the vault, as in vault/query/reader.h. */
#ifndef MI_VAULT_QUERY_TOOL_LIST_H
#define MI_VAULT_QUERY_TOOL_LIST_H

#include "vault/query/reader.h"
#include "wire/schema/tools.h"

#define TOOL_LIST_MESSAGES 500
/* maximum number of sessions of a server that are searched, newest first */
#define TOOL_LIST_SESSIONS 100

struct tool_list {
    struct tools tools;
    char uid[32];
    int64_t session_id, number, started_at_us; /* `number`: id of the session in its own vault */
};

/* Which sessions are read. Imported sessions can be excluded, because an imported session may be of
 * another server with the same name. */
enum tool_list_from { TOOL_LIST_RECORDED, TOOL_LIST_RECORDED_OR_IMPORTED };

/* Reads the list of the newest session of this server that has a list. Skips the session with uid
 * `except_uid` (NULL: none) and, unless `before` is 0, session `before` and all newer sessions.
 * Returns 0, MI_ENOENT, MI_ESTORE or MI_ENOMEM. */
MI_MUST int tool_list_read(struct query *q, const char *server, enum tool_list_from from,
                           const char *except_uid, int64_t before, struct tool_list *ret);
/* Reads the list of tools of this session. Returns what tool_list_read() returns. MI_ENOENT: the
 * session has no list. */
MI_MUST int tool_list_load_session(struct query *q, const struct query_session *s,
                                   struct tool_list *ret);
void tool_list_close(struct tool_list *l); /* safe to call twice */

#endif
