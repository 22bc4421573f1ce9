#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static int64_t clock_read_us(clockid_t id)
{
    struct timespec t;
    if (clock_gettime(id, &t) != 0)
        return 0; /* clock_gettime() cannot fail with these clocks */
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_mono_us(void)
{
    return clock_read_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_us(void)
{
    return clock_read_us(CLOCK_REALTIME);
}

int64_t clock_thread_us(void)
{
    return clock_read_us(CLOCK_THREAD_CPUTIME_ID);
}

static struct tm convert_time_to_utc_fields(int64_t wall_us)
{
    time_t s = (time_t)(wall_us / 1000000);
    struct tm tm = {0};
    gmtime_r(&s, &tm);
    return tm;
}

void clock_utc_text(int64_t wall_us, char *ret)
{
    struct tm tm = convert_time_to_utc_fields(wall_us);
    size_t n = strftime(ret, CLOCK_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret + n, CLOCK_TEXT_MAX - n, ".%03dZ", (int)(wall_us / 1000 % 1000));
}

void clock_utc_day(int64_t wall_us, char *ret)
{
    struct tm tm = convert_time_to_utc_fields(wall_us);
    if (strftime(ret, CLOCK_TEXT_MAX, "%Y-%m-%d", &tm) == 0)
        ret[0] = '\0';
}

void clock_write_local_time(int64_t wall_us, char *ret)
{
    time_t s = (time_t)(wall_us / 1000000);
    struct tm tm = {0};
    localtime_r(&s, &tm);
    if (strftime(ret, CLOCK_TEXT_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
        ret[0] = '\0';
}

struct clock_text clock_format_utc(int64_t wall_us)
{
    struct clock_text t = {.s = ""};
    clock_utc_text(wall_us, t.s);
    return t;
}

struct clock_text clock_format_local_time(int64_t wall_us)
{
    struct clock_text t = {.s = ""};
    clock_write_local_time(wall_us, t.s);
    return t;
}
