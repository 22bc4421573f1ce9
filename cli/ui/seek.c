/* seek.c - searches for the next row that contains a text, or the next call that failed. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "cli/frame/session.h"
#include "cli/ui/text/find.h"

#define PART 500 /* number of messages that one step searches */
/* number of messages that one step searches, if the vault is queried for failed calls */
#define CALLS_PART 20000

/* Returns true if the search queries the vault for failed calls, in all sessions. Otherwise the
 * search reads the messages of the chosen session, because it searches a text, because the list
 * shows messages, or because the filter has texts or kinds. */
static bool seek_queries_failed_calls(const struct ui *u)
{
    return u->seek.what == SEEK_FAILED && u->mode == LISTING_CALLS && u->question.terms.n == 0 &&
           (!u->filtered || u->question.field[QUESTION_KIND] == NULL);
}

static void seek_finish_search(struct ui *u, int64_t found)
{
    u->seek.on = false;
    u->dirty = true;
    if (found == 0) {
        ui_say_error(u, u->seek.what == SEEK_FAILED ? "nothing failed" : "'%s' was not found",
                     u->search);
        return;
    }
    if (u->seek.wrapped)
        ui_say(u, "the search wrapped around");
    list_select_row_at(u, list_find_seq(u, found));
}

void seek_begin_search(struct ui *u, enum seek_what what, bool forward)
{
    struct list_row row = {0};
    bool found = list_get_selected_row(u, &row);
    /* If an event is selected, the search begins at the call after the event. */
    if (row.event != NULL)
        row.listed.seq = u->events.before[-1 - row.listed.seq] <= u->listing.last
                             ? u->events.before[-1 - row.listed.seq] - 1
                             : u->listing.last;
    if (what != SEEK_FAILED && u->search[0] == '\0')
        return;
    if (ui_get_chosen_session(u) == NULL || (what == SEEK_TEXT && !found)) {
        u->seek.what = what;
        seek_finish_search(u, 0);
        return;
    }
    u->seek = (struct seek){.on = true,
                            .forward = forward,
                            .what = what,
                            .start = row.listed.seq,
                            .at = forward ? row.listed.seq + 1 : row.listed.seq - 1,
                            .session = ui_get_chosen_session(u)->id,
                            .origin = ui_get_chosen_session(u)->id,
                            .last = u->listing.last};
    /* The answer of a call may also match, and the answer may come after later calls have begun. So
     * a backward search begins at the last message. */
    if (!forward && u->mode == LISTING_CALLS && !seek_queries_failed_calls(u))
        u->seek.at = u->listing.last;
}

/* Sets *ret to whether the message contains the text of the search. Returns 0, or the error of
 * session_read_body(). */
static int message_contains_text(struct ui *u, const struct query_message *m, bool *ret)
{
    struct slice body, uid = ui_get_chosen_session(u)->uid, needle = slice_of(u->search);
    const char *error;
    *ret = (m->method.p != NULL && find_next_match(m->method, 0, needle) != FIND_NONE) ||
           (m->target.p != NULL && find_next_match(m->target, 0, needle) != FIND_NONE);
    if (*ret)
        return 0;
    int st = session_read_body(u->q, uid, m, SEARCH_TEXT_MAX, &u->large, &body, &error);
    if (st < 0)
        return st;
    struct slice text = search_get_text_of_body(m->kind, body, &u->searched);
    *ret = text.p != NULL && find_next_match(text, 0, needle) != FIND_NONE;
    return 0;
}

/* One step of a search in messages. */
struct looking {
    struct ui *u;
    int64_t until_us, seq; /* seq: seq of the last message that was searched */
    int64_t found;         /* seq of the row that was found; 0: none yet */
    int status;            /* error that ended the search; 0: none */
};

/* Returns whether the row is in the list and lies in the direction of the search. After the search
 * has wrapped around, every row of the list is a candidate. */
