/* handle.c - handles redactions and removals of sessions, which the vault's log states.
 *
 * The store has the number of leaves that were handled completely. After a failure, the later
 * leaves are handled again. */
#include "ship/postgres/sender.h"

#include "base/grow.h"
#include "evidence/leaf.h"

#include <stdlib.h>

struct redaction {
    int64_t leaf;
    char uid[UID_LEN + 1];
};

struct stated {
    int64_t until;               /* number of leaves of the log that were read */
    struct redaction *redaction; /* owned */
    size_t n, cap;
    struct array pruned; /* owned; uids of sessions */
};

static int sender_collect_redacted_or_pruned(void *ctx, const struct cell *cell)
{
    struct stated *t = ctx;
    struct leaf leaf;
    t->until = cell[0].number + 1;
    if (leaf_read(cell[1].text, &leaf) < 0)
        return 0;
    if (leaf.type == LEAF_PRUNE)
        array_add(&t->pruned, leaf.uid);
    if (leaf.type != LEAF_REDACT || leaf.uid.n != UID_LEN)
        return 0;
    if (!GROW(t->redaction, t->n, t->cap))
        return MI_ENOMEM;
    t->redaction[t->n] = (struct redaction){.leaf = cell[0].number};
    memcpy(t->redaction[t->n++].uid, leaf.uid.p, UID_LEN);
    return 0;
}

void sender_free_changes_in_log(struct stated *t)
{
    if (t == NULL)
        return;
    array_close(&t->pruned);
    free(t->redaction);
    free(t);
}

int sender_read_changes_in_log(struct sender *s, struct stated **ret)
{
    int64_t n = 1;
    int st = 0;
    *ret = NULL;
    if (s->handled >= s->log.n)
        return 0;
    struct stated *t = calloc(1, sizeof *t);
    if (t == NULL)
        return MI_ENOMEM;
    array_begin(&t->pruned, ARRAY_TEXT);
    for (t->until = s->handled; st == 0 && n > 0 && t->until < s->log.n;)
        st = sender_read_unsent_rows(s, UNSENT_LEAVES, t->until, 0, 0,
                                     sender_collect_redacted_or_pruned, t, &n);
    if (t->until > s->log.n) /* the last leaf was written after the log was sent */
        t->until = s->log.n;
    *ret = t;
    return st;
}

/* ---- redactions ---- */

struct numbers {
    struct sender *s; /* the sender whose arrays are filled; NULL: collect seqs of messages */
    int64_t *seq;     /* owned; seqs of messages */
    size_t n, cap;
    bool events; /* true: at least one event was redacted */
};

static int sender_on_replaced_row(void *ctx, const struct cell *cell)
{
    struct numbers *k = ctx;
    for (int i = 0; k->s != NULL && i < 3; i++)
        array_add_cell(&k->s->array[i], &cell[i]);
    k->events |= slice_begins(cell[0].text, "event ");
    if (k->s != NULL || !slice_begins(cell[0].text, "message "))
        return 0;
    if (!GROW(k->seq, k->n, k->cap))
        return MI_ENOMEM;
    k->seq[k->n++] = cell[4].number;
    return 0;
}

static int send_replaced_records(struct sender *s, const struct redaction *r)
{
    static const enum array_type types[] = {ARRAY_TEXT, ARRAY_INT, ARRAY_BYTES};
    struct numbers k = {.s = s};
    int64_t id, n = 1;
    int st = unsent_find_session_by_uid(s->from, slice_of(r->uid), &id);
    if (st == MI_ENOENT) /* the session was removed meanwhile */
        return 0;
    for (int64_t from = 0; st == 0 && n > 0; from += n) {
        sender_begin_arrays(s, types, MI_COUNT(types));
        st = sender_read_unsent_rows(s, UNSENT_REPLACED, id, r->leaf, from, sender_on_replaced_row,
                                     &k, &n);
        if (st < 0 || n == 0)
            break;
        s->sent += n;
        sender_begin_call(s);
        link_add_text_argument(s->to, r->uid);
        sender_add_array_arguments(s, MI_COUNT(types));
        st = sender_call_sql_function(s, "put_replaced");
    }
    return st;
}

int sender_send_replaced_rows(struct sender *s, const struct stated *t)
{
    int st = 0;
    for (size_t i = 0; t != NULL && st == 0 && i < t->n; i++)
        if (t->redaction[i].leaf < t->until)
            st = send_replaced_records(s, &t->redaction[i]);
    return st;
}

/* Sends the redacted records again, because they were sent before they were redacted. */
static int resend_redacted_records(struct sender *s, const struct redaction *r)
{
    struct shipped_session *x = progress_find(&s->sessions, slice_of(r->uid));
    struct numbers k = {0};
    int64_t n = 1;
    int st = 0;
    if (x == NULL || x->id == 0)
        return 0;
    for (int64_t from = 0; st == 0 && n > 0; from += n)
        st = sender_read_unsent_rows(s, UNSENT_REPLACED, x->id, r->leaf, from,
                                     sender_on_replaced_row, &k, &n);
    for (size_t i = 0; st == 0 && i < k.n; i++)
        st = sender_send_message_again(s, x, k.seq[i]);
    if (st == 0 && k.events)
        st = sender_send_events(s, x, 1, x->event);
    free(k.seq);
    return st;
}

void sender_mark_redacted_incomplete(struct sender *s, const struct stated *t)
{
    for (size_t i = 0; t != NULL && i < t->n; i++) {
        struct shipped_session *x = progress_find(&s->sessions, slice_of(t->redaction[i].uid));
        if (x != NULL)
            x->complete = x->saved = false;
    }
}

int sender_resend_redacted_messages(struct sender *s, const struct stated *t)
{
    int st = 0;
    for (size_t i = 0; t != NULL && st == 0 && i < t->n; i++)
        if (t->redaction[i].leaf < t->until)
            st = resend_redacted_records(s, &t->redaction[i]);
    return st;
}

/* ---- the end ---- */

int sender_mark_changes_handled(struct sender *s, struct stated *t)
{
    int st = 0;
    if (t != NULL) {
        sender_begin_call(s);
        link_add_int_argument(s->to, t->until);
        link_add_array_argument(s->to, &t->pruned);
        st = sender_call_sql_function(s, "put_handled");
        if (st == 0)
            s->handled = t->until;
    }
    return st;
}
