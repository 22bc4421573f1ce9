/* feed.c - reads sessions and messages from the vault in small steps, and filters them. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/grow.h"
#include "cli/frame/session.h"
#include "cli/ui/quoted_words.h"
#include "vault/query/call_rows.h"
#include "vault/query/store.h"

#include <stdlib.h>

/* maximum number of messages that one step reads, if their bodies are searched */
#define TEXT_PART 200

/* Returns whether the list of sessions shows this session. If the filter is about messages,
 * narrow.c decides later whether the session has a match. */
static bool feed_accepts_session(void *ctx, const struct query_session *s)
{
    struct ui *u = ctx;
    if (u->filtered && !question_matches_session(&u->question, s))
        return false;
    if (u->narrowed)
        narrowing_add_session(u, s->id);
    return !u->narrowed;
}

/* ---- the list ---- */

/* A part of the list of messages: those messages that one step reads. */
struct part {
    struct ui *u;
    enum listing_end end;
    int64_t until_us;
    int64_t from;   /* if newer messages are read: seq of the first message to read */
    int64_t seq;    /* seq of the last message to read */
    int64_t *ended; /* owned; seqs of earlier requests to which the messages of this part belong */
    size_t ended_n, ended_cap;
    /* true: a notification among the messages of this part may end the task of a call */
    bool tasks;
    int status;
};

static bool ui_feed_on_message(void *ctx, const struct query_message *m)
{
    struct part *p = ctx;
    bool match;
    p->status = narrowing_match_message(p->u, ui_get_chosen_session(p->u), m, &match);
    if (p->status == 0)
        p->status = listing_add_message(&p->u->listing, m, match, p->end);
    p->tasks |= p->end == LISTING_NEWER && listing_may_end_task(m);
    if (p->status == 0 && p->end == LISTING_NEWER && m->request_seq > 0) {
        p->status = GROW(p->ended, p->ended_n, p->ended_cap) ? 0 : MI_ENOMEM;
        if (p->status == 0)
            p->ended[p->ended_n++] = m->request_seq;
    }
    bool late = clock_mono_us() > p->until_us;
    p->seq = late ? m->seq : p->seq;
    return p->status == 0 && !late;
}

static bool ui_feed_on_call(void *ctx, const struct query_call *c)
{
    struct part *p = ctx;
    p->status = listing_add_call(&p->u->listing, c, p->end);
    events_move_before_call(p->u, c);
    return p->status == 0;
}

static bool feed_on_changed_call(void *ctx, const struct query_call *c)
{
    struct part *p = ctx;
    p->status = listing_update_call(&p->u->listing, c);
    return p->status == 0;
}

bool feed_shows_operations(const struct ui *u)
{
    return !u->requests;
}

/* Reads the calls whose requests are among the messages from..to, and passes them to `fn`. */
static int ui_feed_read_calls(struct part *p, int64_t from, int64_t to, query_call_fn fn)
{
    struct filter session = FILTER_ANY;
    int64_t id = ui_get_chosen_session(p->u)->id;
    struct call_question x = {.filter = &session,
                              .side = CALLS_OF_PEERS,
                              .operations = feed_shows_operations(p->u),
                              .newest_first = p->end == LISTING_OLDER,
                              .from = query_call_id(id, from),
                              .up_to = query_call_id(id, to)};
    session.session_id = id;
    int st = query_calls_of(p->u->q, &x, fn, p);
    return st == 0 ? p->status : st;
}

static bool ui_feed_add_call_continuation(void *ctx, const struct query_call *c)
{
    struct part *p = ctx;
    p->status = listing_link_request_to_call(&p->u->listing, c->request_seq, c->operation_seq);
    if (p->status < 0 || p->end == LISTING_OLDER)
        return p->status == 0;
    p->status = GROW(p->ended, p->ended_n, p->ended_cap) ? 0 : MI_ENOMEM;
    if (p->status == 0)
        p->ended[p->ended_n++] = c->operation_seq;
    return p->status == 0;
}

