/* pick.h - minimal JSON for fake servers: finds a member of an object, as raw text.
 *
 * The text must be valid JSON; keys are compared without resolving escapes. Include it in one file. */
#ifndef MI_FAKES_PICK_H
#define MI_FAKES_PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct part {
    const char *p; /* borrowed; NULL: absent */
    size_t n;
};

static const char *pick_string_end(const char *p)
{
    for (p++; *p != '"'; p++)
        p += *p == '\\';
    return p + 1;
}

static const char *pick_value_end(const char *p)
{
    int depth = 0;
    for (;;) {
        if (*p == '"') {
            p = pick_string_end(p);
        } else {
            depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
            p++;
        }
        if (depth == 0 && (*p == '\0' || strchr(",}]", *p) != NULL))
            return p;
    }
}

static struct part pick(struct part object, const char *key)
{
    size_t n = strlen(key);
    const char *p = object.p;
    if (p == NULL || *p != '{')
        return (struct part){NULL, 0};
    p++;
    for (;;) {
        p += strspn(p, " ,\r\n\t");
        if (*p != '"')
            return (struct part){NULL, 0};
        const char *name = p + 1;
        p = pick_string_end(p);
        bool found = (size_t)(p - name) == n + 1 && memcmp(name, key, n) == 0;
        p += strspn(p, " :\r\n\t");
        const char *end = pick_value_end(p);
        if (found)
            return (struct part){p, (size_t)(end - p)};
        p = end;
    }
}

/* The text between the quotes of a string; {NULL, 0} if it is not a string. */
static struct part pick_text(struct part object, const char *key)
{
    struct part v = pick(object, key);
    if (v.p == NULL || *v.p != '"')
        return (struct part){NULL, 0};
    return (struct part){v.p + 1, v.n - 2};
}

#endif
