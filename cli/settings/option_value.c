#include "cli/settings/option_value.h"

#include "base/time_point.h"
#include "base/units.h"
#include "wire/mcp/tool_rule.h"

#include <ctype.h>

#define NUMBER_MAX 1000000000

bool value_is_allowed_choice(const char *choices, const char *value)
{
    size_t n = strlen(value);
    for (const char *p = choices;; p++) {
        size_t len = strcspn(p, "|");
        if (len == n && memcmp(p, value, n) == 0)
            return true;
        p += len;
        if (*p == '\0')
            return false;
    }
}

bool value_parse_number(const char *value, int64_t *ret)
{
    int64_t n = 0;
    if (value[0] == '\0')
        return false;
    for (const char *p = value; *p != '\0'; p++) {
        if (!isdigit((unsigned char)*p))
            return false;
        n = n * 10 + (*p - '0');
        if (n > NUMBER_MAX)
            return false;
    }
    *ret = n;
    return true;
}

bool value_check_against_option(const struct opt *o, const char *value, struct buf *error)
{
    int64_t n;
    size_t size;
    bool ok = true;
    const char *what = "value", *use = o->arg;
    if (o->arg == NULL)
        return true; /* the option is a flag, whose value opt.c checks */
    if (strcmp(o->arg, "SIZE") == 0) {
        ok = units_parse_size(value, &size) == 0;
        what = "size", use = "bytes, or a unit such as 512KiB or 64MiB";
    } else if (strcmp(o->arg, "DURATION") == 0) {
        ok = units_parse_duration(value, &n) == 0;
        what = "duration", use = "a number and a unit, such as 30s or 5m";
    } else if (strcmp(o->arg, "AGE") == 0) {
        ok = units_text_has_unit(value) && units_parse_duration(value, &n) == 0;
        what = "age", use = "a number and a unit, such as 12h, 30d, 2w or 1mo";
    } else if (strcmp(o->arg, "SPACE") == 0) {
        ok = units_text_has_unit(value) && units_parse_size(value, &size) == 0;
        what = "size", use = "a number and a unit, such as 500MiB or 2GiB";
    } else if (strcmp(o->arg, "WHEN") == 0) {
        ok = time_point_parse_text(value, 0, &n) == 0;
        what = "time", use = "a duration before now, today, or a date such as 2026-01-31 17:05";
    } else if (strcmp(o->arg, "N") == 0) {
        ok = value_parse_number(value, &n);
        what = "number", use = "a number from 0 to 1000000000";
    } else if (strchr(o->arg, '|') != NULL) {
        ok = value_is_allowed_choice(o->arg, value);
    } else if (strcmp(o->arg, "DIR") == 0 || strcmp(o->arg, "FILE") == 0) {
        ok = value[0] != '\0';
        what = "path", use = "a path that is not empty";
    }
    if (strcmp(o->arg, "TOOLS") == 0)
        return tool_rule_check_patterns(value, error) == 0;
    if (!ok)
        buf_printf(error, "invalid %s '%s': use %s", what, value, use);
    return ok;
}
