#include "wire/meta.h"

#include "base/chars.h"

static bool is_nonzero_hex(struct slice s, size_t from, size_t n)
{
    bool zero = true;
    for (size_t i = from; i < from + n; i++) {
        if (!char_is_digit(s.p[i]) && (s.p[i] < 'a' || s.p[i] > 'f'))
            return false;
        zero &= s.p[i] == '0';
    }
    return !zero || n == 2;
}

bool meta_is_traceparent(struct slice s)
{
    return s.n >= 55 && s.p[2] == '-' && s.p[35] == '-' && s.p[52] == '-' &&
           is_nonzero_hex(s, 0, 2) && is_nonzero_hex(s, 3, 32) && is_nonzero_hex(s, 36, 16) &&
           is_nonzero_hex(s, 53, 2) && memcmp(s.p, "ff", 2) != 0 &&
           (s.n == 55 || (s.p[55] == '-' && memcmp(s.p, "00", 2) != 0));
}

bool meta_is_pair_list(struct slice s)
{
    const char *end = s.p + s.n;
    for (const char *p = s.p; p < end;) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const char *to = comma != NULL ? comma : end;
        while (p < to && (*p == ' ' || *p == '\t'))
            p++;
        if (p < to && (*p == '=' || memchr(p, '=', (size_t)(to - p)) == NULL))
            return false;
        p = to + 1;
    }
    return true;
}

/* Whether the text has only letters, digits and hyphens, begins with a letter, and ends with a
 * letter or a digit. */
static bool is_meta_label(const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!char_is_letter(p[i]) && !char_is_digit(p[i]) && p[i] != '-')
            return false;
    return n > 0 && char_is_letter(p[0]) && p[n - 1] != '-';
}

/* Whether the text is a list of labels with dots between them. */
static bool is_meta_prefix(struct slice s)
{
    for (size_t from = 0, i = 0; i <= s.n; i++)
        if (i == s.n || s.p[i] == '.') {
            if (!is_meta_label(s.p + from, i - from))
                return false;
            from = i + 1;
        }
    return true;
}

bool meta_key_is_valid(struct slice key)
{
    const char *slash = memchr(key.p, '/', key.n);
    size_t at = slash != NULL ? (size_t)(slash - key.p) + 1 : 0;
    struct slice name = {key.p + at, key.n - at};
    if (slash != NULL && !is_meta_prefix((struct slice){key.p, at - 1}))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        bool inner = i > 0 && i < name.n - 1;
        if (!char_is_letter(name.p[i]) && !char_is_digit(name.p[i]) &&
            !(inner && (name.p[i] == '-' || name.p[i] == '_' || name.p[i] == '.')))
            return false;
    }
    return true;
}
