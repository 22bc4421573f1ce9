#include "cli/wrap/mcpfile/mcpfile_scan.h"

bool mcpfile_fail(struct mcpfile_scan *s, const char *at, const char *why)
{
    if (s->why == NULL) {
        s->why = why;
        s->at = at;
    }
    return false;
}

void mcpfile_push_key(struct mcpfile_scan *s, struct span key)
{
    if (s->depth < MCPFILE_LEVELS)
        s->level[s->depth] = key;
    s->depth++;
}

void mcpfile_pop_to_depth(struct mcpfile_scan *s, size_t depth)
{
    s->depth = depth;
}
