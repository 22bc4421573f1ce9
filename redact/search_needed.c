/* search_needed.c - quick tests of whether a string must be searched for JSON that has names of
 * secrets. */
#include "redact/member_value.h"
#include "redact/option.h"
#include "redact/read.h"
#include "redact/walk.h"

/* ---- JSON ----------------------------------------------------------------------------------- */

bool text_looks_like_json(struct slice s, bool escaped)
{
    if (s.n < 2 || (s.p[0] != '{' && s.p[0] != '[' && !char_is_space(s.p[0]) && s.p[0] != '\\'))
        return false;
    s = redact_trim_white_space(s, escaped);
    return s.n > 1 &&
           ((s.p[0] == '{' && s.p[s.n - 1] == '}') || (s.p[0] == '[' && s.p[s.n - 1] == ']'));
}

/* Whether an object with at least one member begins at p. `escaped`: the object is inside a JSON
 * string, so the quotes in the object are escaped. */
static bool object_begins_at(const char *p, const char *end, bool escaped)
{
    if (p == end || *p++ != '{')
        return false;
    while (p < end && (char_is_space(*p) || (escaped && end - p > 1 && *p == '\\' &&
                                             (p[1] == 'n' || p[1] == 'r' || p[1] == 't'))))
        p += char_is_space(*p) ? 1 : 2;
    if (escaped)
        return end - p > 1 && p[0] == '\\' && p[1] == '"';
    return p < end && *p == '"';
}

const char *find_next_json_object(const char *p, const char *end, bool escaped)
{
    while (p < end && (p = memchr(p, '{', (size_t)(end - p))) != NULL) {
        if (object_begins_at(p, end, escaped))
            return p;
        p++;
    }
    return NULL;
}

bool redact_may_contain_json(const struct redact *r, struct slice raw)
{
    const char *end = raw.p + raw.n;
    return (text_looks_like_json(raw, true) || find_next_json_object(raw.p, end, true) != NULL) &&
           redact_may_contain_key(r, raw);
}

/* ---- names of secrets ----------------------------------------------------------------------- */

/* Returns the end of the last word before `end`. What follows this word is skipped: separators,
 * escaped white space, the backslashes of a quote; and digits, if `digits` is true. */
static const char *find_end_of_last_word(const char *from, const char *end, bool digits)
{
    for (; end > from; end--) {
        char c = end[-1];
        bool space = end - from > 1 && end[-2] == '\\' && (c == 'n' || c == 'r' || c == 't');
        if (space)
            end--;
        else if (char_is_letter(c) || (unsigned char)c >= 0x80 || (!digits && c >= '0' && c <= '9'))
            break;
    }
    return end;
}

/* Whether the text [from, end) may end with the name of a secret. Only the last REDACT_NAME_MAX
 * bytes of the text are examined. */
static bool is_end_of_secret_name(const struct redact *r, const char *from, const char *end)
{
    end = find_end_of_last_word(from, end, false);
    if (end - from > REDACT_NAME_MAX)
        from = end - REDACT_NAME_MAX;
    return key_name_may_match_rule(&r->keys, from, end) &&
           find_end_of_last_word(from, end, true) > from &&
           key_find_rule(&r->keys, (struct slice){from, (size_t)(end - from)}) != NULL;
}

/* Whether the text between two quotes may be the name of a secret, NAME=VALUE, a header, or the key
 * of base64. The text is a string, or stands between two strings. */
static bool quoted_text_may_be_secret(const struct redact *r, const char *p, const char *end)
{
    if (p == end)
        return false;
    const char *head = p + size_min((size_t)(end - p), REDACT_NAME_LOOK), *behind = end;
    const char *is = memchr(p, '=', (size_t)(head - p)),
               *colon = memchr(p, ':', (size_t)(head - p));
    while (behind > p && behind[-1] == '\\')
        behind--;
    struct slice header, raw = {p, (size_t)(behind - p)};
    return is_end_of_secret_name(r, p, end) || (is != NULL && is_end_of_secret_name(r, p, is)) ||
           (colon != NULL && is_end_of_secret_name(r, p, colon)) ||
           member_value_get_role(raw) == ROLE_BLOB || option_takes_header(raw, &header);
}

/* Whether s must be walked as JSON. Returns false only if a search of s for shapes finds the same
 * secrets: s has no string that the walk treats specially, and no escape that could hide such a
 * string. */
bool redact_may_contain_key(const struct redact *r, struct slice s)
{
    const char *p = s.p, *end = s.p + s.n;
    if (s.n == 0)
        return false;
    if (r->thorough)
        return true;
    while ((p = memchr(p, '\\', (size_t)(end - p))) != NULL) {
        if (++p < end && (*p == 'u' || *p == '/'))
            return true;
    }
    const char *from = s.p;
    for (p = s.p; (p = memchr(p, '"', (size_t)(end - p))) != NULL; from = ++p)
        if (quoted_text_may_be_secret(r, from, p))
            return true;
    return false;
}
