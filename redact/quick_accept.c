/* quick_accept.c - recognizes most JSON in which the walk (walk.c) replaces nothing, in a third of
 * the time of the walk.
 *
 * Each exception of the walk that depends on more than one string or key makes the test fail:
 * `value` beside `name`, a `blob` or `data` of base64, headers, options and their arguments, the
 * content of a call, and anything malformed. */
#include "redact/member_value.h"
#include "redact/read.h"

/* Whether the walk has an exception for the value of this key. Tests the length of the key first,
 * because this function runs for each key. */
static bool key_decides_value_handling(struct slice key)
{
    if (key.n <= 5) {
        enum role role = member_value_get_role(key);
        return role == ROLE_VALUE || role == ROLE_BLOB;
    }
    return (key.p[key.n - 1] | 0x20) == 's' && member_value_get_zone(ZONE_ANY, key) == ZONE_HEADERS;
}

/* Whether the walk may treat the value of this key differently from other values. Sets *arguments
 * if the key is `arguments`, because names of sensitive content may follow. */
static bool key_may_need_redaction(const struct redact *r, struct slice key, bool *arguments)
{
    if ((key_name_may_match_rule(&r->keys, key.p, key.p + key.n) &&
         key_find_rule(&r->keys, key) != NULL) ||
        key_decides_value_handling(key) || (*arguments && key_is_content(&r->keys, key)))
        return true;
    *arguments |= r->how == REDACT_CONTENT && slice_is(key, "arguments");
    return false;
}

/* Whether the string may be NAME=VALUE where NAME is the name of a secret. */
static bool string_is_assignment(const struct redact *r, struct slice raw)
{
    const char *at = memchr(raw.p, '=', size_min(raw.n, REDACT_NAME_LOOK));
    if (at == NULL || !key_name_may_match_rule(&r->keys, raw.p, at))
        return false;
    for (const char *p = raw.p; p < at; p++)
        if (*p == ' ' || *p == '/' || *p == ':')
            return false;
    return true;
}

/* Whether the string may be an option such as --password, an assignment, or contain JSON. */
static bool string_may_need_redaction(const struct redact *r, struct slice raw, bool escapes)
{
    if (raw.n == 0)
        return false;
    char c = raw.p[0];
    return c == '-' || string_is_assignment(r, raw) || (escapes && redact_may_contain_json(r, raw));
}

/* Returns true if a key or another string may need redaction, or if an invalid character follows a
 * string. A string before a colon is a key. */
static bool strings_may_need_redaction(const struct redact *r, struct slice json)
{
    const char *p = json.p, *end = json.p + json.n;
    bool arguments = false;
    for (;;) {
        while (p < end && *p != '"')
            p++;
        if (p == end)
            return false;
        const char *behind = read_find_quote_or_escape(p + 1, end);
        bool escapes = behind < end && *behind == '\\', odd = false;
        behind = escapes ? read_string(p, end, &odd) : behind + (behind < end);
        const char *next = redact_skip_space(behind, end);
        if (odd || next == end)
            return true;
        /* The text continues after the string, so the string has a closing quote. */
        struct slice raw = {p + 1, (size_t)(behind - p) - 2};
        if (*next == ':' ? escapes || key_may_need_redaction(r, raw, &arguments)
                         : (*next != ',' && *next != '}' && *next != ']') ||
                               string_may_need_redaction(r, raw, escapes))
            return true;
        p = next;
    }
}

bool json_needs_no_redaction(struct redact *r, struct slice json)
{
    return !r->thorough && r->pointers.n == 0 && !strings_may_need_redaction(r, json) &&
           no_shape_matches(r, 0, json.n);
}
