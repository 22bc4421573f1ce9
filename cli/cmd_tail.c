/* cmd_tail.c - `mcp-interposer tail`: what all proxies record, while they do. */
#include "base/log.h"
#include "cli/config.h"
#include "cli/filter.h"
#include "cli/followed.h"
#include "cli/tail_page.h"
#include "cli/watch.h"

#include <stdio.h>

#define LAST_SESSIONS 10 /* of those that have ended, this many are looked at for the last lines */
#define ROUNDS_MAX 2 /* pages of each session that are read before we look at what else there is */
#define REFRESH_MS 1000 /* of the running times of open calls */

static const struct opt table_of_options[] = {
    COMMAND_OPT_VAULT,
    {'n', "last", "N", "20", "how many of the last messages to begin with"},
    {'f', "follow", NULL, NULL,
     "go on with what is recorded from now on; the default on a terminal"},
    {0, "once", NULL, NULL, "do not go on, on a terminal either"},
    {0, "server", "NAME", NULL, "only sessions of this server; a glob such as 'git*' is fine"},
    {0, "client", "NAME", NULL, "only sessions of this client; the same"},
    {0, "method", "NAME", NULL, "only messages with this method, and answers to them; the same"},
    {0, "tool", "NAME", NULL, "only calls of this tool; the same"},
    {0, "failed", NULL, NULL, "only what failed or was refused"},
    {0, "json", NULL, NULL, "a JSON object on a line for each, bodies included"},
    COMMAND_OPTS,
};

static const char about[] =
    "A line stands for a message or an event, as with `show`, behind the time of day, the number\n"
    "of the session and its server. On a terminal the last line names the calls that are open,\n"
    "and how long they have been.\n";

struct tail {
    struct query *q;
    struct filter filter;
    const char *method, *tool; /* globs; NULL: any */
    bool failed, follow, narrowed;
    struct tail_page page;
    struct followed live;
    const struct followed_session *of; /* whose rows are being read */
    int64_t newest;                    /* the highest session that was looked at */
    int64_t version;
    int status;
};

/* ---- a row ---- */

static bool is_wanted(const struct tail *t, const struct query_message *m)
{
    if (!filter_call(t->method, t->tool, session_method(m), session_target(m)))
        return false;
    const char *status = t->failed ? session_status(m) : NULL;
    return !t->failed || slice_is(m->action, "refused") ||
           (status != NULL && strcmp(status, "ok") != 0);
}

static void note_call(struct tail *t, const struct query_message *m)
{
    bool to_server = slice_is(m->direction, "c2s");
    if (!slice_is(m->action, "forwarded"))
        return;
    if (to_server && slice_is(m->kind, "request") && slice_is(m->origin, "peer")) {
        if (filter_call(t->method, t->tool, m->method, m->target))
            followed_asked(&t->live, &t->of->s, m->seq, m->t_us, m->method, m->target);
    } else if (m->request_seq > 0 &&
               (to_server ? slice_is(m->kind, "notification") : session_is_answer(m))) {
        followed_closed(&t->live, t->of->s.id, m->request_seq);
    }
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct tail *t = ctx;
    note_call(t, m);
    if (is_wanted(t, m))
        t->status = tail_page_message(&t->page, m);
    return t->status == 0;
}

static bool on_event(void *ctx, const struct query_event *e)
{
    struct tail *t = ctx;
    if (!t->narrowed)
        t->status = tail_page_event(&t->page, e);
    return t->status == 0;
}

static void print(struct tail *t, size_t max)
{
    int st = tail_page_print(&t->page, max);
    t->status = t->status == 0 ? st : t->status;
}

/* ---- reading ---- */

static void set_session(struct tail *t, const struct followed_session *s)
{
    t->of = s;
    tail_page_of(&t->page, &s->s);
}

/* What the row says by now, in t->q until the next call. */
static bool load_row(struct tail *t, int64_t id, struct query_session *ret)
{
    char ref[24];
    snprintf(ref, sizeof ref, "%lld", (long long)id);
    int st = query_session(t->q, ref, ret);
    if (st < 0 && st != MI_ENOENT) /* it may have been pruned */
        t->status = st;
    return st == 0;
}

