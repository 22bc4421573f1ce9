/* tools.h - the tools that the client of the recording did not see, by the rule of its session (wire/mcp/tool_rule.h): the
 * recording has all of them.
 *
 * Changes   tools; mock_tools_cut() also body.
 * Blocks    never. */
#ifndef MI_REPLAY_MOCK_TOOLS_H
#define MI_REPLAY_MOCK_TOOLS_H

#include "replay/mock/state.h"

/* Reads the rule. One that cannot be read hides nothing, with a warning. 0 or MI_ENOMEM. */
MI_MUST int mock_tools_open(struct conversation *s);
/* The recorded answer in s->body becomes what the client saw, if it is a list of tools. 0 or MI_ENOMEM. */
MI_MUST int mock_tools_cut(struct conversation *s, const struct playback *p);
/* A request that was not recorded: the interposer refuses a call of a tool that is hidden by its name. Whether a tool only reads is
 * not asked: then the call is a miss. *ret_done: the client has its answer. */
MI_MUST int mock_tools_refuse(struct conversation *s, const struct rpc *live,
                              struct mock_batch *batch, bool *ret_done);

#endif
