/* token.h - the tokens of JSON text that may be invalid: nothing outside of the text is ever read.
 *
 * In valid JSON the results are exact. In invalid text any byte belongs to some token, and each token has at least one
 * byte, so that reading always ends.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_DETAIL_TOKEN_H
#define MI_CLI_UI_DETAIL_TOKEN_H

#include "base/base.h"

static inline bool token_opens(char c)
{
    return c == '{' || c == '[';
}
static inline bool token_closes(char c)
{
    return c == '}' || c == ']';
}
/* Past white space. */
size_t token_blank(struct slice s, size_t at);
/* Past white space, commas and colons: to the next value, key or closing bracket. */
size_t token_next(struct slice s, size_t at);
/* Past the string, number or word at `at`, which is not a bracket. at < s.n. */
size_t token_end(struct slice s, size_t at);
/* Past the object or array, or the token, at `at`. *ret_children: its members or elements. */
size_t token_skip(struct slice s, size_t at, size_t *ret_children);
/* If a key begins at `at`: past its colon and white space, to its value; else `at`. */
size_t token_value(struct slice s, size_t at);

#endif
