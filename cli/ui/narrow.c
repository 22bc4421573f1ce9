/* narrow.c - finds which messages match the filter, and which sessions have such a message and so
 * stay in the list. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/grow.h"
#include "cli/frame/session.h"

#include <stdlib.h>

#define PART 5000 /* maximum number of messages of a session that one step searches */
/* maximum number of messages that one step searches, if their bodies are read */
#define TEXT_PART 200

void narrowing_close(struct ui *u)
{
    free(u->narrow.s);
    u->narrow = (struct narrow){0};
}

void narrowing_add_session(struct ui *u, int64_t id)
{
    struct narrow *w = &u->narrow;
    if (GROW(w->s, w->n, w->cap))
        w->s[w->n++] = (struct narrow_session){.id = id, .next = 1};
    else
        w->failed = true;
}

bool narrowing_has_more_to_search(const struct ui *u)
{
    return u->narrow.failed || u->narrow.at < u->narrow.n;
}

void narrowing_restart_search(struct ui *u)
{
    u->narrow.at = 0;
}

/* ---- one message ---- */

/* Sets *ret to whether the message contains the search terms. Returns 0, or the error of
 * session_read_body(). */
static int message_has_search_terms(struct ui *u, struct slice uid, const struct query_message *m,
                                    bool *ret)
{
    const char *error;
    struct slice at, body;
    int st = session_read_body(u->q, uid, m, SEARCH_TEXT_MAX, &u->large, &body, &error);
    if (st < 0)
        return st;
    st = search_terms_find(&u->question.terms, search_get_text_of_body(m->kind, body, &u->searched),
                           &at);
    *ret = st == 0;
    return st == MI_ENOENT ? 0 : st;
}

int narrowing_match_message(struct ui *u, const struct query_session *s,
                            const struct query_message *m, bool *ret)
{
    *ret = !u->narrowed || question_matches_message(&u->question, s->started_at_us, m);
    return *ret && u->narrowed && u->question.terms.n > 0
               ? message_has_search_terms(u, s->uid, m, ret)
               : 0;
}

/* ---- one session ---- */

/* State of searching one part of a session. */
struct looking {
    struct ui *u;
    const struct query_session *s;
    int64_t until_us, seq; /* seq: seq of the last message that was searched */
    bool found;
    int status;
};

static bool narrowing_on_searched_message(void *ctx, const struct query_message *m)
{
    struct looking *l = ctx;
    l->seq = m->seq;
    /* if the list shows calls, only a message that begins or ends a call is a match */
    if (l->u->mode == LISTING_MESSAGES || m->kind == KIND_REQUEST || query_message_is_answer(m))
        l->status = narrowing_match_message(l->u, l->s, m, &l->found);
    return l->status == 0 && !l->found && clock_mono_us() < l->until_us;
}

/* Searches the fields of the messages from..to, not their texts. Does not change l->seq. */
static int narrowing_search_message_fields(struct looking *l, int64_t from, int64_t to)
{
    struct filter f = l->u->question.filter;
    struct message_question x = {&f, l->s->id, l->s->started_at_us, from, to};
    int64_t seq;
    size_t n = 0;
    if (l->u->mode == LISTING_CALLS)
        f.kinds = 1u << KIND_REQUEST | 1u << KIND_RESULT | 1u << KIND_ERROR;
    int st = query_find_matching_messages(l->u->q, &x, 1, &seq, &n);
    l->found = n > 0;
    return st;
}

/* Searches a part of the session. *ret_done: the session need not be searched again; *ret_end: all
 * messages that the session has so far were searched. */
static int search_part_of_session(struct ui *u, struct narrow_session *x,
                                  const struct query_session *s, bool *ret_done, bool *ret_end)
{
    struct looking l = {.u = u, .s = s, .until_us = clock_mono_us() + STEP_US};
    bool texts = u->question.terms.n > 0;
    int64_t last, t_us, to = x->next + (texts ? TEXT_PART : PART) - 1;
    int st = query_last_message(u->q, s->id, &last, &t_us);
    to = to < last ? to : last;
    if (st == 0 && x->next <= to) {
        l.seq = to;
        if (texts)
            st = query_message_rows(u->q, s->id, x->next, to, QUERY_FORWARD, true,
                                    narrowing_on_searched_message, &l);
        else
            st = narrowing_search_message_fields(&l, x->next, to);
        st = st == 0 ? l.status : st;
        x->next = l.seq + 1;
    }
    if (st == 0 && l.found)
        st = sessions_add_and_read_row(&u->sessions, u->q, s->id);
    *ret_end = x->next > last;
    enum session_state state =
        *ret_end && !l.found ? session_determine_state(u->q, s) : SESSION_LIVE;
    *ret_done = l.found || state == SESSION_ENDED || state == SESSION_DIED;
    return st;
}

int narrowing_run_search_step(struct ui *u)
{
    struct narrow *w = &u->narrow;
    struct page_row *page = NULL;
    bool done = true, end = true;
    if (w->failed)
        return MI_ENOMEM;
    if (w->at == w->n)
        return 0;
    struct narrow_session *x = &w->s[w->at];
    int st = page_read_sessions(u->q, NULL, x->id, x->id, 1, &page);
    if (st == 0 && page != NULL)
        st = search_part_of_session(u, x, &page->session, &done, &end);
    page_free(page);
    if (st < 0)
        return st;
    if (done)
        memmove(x, x + 1, (--w->n - w->at) * sizeof *x);
    else if (end)
        w->at++;
    return 0;
}
