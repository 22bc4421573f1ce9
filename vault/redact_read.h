/* redact_read.h - steps through JSON that is read as it stands: valid, or the head of some, or none.
 *
 * Bounds    nothing at or behind `end` is read, whatever the text is. What has no end in it ends there.
 * Blocks    never. Pure. Between the redact*.c files. */
#ifndef MI_VAULT_REDACT_READ_H
#define MI_VAULT_REDACT_READ_H

#include "base/base.h"

static inline bool read_is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}
static inline const char *read_space(const char *p, const char *end)
{
    while (p < end && read_is_space(*p))
        p++;
    return p;
}
/* From the opening quote to behind the closing one. `*odd` is set when an escape stands for a letter. */
const char *read_string(const char *p, const char *end, bool *odd);
/* Between the quotes of such a string. Where the text ends inside it, an escape that is not whole is left out. */
struct slice read_between(const char *p, const char *behind, const char *end);
/* Behind the string, container or other value that begins at p. */
const char *read_value(const char *p, const char *end);

/* The members of an object, one after another: p is behind its brace. */
struct read_members {
    const char *p, *end;
};
/* false: there are no more, or the text ends. */
bool read_member(struct read_members *m, struct slice *ret_key, struct slice *ret_value);

#endif
