#include "cli/settings/retain.h"

#include "base/units.h"

#include <stdlib.h>

/* The values cannot be invalid, because they were checked when the settings were read. */
static void parse_retention_rules(const char *older, const char *last, const char *size,
                                  struct retention *ret)
{
    size_t bytes = 0;
    *ret = (struct retention){0};
    if (older != NULL && units_parse_duration(older, &ret->older_us) < 0)
        ret->older_us = 0;
    if (size != NULL && units_parse_size(size, &bytes) == 0)
        ret->max_bytes = (int64_t)bytes;
    if (last != NULL)
        ret->keep_last = strtoll(last, NULL, 10);
}

void retain_read_configured_rules(const struct settings *s, struct retention *ret)
{
    parse_retention_rules(s->retention[RETAIN_OLDER], s->retention[RETAIN_LAST],
                          s->retention[RETAIN_SIZE], ret);
    ret->target = s->ship_url;
}

void retain_read_options(const struct settings *s, struct retention *ret)
{
    parse_retention_rules(settings_get_text(s, "older-than"), settings_get_text(s, "keep-last"),
                          settings_get_text(s, "max-size"), ret);
    ret->target = s->ship_url;
}
