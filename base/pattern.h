/* pattern.h - a regular expression that somebody else wrote, matched in bounded time.
 *
 * Rules     ECMA-262 as JSON Schema has it, as near as PCRE2 comes: `$` is the end of the text alone, \u0041 is
 *           a letter, \d \w \s are ASCII. A match may begin anywhere.
 * Limits    PATTERN_MAX bytes of expression, PATTERN_STEPS of one search. No JIT: an expression is searched a
 *           few times and compiled once.
 * Owns      the compiled code and its match data.
 * Blocks    never. */
#ifndef MI_BASE_PATTERN_H
#define MI_BASE_PATTERN_H

#include "base/base.h"

#define PATTERN_MAX ((size_t)4096)
#define PATTERN_STEPS 100000

struct pattern;

enum pattern_result { PATTERN_NO, PATTERN_YES, PATTERN_GAVE_UP };

/* 0, MI_ENOMEM, or MI_EINVAL: it is no regular expression, or too long. */
MI_MUST int pattern_open(struct pattern **ret, struct slice regex);
void pattern_close(struct pattern *p); /* NULL is fine */
/* The text is valid UTF-8. */
enum pattern_result pattern_search(struct pattern *p, struct slice text);

#endif
