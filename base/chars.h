/* chars.h - classifies ASCII characters, independently of the locale. Bytes above 0x7F belong to no
 * class.
 *
 * Blocks    never. Pure. */
#ifndef MI_BASE_CHARS_H
#define MI_BASE_CHARS_H

#include <stdbool.h>

static inline bool char_is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static inline bool char_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}
static inline bool char_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}
static inline bool char_is_letter(char c)
{
    return char_is_lower((char)(c | 0x20));
}
/* Returns true for the white space of JSON. */
static inline bool char_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
/* Returns the value of a hexadecimal digit, or -1 for any other character. */
static inline int char_hex_digit_value(char c)
{
    if (char_is_digit(c))
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
/* Returns the value of a lower-case hexadecimal digit, or -1. */
static inline int char_hex_lower_value(char c)
{
    return char_is_upper(c) ? -1 : char_hex_digit_value(c);
}

#endif