static bool seek_may_stop_at_row(const struct ui *u, int64_t seq)
{
    const struct seek *k = &u->seek;
    size_t at = listing_find_row_of_seq(&u->listing, seq);
    if (at == listing_count_rows(&u->listing) || listing_get_row_at(&u->listing, at).seq != seq)
        return false;
    return k->wrapped || (k->forward ? seq > k->start : seq < k->start);
}

static bool seek_on_message(void *ctx, const struct query_message *m)
{
    struct looking *l = ctx;
    struct ui *u = l->u;
    int64_t seq = m->seq;
    if (u->mode == LISTING_CALLS && m->kind != KIND_REQUEST)
        seq = m->request_seq;
    l->seq = m->seq;
    if (seq <= 0 || !seek_may_stop_at_row(u, seq))
        return true;
    bool hit = false, late = clock_mono_us() > l->until_us;
    if (u->seek.what == SEEK_TEXT)
        l->status = message_contains_text(u, m, &hit);
    else
        hit = m->finding.n > 0 || m->action == ROW_REFUSED ||
              call_status_failed(session_status_of_message(m));
    if (!hit)
        return l->status == 0 && !late;
    /* A backward search may find the answer of an earlier call before the answer of a later call,
     * which is the nearer match. */
    bool better = l->found == 0 || (u->seek.forward ? seq < l->found : seq > l->found);
    l->found = better ? seq : l->found;
    return true; /* the search continues, because this step may find a nearer match */
}

static bool seek_on_failed_call(void *ctx, const struct query_call *c)
{
    *(int64_t *)ctx = c->request_seq;
    return false;
}

/* Searches CALLS_PART messages of a session, from k->at on, for a failed call. Sets *ret to the seq
 * of the first failed call; 0: there is none. */
static int seek_failed_call_in_range(struct ui *u, int64_t *ret)
{
    struct seek *k = &u->seek;
    struct filter f = FILTER_ANY;
    int64_t from = k->forward ? k->at : k->at - CALLS_PART + 1;
    int64_t to = k->forward ? k->at + CALLS_PART - 1 : k->at;
    struct call_question x = {.filter = &f,
                              .side = CALLS_OF_PEERS,
                              .operations = feed_shows_operations(u),
                              .newest_first = !k->forward,
                              .from = query_call_id(k->session, from < 1 ? 1 : from),
                              .up_to = query_call_id(k->session, to)};
    f.session_id = k->session;
    f.failed = true;
    f.also = u->filtered ? &u->question.fields : NULL;
    k->at = k->forward ? to + 1 : from - 1;
    *ret = 0;
    return to < 1 ? 0 : query_calls_of(u->q, &x, seek_on_failed_call, ret);
}

/* Continues the search in the next session of the list; in the forward direction this is an older
 * session. Ends the search when all sessions were searched. */
static int seek_next_session(struct ui *u)
{
    struct seek *k = &u->seek;
    int64_t t_us;
    size_t at = sessions_find_row_of_id(&u->sessions, k->session), n = u->sessions.n;
    int st = 0;
    if (k->forward && at + 1 >= n && !feed_has_all_sessions(u)) {
        st = feed_read_more_sessions(u);
        /* Newer sessions may have been added as well, so find the position of the session again. */
        at = sessions_find_row_of_id(&u->sessions, k->session);
        n = u->sessions.n;
        if (st < 0 || at + 1 >= n) /* no older session was read so far: the next step reads more */
            return st;
    }
    bool ends = k->forward ? at + 1 >= n : at == 0;
    if (st < 0 || n == 0 || (k->wrapped && (ends || k->session == k->origin))) {
        seek_finish_search(u, 0);
        return st;
    }
    k->wrapped |= ends;
    if (k->forward)
        k->session = u->sessions.id[ends ? 0 : at + 1];
    else
        k->session = u->sessions.id[(ends ? n : size_min(at, n)) - 1];
    st = query_last_message(u->q, k->session, &k->last, &t_us);
    k->at = k->forward ? 1 : k->last;
    return st;
}

