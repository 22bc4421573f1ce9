/* scan.h - a scan in progress over a client's configuration file: position, path of keys, first error.
 *
 * Errors    false everywhere: mcpfile_fail() was called, and the scan is over. */
#ifndef MI_CLI_WRAP_MCPFILE_SCAN_H
#define MI_CLI_WRAP_MCPFILE_SCAN_H

#include "cli/wrap/mcpfile/servers.h"

#define MCPFILE_LEVELS 8 /* levels of the path that are stored; servers are not nested deeper */

struct mcpfile_language;

/* A level of the path is a key as written; n == 0: an element of an array. */
struct mcpfile_scan {
    struct mcpfile *f;
    const struct mcpfile_language *language;
    const char *p, *end;
    struct span level[MCPFILE_LEVELS];
    size_t depth;   /* of the path, including levels that are not stored */
    size_t nesting; /* open brackets */
    size_t object;  /* offset of the innermost object, or [[table]] of servers */
    struct span
        list[MCPFILE_LEVELS]; /* TOML: the path of the last such table; no levels: there is none */
    size_t list_depth, list_object;
    struct span limit[MCPFILE_NLIMITS]; /* of the object `timeout` that is being read */
    const char *why;                    /* the first error; NULL: none */
    const char *at;                     /* its position */
    bool bare;                          /* the servers are at the top level */
    bool has_list;                      /* JSON: there is a member `mcpServers` at the top level */
    bool no_memory;
};

static inline size_t mcpfile_at(const struct mcpfile_scan *s)
{
    return (size_t)(s->p - s->f->text.p);
}

static inline struct span mcpfile_since(const struct mcpfile_scan *s, const char *from)
{
    return (struct span){(size_t)(from - s->f->text.p), (size_t)(s->p - from)};
}

static inline bool mcpfile_sees(const struct mcpfile_scan *s, char c)
{
    return s->p < s->end && *s->p == c;
}

bool mcpfile_fail(struct mcpfile_scan *s, const char *at, const char *why); /* false */
void mcpfile_push(struct mcpfile_scan *s, struct span key);
void mcpfile_pop(struct mcpfile_scan *s, size_t depth);

#endif
