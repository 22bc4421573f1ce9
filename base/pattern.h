/* pattern.h - matches untrusted regular expressions in bounded time. Only pattern.c uses PCRE2.
 *
 * Syntax    PCRE2, or ECMA-262 as in JSON Schema as far as PCRE2 supports it: `$` matches only at
 *           the end of the text, \u0041 is a character, \d and \w are ASCII; see pattern.c. A match
 *           may begin anywhere; `.` and classes match characters, not bytes.
 * Limits    PATTERN_MAX bytes of expression; struct pattern_rules limits steps, depth and memory of
 *           one search. If the expression comes from a peer (`ecma`), a quota limits the memory of
 *           all patterns that share it, and the work of a search over all starting points is
 *           limited.
 * Errors    PATTERN_GAVE_UP: a search exceeded a limit, so it is unknown whether there is a match.
 * Owns      the compiled code and its match data. One search at a time. The quota is borrowed and
 *           must outlive the pattern.
 * Blocks    never. */
#ifndef MI_BASE_PATTERN_H
#define MI_BASE_PATTERN_H

#include "base/buf.h"
#include "base/quota.h"
#include "base/work.h"

#define PATTERN_MAX ((size_t)4096)

struct pattern_rules {
    /* true: the syntax of ECMA-262, for valid UTF-8; false: the syntax of PCRE2, for any bytes */
    bool ecma;
    bool jit; /* the expression is compiled to machine code if possible; for frequent searches */
    uint32_t steps;      /* limit of backtracking steps from one starting point */
    uint32_t depth;      /* limit of nested backtracking */
    uint32_t heap_kib;   /* limit of memory for backtracking */
    struct quota *quota; /* counts what the pattern allocates; NULL: allocations are not counted */
};

struct pattern;

enum pattern_result { PATTERN_NO, PATTERN_YES, PATTERN_GAVE_UP };

/* A part of a text that is searched in parts. */
struct pattern_piece {
    /* a match must lie in this text, and so must the text that its lookbehind and lookahead test */
    struct slice text;
    size_t from, limit; /* offsets where a match may begin: from <= start < limit */
    /* more_front: more text precedes `text`, so ^ does not match at its beginning; more_end: more
     * text follows `text`, so $ does not match at its end */
    bool more_front, more_end;
};

/* Returns 0, MI_ENOMEM, MI_EFULL (the quota is too small) or MI_EINVAL (the expression is invalid
 * or too long). The reason is added to `error` unless `error` is NULL. */
MI_MUST int pattern_open(struct pattern **ret, const struct pattern_rules *rules,
                         struct slice regex, struct buf *error);
void pattern_close(struct pattern *p); /* `p` may be NULL */
/* Searches the text for a match. Only for rules with `ecma`. Counts work in *w: one step for each
 * item of the expression that is tried, and one for each eight bytes that an item consumes. */
enum pattern_result pattern_search(struct pattern *p, struct slice text, struct work *w);
/* Finds the first match that is not empty. On PATTERN_YES, *ret is group 1, or the whole match if
 * group 1 is empty. Only for rules without `ecma`. */
enum pattern_result pattern_find_match(struct pattern *p, const struct pattern_piece *piece,
                                       struct slice *ret);
/* Appends the version of the loaded PCRE2 library, such as "10.42". */
void pattern_append_library_version(struct buf *b);

#endif