/* Finds requests that continue an earlier call: among the messages from..to, and among the earlier
 * requests in p->ended. Such a request may change the earlier call twice: when the request begins,
 * and when it ends. Call this function before the calls are read. */
static int find_continuing_requests(struct part *p, int64_t from, int64_t to)
{
    struct filter session = FILTER_ANY;
    int64_t id = ui_get_chosen_session(p->u)->id;
    struct call_question x = {.filter = &session, .side = CALLS_OF_PEERS, .several = true};
    bool has = false;
    size_t ended_n = p->ended_n;
    int st = feed_shows_operations(p->u) && !query_is_store(p->u->q)
                 ? call_rows_check_operations(p->u->q, &has)
                 : 0;
    session.session_id = id;
    for (size_t i = 0; st == 0 && has && i <= ended_n; i++) {
        if (i < ended_n && p->ended[i] >= from)
            continue;
        x.from = query_call_id(id, i < ended_n ? p->ended[i] : from);
        x.up_to = query_call_id(id, i < ended_n ? p->ended[i] : to);
        st = query_calls_of(p->u->q, &x, ui_feed_add_call_continuation, p);
        st = st == 0 ? p->status : st;
    }
    return st;
}

static int64_t feed_get_messages_per_step(const struct ui *u)
{
    return u->narrowed && u->question.terms.n > 0 ? TEXT_PART : QUERY_PART;
}

/* Reads the messages from..to: newer messages forwards, older messages backwards from `to` to
 * `from`. Sets p->seq to the message at which reading ended: the end of the range (`to`, or `from`
 * for older messages) or, if time ran out, the message that was read last. In that case the rest of
 * the range is not read. */
static int feed_read_messages(struct part *p, int64_t from, int64_t to)
{
    struct ui *u = p->u;
    bool back = p->end == LISTING_OLDER;
    p->until_us = clock_mono_us() + STEP_US;
    p->seq = back ? from : to;
    if (back && !u->narrowed) /* without a filter on messages, older messages need not be read */
        return 0;
    int st = query_message_rows(u->q, ui_get_chosen_session(u)->id, from, to,
                                back ? QUERY_BACKWARD : QUERY_FORWARD,
                                u->narrowed && u->question.terms.n > 0, ui_feed_on_message, p);
    return st == 0 ? p->status : st;
}

static int feed_read_older_messages(struct ui *u)
{
    struct part p = {.u = u, .end = LISTING_OLDER};
    int64_t to = u->listing.first - 1, from = to - feed_get_messages_per_step(u) + 1;
    from = from < 1 ? 1 : from;
    if (to < 1 || u->listing_full)
        return 0;
    int st = feed_read_messages(&p, from, to);
    if (st == 0 && u->narrowed)
        st = find_continuing_requests(&p, p.seq, to);
    if (st == 0)
        st = ui_feed_read_calls(&p, p.seq, to, ui_feed_on_call);
    free(p.ended);
    u->listing_full = st == MI_EFULL;
    if (st == 0 || st == MI_EFULL)
        listing_extend_message_range(&u->listing, p.seq, u->listing.last);
    return st == MI_EFULL ? 0 : st;
}

static bool feed_on_operation(void *ctx, const struct query_call *c)
{
    struct part *p = ctx;
    return c->closing_seq < p->from || c->closing_seq > p->seq || feed_on_changed_call(p, c);
}

/* Reads the calls that became tasks and were ended by a notification among the messages of `p`. */
static int feed_read_ended_tasks(struct part *p)
{
    struct filter session = FILTER_ANY;
    struct call_question x = {
        .filter = &session, .side = CALLS_OF_PEERS, .operations = true, .several = true};
    session.session_id = ui_get_chosen_session(p->u)->id;
    int st = query_calls_of(p->u->q, &x, feed_on_operation, p);
    return st == 0 ? p->status : st;
}

