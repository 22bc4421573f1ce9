/* cmd_tail.c - `mcp-interposer tail`: what all proxies record, while they do. */
#include "base/clock.h"
#include "base/log.h"
#include "base/room.h"
#include "base/units.h"
#include "cli/config.h"
#include "cli/filter.h"
#include "cli/followed.h"
#include "cli/record_json.h"
#include "cli/timeline.h"
#include "cli/watch.h"

#include <stdio.h>
#include <stdlib.h>

#define METHOD_WIDTH 25  /* to begin with: lines that are printed stay as they are */
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

/* A line that was made, and has to wait for its turn. */
struct line {
    int64_t at_us;
    size_t from, to; /* in tail.page.b */
};

struct tail {
    struct query *q;
    struct filter filter;
    const char *method, *tool; /* globs; NULL: any */
    bool failed, json, follow, narrowed;
    bool shows_open, open_shown; /* the last line of the terminal names the open calls */
    struct out out;
    struct out page;   /* only its buffer: lines of several sessions, not in order yet */
    struct line *line; /* owned */
    size_t line_n, line_cap;
    struct timeline timeline;
    struct session_view view; /* all zero: a line needs nothing of it */
    struct buf body;          /* owned; a large body */
    struct followed live;
    const struct followed_session *of; /* whose lines are being made */
    int64_t newest;                    /* the highest session that was looked at */
    int64_t version;
    int status;
};

/* ---- a line ---- */

static bool keep_line(struct tail *t, int64_t t_us, size_t from)
{
    if (!ROOM(t->line, t->line_n, t->line_cap)) {
        t->status = MI_ENOMEM;
        return false;
    }
    t->line[t->line_n++] = (struct line){t->of->s.started_at_us + t_us, from, t->page.b.n};
    return true;
}

static bool is_wanted(const struct tail *t, const struct query_message *m)
{
    bool answer = session_is_answer(m);
    struct slice method = answer ? m->request_method : m->method;
    struct slice target = answer ? m->request_target : m->target;
    if (!filter_name(t->method, method))
        return false;
    if (t->tool != NULL &&
        (method.p == NULL || !slice_is(method, "tools/call") || !filter_name(t->tool, target)))
        return false;
    if (!t->failed || slice_is(m->action, "refused"))
        return true;
    return answer && strcmp(session_answer_status(m), "ok") != 0;
}

static void note_call(struct tail *t, const struct query_message *m)
{
    bool to_server = slice_is(m->direction, "c2s");
    if (to_server && slice_is(m->kind, "request") && slice_is(m->origin, "peer") &&
        slice_is(m->action, "forwarded")) {
        if (is_wanted(t, m) || t->failed)
            followed_asked(&t->live, &t->of->s, m->seq, m->t_us, m->method, m->target);
    } else if (m->request_seq > 0 && slice_is(m->action, "forwarded") &&
               (to_server ? slice_is(m->kind, "notification") : session_is_answer(m))) {
        followed_closed(&t->live, t->of->s.id, m->request_seq);
    }
}

static void json_message(struct tail *t, const struct query_message *m)
{
    struct slice body = m->body;
    const char *error = NULL;
    if (m->is_large) {
        buf_clear(&t->body);
        error =
            query_body(t->q, t->of->s.uid, m, SIZE_MAX, &t->body) < 0 ? query_error(t->q) : NULL;
        body = error != NULL ? (struct slice){0} : buf_slice(&t->body);
    }
    record_json_message(&t->page.b, &t->of->s, m, body, error);
    buf_addc(&t->page.b, '\n');
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct tail *t = ctx;
    size_t from = t->page.b.n;
    note_call(t, m);
    if (!is_wanted(t, m))
        return true;
    if (t->json) {
        json_message(t, m);
    } else {
        timeline_measure(&t->timeline, m);
        timeline_message(&t->timeline, m);
    }
    return keep_line(t, m->t_us, from);
}

static bool on_event(void *ctx, const struct query_event *e)
{
    struct tail *t = ctx;
    size_t from = t->page.b.n;
    if (t->narrowed)
        return true;
    if (t->json) {
        record_json_event(&t->page.b, &t->of->s, e);
        buf_addc(&t->page.b, '\n');
    } else {
        timeline_event(&t->timeline, e);
    }
    return keep_line(t, e->t_us, from);
}

/* A session began or ended. */
static void session_line(struct tail *t, const struct query_session *s, const char *what)
{
    size_t from = t->page.b.n;
    int64_t t_us = s->ended_at_us != 0 ? s->ended_at_us - s->started_at_us : 0;
    if (t->narrowed)
        return;
    if (t->json) {
        struct session_view v;
        t->status = session_look(t->q, s, false, &v);
        if (t->status < 0)
            return;
        record_json_session(&t->page.b, s, &v);
        buf_addc(&t->page.b, '\n');
        session_close(&v);
    } else {
        struct query_event e = {.t_us = t_us, .kind = slice_of(what)};
        buf_clear(&t->body);
        if (s->ended_at_us != 0)
            session_end_text(&t->body, s, SESSION_ENDED);
        e.detail = buf_slice(&t->body);
        timeline_event(&t->timeline, &e);
    }
    keep_line(t, t_us, from);
}

/* ---- what is printed ---- */

static int by_time(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    return x->from < y->from ? -1
                             : x->from > y->from; /* qsort() does not keep the order by itself */
}

