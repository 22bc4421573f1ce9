/* cost_lists.h - counts the tokens of a server's lists and instructions (vault/query/cost.h), from
 * its recorded sessions.
 *
 * Rules     Each list is taken from the newest session that has a complete list among its first
 *           TOOL_LIST_MESSAGES messages. If such a session has several complete lists, the last one
 *           is taken. The instructions are those of the last answer to initialize or
 *           server/discover. Recorded sessions are read before imported sessions. When the tools
 *           are known, at most COST_OLDER further sessions are read for lists that are still
 *           unknown.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h.
 * Blocks    on the vault. */
#ifndef MI_VAULT_QUERY_COST_LISTS_H
#define MI_VAULT_QUERY_COST_LISTS_H

#include "vault/query/cost.h"

#define COST_OLDER 5

/* Returns the bit of the list, or of the instructions, that an answer to this method contains; 0 if
 * it contains neither. */
unsigned cost_lists_get_method_mask(struct slice method);
/* Reads the lists of `s` from s->session (newest first), and sets the token counts of `s` and of
 * its tools. Call this function after the calls were counted. */
MI_MUST int cost_lists_read(struct cost_server *s, struct query *q);
/* Finds the tool with this name, or adds it. *ret is valid until the next call of this function.
 * Does not set the member `name` of a tool that it adds: cost_read_sessions() sets it later. */
MI_MUST int cost_add_tool(struct cost_server *s, struct slice name, struct cost_tool **ret);

#endif
