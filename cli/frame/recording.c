#include "cli/frame/recording.h"

#include "base/log.h"
#include "cli/frame/session.h"

bool recording_is_file(const char *operand)
{
    return operand != NULL && strpbrk(operand, "/.") != NULL;
}

static bool runs(const struct query_session *s)
{
    return session_state_of(s) == SESSION_LIVE;
}

static int pick_session(struct recording *r, const char *server, struct buf *error)
{
    struct query_session session;
    struct buf title = {0};
    int st = source_pick(r->query, server, runs, &session, error);
    if (st == 0 && (st = session_describe(r->query, &session, &title)) < 0)
        buf_adds(error, query_error(r->query));
    if (st == 0)
        log_note("the recording is %s", buf_str(&title));
    buf_close(&title);
    return st < 0 ? st : source_open_session(&r->source, r->query, &session, error);
}

static int open_session(struct recording *r, const char *ref, const char *server, struct buf *error)
{
    struct query_session session;
    bool named = false;
    int st = ref != NULL ? query_is_server(r->query, ref, &named) : 0;
    if (st == 0 && (ref == NULL || named || strcmp(ref, "last") == 0))
        return pick_session(r, named ? ref : server, error);
    if (st == 0)
        st = query_session(r->query, ref, &session);
    if (st < 0)
        buf_adds(error, query_error(r->query));
    return st < 0 ? st : source_open_session(&r->source, r->query, &session, error);
}

int recording_open(struct recording *r, const struct settings *s, const char *operand,
                   const char *server)
{
    struct buf error = {0};
    *r = (struct recording){.file = recording_is_file(operand) ? operand : NULL};
    int status = r->file == NULL ? session_vault_open(s, &r->query) : EXIT_FINE;
    if (status != EXIT_FINE)
        return status;
    int st = r->file != NULL ? source_open_cassette(&r->source, r->file, &error)
                             : open_session(r, operand, server, &error);
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    else
        r->name = r->file != NULL ? slice_of(r->file) : source_info(r->source)->uid;
    buf_close(&error);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

void recording_close(struct recording *r)
{
    source_close(r->source);
    query_close(r->query);
    *r = (struct recording){0};
}
