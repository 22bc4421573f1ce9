#include "cli/diff/excerpt.h"

#include "base/text.h"

/* if the values differ before this byte, the excerpts start at the beginning of the values */
#define SHORT 40
#define BEFORE 20 /* number of bytes shown before the difference */

/* Returns the start of the escape that contains byte `at`. If no escape contains it, returns
 * `at`. */
static size_t find_start_of_escape(struct slice s, size_t at)
{
    for (size_t i = at; i > 0 && at - i < 6; i--) {
        size_t slashes = 0;
        while (slashes < i && s.p[i - 1 - slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0)
            continue;
        size_t length = i < s.n && s.p[i] == 'u' ? 6 : 2;
        return i - 1 + length > at ? i - 1 : at;
    }
    return at;
}

/* Returns where the excerpt begins. The values are equal before `differs`. */
static size_t find_excerpt_begin(struct slice a, size_t differs)
{
    if (differs <= SHORT)
        return 0;
    size_t at = differs - BEFORE;
    while (at > 0 && text_is_utf8_continuation(a.p + at))
        at--;
    return find_start_of_escape(a, at);
}

struct excerpt excerpt_cut_around_difference(struct slice a, struct slice b)
{
    struct excerpt e = {0};
    const struct slice value[2] = {a, b};
    if (a.p != NULL && b.p != NULL && !slice_eq(a, b)) {
        size_t differs = 0;
        while (differs < size_min(a.n, b.n) && a.p[differs] == b.p[differs])
            differs++;
        e.at = find_excerpt_begin(a, differs);
    }
    for (int i = 0; i < 2; i++) {
        if (value[i].p == NULL)
            continue;
        struct slice rest = {value[i].p + e.at, value[i].n - e.at};
        e.text[i] = text_prefix(rest, EXCERPT_MAX);
        e.cut[i] = e.text[i].n < rest.n;
    }
    return e;
}
