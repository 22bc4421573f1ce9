/* pattern.h - matches untrusted regular expressions in bounded time. Only pattern.c uses PCRE2.
 *
 * Syntax    PCRE2, or ECMA-262 as in JSON Schema as far as PCRE2 supports it: `$` matches only at the end of the text,
 *           \u0041 is a character, \d \w are ASCII; see ecma.h. Not anchored; `.` and classes match characters, not bytes.
 * Limits    PATTERN_MAX bytes of expression; steps, depth and memory of one search as in struct pattern_rules. Where the
 *           expression comes from a peer (`ecma`): the memory of all patterns with the same quota, and the work of a
 *           whole search, wherever in the text it starts.
 * Errors    PATTERN_GAVE_UP: a search exceeded a limit, so it is unknown whether there is a match.
 * Owns      the compiled code and its match data. One search at a time. The quota is borrowed, and outlives the pattern.
 * Blocks    never. */
#ifndef MI_BASE_PATTERN_H
#define MI_BASE_PATTERN_H

#include "base/buf.h"
#include "base/quota.h"
#include "base/work.h"

#define PATTERN_MAX ((size_t)4096)

struct pattern_rules {
    bool ecma;           /* ECMA-262, on valid UTF-8; else PCRE2, on any bytes */
    bool jit;            /* compile to machine code where allowed: for frequent searches */
    uint32_t steps;      /* limit of backtracking steps from one start */
    uint32_t depth;      /* limit of nested backtracking */
    uint32_t heap_kib;   /* limit of memory for backtracking */
    struct quota *quota; /* everything that the pattern allocates counts here; NULL: not counted */
};

struct pattern;

enum pattern_result { PATTERN_NO, PATTERN_YES, PATTERN_GAVE_UP };

/* A part of a text that is searched in parts. */
struct pattern_piece {
    struct slice text;         /* a match, its lookbehind and its lookahead must be inside */
    size_t from, limit;        /* offsets where a match may begin: from <= start < limit */
    bool more_front, more_end; /* the text continues there: ^ or $ does not match */
};

/* 0; MI_ENOMEM; MI_EFULL: the quota does not suffice; or MI_EINVAL: invalid or too long; the reason is added to `error`,
 * unless that is NULL. */
MI_MUST int pattern_open(struct pattern **ret, const struct pattern_rules *rules,
                         struct slice regex, struct buf *error);
void pattern_close(struct pattern *p); /* NULL is allowed */
/* Is there a match in the text? For rules with `ecma`. The work is counted in *w, a step for each item of the expression
 * that is tried, and one for each eight characters that an item takes. */
enum pattern_result pattern_search(struct pattern *p, struct slice text, struct work *w);
/* Finds the first match that is not empty. On PATTERN_YES, *ret is group 1 if that is not empty, else the match.
 * For rules without `ecma`. */
enum pattern_result pattern_find(struct pattern *p, const struct pattern_piece *piece,
                                 struct slice *ret);
/* The version of the library in use: "10.42". */
void pattern_library(struct buf *b);

#endif
