/* send_sessions.c - sends the rows of sessions. A row may change until its session has ended. */
#include "ship/postgres/sender.h"

/* Number of arrays: the columns of a session, and the hash of its row. The array of the hash comes
 * before the arrays of the columns that stores of the first version lack. */
#define ARRAYS (SESSION_COLUMNS + 1)

/* clang-format off */
#define SESSION_ARRAY(name, type, n, s, e, c, store, ...)                                          \
    FIELD_IF(FIELD_FIRST_##store)(ARRAY_OF_##type,)
#define SESSION_ARRAY_LAST(name, type, n, s, e, c, store, ...)                                     \
    FIELD_IF(FIELD_LAST_##store)(ARRAY_OF_##type,)
static const enum array_type types[ARRAYS] = {
    ARRAY_INT, ARRAY_TEXT, SESSION_FIELDS(SESSION_ARRAY)
    ARRAY_BYTES, ARRAY_BYTES, ARRAY_BYTES, ARRAY_BYTES, ARRAY_INT, ARRAY_BYTES,
    ARRAY_INT,
    SESSION_FIELDS(SESSION_ARRAY_LAST)
};
/* clang-format on */

static int64_t hash_session_row(const struct sender *s, const struct cell *cell)
{
    uint64_t h =
        progress_add_bytes_to_hash(PROGRESS_HASH, slice_of(s->minimal ? "minimal" : "full"));
    for (int i = 0; i < SESSION_COLUMNS; i++) {
        const struct cell *c = &cell[i];
        if (i >= SESSION_LATER && c->type == CELL_NULL)
            continue; /* rows sent by older versions keep their hash, so they are not sent again */
        h = progress_add_bytes_to_hash(h, (struct slice){(const char *)&c->type, sizeof c->type});
        h = progress_add_bytes_to_hash(h,
                                       (struct slice){(const char *)&c->number, sizeof c->number});
        h = progress_add_bytes_to_hash(h, c->text);
    }
    return (int64_t)h;
}

static int sender_on_shipped_session(void *ctx, const struct cell *cell)
{
    struct sender *s = ctx;
    int64_t hash = hash_session_row(s, cell);
    struct shipped_session *x = progress_find_or_add(&s->sessions, cell[SESSION_UID].text);
    if (x == NULL)
        return MI_ENOMEM;
    x->id = cell[SESSION_ID].number;
    x->ended = cell[SESSION_ENDED_AT_US].type == CELL_INT;
    x->last_seq = cell[SESSION_SEQ].number;
    x->last_event = cell[SESSION_EVENT].number;
    /* If the store has more messages of the session than the vault, the vault was rolled back. A
     * session without any messages is an exception: the vault is removing it. */
    if (x->last_seq > 0 && x->last_seq < x->seq)
        return sender_set_refusal_reason(
            s,
            "session %s has %lld messages, but the store has %lld of them: the "
            "vault was rolled back or "
            "replaced by a copy",
            x->uid, (long long)x->last_seq, (long long)x->seq);
    s->newest = x->id > s->newest ? x->id : s->newest;
    bool same = x->known && x->row_hash == hash;
    x->complete = same && x->ended && x->seq >= x->last_seq && x->event >= x->last_event;
    x->saved &= !x->complete;
    if (same)
        return 0;
    for (int i = 0; i < SESSION_COLUMNS; i++)
        array_add_cell(&s->array[i < SESSION_LATER ? i : i + 1], &cell[i]);
    array_add_int(&s->array[SESSION_LATER], hash);
    x->known = true;
    x->row_hash = hash;
    return 0;
}

/* Sends sessions with from <= id <= to whose rows have changed. *ret_n: number of sessions in the
 * range. */
static int send_session_range(struct sender *s, int64_t from, int64_t to, int64_t *ret_n)
{
    sender_begin_arrays(s, types, ARRAYS);
    int st = sender_read_unsent_rows(s, UNSENT_SESSIONS, from, to, s->minimal,
                                     sender_on_shipped_session, s, ret_n);
    if (st != 0 || s->array[0].n == 0)
        return st;
    s->sent += s->array[0].n;
    sender_begin_call(s);
    link_add_int_argument(s->to, s->log.n);
    link_add_text_argument(s->to, s->minimal ? "minimal" : "full");
    sender_add_array_arguments(s, ARRAYS);
    return sender_call_sql_function(s, "put_sessions");
}

/* Sends the sessions that are not completely sent yet. */
static int send_incomplete_sessions(struct sender *s)
{
    int64_t n;
    int st = 0;
    for (size_t i = 0; st == 0 && i < s->sessions.n; i++) {
        struct shipped_session *x = &s->sessions.list[i];
        if (x->complete || x->id == 0)
            continue;
        st = send_session_range(s, x->id, x->id, &n);
        if (st == 0 && n == 0)
            x->id = 0; /* the session was removed */
    }
    return st;
}

int sender_send_sessions(struct sender *s)
{
    int64_t n = 1;
    int st = s->newest > 0 ? send_incomplete_sessions(s) : 0;
    while (st == 0 && n > 0)
        st = send_session_range(s, s->newest + 1, INT64_MAX, &n);
    return st;
}