/* With --client, a session is read from its beginning when its client has said its name. */
static bool knows_client(struct tail *t, size_t i)
{
    struct query_session now;
    struct followed_session *s = t->live.session[i];
    if (t->filter.client == NULL || s->s.client_name.p != NULL)
        return true;
    if (!load_row(t, s->s.id, &now) || now.client_name.p == NULL)
        return false;
    if (!filter_takes(&t->filter, &now)) {
        s->unwanted = true;
        return false;
    }
    t->status = followed_update(s, &now);
    return t->status == 0;
}

/* One page of every session; false: there was nothing. */
static bool read_round(struct tail *t)
{
    bool some = false;
    for (size_t i = 0; i < t->live.n && t->status == 0; i++) {
        struct followed_session *s = t->live.session[i];
        int64_t seq = s->seq, event = s->event;
        if (s->unwanted || !knows_client(t, i))
            continue;
        set_session(t, s);
        int st = query_more(t->q, s->s.id, &s->seq, &s->event, on_message, on_event, t);
        if (t->status == 0)
            t->status = st;
        some |= s->seq != seq || s->event != event;
    }
    return some;
}

/* false: there is more, and whoever waits for it should see what else there is first. */
static bool read_all(struct tail *t)
{
    bool some = true;
    for (int i = 0; i < ROUNDS_MAX && some && t->status == 0 && !out_ended(&t->page.out); i++) {
        some = read_round(t);
        print(t, SIZE_MAX);
        out_flush(&t->page.out);
    }
    return !some;
}

static bool on_new_session(void *ctx, const struct query_session *s)
{
    struct tail *t = ctx;
    if (s->id <= t->newest)
        return false;
    struct filter f = t->filter;
    f.client = s->client_name.p != NULL ? f.client : NULL;
    if (filter_takes(&f, s))
        t->status = followed_add(&t->live, s);
    return t->status == 0;
}

static void find_new(struct tail *t)
{
    int64_t newest = 0;
    t->status = query_newest(t->q, &newest);
    if (t->status < 0 || newest <= t->newest)
        return;
    int st = query_sessions(t->q, 0, on_new_session, t);
    t->status = t->status == 0 ? st : t->status;
    for (size_t i = 0; i < t->live.n && t->status == 0; i++) {
        if (t->live.session[i]->s.id <= t->newest)
            continue;
        set_session(t, t->live.session[i]);
        if (!t->narrowed)
            t->status = tail_page_session(&t->page, &t->of->s, "started");
    }
    t->newest = newest;
}

/* Whose end is recorded by now: what is read behind this is all of it. */
static void find_ended(struct tail *t)
{
    for (size_t i = 0; i < t->live.n && t->status == 0; i++) {
        int64_t at_us = 0;
        t->status = query_end(t->q, t->live.session[i]->s.id, &at_us);
        t->live.session[i]->ended = at_us != 0;
    }
}

static void drop_ended(struct tail *t)
{
    for (size_t i = t->live.n; i-- > 0 && t->status == 0;) {
        struct followed_session *s = t->live.session[i];
        struct query_session now;
        if (!s->ended && !s->unwanted)
            continue;
        if (s->ended && !s->unwanted && !t->narrowed && knows_client(t, i) &&
            load_row(t, s->s.id, &now)) {
            set_session(t, s);
            t->status = tail_page_session(&t->page, &now, "ended");
        }
        followed_drop(&t->live, i);
    }
    print(t, SIZE_MAX);
}

/* false: call again at once. */
static bool look(struct tail *t)
{
    int64_t version = t->version;
    t->status = query_version(t->q, &version);
    if (t->status < 0 || version == t->version)
        return true;
    find_new(t);
    find_ended(t);
    if (!read_all(t))
        return false;
    drop_ended(t);
    t->version = version;
    return true;
}

/* ---- the beginning ---- */

struct beginning {
    struct tail *t;
    int ended; /* sessions that were taken for their last lines */
};