static int feed_read_newer_messages(struct ui *u, bool *ret_more)
{
    struct part p = {.u = u, .end = LISTING_NEWER};
    int64_t last = 0, t_us, from = u->listing.last + 1;
    int st = query_last_message(u->q, ui_get_chosen_session(u)->id, &last, &t_us);
    int64_t to = last - from < feed_get_messages_per_step(u)
                     ? last
                     : from + feed_get_messages_per_step(u) - 1;
    *ret_more = false;
    if (st < 0 || last < from)
        return st;
    p.from = from;
    st = feed_read_messages(&p, from, to);
    *ret_more = p.seq < last;
    if (st == 0)
        st = find_continuing_requests(&p, from, p.seq);
    if (st == 0)
        st = ui_feed_read_calls(&p, from, p.seq, ui_feed_on_call);
    for (size_t i = 0; st == 0 && i < p.ended_n; i++)
        if (p.ended[i] < from)
            st = ui_feed_read_calls(&p, p.ended[i], p.ended[i], feed_on_changed_call);
    if (st == 0 && p.tasks && feed_shows_operations(u) && !query_is_store(u->q))
        st = feed_read_ended_tasks(&p);
    free(p.ended);
    st = st == MI_EFULL ? 0 : st;
    if (st == 0)
        listing_extend_message_range(&u->listing, u->listing.first, p.seq);
    return st;
}

static int feed_reload_message_list(struct ui *u)
{
    int64_t last = 0, t_us, key = u->list_cursor.key;
    bool follows = u->list_cursor.follows || key == 0;
    listing_close(&u->listing);
    u->listing_full = false;
    u->dirty = true;
    if (ui_get_chosen_session(u) == NULL)
        return 0;
    int st = query_last_message(u->q, ui_get_chosen_session(u)->id, &last, &t_us);
    listing_open(&u->listing, u->mode, !u->narrowed, last);
    events_forget_positions(u);
    u->list_cursor = (struct cursor){
        .key = key, .follows = follows, .line = INT32_MAX, .height = u->list_cursor.height};
    return st == 0 ? feed_read_older_messages(u) : st;
}

int feed_choose_session(struct ui *u, int64_t id)
{
    struct page_row *page = NULL;
    if (ui_get_chosen_session(u) != NULL && ui_get_chosen_session(u)->id == id && id != 0)
        return 0;
    int st = id != 0 ? page_read_sessions(u->q, NULL, id, id, 1, &page) : 0;
    if (st < 0)
        return st;
    u->seek.on = false;
    if (id != 0 && page == NULL) {
        ui_say_error(u, "this session was removed");
        return 0;
    }
    page_free(u->session);
    u->session = page;
    u->session_cursor.key = id;
    u->list_cursor = (struct cursor){.height = u->list_cursor.height};
    /* Close the detail, because it may show an event that is freed here, and because a key may be
     * handled before the next drawing. */
    show_close(u);
    events_close(u);
    if (page != NULL) {
        u->state = session_determine_state(u->q, &page->session);
        st = row_cache_set_session(&u->rows, id);
        st = st == 0 ? events_read_new_rows(u) : st;
    }
    return st == 0 ? feed_reload_message_list(u) : st;
}

/* ---- the filter ---- */

static void clear_list_filter(struct ui *u)
{
    question_close(&u->question);
    u->filtered = u->narrowed = false;
    u->filter[0] = '\0';
}

/* Chooses the newest session of the list, if no session is chosen, or the chosen session has no
 * matching call. */
static int choose_matching_session(struct ui *u)
{
    const struct query_session *s = ui_get_chosen_session(u);
    bool matches = s != NULL && (!u->narrowed || u->listing.first > 1 || list_count_rows(u) > 0);
    if (matches || u->sessions.n == 0 ||
        (s != NULL && sessions_find_row_of_id(&u->sessions, s->id) < u->sessions.n))
        return 0;
    return feed_choose_session(u, u->sessions.id[0]);
}

