#include "cli/frame/filter.h"

#include "cli/frame/session.h"

#include <fnmatch.h>

static const char *text_of(const struct settings *s, const char *name)
{
    return settings_has(s, name) ? settings_text(s, name) : NULL;
}

void filter_read(struct filter *f, const struct settings *s)
{
    *f = (struct filter){
        .server = text_of(s, "server"),
        .client = text_of(s, "client"),
        .method = text_of(s, "method"),
        .tool = text_of(s, "tool"),
        .failed = settings_has(s, "failed") && settings_on(s, "failed"),
        .since_us = INT64_MIN,
        .until_us = INT64_MAX,
    };
    if (text_of(s, "since") != NULL)
        f->since_us = settings_when_us(s, "since");
    if (text_of(s, "until") != NULL)
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

bool filter_call(const struct filter *f, struct slice method, struct slice target)
{
    if (!filter_name(f->method, method))
        return false;
    return f->tool == NULL ||
           (method.p != NULL && slice_is(method, "tools/call") && filter_name(f->tool, target));
}

bool filter_has_call(const struct filter *f)
{
    return f->tool != NULL || f->method != NULL || f->failed;
}

static bool filter_names(const struct filter *f, const struct query_session *s)
{
    return filter_name(f->server, s->name) && filter_name(f->client, s->client_name);
}

bool filter_time(const struct filter *f, int64_t at_us)
{
    return at_us >= f->since_us && at_us < f->until_us;
}

bool filter_message(const struct filter *f, int64_t session_started_at_us,
                    const struct query_message *m)
{
    return filter_time(f, session_started_at_us + m->t_us) &&
           filter_call(f, session_method(m), session_target(m)) &&
           (!f->failed || m->action == ROW_REFUSED || call_status_failed(session_status(m)));
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
