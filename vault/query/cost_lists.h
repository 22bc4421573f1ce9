/* cost_lists.h - what a server's lists and instructions take of a context (vault/query/cost.h), from its sessions.
 *
 * Rules     Each list is taken from the newest of these sessions that has it among its first
 *           TOOL_LIST_MESSAGES messages: the last list of which all pages came. The instructions
 *           are those of the last answer to initialize or server/discover. Recorded sessions are
 *           read before imported ones. Once the tools are known, at most COST_OLDER further
 *           sessions are read for what is still unknown.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h.
 * Blocks    on the vault. */
#ifndef MI_VAULT_QUERY_COST_LISTS_H
#define MI_VAULT_QUERY_COST_LISTS_H

#include "vault/query/cost.h"

#define COST_OLDER 5

/* The bit of the list, or of the instructions, that an answer to this method has; else 0. */
unsigned cost_lists_bit_of_method(struct slice method);
/* Sets what is known of the lists of `s` and of its tools, whose calls are counted already.
 * s->session: newest first. */
MI_MUST int cost_lists_read(struct cost_server *s, struct query *q);
/* *ret: the tool with this name, which is added if it is new; valid until the next call.
 * cost_read() sets its name. */
MI_MUST int cost_add_tool(struct cost_server *s, struct slice name, struct cost_tool **ret);

#endif