/* Reads the list of sessions and the list of messages again. Keeps the chosen session, unless it
 * cannot match the filter. */
static int feed_reload_all_lists(struct ui *u)
{
    const struct query_session *s = ui_get_chosen_session(u);
    int64_t id = s != NULL ? s->id : 0, until_us = clock_mono_us() + STEP_US;
    bool matches = s != NULL && (!u->filtered || question_matches_session(&u->question, s));
    sessions_close(&u->sessions);
    narrowing_close(u);
    sessions_open(&u->sessions, u->q, feed_accepts_session, u);
    u->sessions.requests = u->requests;
    /* adds the chosen session before all others, so that it is searched first */
    if (matches && u->narrowed)
        narrowing_add_session(u, id);
    int st = sessions_read_older_rows(&u->sessions, u->q);
    while (st == 0 && !u->sessions.complete && id != 0 &&
           !sessions_list_reaches_id(&u->sessions, id) && clock_mono_us() < until_us)
        st = sessions_read_older_rows(&u->sessions, u->q);
    if (st == 0)
        st = s == NULL || matches ? feed_reload_message_list(u) : feed_choose_session(u, 0);
    return st == 0 ? choose_matching_session(u) : st;
}

int feed_set_list_mode(struct ui *u, enum listing_mode mode)
{
    u->mode = mode;
    return u->narrowed ? feed_reload_all_lists(u) : feed_reload_message_list(u);
}

bool feed_has_all_sessions(const struct ui *u)
{
    return u->sessions.complete && !narrowing_has_more_to_search(u);
}

int feed_read_more_sessions(struct ui *u)
{
    u->stale = true;
    return narrowing_has_more_to_search(u) ? narrowing_run_search_step(u)
                                           : sessions_read_older_rows(&u->sessions, u->q);
}

/* Reads the text of a filter. Returns false if the filter is invalid; `error` then says why. */
static bool feed_parse_filter(struct ui *u, const char *text, struct buf *error)
{
    struct question *x = &u->question;
    if (!split_quoted_words(text, u->words_text, u->words, MI_COUNT(u->words))) {
        buf_adds(error, "too many words");
        return false;
    }
    if (question_initialize(x) < 0) {
        buf_adds(error, "cannot search: SQLite was built without FTS5, or out of memory");
        return false;
    }
    if (question_read_words(x, u->words, false, error) != EXIT_FINE)
        return false;
    u->filtered = u->words[0] != NULL;
    u->narrowed = x->terms.n > 0;
    for (size_t i = QUESTION_TOOL; i < QUESTION_FIELDS; i++)
        u->narrowed |= x->field[i] != NULL;
    return true;
}

int feed_set_filter(struct ui *u, const char *text)
{
    struct buf error = {0};
    char before[PROMPT_MAX + 1];
    memcpy(before, u->filter, sizeof before);
    clear_list_filter(u);
    bool valid = feed_parse_filter(u, text, &error);
    if (!valid) {
        ui_say_error(u, "%s", buf_str(&error));
        clear_list_filter(u);
        valid = feed_parse_filter(u, before, &error);
        text = before;
    }
    memcpy(u->filter, text, valid ? strlen(text) + 1 : 0);
    bool same = text == before;
    buf_close(&error);
    return same ? MI_EINVAL : feed_reload_all_lists(u);
}

/* ---- reading between keys ---- */

/* Returns whether more sessions must be read now. Sessions of a vault are read until the list is
 * complete. Sessions of a store are read only if the filter is about messages, or if the cursor is
 * near the end of the list. */
static bool feed_must_read_sessions(const struct ui *u)
{
    size_t at = sessions_find_row_of_id(&u->sessions, u->session_cursor.key), n = u->sessions.n;
    bool near_end = (at < n ? at : 0) + SESSIONS_PAGE > n;
    return !feed_has_all_sessions(u) && (u->sessions.store == NULL || u->narrowed || near_end);
}

