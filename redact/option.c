#include "redact/option.h"

#include "redact/member_value.h"
#include "redact/read.h"

#include <strings.h>

#define NUMBER_MAX 5 /* maximum digits of a port or a number of seconds, which is not a secret */

/* Returns the name of an option without its dashes; empty if this is not an option, or one without
 * a value such as `--no-password`. */
static struct slice option_name_without_dashes(struct slice raw)
{
    static const char *const flags[] = {"no",    "ask",      "prompt", "show",
                                        "hide",  "without",  "enable", "disable",
                                        "print", "generate", "use",    NULL};
    if (raw.n < 3 || raw.n > OPTION_MAX || raw.p[0] != '-')
        return (struct slice){0};
    size_t dashes = raw.p[1] == '-' ? 2 : 1;
    struct slice name = {raw.p + dashes, raw.n - dashes};
    size_t word = 0;
    while (word < name.n && name.p[word] != '-' && name.p[word] != '_')
        word++;
    return slice_is_in_word_list((struct slice){name.p, word}, flags) ? (struct slice){0} : name;
}

const struct key_rule *option_find_rule(const struct keys *k, struct slice raw)
{
    struct slice name = option_name_without_dashes(raw);
    for (size_t i = 0; i < name.n; i++)
        if (name.p[i] == '=' || name.p[i] == ' ' || name.p[i] == '\\')
            return NULL;
    return name.n > 0 ? key_find_rule(k, name) : NULL;
}

static bool ends_with_ignoring_case(struct slice s, const char *end)
{
    size_t n = strlen(end);
    return s.n >= n && strncasecmp(s.p + s.n - n, end, n) == 0;
}

bool option_takes_header(struct slice raw, struct slice *ret_header)
{
    *ret_header = (struct slice){0};
    if (raw.n < 2 || raw.p[0] != '-')
        return false;
    const char *is = memchr(raw.p, '=', size_min(raw.n, OPTION_MAX));
    struct slice option = {raw.p, is != NULL ? (size_t)(is - raw.p) : raw.n};
    struct slice name = option_name_without_dashes(option);
    if (is != NULL)
        *ret_header = (struct slice){is + 1, raw.n - option.n - 1};
    return slice_is(option, "-H") || ends_with_ignoring_case(name, "header") ||
           ends_with_ignoring_case(name, "headers");
}

/* ---- the header ------------------------------------------------------------------------------ */

/* The rule for headers whose name is not in the tables. */
static const struct key_rule any_header = {"", "header", KEY_NO_WORD};

static bool value_is_short_number(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return s.n <= NUMBER_MAX;
}

static bool text_is_header_name(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!char_is_letter(s.p[i]) && (s.p[i] < '0' || s.p[i] > '9') &&
            memchr("-_.", s.p[i], 3) == NULL)
            return false;
    return s.n > 0 && s.p[0] != '-';
}

const struct key_rule *option_find_header_rule(const struct keys *k, struct slice header,
                                               struct slice *ret_value)
{
    struct slice s = redact_trim_white_space(header, true);
    if (s.n > 0 && s.p[0] == '{') { /* JSON: --headers '{"NAME":"VALUE"}' */
        *ret_value = s;
        return &any_header;
    }
    size_t n = 0;
    while (n < s.n && s.p[n] != ':' && s.p[n] != '=')
        n++;
    struct slice name = redact_trim_white_space((struct slice){s.p, n}, false);
    if (n == s.n || !text_is_header_name(name))
        return NULL;
    struct slice value = redact_trim_white_space((struct slice){s.p + n + 1, s.n - n - 1}, true);
    if (value_is_short_number(value) || slice_begins(value, "//"))
        return NULL; /* the string is host:port or a URL, not a header */
    *ret_value = redact_strip_auth_scheme(value);
    const struct key_rule *rule = key_find_rule(k, name);
    return rule != NULL ? rule : key_is_plain_header(k, name) ? NULL : &any_header;
}
