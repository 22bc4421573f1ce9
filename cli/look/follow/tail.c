/* tail.c - `mcp-interposer tail`: follows the messages of all sessions. */
#include "cli/look/follow/commands.h"

#include "base/log.h"
#include "cli/look/follow/followed.h"
#include "cli/look/follow/history.h"
#include "cli/look/follow/tail_page.h"
#include "cli/look/follow/watch.h"
#include "cli/settings/config.h"
#include "vault/query/store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* maximum number of pages of each session that are read before new sessions are looked for */
#define ROUNDS_MAX 2
#define REFRESH_MS 1000 /* pause between two refreshes of the line with the open calls */
#define STORE_MS 2000   /* pause between two reads of a store, which does not report changes */
/* how many of the newest sessions of a store are read to find new ones */
#define STORE_NEW 64
#define RUN_MAX 64                     /* maximum messages of the history that are read at once */
#define PRINTED_MAX ((size_t)32 << 10) /* the output is flushed when it has more bytes than this */

static const struct opt table_of_options[] = {
    {'n', "last", "N", "20", "number of past messages to begin with"},
    {'f', "follow", NULL, NULL, "follow new messages; the default on a terminal"},
    {0, "once", NULL, NULL, "do not follow new messages, not even on a terminal"},
    FILTER_CALL_OPTS,
    FILTER_OPTS,
    FILTER_SESSION_OPT,
    {0, "json", NULL, NULL,
     "print one JSON object per line for each message and event, including bodies"},
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Each line is a message or an event, as in `show`, after the time of day, the\n"
    "number of the session and its server. On a terminal the last line lists the\n"
    "pending calls and how long they have been pending. A narrow terminal gets fewer\n"
    "columns; in a pipe nothing is truncated.\n"
    "A store (--from) is asked every 2 seconds.\n";
/* clang-format on */

struct tail {
    struct query *q;
    struct filter filter;
    bool follow;
    struct tail_page page;
    struct newest history; /* the newest recorded rows, which are printed first */
    struct followed live;
    /* true: some running sessions are not followed, and a warning about this was printed */
    bool said_left_out;
    const struct followed_session *of; /* the session being read */
    int64_t newest;                    /* a session is new if its id is higher than this */
    /* highest session id that was found; becomes `newest` after each search for new sessions */
    int64_t seen;
    int64_t version;
    int status;
};

/* ---- a row ---- */

static void tail_update_open_calls(struct tail *t, const struct query_message *m)
{
    bool to_server = m->direction == ROW_C2S;
    if (m->action != ROW_FORWARDED)
        return;
    if (to_server && m->kind == KIND_REQUEST && m->origin == ROW_PEER) {
        if (filter_matches_call(&t->filter, m->method, m->target))
            followed_add_open_call(&t->live, &t->of->s, m->seq, m->t_us, m->method, m->target);
    } else if (m->request_seq > 0 &&
               (to_server ? m->kind == KIND_NOTIFICATION : session_message_is_answer(m))) {
        followed_remove_open_call(&t->live, t->of->s.id, m->request_seq);
    }
}

static bool tail_on_message(void *ctx, const struct query_message *m)
{
    struct tail *t = ctx;
    tail_update_open_calls(t, m);
    if (filter_matches_message(&t->filter, t->of->s.started_at_us, m))
        t->status = tail_page_add_message(&t->page, m);
    return t->status == 0;
}

static bool tail_on_event(void *ctx, const struct query_event *e)
{
    struct tail *t = ctx;
    if (filter_matches_event(&t->filter, t->of->s.started_at_us, e))
        t->status = tail_page_add_event(&t->page, e);
    return t->status == 0;
}

static void tail_print_page(struct tail *t)
{
    int st = tail_page_print(&t->page);
    t->status = t->status == 0 ? st : t->status;
}

/* ---- reading ---- */

static void tail_set_session(struct tail *t, const struct followed_session *s)
{
    t->of = s;
    tail_page_set_session(&t->page, &s->s);
}

/* Reads the current row of a session; *ret is valid until the next call. Returns false if the
 * session was removed, or on an error, which sets t->status. */
static bool tail_load_row(struct tail *t, int64_t id, struct query_session *ret)
{
    int st = query_session_by_id(t->q, id, ret);
    if (st < 0 && st != MI_ENOENT) /* MI_ENOENT: the session was removed */
        t->status = st;
    return st == 0;
}

/* Whether session i can be read. With --client, a session is read (from its start) only after the
 * name of its client was recorded. Sets `unwanted` if that client does not match. */
static bool tail_can_read_session(struct tail *t, size_t i)
{
    struct query_session now;
    struct followed_session *s = t->live.session[i];
    if (t->filter.client == NULL || s->s.client_name.p != NULL)
        return true;
    if (!tail_load_row(t, s->s.id, &now) || now.client_name.p == NULL)
        return false;
    if (!filter_matches_session(&t->filter, FILTER_HOLDS, &now)) {
        s->unwanted = true;
        return false;
    }
    t->status = followed_update_session(s, &now);
    return t->status == 0;
}

/* Reads one page of each session. Returns false if no session had a new row. */
static bool tail_read_new_rows(struct tail *t)
{
    bool some = false;
    for (size_t i = 0; i < t->live.n && t->status == 0; i++) {
        struct followed_session *s = t->live.session[i];
        int64_t seq = s->seq, event = s->event;
        if (s->unwanted || !tail_can_read_session(t, i))
            continue;
        tail_set_session(t, s);
        tail_page_mark_session_stale(&t->page, s->s.id);
        int st = query_read_newer_rows(t->q, s->s.id, &s->seq, &s->event, tail_on_message,
                                       tail_on_event, t);
        if (t->status == 0)
            t->status = st;
        some |= s->seq != seq || s->event != event;
    }
    return some;
}

/* Follows a session. If there are too many sessions, follows the newest sessions of a vault, or the
 * sessions of a store that were found first. *ret stays NULL if s is not followed. */
static int tail_follow_session(struct tail *t, const struct query_session *s,
                               struct followed_session **ret)
{
    if (!query_is_store(t->q) || t->live.n < FOLLOWED_MAX)
        return followed_add_session(&t->live, s, ret);
    t->live.left_out = true;
    return 0;
}

/* Follows a session if it is new. In a store, a session gets its id when it is first read, so the
 * list is not in the order of the ids. */
static bool tail_on_new_session(void *ctx, const struct query_session *s)
{
    struct tail *t = ctx;
    if (s->id <= t->newest)
        return query_is_store(t->q);
    t->seen = s->id > t->seen ? s->id : t->seen;
    struct filter f = t->filter;
    f.client = s->client_name.p != NULL ? f.client : NULL;
    if (filter_matches_session(&f, FILTER_HOLDS, s))
        t->status = tail_follow_session(t, s, NULL);
    return t->status == 0;
}

static void find_new_sessions(struct tail *t)
{
    bool store = query_is_store(t->q);
    int64_t newest = 0;
    if (!store)
        t->status = query_newest_session(t->q, &newest);
    if (t->status < 0 || (!store && newest <= t->newest))
        return;
    int st = query_sessions(t->q, store ? STORE_NEW : 0, tail_on_new_session, t);
    t->status = t->status == 0 ? st : t->status;
    for (size_t i = 0; i < t->live.n && t->status == 0; i++) {
        if (t->live.session[i]->s.id <= t->newest)
            continue;
        tail_set_session(t, t->live.session[i]);
        if (!filter_has_call_conditions(&t->filter))
            t->status = tail_page_add_session(&t->page, &t->of->s, false);
    }
    t->newest = t->seen;
}

/* Prints the end of sessions that have ended, and drops these sessions. */
static void drop_ended_sessions(struct tail *t)
{
    for (size_t i = t->live.n; i-- > 0 && t->status == 0;) {
        struct followed_session *s = t->live.session[i];
        struct query_session now;
        if (!s->ended && !s->unwanted)
            continue;
        if (s->ended && !s->unwanted && !filter_has_call_conditions(&t->filter) &&
            tail_can_read_session(t, i) && tail_load_row(t, s->s.id, &now)) {
            tail_set_session(t, s);
            t->status = tail_page_add_session(&t->page, &now, true);
        }
        followed_remove_session(&t->live, i);
    }
    tail_print_page(t);
}

/* Reads and prints new rows of the vault. Returns false if there are more new rows: then the caller
 * must not wait before it calls this function again. */
static bool tail_poll_vault(struct tail *t)
{
    int64_t version = t->version;
    query_forget_store_pages(t->q);
    t->status = query_read_change_counter(t->q, &version);
    if (t->status < 0 || (version == t->version && !query_is_store(t->q)))
        return true;
    find_new_sessions(t);
    /* The end of a session is looked up before its new rows are read, so that all rows of an ended
     * session are printed. */
    for (size_t i = 0; i < t->live.n && t->status == 0; i++) {
        int64_t at_us = 0;
        t->status = query_read_session_end_time(t->q, t->live.session[i]->s.id, &at_us);
        t->live.session[i]->ended = at_us != 0;
    }
    bool some = true;
    for (int i = 0; i < ROUNDS_MAX && some && t->status == 0 && !out_has_ended(&t->page.out); i++) {
        some = tail_read_new_rows(t);
        tail_print_page(t);
        out_flush(&t->page.out);
    }
    if (some) /* more rows can be read; the caller must not wait before it calls again */
        return false;
    drop_ended_sessions(t);
    t->version = version;
    return true;
}

/* ---- recorded rows, then new rows ---- */

static bool tail_on_open_call(void *ctx, const struct query_call *c)
{
    struct tail *t = ctx;
    /* a call whose request was not read yet is added when the request is read */
    if (c->request_seq <= t->of->seq)
        followed_add_open_call(&t->live, &t->of->s, c->request_seq, c->t_us, c->method, c->target);
    return true;
}

/* Follows the session from its current end. With --client, if the client is still unknown, follows
 * the session from its start. *ret_seq and *ret_event: the last message and the last event that are
 * not followed. */
static int tail_follow_from_end(struct tail *t, const struct query_session *s, int64_t *ret_seq,
                                int64_t *ret_event)
{
    bool known = t->filter.client == NULL || s->client_name.p != NULL;
    int64_t seq = 0, event = 0;
    int st = known ? query_read_last_seq_and_event(t->q, s->id, &seq, &event) : 0;
    struct followed_session *added = NULL;
    if (st == 0)
        st = tail_follow_session(t, s, &added);
    if (st < 0 || added == NULL)
        return st;
    added->seq = *ret_seq = seq;
    added->event = *ret_event = event;
    t->of = added;
    struct filter open = FILTER_ANY;
    struct call_question calls = {.filter = &open};
    open.session_id = s->id;
    open.method = t->filter.method;
    open.tool = t->filter.tool;
    open.statuses = 1u << CALL_OPEN;
    return t->page.shows_open && seq > 0 ? query_calls_of(t->q, &calls, tail_on_open_call, t) : 0;
}

static bool tail_add_old_session(void *ctx, const struct query_session *s)
{
    struct tail *t = ctx;
    enum session_state state = session_determine_state(t->q, s);
    bool is_open = state == SESSION_LIVE || state == SESSION_ELSEWHERE;
    int64_t seq = INT64_MAX, event = INT64_MAX;
    t->newest = t->seen = s->id > t->seen ? s->id : t->seen;
    struct filter f = t->filter;
    f.client = is_open && s->client_name.p == NULL ? NULL : f.client;
    if (!filter_matches_session(&f, FILTER_HOLDS, s))
        return true;
    if (is_open)
        t->status = tail_follow_from_end(t, s, &seq, &event);
    if (t->status == 0)
        t->status = history_add_session(&t->history, t->q, &t->filter, s, seq, event);
    return t->status == 0;
}

static bool tail_on_old_message(void *ctx, const struct query_message *m)
{
    struct tail *t = ctx;
    t->status = tail_page_add_message(&t->page, m);
    return t->status == 0;
}

static bool tail_on_old_event(void *ctx, const struct query_event *e)
{
    struct tail *t = ctx;
    t->status = tail_page_add_event(&t->page, e);
    return false;
}

/* Prints the rows from `from` to before `end`: one event, or consecutive messages of one
 * session. */
static void print_consecutive_rows(struct tail *t, size_t from, size_t end)
{
    const struct newest_row *r = &t->history.row[from];
    struct query_session s;
    if (!tail_load_row(t, r->session_id, &s))
        return;
    tail_page_set_session(&t->page, &s);
    int st = r->is_event ? query_events_newest_first(t->q, s.id, r->number, tail_on_old_event, t)
                         : query_timeline(t->q, s.id, r->number, t->history.row[end - 1].number,
                                          tail_on_old_message, NULL, t);
    t->status = t->status == 0 ? st : t->status;
    tail_print_page(t);
    if (t->page.out.b.n > PRINTED_MAX)
        out_flush(&t->page.out);
}

/* Prints the newest recorded rows, at most `last`. Prepares to follow the running sessions from
 * their newest row on. */
static int tail_begin_following(struct tail *t, int64_t last)
{
    newest_rows_open(&t->history, (size_t)last);
    int st = query_read_change_counter(t->q, &t->version);
    if (st == 0)
        st = query_sessions(t->q, 0, tail_add_old_session, t);
    t->status = t->status == 0 ? st : t->status;
    newest_rows_sort(&t->history);
    if (!t->page.json && !t->follow && t->history.n == 0 && last > 0)
        session_warn_empty_list(t->q, "no matching message");
    else if (!t->page.json && t->status == 0)
        tail_page_print_titles(&t->page);
    for (size_t i = 0, end; i < t->history.n && t->status == 0 && !out_has_ended(&t->page.out);
         i = end) {
        end = history_find_end_of_sequence(&t->history, i, RUN_MAX);
        print_consecutive_rows(t, i, end);
    }
    newest_rows_close(&t->history);
    return t->status;
}

static void tail_follow_until_end(struct tail *t)
{
    struct watch w;
    enum watch_result r = WATCH_LOOK;
    watch_open(&w, query_vault(t->q));
    while (t->status == 0 && !out_has_ended(&t->page.out) && r == WATCH_LOOK) {
        bool done = tail_poll_vault(t);
        if (t->live.left_out && !t->said_left_out)
            log_warn("only %d running sessions are followed", FOLLOWED_MAX);
        t->said_left_out = t->live.left_out;
        tail_page_show_open_calls(&t->page, &t->live);
        if (t->status == 0)
            r = query_is_store(t->q)
                    ? watch_wait_for_input(&w, done ? STORE_MS : 0)
                    : watch_wait_for_change(&w, !done                ? 0
                                                : t->page.open_shown ? REFRESH_MS
                                                                     : WATCH_IDLE_MS);
    }
    watch_close(&w);
    tail_page_erase_open_calls(&t->page);
}

/* ---- the command ---- */

static bool tail_should_follow(const struct settings *s)
{
    return !settings_is_on(s, "once") &&
           (settings_is_on(s, "follow") || isatty(STDOUT_FILENO) == 1);
}

static int tail_print_vault(struct query *q, const struct settings *s)
{
    struct tail t = {
        .q = q,
    };
    filter_read_from_options(&t.filter, s);
    tail_page_open(&t.page, q, settings_is_on(s, "json"));
    const struct out *o = &t.page.out;
    t.follow = tail_should_follow(s);
    t.page.shows_open = t.follow && o->is_terminal && o->controlled && !t.page.json;
    int st = filter_find_session(&t.filter, s, q);
    if (st == 0)
        st = tail_begin_following(&t, settings_get_number(s, "last"));
    if (st == 0 && t.follow)
        tail_follow_until_end(&t);
    st = st == 0 ? t.status : st;
    if (st < 0)
        (void)session_report_query_error(q, st);
    followed_close(&t.live);
    int status = tail_page_close(&t.page);
    return st < 0 ? EXIT_TROUBLE : status;
}

/* ---- a vault that does not exist yet ---- */

/* Watches the vault or, until it exists, its nearest existing parent directory. Returns false if
 * this directory is already watched. */
static bool watch_nearest_directory(struct watch *w, char *watched, const char *vault)
{
    char at[PATH_MAX];
    snprintf(at, sizeof at, "%s", vault);
    for (char *slash; access(at, F_OK) != 0 && (slash = strrchr(at, '/')) != NULL && slash > at;)
        *slash = '\0';
    if (strcmp(at, watched) == 0)
        return false;
    watch_close(w);
    watch_open(w, at);
    memcpy(watched, at, sizeof at);
    return true;
}

/* Waits until the first session is recorded. Replaces *q, because the vault must be opened again.
 * Returns false if a signal arrived, or on an error, which sets *ret_status. */
static bool wait_for_vault(const struct settings *s, struct query **q, int *ret_status)
{
    struct watch w = {.fd = -1, .input = -1};
    char watched[PATH_MAX] = "";
    char *vault = strdup(query_vault(*q));
    bool stored = false;
    *ret_status = vault != NULL ? EXIT_FINE : EXIT_TROUBLE;
    while (vault != NULL && *ret_status == EXIT_FINE && !stored) {
        if (!watch_nearest_directory(&w, watched, vault) &&
            watch_wait_for_change(&w, WATCH_IDLE_MS) == WATCH_END)
            break;
        query_close(*q);
        *q = NULL;
        *ret_status = session_vault_open(s, q);
        stored = *ret_status == EXIT_FINE && query_is_stored(*q);
    }
    watch_close(&w);
    free(vault);
    return stored;
}

static int tail_run(const struct settings *s)
{
    struct query *q = NULL;
    int status = session_vault_open(s, &q);
    if (status != EXIT_FINE)
        return status;
    bool ready = query_is_stored(q) || query_is_store(q) || !tail_should_follow(s);
    if (!ready && !settings_is_on(s, "json"))
        session_warn_empty_list(q, "no message");
    if (ready || wait_for_vault(s, &q, &status))
        status = tail_print_vault(q, s);
    query_close(q);
    return status;
}

const struct command command_tail = {
    .name = "tail",
    .summary = "follow messages live",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = tail_run,
};