static bool feed_list_is_complete(const struct ui *u)
{
    return ui_get_chosen_session(u) == NULL || u->listing.first <= 1 || u->listing_full;
}

int feed_read_step(struct ui *u, bool *ret_more)
{
    int64_t until_us = clock_mono_us() + STEP_US;
    int st = 0;
    if (!feed_list_is_complete(u)) {
        st = feed_read_older_messages(u);
        u->stale = true;
    }
    /* If the filter is about messages (u->narrowed), sessions are read even if messages of the
     * chosen session are left to read. If the chosen session has no match, another session must be
     * chosen soon. */
    if (feed_list_is_complete(u) || u->narrowed)
        do
            st = st == 0 && feed_must_read_sessions(u) ? feed_read_more_sessions(u) : st;
        while (st == 0 && feed_must_read_sessions(u) && clock_mono_us() < until_us);
    st = st == 0 ? choose_matching_session(u) : st;
    *ret_more = !feed_list_is_complete(u) || feed_must_read_sessions(u);
    if (st == 0 && !*ret_more) {
        st = sessions_run_failure_count_step(&u->sessions, u->q, ret_more);
        u->stale |= *ret_more;
    }
    return st;
}

static int reload_chosen_session(struct ui *u)
{
    struct page_row *page = NULL;
    int64_t id = ui_get_chosen_session(u)->id;
    int st = page_read_sessions(u->q, NULL, id, id, 1, &page);
    /* If no page was read, the session was removed: the screen continues to show its data. */
    if (st < 0 || page == NULL)
        return st;
    page_free(u->session);
    u->session = page;
    u->state = session_determine_state(u->q, &page->session);
    return 0;
}

/* Sets *ret to whether the vault has changed. For a store, sets it to whether it is time to ask the
 * store again. */
static int feed_vault_has_changed(struct ui *u, bool more, int64_t *ret_version, bool *ret)
{
    int64_t now_us = clock_mono_us(), version = u->version;
    if (u->sessions.store == NULL) {
        int st = query_read_change_counter(u->q, &version);
        *ret = version != u->version;
        *ret_version = version;
        return st;
    }
    *ret = more || now_us - u->store.looked_us >= STORE_MS * 1000;
    *ret_version = version;
    if (*ret) {
        u->store.looked_us = now_us;
        query_forget_store_pages(u->q);
    }
    return 0;
}

int feed_read_changes(struct ui *u, bool *ret_more)
{
    int64_t version;
    bool changed;
    int st = feed_vault_has_changed(u, *ret_more, &version, &changed);
    *ret_more = false;
    if (st < 0 || !changed)
        return st;
    u->dirty = true;
    st = sessions_read_changes(&u->sessions, u->q);
    narrowing_restart_search(u);
    if (st == 0) {
        central_note_success(u);
        st = choose_matching_session(u);
    }
    if (st == 0 && ui_get_chosen_session(u) != NULL && u->state != SESSION_ENDED)
        st = reload_chosen_session(u);
    if (st == 0 && ui_get_chosen_session(u) != NULL)
        st = events_read_new_rows(u);
    if (st == 0 && ui_get_chosen_session(u) != NULL)
        st = feed_read_newer_messages(u, ret_more);
    if (!*ret_more)
        u->version = version;
    return st;
}

int feed_open_call(struct ui *u, int64_t session, int64_t seq)
{
    int st = feed_choose_session(u, session);
    if (st < 0 || ui_get_chosen_session(u) == NULL || ui_get_chosen_session(u)->id != session)
        return st;
    stack_open_main(u, seq > 0 ? PANE_DETAIL : PANE_LIST);
    st = u->filtered ? feed_set_filter(u, "") : 0;
    if (st == 0 && seq > 0)
        u->list_cursor = (struct cursor){.key = seq, .height = u->list_cursor.height};
    return st;
}
