/* tool_hints.h - remembers which tools of a server are marked readOnlyHint: true in its newest
 * tools/list.
 *
 * A list may have several pages. A tool that is listed twice counts as read-only only if both
 * definitions say so.
 *
 * Owns      the names.
 * Limits    TOOL_HINTS_MAX names of TOOL_HINTS_BYTES_MAX bytes together. With more names, or if out
 *           of memory, the list never counts as complete, and `overflow` is set.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_MCP_TOOL_HINTS_H
#define MI_WIRE_MCP_TOOL_HINTS_H

#include "base/intern.h"

#define TOOL_HINTS_MAX 65536
#define TOOL_HINTS_BYTES_MAX ((size_t)16 << 20)

enum tool_hint {
    TOOL_HINT_READS,   /* readOnlyHint: true */
    TOOL_HINT_WRITES,  /* the tool is in the list, but is not marked read-only */
    TOOL_HINT_ABSENT,  /* the list is complete, and the tool is not in it */
    TOOL_HINT_UNKNOWN, /* no complete list was seen */
};

struct tool_hints {
    struct intern names;
    /* owned; reads[i] is true if the tool with name number i in `names` is read-only */
    bool *reads;
    size_t cap;
    uint64_t next; /* hash of the cursor of the next page; 0: no page is missing */
    bool begun, overflow;
};

/* Begins a page. cursor: hash of the request's cursor; 0: a new list. next: hash of the page's
 * nextCursor; 0: it is the last page. Returns false for a page of another list, whose tools must
 * not be added. */
MI_MUST bool tool_hints_begin_page(struct tool_hints *h, uint64_t cursor, uint64_t next);
void tool_hints_add(struct tool_hints *h, struct slice name, bool reads);
void tool_hints_clear(struct tool_hints *h); /* forgets the list and frees everything */
enum tool_hint tool_hints_get(const struct tool_hints *h, struct slice name);

#endif
