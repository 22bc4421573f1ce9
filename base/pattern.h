/* pattern.h - a regular expression that somebody else wrote, matched in bounded time. No other file knows PCRE2.
 *
 * Rules     matches may begin anywhere; . [ ] count characters, not bytes. ECMA-262 as JSON Schema has it, as near as
 *           PCRE2 comes: `$` is the end of the text alone, \u0041 is a letter, \d \w \s are ASCII. Or PCRE2's own.
 * Limits    PATTERN_MAX bytes of expression; of one search, the steps, depth and memory that its rules name.
 * Errors    a search that passes a limit says so: whether there is a match is then not known.
 * Owns      the compiled code and its match data. One search at a time.
 * Blocks    never. */
#ifndef MI_BASE_PATTERN_H
#define MI_BASE_PATTERN_H

#include "base/buf.h"

#define PATTERN_MAX ((size_t)4096)

struct pattern_rules {
    bool ecma;         /* ECMA-262, in valid UTF-8; else PCRE2's own, in any bytes */
    bool jit;          /* machine code, where the machine allows it: for what is searched often */
    uint32_t steps;    /* back, of a match from one start */
    uint32_t depth;    /* of nested ones */
    uint32_t heap_kib; /* that they may take */
};

struct pattern;

enum pattern_result { PATTERN_NO, PATTERN_YES, PATTERN_GAVE_UP };

/* Part of a text that is searched piece by piece. */
struct pattern_piece {
    struct slice text;         /* what a match, and what it looks back and ahead at, may lie in */
    size_t from, limit;        /* where in it a match may begin: from <= start < limit */
    bool more_front, more_end; /* the text goes on there: no place for ^, or for $ */
};

/* 0, MI_ENOMEM, or MI_EINVAL: it is no regular expression, or too long; `error` gets the reason, unless it is NULL. */
MI_MUST int pattern_open(struct pattern **ret, const struct pattern_rules *rules,
                         struct slice regex, struct buf *error);
void pattern_close(struct pattern *p); /* NULL is fine */
/* Is there a match in the text? */
enum pattern_result pattern_search(struct pattern *p, struct slice text);
/* Where is the first one that is not empty? On PATTERN_YES *ret is its group 1, if that has something, else all of it.
 * For rules without `ecma`. */
enum pattern_result pattern_find(struct pattern *p, const struct pattern_piece *piece,
                                 struct slice *ret);
/* "10.42": of the library that runs. */
void pattern_library(struct buf *b);

#endif
