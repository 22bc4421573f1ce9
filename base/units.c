#include "base/units.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit durations[] = {{"", 1e6},      {"us", 1.},         {"ms", 1e3},
                                        {"s", 1e6},     {"m", 60e6},        {"h", 3600e6},
                                        {"d", 86400e6}, {"w", 7 * 86400e6}, {"mo", 30 * 86400e6}};
static const struct unit sizes[] = {
    {"", 1.},     {"B", 1.},      {"kB", 1e3},       {"MB", 1e6},
    {"GB", 1e9},  {"KiB", 1024.}, {"MiB", 1048576.}, {"GiB", 1073741824.},
    {"k", 1024.}, {"K", 1024.},   {"M", 1048576.},   {"G", 1073741824.}};

static int units_parse_number_with_unit(const char *text, const struct unit *units, size_t units_n,
                                        double max, double *ret)
{
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return MI_EINVAL; /* strtod also accepts signs, blanks, inf and nan */
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return MI_EINVAL;
    char *end;
    double v = strtod(text, &end);
    if (end == text || !isfinite(v))
        return MI_EINVAL;
    for (size_t i = 0; i < units_n; i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        v *= units[i].factor;
        if (v > max)
            return MI_EINVAL;
        *ret = v;
        return 0;
    }
    return MI_EINVAL;
}

int units_parse_duration(const char *text, int64_t *ret_us)
{
    double v;
    int st = units_parse_number_with_unit(text, durations, MI_COUNT(durations),
                                          10. * 366. * 86400e6, &v);
    if (st == 0)
        *ret_us = (int64_t)(v + 0.5);
    return st;
}

int units_parse_size(const char *text, size_t *ret_bytes)
{
    double v;
    int st = units_parse_number_with_unit(text, sizes, MI_COUNT(sizes), 4611686018427387904., &v);
    if (st == 0)
        *ret_bytes = (size_t)(v + 0.5);
    return st;
}

bool units_text_has_unit(const char *text)
{
    size_t n = strlen(text);
    return n > 0 && isalpha((unsigned char)text[n - 1]);
}

/* A value that would be rounded up to one more digit uses the next unit: 999.6ms is shown as
 * 1.00s. */
struct units_text units_format_duration(int64_t us)
{
    struct units_text t;
    double ms = (double)us / 1e3;
    int64_t s = (us + 500000) / 1000000;
    if (us < 1000)
        snprintf(t.s, sizeof t.s, "%dus", (int)us);
    else if (ms < 999.5)
        snprintf(t.s, sizeof t.s, ms < 9.995 ? "%.2fms" : ms < 99.95 ? "%.1fms" : "%.0fms", ms);
    else if (ms < 59950.)
        snprintf(t.s, sizeof t.s, ms < 9995. ? "%.2fs" : "%.1fs", ms / 1e3);
    else if (s < 3600)
        snprintf(t.s, sizeof t.s, "%dm%02ds", (int)(s / 60), (int)(s % 60));
    else
        snprintf(t.s, sizeof t.s, "%dh%02dm", (int)(s / 3600), (int)(s / 60 % 60));
    return t;
}

struct units_text units_format_bytes(int64_t bytes)
{
    static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    struct units_text t;
    double v = (double)bytes;
    size_t i = 0;
    while (v >= (i == 0 ? 1024. : 1023.5) && i + 1 < MI_COUNT(names)) {
        v /= 1024.;
        i++;
    }
    snprintf(t.s, sizeof t.s, i == 0 || v >= 99.95 ? "%.0f%s" : "%.1f%s", v, names[i]);
    return t;
}

void units_show_duration(struct buf *b, int64_t us)
{
    buf_adds(b, units_format_duration(us).s);
}

void units_show_size(struct buf *b, int64_t bytes)
{
    buf_adds(b, units_format_bytes(bytes).s);
}
