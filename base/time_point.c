#include "base/time_point.h"

#include "base/units.h"

#include <ctype.h>
#include <time.h>

#define SECOND_US ((int64_t)1000000)

/* Returns the start, in local time, of the day that was `days` days ago. */
static int64_t get_midnight_days_ago(int64_t now_us, int days)
{
    time_t s = (time_t)(now_us / SECOND_US);
    struct tm tm = {0};
    localtime_r(&s, &tm);
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_mday -= days;
    tm.tm_isdst = -1;
    return (int64_t)mktime(&tm) * SECOND_US;
}

/* Reads exactly n digits. Returns -1 if there are fewer. */
static int read_fixed_digits(const char **at, int n)
{
    int v = 0;
    for (; n > 0; n--, ++*at) {
        if (!isdigit((unsigned char)**at))
            return -1;
        v = 10 * v + (**at - '0');
    }
    return v;
}

/* Skips the character `c`. Returns false if *at is another character. */
static bool skip_character(const char **at, char c)
{
    bool found = **at == c;
    *at += found;
    return found;
}

/* Reads up to nine digits after a decimal point; digits after the sixth are ignored. */
static bool read_fraction_of_second(const char **at, int64_t *ret_us)
{
    int n = 0;
    int64_t us = 0;
    for (; isdigit((unsigned char)**at) && n < 9; n++, ++*at)
        us = n < 6 ? 10 * us + (**at - '0') : us;
    for (int i = n; i < 6; i++)
        us *= 10;
    *ret_us = us;
    return n > 0;
}

/* Reads HH:MM, HH:MM:SS or HH:MM:SS.ssssss. */
static bool read_time_of_day(const char **at, struct tm *tm, int64_t *ret_us)
{
    tm->tm_hour = read_fixed_digits(at, 2);
    if (tm->tm_hour < 0 || tm->tm_hour > 23 || !skip_character(at, ':'))
        return false;
    tm->tm_min = read_fixed_digits(at, 2);
    if (tm->tm_min < 0 || tm->tm_min > 59)
        return false;
    if (!skip_character(at, ':'))
        return true;
    tm->tm_sec = read_fixed_digits(at, 2);
    return tm->tm_sec >= 0 && tm->tm_sec <= 59 &&
           (!skip_character(at, '.') || read_fraction_of_second(at, ret_us));
}

static int read_date(const char *text, int64_t *ret_us)
{
    const char *at = text;
    int64_t us = 0; /* microseconds within the second */
    struct tm tm = {.tm_isdst = -1};
    int year = read_fixed_digits(&at, 4);
    bool ok = year >= 1970 && skip_character(&at, '-');
    int month = ok ? read_fixed_digits(&at, 2) : -1;
    ok = month >= 1 && month <= 12 && skip_character(&at, '-');
    tm.tm_mday = ok ? read_fixed_digits(&at, 2) : -1;
    ok = tm.tm_mday >= 1;
    if (ok && (skip_character(&at, 'T') || skip_character(&at, ' ')))
        ok = read_time_of_day(&at, &tm, &us);
    bool utc = ok && skip_character(&at, 'Z');
    if (!ok || *at != '\0')
        return MI_EINVAL;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    struct tm same = tm;
    time_t s = utc ? timegm(&same) : mktime(&same);
    /* the date does not exist, such as the 31st of June */
    if (same.tm_mon != tm.tm_mon || same.tm_mday != tm.tm_mday)
        return MI_EINVAL;
    *ret_us = (int64_t)s * SECOND_US + us;
    return 0;
}

int time_point_parse_text(const char *text, int64_t now_us, int64_t *ret_us)
{
    int64_t ago_us;
    if (strcmp(text, "now") == 0)
        *ret_us = now_us;
    else if (strcmp(text, "today") == 0)
        *ret_us = get_midnight_days_ago(now_us, 0);
    else if (strcmp(text, "yesterday") == 0)
        *ret_us = get_midnight_days_ago(now_us, 1);
    else if (text[strspn(text, "0123456789")] != '\0' && units_parse_duration(text, &ago_us) == 0)
        *ret_us = now_us - ago_us;
    else
        return read_date(text, ret_us);
    return 0;
}
