#include "cli/ui/text/find.h"

static char to_lower_case_letter(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static char to_upper_case_letter(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - ('a' - 'A')) : c;
}

static bool begins_with_needle(const char *p, struct slice needle)
{
    for (size_t i = 0; i < needle.n; i++)
        if (to_lower_case_letter(p[i]) != to_lower_case_letter(needle.p[i]))
            return false;
    return true;
}

/* Returns the first position of the byte at or after p; `end` if there is none. */
static const char *find_byte_or_end(const char *p, const char *end, char c)
{
    const char *at = p < end ? memchr(p, c, (size_t)(end - p)) : NULL;
    return at != NULL ? at : end;
}

size_t find_next_match(struct slice text, size_t from, struct slice needle)
{
    if (needle.n == 0 || needle.n > text.n || from > text.n - needle.n)
        return FIND_NONE;
    const char *end = text.p + (text.n - needle.n + 1);
    char low = to_lower_case_letter(needle.p[0]), up = to_upper_case_letter(needle.p[0]);
    /* The lower-case and the upper-case letter are searched separately. So each byte is searched at
     * most twice. */
    const char *next_low = find_byte_or_end(text.p + from, end, low);
    const char *next_up = low == up ? end : find_byte_or_end(text.p + from, end, up);
    while (next_low < end || next_up < end) {
        const char *p = next_low < next_up ? next_low : next_up;
        if (begins_with_needle(p, needle))
            return (size_t)(p - text.p);
        if (p == next_low)
            next_low = find_byte_or_end(p + 1, end, low);
        else
            next_up = find_byte_or_end(p + 1, end, up);
    }
    return FIND_NONE;
}

size_t find_last_match(struct slice text, size_t before, struct slice needle)
{
    if (needle.n == 0 || needle.n > text.n)
        return FIND_NONE;
    for (size_t i = size_min(before, text.n - needle.n + 1); i > 0; i--)
        if (begins_with_needle(text.p + i - 1, needle))
            return i - 1;
    return FIND_NONE;
}
