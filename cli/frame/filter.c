#include "cli/frame/filter.h"

#include <fnmatch.h>

void filter_read(struct filter *f, const struct settings *s)
{
    *f = (struct filter){
        .server = settings_text(s, "server"),
        .client = settings_text(s, "client"),
        .since_us = INT64_MIN,
        .until_us = INT64_MAX,
    };
    if (settings_text(s, "since") != NULL)
        f->since_us = settings_when_us(s, "since");
    if (settings_text(s, "until") != NULL)
        f->until_us = settings_when_us(s, "until");
}

bool filter_name(const char *glob, struct slice text)
{
    if (glob == NULL)
        return true;
    if (text.p == NULL)
        text = slice_of("");
    if (strpbrk(glob, "*?[") == NULL)
        return slice_is(text, glob);
    struct buf b = {0}; /* fnmatch() needs a NUL */
    buf_slice_add(&b, text);
    bool fits = fnmatch(glob, buf_str(&b), 0) == 0;
    buf_close(&b);
    return fits;
}

bool filter_call(const char *method_glob, const char *tool_glob, struct slice method,
                 struct slice target)
{
    if (!filter_name(method_glob, method))
        return false;
    return tool_glob == NULL ||
           (method.p != NULL && slice_is(method, "tools/call") && filter_name(tool_glob, target));
}

static bool filter_names(const struct filter *f, const struct query_session *s)
{
    return filter_name(f->server, s->name) && filter_name(f->client, s->client_name);
}

bool filter_time(const struct filter *f, int64_t at_us)
{
    return at_us >= f->since_us && at_us < f->until_us;
}

bool filter_takes(const struct filter *f, const struct query_session *s)
{
    return filter_time(f, s->started_at_us) && filter_names(f, s);
}

bool filter_may_hold(const struct filter *f, const struct query_session *s)
{
    bool too_old = s->ended_at_us != 0 && s->ended_at_us < f->since_us;
    return !too_old && s->started_at_us < f->until_us && filter_names(f, s);
}
