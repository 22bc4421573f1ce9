#include "cli/frame/filter.h"

#include "cli/frame/session.h"
#include "journal/uid.h"

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

static bool filter_names(const struct filter *f, const struct query_session *s)
{
    if (f->session_id != 0 && s->id != f->session_id)
        return false;
    return filter_name(f->server, s->name) && filter_name(f->client, s->client_name);
}

int filter_find_session(struct filter *f, const struct settings *s, struct query *q)
{
    struct query_session found;
    const char *ref = text_of(s, "session");
    int st = ref != NULL ? query_session(q, ref, &found) : 0;
    if (st == 0 && ref != NULL)
        f->session_id = found.id;
    return st;
}

struct picking {
    const struct filter *filter;
    struct query *q;
    int64_t newest, used; /* used: the newest with a message; 0: none */
    int status;
};

static bool on_session(void *ctx, const struct query_session *s)
{
    struct picking *p = ctx;
    int64_t seq = 0, event;
    if (!filter_names(p->filter, s))
        return true;
    p->newest = p->newest == 0 ? s->id : p->newest;
    p->status = query_last(p->q, s->id, &seq, &event);
    p->used = seq > 0 ? s->id : 0;
    return p->status == 0 && p->used == 0;
}

int filter_pick(const struct filter *f, const struct settings *s, struct query *q, const char *ref,
                struct query_session *ret)
{
    struct picking p = {.filter = f, .q = q};
    bool narrowed = f->server != NULL || f->client != NULL;
    int st;
    if (narrowed && ref != NULL)
        return settings_usage(
            s, "'%s': name a session, or select one with --server or --client, not both", ref);
    if (!narrowed) {
        st = query_session(q, ref, ret);
    } else {
        st = query_sessions(q, 0, on_session, &p);
        st = st == 0 ? p.status : st;
        if (st == 0 && p.newest == 0) {
            session_none(q, "no matching session");
            return EXIT_TROUBLE;
        }
        if (st == 0)
            st = query_session_by_id(q, p.used != 0 ? p.used : p.newest, ret);
    }
    return st < 0 ? session_fail(q, st) : EXIT_FINE;
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

bool filter_selects(const struct filter *f)
{
    return filter_has_call(f) || f->since_us != INT64_MIN || f->until_us != INT64_MAX;
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

bool filter_event(const struct filter *f, int64_t session_started_at_us,
                  const struct query_event *e)
{
    return !filter_has_call(f) && filter_time(f, session_started_at_us + e->t_us);
}

bool filter_takes(const struct filter *f, const struct query_session *s)
{
    return filter_time(f, s->started_at_us) && filter_names(f, s);
}

bool filter_has_passed(const struct filter *f, const struct query_session *s)
{
    return uid_is_valid(s->uid) && 1000 * (uid_time_ms(s->uid) + 1) <= f->since_us;
}

bool filter_may_hold(const struct filter *f, const struct query_session *s)
{
    bool too_old = s->ended_at_us != 0 && s->ended_at_us < f->since_us;
    return !too_old && s->started_at_us < f->until_us && filter_names(f, s);
}
