#include "wire/mcp/tool_hints.h"

#include "base/grow.h"

#include <stdlib.h>

void tool_hints_clear(struct tool_hints *h)
{
    intern_close(&h->names);
    free(h->reads);
    *h = (struct tool_hints){0};
}

bool tool_hints_begin_page(struct tool_hints *h, uint64_t cursor, uint64_t next)
{
    if (cursor == 0)
        tool_hints_clear(h);
    else if (!h->begun || h->next != cursor)
        return false;
    h->begun = true;
    h->next = next;
    return true;
}

void tool_hints_add(struct tool_hints *h, struct slice name, bool reads)
{
    uint32_t i;
    bool known = intern_find(&h->names, name, &i);
    if (!known &&
        (h->names.n >= TOOL_HINTS_MAX || h->names.text.n + name.n > TOOL_HINTS_BYTES_MAX ||
         !GROW(h->reads, h->names.n, h->cap) || intern_add(&h->names, name, &i) < 0)) {
        h->overflow = true;
        return;
    }
    h->reads[i] = reads && (!known || h->reads[i]);
}

enum tool_hint tool_hints_get(const struct tool_hints *h, struct slice name)
{
    uint32_t i;
    if (h->begun && intern_find(&h->names, name, &i))
        return h->reads[i] ? TOOL_HINT_READS : TOOL_HINT_WRITES;
    bool complete = h->begun && h->next == 0 && !h->overflow;
    return complete ? TOOL_HINT_ABSENT : TOOL_HINT_UNKNOWN;
}