static void hide_open(struct tail *t)
{
    if (t->open_shown)
        out_raw(&t->out, "\r\033[K");
    t->open_shown = false;
}

/* The last `max` lines of the page, by time. */
static void print_lines(struct tail *t, size_t max)
{
    size_t skip = t->line_n > max ? t->line_n - max : 0;
    if (t->line_n > 1)
        qsort(t->line, t->line_n, sizeof *t->line, by_time);
    if (t->line_n > skip)
        hide_open(t);
    for (size_t i = skip; i < t->line_n; i++)
        buf_add(&t->out.b, t->page.b.p + t->line[i].from, t->line[i].to - t->line[i].from);
    t->line_n = 0;
    if (t->page.b.failed)
        t->status = MI_ENOMEM;
    buf_clear(&t->page.b);
}

static void show_open(struct tail *t)
{
    struct out *o = &t->out;
    struct buf *b = &t->body;
    if (t->shows_open) {
        hide_open(t);
        buf_clear(b);
        if (t->live.open_n > 0)
            buf_printf(b, "%zu open: ", t->live.open_n);
        for (size_t i = 0; i < t->live.open_n && b->n < 4 * o->columns; i++) {
            int64_t us = clock_wall_us() - t->live.open[i].at_us;
            buf_printf(b, "%s%s ", i > 0 ? ", " : "", t->live.open[i].what);
            units_show_duration(b, us > 0 ? us : 0);
        }
        t->open_shown = t->live.open_n > 0;
        if (t->open_shown) {
            out_style(o, OUT_YELLOW);
            out_fit(o, buf_slice(b), o->columns > 1 ? o->columns - 1 : 1);
            out_style(o, OUT_PLAIN);
        }
    }
    out_flush(o);
}

/* ---- reading ---- */

static void set_session(struct tail *t, const struct followed_session *s)
{
    t->of = s;
    t->timeline.session = &s->s;
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
    for (int i = 0; i < ROUNDS_MAX && some && t->status == 0 && !out_ended(&t->out); i++) {
        some = read_round(t);
        print_lines(t, SIZE_MAX);
        out_flush(&t->out);
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
        session_line(t, &t->of->s, "started");
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
        if (s->ended && !s->unwanted && knows_client(t, i) && load_row(t, s->s.id, &now)) {
            set_session(t, s);
            session_line(t, &now, "ended");
        }
        followed_drop(&t->live, i);
    }
    print_lines(t, SIZE_MAX);
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
    bool wanted =
        filter_name(t->method, c->method) && (t->tool == NULL || filter_name(t->tool, c->target));
    if (c->status == CALL_OPEN && wanted &&
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
    if (st == 0 && t->shows_open && s->seq > 0) /* the others are seen as they are read */
        st = query_calls(t->q, s->s.id, on_open_call, t);
    return st;
}

static void print_titles(struct tail *t)
{
    t->timeline.out = &t->out; /* in front of what has to be put into order */
    timeline_columns(&t->timeline);
    t->timeline.out = &t->page;
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
    if (!t->json && !t->follow && t->line_n == 0 && last > 0)
        log_warn("no message in %s is like that", query_vault(t->q));
    else if (!t->json && t->status == 0)
        print_titles(t);
    print_lines(t, (size_t)last);
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
    while (t->status == 0 && !out_ended(&t->out) && r == WATCH_LOOK) {
        bool done = look(t);
        show_open(t);
        if (t->status == 0)
            r = watch_wait(&w, !done ? 0 : t->open_shown ? REFRESH_MS : WATCH_IDLE_MS);
    }
    watch_close(&w);
    hide_open(t);
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
        .json = settings_on(s, "json"),
    };
    out_open(&t.out);
    t.page = (struct out){
        .held = true,
        .is_terminal = t.out.is_terminal,
        .coloured = t.out.coloured,
        .utf8 = t.out.utf8,
        .columns = t.out.columns,
    };
    t.narrowed = t.method != NULL || t.tool != NULL || t.failed;
    t.follow = !settings_on(s, "once") && (settings_on(s, "follow") || t.out.is_terminal);
    t.shows_open = t.follow && t.out.is_terminal && !t.json && t.out.controlled;
    timeline_open(&t.timeline, &t.page, q, NULL, &t.view, BODIES_SHORT);
    t.timeline.of_many = true;
    t.timeline.method_width = METHOD_WIDTH;
    int st = begin(&t, settings_number(s, "last"));
    if (st == 0 && t.follow)
        follow(&t);
    st = st == 0 ? t.status : st;
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "no memory" : query_error(q));
    timeline_close(&t.timeline);
    followed_close(&t.live);
    buf_close(&t.body);
    buf_close(&t.page.b);
    buf_close(&t.page.text);
    free(t.line);
    int status = out_close(&t.out);
    return st < 0 ? EXIT_TROUBLE : status;
}

static int run(int argc, char **argv)
{
    struct settings s;
    if (!settings_read(&s, &command_tail, argc, argv))
        return s.exit_status;
    struct query *q;
    int status = session_vault_open(&s, &q);
    if (status == EXIT_FINE) {
        status = tail(q, &s);
        query_close(q);
    }
    settings_close(&s);
    return status;
}

const struct command command_tail = {
    .name = "tail",
    .summary = "show what is recorded, while it is",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
