/* token.h - finds the tokens of JSON text. The text may be invalid; no function reads beyond it.
 *
 * In valid JSON the results are exact. In invalid text each byte belongs to some token, and each
 * token has at least one byte, so that reading always ends. The functions return offsets.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_DETAIL_TOKEN_H
#define MI_CLI_UI_DETAIL_TOKEN_H

#include "base/base.h"

static inline bool token_opens_container(char c)
{
    return c == '{' || c == '[';
}
static inline bool token_closes_container(char c)
{
    return c == '}' || c == ']';
}
/* Skips white space. */
size_t token_skip_blank(struct slice s, size_t at);
/* Skips white space, commas and colons, up to the next value, key or closing bracket. */
size_t token_skip_separators(struct slice s, size_t at);
/* Returns the end of the string, number or word at `at`. `at` must be below s.n, and must not be at
 * a bracket. */
size_t token_find_end(struct slice s, size_t at);
/* Skips the object, array or other token at `at`. *ret_children: the number of its members or
 * elements. */
size_t token_skip_value(struct slice s, size_t at, size_t *ret_children);
/* If a key begins at `at`, returns the offset of its value, after the colon and white space.
 * Otherwise returns `at`. */
size_t token_value_of_member(struct slice s, size_t at);

#endif
