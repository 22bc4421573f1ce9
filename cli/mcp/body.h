/* body.h - a part of a message's body: the value that a JSON Pointer names, cut to a size.
 *
 * Rules     a string is shown by its content, any other value as JSON text, and a body that is not
 *           JSON by its bytes. Offsets count these bytes before anything is escaped. A part
 *           has at most max_bytes bytes; fewer, if escapes would make it more than twice as long.
 *           In JSON text, base64 in `data` or `blob` is replaced by its size. If the JSON Pointer
 *           names the base64 itself, the part is the base64.
 * Owns      nothing; scratch memory is freed at the end of the call.
 * Errors    MI_ENOMEM; or MI_EINVAL, then c->error holds a sentence: there is no such value, or the
 *           offset is beyond its end.
 * Blocks    never. Pure. */
#ifndef MI_CLI_MCP_BODY_H
#define MI_CLI_MCP_BODY_H

#include "cli/mcp/tool.h"

struct body_view {
    /* value of the argument `part` with which get_call returns the rest of this body; NULL: the
     * message belongs to no call */
    const char *part;
    const char *pointer; /* JSON Pointer of the value to show; "": the whole body */
    int64_t offset, max_bytes;
};

/* Adds the members pointer, type, offset, length, text and next_offset to the JSON of the result,
 * and the part to the text of the result. */
MI_MUST int body_add_members(struct tool_call *c, const struct body_view *v, struct slice body);

#endif
