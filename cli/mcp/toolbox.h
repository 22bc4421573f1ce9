/* toolbox.h - the definitions of our tools: lists them for a client, and checks a call.
 *
 * Owns      a copy of cli/mcp/tools.json without white space, and the compiled schemas.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_CLI_MCP_TOOLBOX_H
#define MI_CLI_MCP_TOOLBOX_H

#include "base/json_out.h"
#include "cli/mcp/tool.h"
#include "wire/mcp/method.h"
#include "wire/schema/tools.h"

struct toolbox {
    struct buf text;        /* owned; a result of tools/list */
    struct json_value list; /* the array of definitions in `text` */
    struct tools tools;     /* owned; the compiled schemas */
};

MI_MUST int toolbox_open(struct toolbox *t);
void toolbox_close(struct toolbox *t); /* may be called after toolbox_open() has failed */
/* Adds the member `tools`, an array of the definitions of our tools. Leaves out members of a
 * definition that the revision does not have. */
void toolbox_write_list(const struct toolbox *t, enum revision revision, struct json_out *j);

enum toolbox_result {
    TOOLBOX_READY,
    TOOLBOX_UNKNOWN,      /* the tool does not exist */
    TOOLBOX_BAD_ARGUMENTS /* the arguments are invalid; `why` has the reason */
};
/* Finds the tool that a tools/call names, and checks whether its arguments fit. *ret_list: the list
 * for answer_list_tool(). */
enum toolbox_result toolbox_find(struct toolbox *t, const struct rpc *call, tool_fn *ret,
                                 const struct list **ret_list, struct buf *why);

#endif
