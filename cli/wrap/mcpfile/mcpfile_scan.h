/* mcpfile_scan.h - the state of a scan of a client's configuration file: the current position, the
 * keys above this position, and the first error.
 *
 * Errors    functions return false after mcpfile_fail(), which ends the scan. */
#ifndef MI_CLI_WRAP_MCPFILE_MCPFILE_SCAN_H
#define MI_CLI_WRAP_MCPFILE_MCPFILE_SCAN_H

#include "cli/wrap/mcpfile/servers.h"

/* maximum number of levels of a stored path; no servers are nested deeper */
#define MCPFILE_LEVELS 8

struct mcpfile_language;

struct mcpfile_scan {
    struct mcpfile *f;
    const struct mcpfile_language *language;
    const char *p, *end;
    /* the current path; each level is a key with its quotes, or an element of an array (n == 0) */
    struct span level[MCPFILE_LEVELS];
    size_t depth;   /* levels of the path, including those that are not stored */
    size_t nesting; /* number of open brackets */
    /* Offset of the innermost object that contains the position. TOML: offset of the innermost
     * table in braces or, outside of braces, of the [[table]] of servers. 0: there is none, or it
     * begins the file. */
    size_t object;
    /* TOML: path of the last [[table]] of servers; empty if there was no such table */
    struct span list[MCPFILE_LEVELS];
    /* the values that `depth` and `object` had at the header of the last [[table]] of servers */
    size_t list_depth, list_object;
    struct span limit[MCPFILE_NLIMITS]; /* limits of the object `timeout` that is being read */
    const char *why;                    /* the first error; NULL: no error */
    const char *at;                     /* position of the first error */
    bool bare;                          /* the servers are at the top level of the file */
    bool has_list;                      /* JSON: the top level has a member `mcpServers` */
    bool no_memory;
};

static inline size_t mcpfile_get_offset(const struct mcpfile_scan *s)
{
    return (size_t)(s->p - s->f->text.p);
}

static inline struct span mcpfile_span_from_pointer(const struct mcpfile_scan *s, const char *from)
{
    return (struct span){(size_t)(from - s->f->text.p), (size_t)(s->p - from)};
}

static inline bool mcpfile_next_char_is(const struct mcpfile_scan *s, char c)
{
    return s->p < s->end && *s->p == c;
}

bool mcpfile_fail(struct mcpfile_scan *s, const char *at, const char *why); /* returns false */
void mcpfile_push_key(struct mcpfile_scan *s, struct span key); /* adds a level to the path */
void mcpfile_pop_to_depth(struct mcpfile_scan *s,
                          size_t depth); /* shortens the path to `depth` levels */

#endif
