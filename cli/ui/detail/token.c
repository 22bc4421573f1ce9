#include "cli/ui/detail/token.h"

#include "base/chars.h"
#include "wire/json/block.h"

size_t token_skip_blank(struct slice s, size_t at)
{
    while (at < s.n && char_is_space(s.p[at]))
        at++;
    return at;
}

size_t token_skip_separators(struct slice s, size_t at)
{
    while (at < s.n && (char_is_space(s.p[at]) || s.p[at] == ',' || s.p[at] == ':'))
        at++;
    return at;
}

#if JSON_BLOCKS
/* Skips blocks of a string that do not contain its closing quote. The byte at `at` must not be
 * escaped. */
static size_t token_skip_string_blocks(struct slice s, size_t at)
{
    uint64_t escaped_first = 0;
    for (; s.n - at >= JSON_BLOCK; at += JSON_BLOCK) {
        struct json_block b = json_block_load(s.p + at);
        uint64_t carry = escaped_first;
        uint64_t escapes = json_block_find_escapes(json_block_find_byte(b, '\\'), &carry);
        if ((json_block_find_byte(b, '"') & ~(escapes << 1 | escaped_first)) != 0)
            break;
        escaped_first = carry;
    }
    return at;
}
#else
static size_t token_skip_string_blocks(struct slice s, size_t at)
{
    (void)s;
    return at;
}
#endif

/* Returns the offset after the closing quote, which is the first quote after an even number of
 * backslashes. */
static size_t token_find_string_end(struct slice s, size_t at)
{
    unsigned quotes = 0;
    for (size_t i = at + 1; i < s.n; i++) {
        if (++quotes % JSON_BLOCK_AFTER == 0)
            i = token_skip_string_blocks(s, i);
        const char *quote = memchr(s.p + i, '"', s.n - i);
        if (quote == NULL)
            return s.n;
        i = (size_t)(quote - s.p);
        size_t slashes = 0;
        while (i - slashes > at + 1 && s.p[i - slashes - 1] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            return i + 1;
    }
    return s.n;
}

/* Bytes that end a number or a word. */
static const char ends_word[256] = {
    [' '] = 1, ['\t'] = 1, ['\n'] = 1, ['\r'] = 1, [','] = 1, [':'] = 1,
    ['{'] = 1, ['}'] = 1,  ['['] = 1,  [']'] = 1,  ['"'] = 1};

size_t token_find_end(struct slice s, size_t at)
{
    if (s.p[at] == '"')
        return token_find_string_end(s, at);
    do
        at++;
    while (at < s.n && !ends_word[(unsigned char)s.p[at]]);
    return at;
}

/* Bytes that have a meaning outside of strings. */
static const char structural[256] = {
    ['{'] = 1, ['['] = 1, ['}'] = 1, [']'] = 1, ['"'] = 1, [','] = 1};

size_t token_skip_value(struct slice s, size_t at, size_t *ret_children)
{
    *ret_children = 0;
    if (!token_opens_container(s.p[at]))
        return token_find_end(s, at);
    size_t first = token_skip_blank(s, at + 1), depth = 0, commas = 0;
    while (at < s.n) {
        char c = s.p[at];
        if (!structural[(unsigned char)c]) {
            at++;
        } else if (c == '"') {
            at = token_find_string_end(s, at);
        } else {
            at++;
            if (token_opens_container(c))
                depth++;
            else if (c == ',')
                commas += depth == 1;
            else if (--depth == 0)
                break;
        }
    }
    if (first < s.n && !token_closes_container(s.p[first]))
        *ret_children = commas + 1;
    return at;
}

size_t token_value_of_member(struct slice s, size_t at)
{
    if (at >= s.n || s.p[at] != '"')
        return at;
    size_t colon = token_skip_blank(s, token_find_end(s, at));
    return colon < s.n && s.p[colon] == ':' ? token_skip_blank(s, colon + 1) : at;
}
