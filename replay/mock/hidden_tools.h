/* hidden_tools.h - the tools that the rule of the recorded session (wire/mcp/tool_rule.h) hid from
 * its client. The recording has all tools.
 *
 * Changes   conversation.tools; mock_tools_remove_hidden() also conversation.body.
 * Blocks    never. */
#ifndef MI_REPLAY_MOCK_HIDDEN_TOOLS_H
#define MI_REPLAY_MOCK_HIDDEN_TOOLS_H

#include "replay/mock/state.h"

/* Reads the rule. An unreadable rule hides nothing, and is logged. Returns 0 or MI_ENOMEM. */
MI_MUST int mock_tools_open(struct conversation *s);
/* If s->body is a recorded list of tools, removes the hidden tools from it. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int mock_tools_remove_hidden(struct conversation *s, const struct playback *p);
/* Refuses an unrecorded call of a tool whose name the rule hides, as the interposer does. Rules
 * about read-only tools are not applied here: a call that only such a rule would refuse is a miss.
 * *ret_done: the client has received an answer. */
MI_MUST int mock_tools_refuse_hidden_call(struct conversation *s, const struct rpc *live,
                                          struct mock_batch *batch, bool *ret_done);

#endif