static int seek_step_to_failed_call(struct ui *u)
{
    struct seek *k = &u->seek;
    int64_t found = 0;
    if (k->forward ? k->at <= k->last : k->at >= 1) {
        int st = seek_failed_call_in_range(u, &found);
        if (st < 0 || found == 0)
            return st;
        st = feed_choose_session(u, k->session); /* choosing a session also ends the search */
        seek_finish_search(u, found);
        u->list_cursor.key = found;
        u->list_cursor.follows = false;
        return st;
    }
    return seek_next_session(u);
}

/* Searches the lines of the list of sessions. */
static int seek_search_sessions(struct ui *u)
{
    struct seek *k = &u->seek;
    int64_t until_us = clock_mono_us() + STEP_US;
    const struct session_row *r;
    int st = 0;
    while (st == 0 && k->on && clock_mono_us() < until_us) {
        struct seek before = *k;
        st = seek_next_session(u);
        if (st < 0 || !k->on || (k->session == before.session && k->wrapped == before.wrapped))
            return st;
        st = sessions_get_row(&u->sessions, u->q, k->session, &r);
        if (st == MI_ENOENT)
            st = 0; /* the session was removed while ui searched */
        else if (st == 0) {
            draw_session(u, LINE_SEEK_COLUMNS, r);
            if (find_next_match(buf_slice(&u->cells.text), 0, slice_of(u->search)) != FIND_NONE) {
                int64_t found = k->session;
                if (k->wrapped)
                    ui_say(u, "the search wrapped around");
                st = feed_choose_session(u, found); /* choosing a session also ends the search */
                k->on = false;
                u->dirty = true;
            }
        }
    }
    return st;
}

int seek_run_step(struct ui *u)
{
    struct seek *k = &u->seek;
    if (k->what == SEEK_SESSION)
        return seek_search_sessions(u);
    if (seek_queries_failed_calls(u))
        return seek_step_to_failed_call(u);
    struct looking l = {.u = u, .until_us = clock_mono_us() + STEP_US};
    int64_t last = u->listing.last;
    if (k->forward ? k->at > last : k->at < 1) {
        if (k->wrapped || last == 0) {
            seek_finish_search(u, 0);
            return 0;
        }
        k->wrapped = true;
        k->at = k->forward ? 1 : last;
    }
    int64_t from = k->forward ? k->at : k->at - PART + 1,
            to = k->forward ? k->at + PART - 1 : k->at;
    l.seq = k->forward ? to : from;
    int st = query_message_rows(u->q, ui_get_chosen_session(u)->id, from, to,
                                k->forward ? QUERY_FORWARD : QUERY_BACKWARD, k->what == SEEK_TEXT,
                                seek_on_message, &l);
    st = st == 0 ? l.status : st;
    k->at = k->forward ? l.seq + 1 : l.seq - 1;
    if (st == 0 && l.found != 0)
        seek_finish_search(u, l.found);
    return st;
}

/* ---- in the detail, or in the list ---- */

static void search_detail(struct ui *u, bool forward)
{
    struct detail_hit hit;
    if (u->shown.doc == NULL || u->search[0] == '\0')
        return;
    int st = detail_search(u->shown.doc, slice_of(u->search), u->shown.at, forward, &hit);
    if (st < 0) {
        ui_say_error(u, "'%s' was not found", u->search);
        return;
    }
    u->shown.at = hit.line;
    if (hit.wrapped)
        ui_say(u, "the search wrapped around");
    size_t width = u->panes.pane[PANE_DETAIL].width;
    if (hit.column < u->shown.from || hit.column >= u->shown.from + width) {
        u->shown.from = hit.column > width / 2 ? hit.column - width / 2 : 0;
        u->shown.jumped = true;
    }
}

void seek_go_to_match(struct ui *u, bool forward)
{
    if (u->focus == PANE_DETAIL)
        search_detail(u, forward);
    else
        seek_begin_search(u, u->focus == PANE_LIST ? SEEK_TEXT : SEEK_SESSION, forward);
}
