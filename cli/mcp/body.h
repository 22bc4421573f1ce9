/* body.h - a part of a message's body: the value that a JSON Pointer names, cut.
 *
 * Rules     the content of a string is shown, of any other value its JSON text; of a body that is not JSON its bytes.
 *           Offsets count bytes of that, before anything is escaped. A part has at most max_bytes bytes, fewer if
 *           escapes would make it more than twice as long. In JSON text a `data` or `blob` in base64 is replaced by its size;
 *           a pointer that names it returns it.
 * Owns      nothing; scratch memory is freed at the end of the call.
 * Errors    MI_EINVAL with a sentence in c->error: no such value, or the offset is beyond its end. MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_CLI_MCP_BODY_H
#define MI_CLI_MCP_BODY_H

#include "cli/mcp/tool.h"

struct body_view {
    const char
        *part; /* for the sentence that says how to go on; NULL: the message belongs to no call */
    const char *pointer; /* "": the whole body */
    int64_t offset, max_bytes;
};

/* Adds the members pointer, type, offset, length, text and next_offset, and the text. */
MI_MUST int body_add(struct tool_call *c, const struct body_view *v, struct slice body);

#endif
