#include "cli/filter.h"

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
    struct buf b = {0}; /* fnmatch() wants an end */
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

bool filter_takes(const struct filter *f, const struct query_session *s)
{
    return s->started_at_us >= f->since_us && s->started_at_us < f->until_us &&
           filter_name(f->server, s->name) && filter_name(f->client, s->client_name);
}