static bool on_old_session(void *ctx, const struct query_session *s)
{
    struct beginning *b = ctx;
    struct tail *t = b->t;
    enum session_state state = session_state_of(s);
    bool may_go_on = state == SESSION_LIVE || state == SESSION_ELSEWHERE;
    if (t->newest == 0)
        t->newest = s->id;
    struct filter f = t->filter;
    f.client = may_go_on && s->client_name.p == NULL ? NULL : f.client;
    if (!filter_takes(&f, s) || (!may_go_on && b->ended >= LAST_SESSIONS))
        return true;
    b->ended += !may_go_on;
    t->status = followed_add(&t->live, s);
    return t->status == 0;
}

static bool on_open_call(void *ctx, const struct query_call *c)
{
    struct tail *t = ctx;
    if (c->status == CALL_OPEN && filter_call(t->method, t->tool, c->method, c->target) &&
        c->request_seq <= t->of->seq) /* others come as they are read */
        followed_asked(&t->live, &t->of->s, c->request_seq, c->t_us, c->method, c->target);
    return true;
}

/* Moves to `last` messages before the end of a session. What comes meanwhile comes later. */
static int go_near_end(struct tail *t, struct followed_session *s, int64_t last)
{
    int64_t seq = 0, event = 0;
    int st = query_last(t->q, s->s.id, &seq, &event);
    s->seq = seq > last ? seq - last : 0;
    s->event = s->seq == 0 && last > 0 ? 0 : event;
    set_session(t, s);
    if (st == 0 && t->page.shows_open && s->seq > 0) /* the others are seen as they are read */
        st = query_calls(t->q, s->s.id, on_open_call, t);
    return st;
}

static int begin(struct tail *t, int64_t last)
{
    struct beginning b = {.t = t};
    int st = query_version(t->q, &t->version);
    if (st == 0)
        st = query_sessions(t->q, 0, on_old_session, &b);
    for (size_t i = 0; st == 0 && t->status == 0 && i < t->live.n; i++)
        st = go_near_end(t, t->live.session[i], last);
    find_ended(t);
    for (bool some = true; st == 0 && t->status == 0 && some;)
        some = read_round(t);
    if (!t->page.json && !t->follow && t->page.line_n == 0 && last > 0)
        log_warn("no message in %s is like that", query_vault(t->q));
    else if (!t->page.json && t->status == 0)
        tail_page_titles(&t->page);
    print(t, (size_t)last);
    for (size_t i = t->live.n; i-- > 0;)
        if (session_state_of(&t->live.session[i]->s) == SESSION_DIED || t->live.session[i]->ended)
            followed_drop(&t->live, i);
    return st != 0 ? st : t->status;
}

static void follow(struct tail *t)
{
    struct watch w;
    enum watch_result r = WATCH_LOOK;
    watch_open(&w, query_vault(t->q));
    while (t->status == 0 && !out_ended(&t->page.out) && r == WATCH_LOOK) {
        bool done = look(t);
        tail_page_show_open(&t->page, &t->live);
        if (t->status == 0)
            r = watch_wait(&w, !done ? 0 : t->page.open_shown ? REFRESH_MS : WATCH_IDLE_MS);
    }
    watch_close(&w);
    tail_page_hide_open(&t->page);
}

/* ---- the command ---- */

static int tail(struct query *q, const struct settings *s)
{
    struct tail t = {
        .q = q,
        .filter = {settings_text(s, "server"), settings_text(s, "client"), INT64_MIN, INT64_MAX},
        .method = settings_text(s, "method"),
        .tool = settings_text(s, "tool"),
        .failed = settings_on(s, "failed"),
    };
    tail_page_open(&t.page, q, settings_on(s, "json"));
    const struct out *o = &t.page.out;
    t.narrowed = t.method != NULL || t.tool != NULL || t.failed;
    t.follow = !settings_on(s, "once") && (settings_on(s, "follow") || o->is_terminal);
    t.page.shows_open = t.follow && o->is_terminal && o->controlled && !t.page.json;
    int st = begin(&t, settings_number(s, "last"));
    if (st == 0 && t.follow)
        follow(&t);
    st = st == 0 ? t.status : st;
    if (st < 0)
        (void)session_fail(q, st);
    followed_close(&t.live);
    int status = tail_page_close(&t.page);
    return st < 0 ? EXIT_TROUBLE : status;
}

static int run(int argc, char **argv)
{
    return session_command(&command_tail, argc, argv, tail);
}

const struct command command_tail = {
    .name = "tail",
    .summary = "show what is recorded, while it is",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
