#include "cli/complete/recorded.h"

#include "base/clock.h"
#include "base/text.h"
#include "vault/query/reader.h"

#include <stdio.h>

#define SESSIONS_MAX 300  /* maximum number of sessions read, the newest first */
#define REQUESTS_MAX 1000 /* maximum number of requests read of each session */

struct reading {
    struct candidates *c;
    struct query *q;
    enum recorded what;
    int64_t end_us;   /* time at which reading ends, on the clock of clock_mono_us() */
    int64_t requests; /* number of requests of the current session read so far */
};

static bool recorded_wants_more_candidates(const struct reading *r)
{
    return r->c->recorded < CANDIDATES_MAX && clock_mono_us() < r->end_us;
}

static void recorded_add_session(struct candidates *c, const struct query_session *s)
{
    char id[24];
    struct buf about = {0};
    snprintf(id, sizeof id, "%lld", (long long)s->id);
    text_append_visible(&about, s->name);
    buf_printf(&about, ", %s", clock_format_local_time(s->started_at_us).s);
    candidates_add_recorded_word(c, slice_of(id), buf_str(&about));
    candidates_add_recorded_word(c, s->name, "its newest session");
    buf_close(&about);
}

static bool recorded_on_request(void *ctx, const struct query_message *m)
{
    struct reading *r = ctx;
    if (r->what == RECORDED_METHOD)
        candidates_add_recorded_word(r->c, m->method, NULL);
    else if (m->method.p != NULL && slice_is(m->method, "tools/call"))
        candidates_add_recorded_word(r->c, m->target, NULL);
    return ++r->requests < REQUESTS_MAX && recorded_wants_more_candidates(r);
}

static bool add_names_of_session(void *ctx, const struct query_session *s)
{
    struct reading *r = ctx;
    struct filter requests = FILTER_ANY;
    struct message_question question = {.filter = &requests, .to = INT64_MAX};
    requests.kinds = 1u << KIND_REQUEST;
    switch (r->what) {
    case RECORDED_SESSION:
        recorded_add_session(r->c, s);
        break;
    case RECORDED_SERVER:
        candidates_add_recorded_word(r->c, s->name, NULL);
        break;
    case RECORDED_CLIENT:
        candidates_add_recorded_word(r->c, s->client_name, NULL);
        break;
    case RECORDED_TOOL:
    case RECORDED_METHOD:
        r->requests = 0;
        question.session_id = s->id;
        if (query_messages_without_bodies(r->q, &question, QUERY_FORWARD, recorded_on_request, r) <
            0)
            return false;
        break;
    }
    return recorded_wants_more_candidates(r);
}

void recorded_add_candidates(struct candidates *c, enum recorded what, const char *vault)
{
    struct buf error = {0};
    struct reading r = {.c = c, .what = what, .end_us = clock_mono_us() + RECORDED_US};
    if (query_open(&r.q, vault, &error) == 0) {
        if (query_sessions(r.q, SESSIONS_MAX, add_names_of_session, &r) < 0)
            /* after an error, no further candidates from recordings are added */
            c->recorded = CANDIDATES_MAX;
        query_close(r.q);
    }
    buf_close(&error);
}
