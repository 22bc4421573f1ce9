#include "cli/frame/filter.h"

#include "cli/frame/session.h"

#include <limits.h>
#include <stdlib.h>

static const char *filter_get_option_text(const struct settings *s, const char *name)
{
    return settings_has_option(s, name) ? settings_get_text(s, name) : NULL;
}

/* Returns the directory without symbolic links, as a recorder stores it. Returns the text unchanged
 * if it is a glob, or if the directory does not exist. */
static const char *resolve_project_path(const char *text)
{
    static char path[PATH_MAX];
    bool glob = text != NULL && strpbrk(text, "*?[") != NULL;
    return text != NULL && !glob && realpath(text, path) != NULL ? path : text;
}

void filter_read_from_options(struct filter *f, const struct settings *s)
{
    *f = (struct filter){
        .server = filter_get_option_text(s, "server"),
        .client = filter_get_option_text(s, "client"),
        .project = resolve_project_path(filter_get_option_text(s, "project")),
        .method = filter_get_option_text(s, "method"),
        .tool = filter_get_option_text(s, "tool"),
        .failed = settings_has_option(s, "failed") && settings_is_on(s, "failed"),
        .since_us = INT64_MIN,
        .until_us = INT64_MAX,
    };
    if (filter_get_option_text(s, "slow") != NULL)
        f->slow_us = settings_duration_us(s, "slow");
    if (filter_get_option_text(s, "since") != NULL)
        f->since_us = settings_get_time_us(s, "since");
    if (filter_get_option_text(s, "until") != NULL)
        f->until_us = settings_get_time_us(s, "until");
}

int filter_find_session(struct filter *f, const struct settings *s, struct query *q)
{
    struct query_session found;
    const char *ref = filter_get_option_text(s, "session");
    int st = ref != NULL ? query_session(q, ref, &found) : 0;
    if (st == 0 && ref != NULL)
        f->session_id = found.id;
    return st;
}

struct picking {
    struct query *q;
    int64_t newest; /* id of the newest matching session; 0: none */
    int64_t used;   /* id of the newest matching session that has a message; 0: none */
    int status;     /* status of the last query of the vault */
};

static bool pick_session_if_not_empty(void *ctx, const struct query_session *s)
{
    struct picking *p = ctx;
    int64_t seq = 0, event;
    p->newest = p->newest == 0 ? s->id : p->newest;
    p->status = query_read_last_seq_and_event(p->q, s->id, &seq, &event);
    p->used = seq > 0 ? s->id : 0;
    return p->status == 0 && p->used == 0;
}

int filter_pick_session(const struct filter *f, const struct settings *s, struct query *q,
                        const char *ref, struct query_session *ret)
{
    struct picking p = {.q = q};
    struct filter names = FILTER_ANY;
    names.server = f->server;
    names.client = f->client;
    names.project = f->project;
    bool narrowed = f->server != NULL || f->client != NULL || f->project != NULL;
    int st;
    if (narrowed && ref != NULL)
        return settings_fail_usage(
            s, "'%s': name a session, or select one with --server, --client or --project, not both",
            ref);
    if (!narrowed) {
        st = query_session(q, ref, ret);
    } else {
        st = query_matching_sessions(q, &names, FILTER_HOLDS, 0, pick_session_if_not_empty, &p);
        st = st == 0 ? p.status : st;
        if (st == 0 && p.newest == 0) {
            session_warn_empty_list(q, "no matching session");
            return EXIT_TROUBLE;
        }
        if (st == 0)
            st = query_session_by_id(q, p.used != 0 ? p.used : p.newest, ret);
    }
    return st < 0 ? session_report_query_error(q, st) : EXIT_FINE;
}
