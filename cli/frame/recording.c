#include "cli/frame/recording.h"

#include "base/log.h"
#include "cli/frame/session.h"

bool recording_is_file(const char *operand)
{
    return operand != NULL && strpbrk(operand, "/.") != NULL;
}

/* Opens the session, and sets r->title to its description. */
static int recording_open_session(struct recording *r, const struct query_session *session,
                                  struct buf *error)
{
    int st = session_describe(r->query, session, &r->title);
    r->session_id = session->number;
    if (st == 0)
        return source_open_session(&r->source, r->query, session, error);
    buf_adds(error, query_error(r->query));
    return st;
}

/* Opens the newest matching session. before: only sessions older than this id; 0: any. */
static int open_newest_session(struct recording *r, const char *server, int64_t before,
                               struct buf *error)
{
    struct query_session session;
    int st = source_pick_session(r->query, server, before, session_is_running, &session, error);
    r->picked = true;
    return st < 0 ? st : recording_open_session(r, &session, error);
}

static int open_session(struct recording *r, const char *ref, const char *server, struct buf *error)
{
    struct query_session session;
    bool named = false;
    int st = ref != NULL ? query_reference_is_server_name(r->query, ref, &named) : 0;
    if (st == 0 && (ref == NULL || named || strcmp(ref, "last") == 0))
        return open_newest_session(r, named ? ref : server, 0, error);
    if (st == 0)
        st = query_session(r->query, ref, &session);
    if (st < 0) {
        buf_adds(error, query_error(r->query));
        return st;
    }
    return recording_open_session(r, &session, error);
}

static int open_previous_session(struct recording *r, const struct recording *of, struct buf *error)
{
    struct query_session session;
    struct buf uid = {0}, name = {0};
    buf_slice_add(&uid, of->name);
    int st = query_session(r->query, buf_str(&uid), &session);
    if (st == 0) {
        int64_t before = session.id;
        buf_slice_add(&name, session.name);
        st = open_newest_session(r, buf_str(&name), before, error);
    } else {
        buf_adds(error, query_error(r->query));
    }
    buf_close(&uid);
    buf_close(&name);
    return st;
}

/* If opening has failed, reports the error; otherwise sets r->name. */
static int recording_finish(struct recording *r, int st, struct buf *error)
{
    if (st == 0 && r->title.failed)
        st = MI_ENOMEM;
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(error));
    else
        r->name = r->file != NULL ? slice_of(r->file) : source_info(r->source)->uid;
    buf_close(error);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

int recording_open_operand(struct recording *r, const struct settings *s, const char *operand,
                           const char *server)
{
    struct buf error = {0};
    *r = (struct recording){.file = recording_is_file(operand) ? operand : NULL};
    int status = r->file == NULL ? session_vault_open(s, &r->query) : EXIT_FINE;
    if (status != EXIT_FINE)
        return status;
    if (r->file == NULL)
        return recording_finish(r, open_session(r, operand, server, &error), &error);
    buf_adds(&r->title, r->file);
    return recording_finish(r, source_open_cassette(&r->source, r->file, &error), &error);
}

int recording_open_previous(struct recording *r, const struct settings *s,
                            const struct recording *of)
{
    struct buf error = {0};
    *r = (struct recording){0};
    int status = session_vault_open(s, &r->query);
    return status == EXIT_FINE ? recording_finish(r, open_previous_session(r, of, &error), &error)
                               : status;
}

int recording_open(struct recording *r, const struct settings *s, const char *operand,
                   const char *server)
{
    int status = recording_open_operand(r, s, operand, server);
    if (status == EXIT_FINE && r->picked)
        log_note("the recording is %s", buf_str(&r->title));
    return status;
}

void recording_close(struct recording *r)
{
    source_close(r->source);
    query_close(r->query);
    buf_close(&r->title);
    *r = (struct recording){0};
}
