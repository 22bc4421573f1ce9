/* JSON pointers of the user (RFC 6901): do they lead to a value, or below it? */
#include "vault/redact_inner.h"

static bool is_segment(const char *segment, struct slice key, size_t index, bool object)
{
    if (strcmp(segment, "*") == 0)
        return true;
    if (object)
        return slice_is(key, segment);
    size_t n = 0;
    for (const char *p = segment; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || n > 1000000)
            return false;
        n = n * 10 + (size_t)(*p - '0');
    }
    return *segment != '\0' && n == index;
}

bool pointer_begins(const struct pointer *p, unsigned depth)
{
    static const char *const way[] = {"params", "arguments"};
    for (unsigned i = 0; i < depth && i < MI_COUNT(way); i++)
        if (i >= p->n || !is_segment(p->segment[i], slice_of(way[i]), 0, true))
            return false;
    return true;
}

enum pointer_way pointer_step(const struct pointer *p, unsigned at, struct slice key, size_t index,
                              bool object)
{
    if (at >= p->n || !is_segment(p->segment[at], key, index, object))
        return POINTER_AWAY;
    return at + 1 == p->n ? POINTER_HERE : POINTER_BELOW;
}
