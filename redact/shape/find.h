/* find.h - finds secrets by their shape in any text.
 *
 * Input     unescaped text, normally UTF-8; any bytes are accepted.
 * Rules     a built-in table (shape_table.h, listed in docs/sanitizer.md), and the user's patterns.
 *           Each built-in rule has an anchor, that is, a few fixed letters (`ghp_`, `://`, `BEGIN
 *           `). The text is searched for all anchors at once, and a rule is tried only where its
 *           anchor occurs. Entropy is an additional condition, never the only one: UUIDs, digests
 *           and long base64 are not secrets.
 * Order     hits are reported left to right without overlap. Of hits with the same start, the
 *           longest hit is reported; of equally long hits, that of the more specific rule. A hit is
 *           only the secret itself: `pass` in `user:pass@`.
 * Marks     a mark `[redacted:RULE]` is never a hit or part of one.
 * Work      bounded: each byte is examined a limited number of times, whatever the text
 *           (shapes_count_examined_bytes() counts). The user's patterns have their own limits
 *           (shape/pattern.h).
 * Owns      the compiled patterns of the user. The built-in table is static.
 * Lifetime  the name of a hit's rule is static, or valid as long as the struct shapes.
 * Blocks    never. */
#ifndef MI_REDACT_SHAPE_FIND_H
#define MI_REDACT_SHAPE_FIND_H

#include "base/buf.h"

/* Version of the built-in rules; increase it after each change of what they find. */
#define SHAPES_VERSION 1

#define SHAPE_NAME_MAX 48 /* bytes of a rule's name */

struct shapes;

struct shape_hit {
    size_t from, n;   /* offset and length in bytes; n > 0 */
    const char *rule; /* the rule's name: "github-token", …, or NAME of the user's pattern.NAME */
};

/* Opens shapes with the built-in rules. Returns 0 or MI_ENOMEM. */
MI_MUST int shapes_open(struct shapes **ret, struct buf *error);
/* Adds the user's pattern.NAME = REGEX: PCRE2, UTF. The hit is group 1 if the pattern has one, else
 * the whole match. Returns 0, MI_ENOMEM, or MI_EINVAL with a message in `error` that names the
 * problem and its position. */
MI_MUST int shapes_add_pattern(struct shapes *s, const char *name, const char *regex,
                               struct buf *error);
void shapes_close(struct shapes *s); /* accepts NULL */

/* Quick test. Returns false if no built-in rule has a hit in the text. The text may also be a JSON
 * string with its escapes, provided that none of them is \u or \/; the answer then applies to the
 * unescaped string. */
bool shapes_may_match(struct slice text);
/* Returns the first offset in [from, to) where a built-in rule may have a hit. If it returns `to`,
 * there is none, and shapes_may_match() is false for every part of the range. */
size_t shapes_find_anchor(struct slice text, size_t from, size_t to);
/* Whether the user has added patterns. shapes_may_match() and shapes_find_anchor() ignore them. */
bool shapes_have_patterns(const struct shapes *s);
/* Finds the next hit at or after `from`, which is 0 or the end of the previous hit. */
bool shapes_find_next_hit(const struct shapes *s, struct slice text, size_t from,
                          struct shape_hit *ret);

/* Returns the number of bytes that rules have examined so far, for tests of complexity. */
uint64_t shapes_count_examined_bytes(void);

#endif
