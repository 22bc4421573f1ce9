/* sender.c - a round: sends all new rows, and saves the cursors. */
#include "ship/postgres/sender.h"

#include "base/clock.h"

#define SAVE_ROWS 500 /* number of cursors that one transaction saves */
#define SAVE_EVERY_US INT64_C(5000000)
#define DIFFERS_MAX 4

/* ---- a round ---- */

/* Saves up to SAVE_ROWS cursors in one transaction, from index *at on. Advances *at. */
static int save_cursors_from_index(struct sender *s, size_t *at)
{
    struct cursor c[SAVE_ROWS];
    size_t which[SAVE_ROWS], n = 0;
    for (; *at < s->sessions.n && n < SAVE_ROWS; ++*at) {
        struct shipped_session *x = &s->sessions.list[*at];
        if (x->saved || x->id == 0)
            continue;
        which[n] = *at;
        c[n++] = (struct cursor){x->id, x->seq, x->event, x->complete};
    }
    int st = n > 0 ? cursors_save(s->from, s->url, c, n, clock_wall_us()) : 0;
    for (size_t i = 0; i < n; i++)
        s->sessions.list[which[i]].saved = st == 0;
    return st;
}

/* Saves cursors in the vault. If the vault cannot be written, sending continues. */
static void sender_save_cursors(struct sender *s)
{
    int st = 0;
    for (size_t at = 0; st == 0 && at < s->sessions.n;)
        st = save_cursors_from_index(s, &at);
    s->unsaved = st < 0;
}

static int sender_send_rows(struct sender *s)
{
    int64_t saved_us = clock_mono_us();
    int st = 0;
    for (size_t i = 0; st == 0 && i < s->sessions.n; i++) {
        struct shipped_session *x = &s->sessions.list[i];
        if (x->complete || x->id == 0)
            continue;
        int64_t seq = x->seq, event = x->event;
        st = sender_send_messages(s, x);
        if (st == 0)
            st = sender_send_events(s, x, x->event + 1, INT64_MAX);
        x->complete = st == 0 && x->ended && x->seq >= x->last_seq && x->event >= x->last_event;
        x->saved &= seq == x->seq && event == x->event && !x->complete;
        if (clock_mono_us() - saved_us > SAVE_EVERY_US) {
            sender_save_cursors(s);
            saved_us = clock_mono_us();
        }
    }
    return st;
}

static int sender_send_all_records(struct sender *s)
{
    struct stated *stated = NULL;
    bool fresh = !s->ready;
    int st = fresh ? sender_connect_and_check_store(s) : 0;
    if (st == 0)
        st = sender_send_leaves(s);
    if (st == 0)
        st = sender_read_changes_in_log(s, &stated);
    if (st == 0)
        st = sender_send_replaced_rows(s, stated);
    if (st == 0) {
        st = sender_send_sessions(s);
        sender_mark_redacted_incomplete(s, stated);
    }
    /* save the cursors now, so that `prune` does not remove rows that the store has lost */
    if (st == 0 && fresh)
        sender_save_cursors(s);
    if (st == 0)
        st = sender_resend_redacted_messages(s, stated);
    if (st == 0)
        st = sender_send_rows(s);
    if (st == 0)
        st = sender_mark_changes_handled(s, stated);
    sender_free_changes_in_log(stated);
    sender_save_cursors(s);
    return st;
}

static void sender_disconnect(struct sender *s)
{
    link_disconnect(s->to);
    s->ready = false;
}

int sender_check_lost_rows(struct sender *s)
{
    bool same = true;
    if (!s->ready)
        return 0;
    buf_clear(&s->error);
    int st = sender_compare_with_store(s, &same);
    if (st < 0 || !same)
        sender_disconnect(s);
    return st;
}

int sender_send_new_rows(struct sender *s, int64_t *ret_sent)
{
    s->sent = 0;
    buf_clear(&s->error);
    int st = sender_send_all_records(s);
    /* A record may differ because it was redacted after the log was read. Then the log must be read
     * again. */
    if (st == TARGET_DIFFERS && ++s->differs == DIFFERS_MAX)
        st = TARGET_REFUSED;
    if (st == 0 || st == TARGET_REFUSED)
        s->differs = 0;
    /* If rows do not fit the watermarks, read the watermarks and send the rows again. If the rows
     * do not fit a second time either, the store or the vault is changing: try later. */
    if (st == TARGET_AGAIN && s->again)
        st = TARGET_LOST;
    s->again = st == TARGET_AGAIN;
    if (st < 0)
        sender_disconnect(s);
    *ret_sent = s->sent;
    return st;
}
