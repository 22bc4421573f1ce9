/* shape.h - find secrets by their shape: in any text, wherever it stands.
 *
 * What      a table of rules that is built in (shape_table.h, listed in docs/sanitizer.md), and the
 *           user's patterns. Text is plain: JSON escapes are resolved before. UTF-8, but any bytes do.
 * Rules     each begins at a few fixed letters (`ghp_`, `://`, `-----BEGIN `); the text is searched for
 *           all of them at once, and only where they stand is a rule tried. Entropy is a second
 *           condition, never the only one: UUIDs, digests and long base64 are no secrets by themselves.
 * Order     hits come left to right and do not overlap, the longest first of those that begin together,
 *           then the one of the more special rule. Only the secret is the hit: of `user:pass@` it is `pass`.
 * Twice     what stands in place of a hit, `[redacted:RULE]`, is never a hit or part of one.
 * Work      bounded: each byte is looked at a limited number of times, whatever the text
 *           (shapes_work() counts). A pattern of the user has limits of its own; where it passes
 *           them it counts as no hit from there on.
 * Owns      the compiled patterns of the user. The built-in table is static.
 * Lifetime  a hit's rule is static, or lives as long as the shapes.
 * Blocks    never. */
#ifndef MI_VAULT_SHAPE_H
#define MI_VAULT_SHAPE_H

#include "base/buf.h"

/* Goes up with each change of what the built-in rules find. */
#define SHAPES_VERSION 1

#define SHAPE_NAME_MAX 48 /* bytes of a rule's name */

struct shapes;

struct shape_hit {
    size_t from, n; /* bytes of the text that was given; n > 0 */
    const char
        *rule; /* "github-token", "private-key", …; of the user's: the NAME of pattern.NAME */
};

/* The built-in rules. 0 or MI_ENOMEM. *ret is the caller's. */
MI_MUST int shapes_open(struct shapes **ret, struct buf *error);
/* The user's pattern.NAME = REGEX: PCRE2, UTF. Its group 1 is the hit when it has one, else all that
 * it matches. 0, MI_ENOMEM, or MI_EINVAL with one sentence in `error`: what is wrong, and where. */
MI_MUST int shapes_add(struct shapes *s, const char *name, const char *regex, struct buf *error);
void shapes_close(struct shapes *s); /* NULL is fine */

/* Cheap: false says that no built-in rule has a hit in there. The text may be the inside of a JSON string
 * whose escapes are not resolved, as long as none of them is \u or \/: the answer holds for what it means. */
bool shapes_maybe(struct slice text);
/* The first place in [from, to) that makes shapes_maybe() say so; `to`: there is none, and it says no of each
 * part of the text that lies in there. */
size_t shapes_place(struct slice text, size_t from, size_t to);
/* Has the user added patterns? Then shapes_maybe() is not the whole answer. */
bool shapes_has_patterns(const struct shapes *s);
/* The next hit that begins at `from` or behind it. `from` is 0 or the end of the hit before. */
bool shapes_next(const struct shapes *s, struct slice text, size_t from, struct shape_hit *ret);

/* Bytes that rules have looked at since the start of the program, for tests of how work grows. */
uint64_t shapes_work(void);

#endif
